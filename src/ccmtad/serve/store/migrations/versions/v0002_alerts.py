"""Alerts, webhooks, and the outbox of what is to be delivered to them."""

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Integer, Text, UniqueConstraint

revision = "0002"
down_revision = "0001"

Number = BigInteger().with_variant(Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "alerts",
        Column("event", Text, ForeignKey("events.id", ondelete="CASCADE", name="fk_alerts_event"), primary_key=True),
        Column("firing", Boolean, nullable=False),
        Column("number", Integer, nullable=False),
        Column("since", BigInteger, nullable=False),
        Column("changed", BigInteger, nullable=False),
        Column("channel", Text, nullable=False),
        Column("first", Float, nullable=False),
    )
    op.create_index("ix_alerts_firing", "alerts", ["firing"])
    op.create_index("ix_alerts_changed", "alerts", ["changed"])
    op.create_table(
        "webhooks",
        Column("id", Text, primary_key=True),
        Column("name", Text, nullable=False),
        Column("url", Text, nullable=False),
        Column("secret", Text, nullable=False),
        Column("previous", Text),
        Column("rotated", BigInteger),
        Column("paused", Text),
        Column("made_by", Text, nullable=False),
        Column("made", BigInteger, nullable=False),
    )
    op.create_table(
        "deliveries",
        Column("id", Number, primary_key=True),
        Column(
            "webhook",
            Text,
            ForeignKey("webhooks.id", ondelete="CASCADE", name="fk_deliveries_webhook"),
            nullable=False,
        ),
        Column("event", Text, nullable=False),
        Column("message", Text, nullable=False),
        Column("body", Text, nullable=False),
        Column("made", BigInteger, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("due", BigInteger, nullable=False),
        Column("holder", BigInteger),
        Column("dead", BigInteger),
        Column("trouble", Text, nullable=False),
        UniqueConstraint("webhook", "message", name="uq_deliveries_webhook_message"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_deliveries_webhook_event", "deliveries", ["webhook", "event"])
    op.create_index("ix_deliveries_due", "deliveries", ["due"])
