"""The tables, once: the migrations lead here, and a test holds the two together.

Times are nanoseconds since 1970, UTC. Positions count the rows of an entity from 0.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = [
    "alerts", "deliveries", "entities", "events", "keys", "log", "metadata", "models", "notices", "processes", "scores",
    "sessions", "snapshots", "webhooks", "windows", "words",
]  # fmt: skip

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
    }
)
Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up only what is an INTEGER

# Who lives. A process that is declared dead loses its row, and with it all it owns.
processes = Table(
    "processes",
    metadata,
    Column("id", Number, primary_key=True),
    Column("address", Text, nullable=False),
    Column("expires", Float, nullable=False),  # seconds since 1970, by the clock of the database
    sqlite_autoincrement=True,
)

entities = Table(
    "entities",
    metadata,
    Column("id", Number, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("model", Text, nullable=False),
    Column("owner", BigInteger),  # the process that steps it; free where there is no such process
    Column("made", BigInteger, nullable=False),
    Column("logged", BigInteger, nullable=False),  # rows in the log, ever
    Column("stepped", BigInteger, nullable=False),  # rows whose scores and notices are written
    Column("newest", BigInteger),  # the largest time in the log
    Column("sequence", BigInteger),  # the largest sequence number in the log
    Column("heard", BigInteger),  # when the last row came
    Column("assembler", Text),  # what single values wait in, as JSON
    Column("status", Text),  # how it stands after the rows stepped, as JSON
    sqlite_autoincrement=True,
)

# A chunk is some rows of one entity that were written together.
log = Table(
    "log",
    metadata,
    Column("entity", BigInteger, ForeignKey("entities.id", ondelete="CASCADE"), primary_key=True),
    Column("first", BigInteger, primary_key=True),  # position of its first row
    Column("rows", Integer, nullable=False),
    Column("least", BigInteger),  # its smallest and largest time
    Column("most", BigInteger),
    Column("words", BigInteger, nullable=False),  # the last word on events that was heeded when it was judged
    Column("at", BigInteger, nullable=False),  # when it came
    Column("times", LargeBinary),  # int64, little-endian; NULL where no row has one
    Column("data", LargeBinary, nullable=False),  # (rows, channels) float64, little-endian
    Index("ix_log_entity_most", "entity", "most"),
    Index("ix_log_at", "at"),
)

scores = Table(
    "scores",
    metadata,
    Column("entity", BigInteger, ForeignKey("entities.id", ondelete="CASCADE"), primary_key=True),
    Column("first", BigInteger, primary_key=True),
    Column("rows", Integer, nullable=False),
    Column("least", BigInteger, nullable=False),  # the times of the rows, or when they came
    Column("most", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),  # when they were logged
    Column("data", LargeBinary, nullable=False),  # `judged.ROW`, one for each row
    Index("ix_scores_entity_most", "entity", "most"),
    Index("ix_scores_at", "at"),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("entity", BigInteger, ForeignKey("entities.id", ondelete="CASCADE"), primary_key=True),
    Column("position", BigInteger, nullable=False),  # rows it has seen
    Column("fingerprint", Text, nullable=False),  # of its model
    Column("state", LargeBinary, nullable=False),
    Column("journal", Text, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("id", Text, primary_key=True),
    Column("entity", BigInteger, ForeignKey("entities.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("revision", Integer, nullable=False),  # of the last notice
    Column("seq", BigInteger, nullable=False),  # of the first notice: events are paged by it
    Column("open", Boolean, nullable=False),
    Column("final", Boolean, nullable=False),  # nothing can change any more
    Column("began", BigInteger, nullable=False),  # where rows have no times, when they came
    Column("ended", BigInteger),
    Column("at", BigInteger, nullable=False),  # when it was last told of
    Column("severity", Float, nullable=False),
    Column("body", Text, nullable=False),  # the last notice, as JSON
    Column("silenced", BigInteger),  # the maintenance window it came under
    Column("word", Text),  # the last of dismissed, confirmed, undone
    Column("acknowledged", Text),  # who took it up
    Index("ix_events_entity_began", "entity", "began"),
    Index("ix_events_seq", "seq"),
    Index("ix_events_open", "open"),
    Index("ix_events_at", "at"),
)

notices = Table(
    "notices",
    metadata,
    Column("seq", Number, primary_key=True),
    Column("event", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("entity", BigInteger, ForeignKey("entities.id", ondelete="CASCADE"), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("event", "revision", name="uq_notices_event_revision"),
    Index("ix_notices_at", "at"),
    sqlite_autoincrement=True,
)

# What people said of events, a comment included.
words = Table(
    "words",
    metadata,
    Column("id", Number, primary_key=True),
    Column("event", Text, nullable=False, index=True),
    Column("model", Text, nullable=False),
    Column("word", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("said_by", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("verdict", Text),  # what the model takes to heart, as JSON; NULL where there is nothing
    Index("ix_words_model_id", "model", "id"),
    sqlite_autoincrement=True,
)

windows = Table(
    "windows",
    metadata,
    Column("id", Number, primary_key=True),
    Column("entity", Text),  # NULL: every entity
    Column("channels", Text),  # a JSON list; NULL: every channel
    Column("start", BigInteger, nullable=False),
    Column("end", BigInteger),  # NULL: until it is ended
    Column("comment", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("made", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

keys = Table(
    "keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False),  # SHA-256 of the secret, which is random and long
    Column("scopes", Text, nullable=False),
    Column("made", BigInteger, nullable=False),
    Column("revoked", BigInteger),
)

# Who is logged in to the page: of what the cookie holds, only a digest is kept.
sessions = Table(
    "sessions",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("key", Text, nullable=False),  # the id of the key that was shown
    Column("ends", BigInteger, nullable=False),
)

# Uploaded ones; those of the folder stay there.
models = Table(
    "models",
    metadata,
    Column("name", Text, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    Column("made", BigInteger, nullable=False),
)

# Events that others were told of: whether they fire, and what their labels are made of.
alerts = Table(
    "alerts",
    metadata,
    Column("event", Text, ForeignKey("events.id", ondelete="CASCADE"), primary_key=True),
    Column("firing", Boolean, nullable=False),
    Column("number", Integer, nullable=False),  # of times that there was something to tell
    Column("since", BigInteger, nullable=False),  # when it was first told
    Column("changed", BigInteger, nullable=False),  # when it was last told
    Column("channel", Text, nullable=False),  # blamed most at first; "" where none was
    Column("first", Float, nullable=False),  # its severity at first
    Index("ix_alerts_firing", "firing"),
    Index("ix_alerts_changed", "changed"),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),  # what is signed with must be known: a digest would not do
    Column("previous", Text),  # the secret before, for a while after a rotation
    Column("rotated", BigInteger),
    Column("paused", Text),  # why nothing is sent there; NULL: it is
    Column("made_by", Text, nullable=False),
    Column("made", BigInteger, nullable=False),
)

# The outbox: written with the notice it tells of, gone when it is delivered.
deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Number, primary_key=True),
    Column("webhook", Text, ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("event", Text, nullable=False),
    Column("message", Text, nullable=False),  # the id that every attempt carries
    Column("body", Text, nullable=False),  # `outbox.Standing`, as JSON
    Column("made", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due", BigInteger, nullable=False),  # when it is to be sent next
    Column("holder", BigInteger),  # the process that sends it now; free where there is no such process
    Column("dead", BigInteger),  # when it was given up
    Column("trouble", Text, nullable=False),  # of the last attempt
    UniqueConstraint("webhook", "message", name="uq_deliveries_webhook_message"),
    Index("ix_deliveries_webhook_event", "webhook", "event"),
    Index("ix_deliveries_due", "due"),
    sqlite_autoincrement=True,
)
