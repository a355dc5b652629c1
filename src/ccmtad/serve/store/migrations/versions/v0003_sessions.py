"""Who is logged in to the page."""

from alembic import op
from sqlalchemy import BigInteger, Column, Text

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "sessions",
        Column("digest", Text, primary_key=True),
        Column("key", Text, nullable=False),
        Column("ends", BigInteger, nullable=False),
    )
