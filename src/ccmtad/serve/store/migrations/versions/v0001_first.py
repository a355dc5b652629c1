"""The first tables."""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
)

revision = "0001"
down_revision = None

Number = BigInteger().with_variant(Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "processes",
        Column("id", Number, primary_key=True),
        Column("address", Text, nullable=False),
        Column("expires", Float, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "entities",
        Column("id", Number, primary_key=True),
        Column("name", Text, nullable=False),
        UniqueConstraint("name", name="uq_entities_name"),
        Column("model", Text, nullable=False),
        Column("owner", BigInteger),
        Column("made", BigInteger, nullable=False),
        Column("logged", BigInteger, nullable=False),
        Column("stepped", BigInteger, nullable=False),
        Column("newest", BigInteger),
        Column("sequence", BigInteger),
        Column("heard", BigInteger),
        Column("assembler", Text),
        Column("status", Text),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "log",
        Column(
            "entity", BigInteger, ForeignKey("entities.id", ondelete="CASCADE", name="fk_log_entity"), primary_key=True
        ),
        Column("first", BigInteger, primary_key=True),
        Column("rows", Integer, nullable=False),
        Column("least", BigInteger),
        Column("most", BigInteger),
        Column("words", BigInteger, nullable=False),
        Column("at", BigInteger, nullable=False),
        Column("times", LargeBinary),
        Column("data", LargeBinary, nullable=False),
    )
    op.create_index("ix_log_entity_most", "log", ["entity", "most"])
    op.create_index("ix_log_at", "log", ["at"])
    op.create_table(
        "scores",
        Column(
            "entity",
            BigInteger,
            ForeignKey("entities.id", ondelete="CASCADE", name="fk_scores_entity"),
            primary_key=True,
        ),
        Column("first", BigInteger, primary_key=True),
        Column("rows", Integer, nullable=False),
        Column("least", BigInteger, nullable=False),
        Column("most", BigInteger, nullable=False),
        Column("at", BigInteger, nullable=False),
        Column("data", LargeBinary, nullable=False),
    )
    op.create_index("ix_scores_entity_most", "scores", ["entity", "most"])
    op.create_index("ix_scores_at", "scores", ["at"])
    op.create_table(
        "snapshots",
        Column(
            "entity",
            BigInteger,
            ForeignKey("entities.id", ondelete="CASCADE", name="fk_snapshots_entity"),
            primary_key=True,
        ),
        Column("position", BigInteger, nullable=False),
        Column("fingerprint", Text, nullable=False),
        Column("state", LargeBinary, nullable=False),
        Column("journal", Text, nullable=False),
    )
    op.create_table(
        "events",
        Column("id", Text, primary_key=True),
        Column(
            "entity", BigInteger, ForeignKey("entities.id", ondelete="CASCADE", name="fk_events_entity"), nullable=False
        ),
        Column("kind", Text, nullable=False),
        Column("revision", Integer, nullable=False),
        Column("seq", BigInteger, nullable=False),
        Column("open", Boolean, nullable=False),
        Column("final", Boolean, nullable=False),
        Column("began", BigInteger, nullable=False),
        Column("ended", BigInteger),
        Column("at", BigInteger, nullable=False),
        Column("severity", Float, nullable=False),
        Column("body", Text, nullable=False),
        Column("silenced", BigInteger),
        Column("word", Text),
        Column("acknowledged", Text),
    )
    op.create_index("ix_events_entity_began", "events", ["entity", "began"])
    op.create_index("ix_events_seq", "events", ["seq"])
    op.create_index("ix_events_open", "events", ["open"])
    op.create_index("ix_events_at", "events", ["at"])
    op.create_table(
        "notices",
        Column("seq", Number, primary_key=True),
        Column("event", Text, nullable=False),
        Column("revision", Integer, nullable=False),
        Column(
            "entity",
            BigInteger,
            ForeignKey("entities.id", ondelete="CASCADE", name="fk_notices_entity"),
            nullable=False,
        ),
        Column("at", BigInteger, nullable=False),
        Column("body", Text, nullable=False),
        UniqueConstraint("event", "revision", name="uq_notices_event_revision"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_notices_at", "notices", ["at"])
    op.create_table(
        "words",
        Column("id", Number, primary_key=True),
        Column("event", Text, nullable=False),
        Column("model", Text, nullable=False),
        Column("word", Text, nullable=False),
        Column("text", Text, nullable=False),
        Column("said_by", Text, nullable=False),
        Column("at", Text, nullable=False),
        Column("verdict", Text),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_words_event", "words", ["event"])
    op.create_index("ix_words_model_id", "words", ["model", "id"])
    op.create_table(
        "windows",
        Column("id", Number, primary_key=True),
        Column("entity", Text),
        Column("channels", Text),
        Column("start", BigInteger, nullable=False),
        Column("end", BigInteger),
        Column("comment", Text, nullable=False),
        Column("made_by", Text, nullable=False),
        Column("made", BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "keys",
        Column("id", Text, primary_key=True),
        Column("name", Text, nullable=False),
        Column("digest", Text, nullable=False),
        Column("scopes", Text, nullable=False),
        Column("made", BigInteger, nullable=False),
        Column("revoked", BigInteger),
    )
    op.create_table(
        "models",
        Column("name", Text, primary_key=True),
        Column("data", LargeBinary, nullable=False),
        Column("made", BigInteger, nullable=False),
    )
