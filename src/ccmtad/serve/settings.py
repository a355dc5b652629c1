"""What a service can be told, each with its rule."""

import socket
from dataclasses import dataclass
from pathlib import Path

from ..errors import SettingError
from ..live.labels import DROP_LABELS, ENTITY_LABELS

__all__ = ["ServeSettings"]

MIB = 2**20
DAY = 86_400.0


@dataclass(frozen=True)
class ServeSettings:
    """How a service runs."""

    models: Path | None
    store: str = "ccmtad.db"  # a path, or a URL
    host: str = "127.0.0.1"
    port: int = 8787
    address: str = ""  # where others reach it; from host and port where it is empty
    keys: bool = True  # whether requests need one
    queue: int = 64 * MIB  # bytes of rows that may wait to be written
    largest_body: int = 16 * MIB
    most_rows: int = 10_000  # of one request
    rate: float = 2_000.0  # requests a second of one key
    body_seconds: float = 30.0  # that a client may take to send a body
    most_streams: int = 2_000  # open event streams
    most_entities: int = 100_000  # that rows may make
    lease: float = 15.0  # seconds without a sign of life after which others take over
    keep_rows: float = 30 * DAY  # seconds; what streams are made again from is always kept
    keep_events: float = 365 * DAY
    snapshot_rows: int = 2_000  # rows of an entity between two snapshots
    silence: float = 60.0  # least seconds without a row that are told; 0: never
    grace: float = 5.0  # seconds that single values may be late
    ahead: float = 300.0  # seconds that they may be ahead of the clock here; 0: any
    entity_labels: tuple[str, ...] = ENTITY_LABELS  # of pushed values: the first that is there names the entity
    drop_labels: tuple[str, ...] = DROP_LABELS  # that are no part of a tag
    alertmanagers: tuple[str, ...] = ()  # URLs
    alert_interval: float = 60.0  # seconds between two times that an Alertmanager is told of an open event
    critical: float = 10.0  # severity from which an alert is critical, and not a warning
    webhook_attempts: int = 10  # after which a letter is dead
    webhook_wait: float = 5.0  # seconds before the second attempt; three times as long before each one that follows
    webhook_timeout: float = 10.0  # seconds that a receiver has to answer
    webhook_targets: tuple[str, ...] = ()  # addresses that webhooks may lead to; none: any

    def __post_init__(self) -> None:
        rules = (
            ("port", 0 <= self.port <= 65_535, "must be from 0 to 65535"),
            ("queue", self.queue >= MIB, "must be at least 1 MiB"),
            ("largest_body", self.largest_body >= 1_024, "must be at least 1024 bytes"),
            ("most_rows", self.most_rows >= 1, "must be at least 1"),
            ("rate", self.rate > 0.0, "must be above 0"),
            ("lease", self.lease >= 1.0, "must be at least 1 second"),
            ("keep_rows", self.keep_rows > 0.0, "must be above 0"),
            ("keep_events", self.keep_events > 0.0, "must be above 0"),
            ("snapshot_rows", self.snapshot_rows >= 1, "must be at least 1"),
            ("silence", self.silence >= 0.0, "must not be negative"),
            ("grace", self.grace >= 0.0, "must not be negative"),
            ("ahead", self.ahead >= 0.0, "must not be negative"),
            ("alert_interval", self.alert_interval >= 0.1, "must be at least 0.1 seconds"),
            ("critical", self.critical > 0.0, "must be above 0"),
            ("webhook_attempts", self.webhook_attempts >= 1, "must be at least 1"),
            ("webhook_wait", self.webhook_wait >= 0.0, "must not be negative"),
            ("webhook_timeout", self.webhook_timeout > 0.0, "must be above 0"),
        )
        for name, right, rule in rules:
            if not right:
                raise SettingError(f"{name} {rule}; got {getattr(self, name)!r}")
        if not self.keys and not self.on_loopback:
            raise SettingError(f"host must be this machine's own where no keys are asked for; got {self.host!r}")

    @property
    def here(self) -> str:
        """Where it listens."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def url(self) -> str:
        """Where others reach it: as it was told, else where it listens; by the machine's name if that is everywhere."""
        everywhere = self.host in ("0.0.0.0", "::")
        return self.address or (f"http://{socket.gethostname()}:{self.port}" if everywhere else self.here)

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in ("127.0.0.1", "::1", "localhost")
