"""What Prometheus scrapes: counters of the engine, and how each entity stands."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from ..score.health import HealthState
from .entity import Entity
from .rows import Receipt
from .store.outbox import Counts
from .values import ValuesReceipt

__all__ = ["Metrics"]

QUICK = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
MOST_ENTITIES = 5_000  # that have metrics of their own, about ten each: who sends rows must not swamp Prometheus
HEALTH: tuple[HealthState, ...] = ("unknown", "healthy", "alarmed", "drifting", "miscalibrated")


class Metrics:
    """One registry for each service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        made: Any = {"registry": self.registry}
        self.rows = Counter("ccmtad_rows", "Rows acknowledged, by what became of them.", ["what"], **made)
        self.values = Counter("ccmtad_values", "Single values, by what became of them.", ["what"], **made)
        self.pushed = Counter(
            "ccmtad_pushed_values", "Values that other programs pushed, by protocol and what became of them.",
            ["protocol", "what"], **made,
        )  # fmt: skip
        self.refused = Counter("ccmtad_queue_full", "Requests refused because the queue was full.", **made)
        self.failures = Counter("ccmtad_store_failures", "Rounds that the store did not take.", **made)
        self.commit = Histogram("ccmtad_commit_seconds", "Of one transaction of the engine.", buckets=QUICK, **made)
        self.step = Histogram(
            "ccmtad_step_seconds", "From a row in the log to its score, mean of a round.",
            buckets=(1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 1e-3, 1e-2), **made,
        )  # fmt: skip
        self.judged = Counter("ccmtad_rows_judged", "Rows that streams have judged.", **made)
        self.queue = Gauge("ccmtad_queue_bytes", "Rows that wait to be written.", **made)
        self.streams = Gauge("ccmtad_event_streams", "Open server-sent event streams.", **made)
        self.ready = Gauge("ccmtad_ready", "1 while rows are taken.", **made)
        self.posts = Counter(
            "ccmtad_alertmanager_posts", "Requests to an Alertmanager, by what came of them.",
            ["alertmanager", "result"], **made,
        )  # fmt: skip
        self.posted = Counter(
            "ccmtad_alertmanager_alerts", "Alerts that an Alertmanager has taken.", ["alertmanager"], **made
        )
        self.deliveries = Counter(
            "ccmtad_webhook_deliveries", "Attempts to deliver to webhooks, by what came of them.", ["result"], **made
        )
        for result in ("delivered", "failed", "dead"):
            self.deliveries.labels(result)
        self.delivery = Histogram(
            "ccmtad_webhook_delivery_seconds", "Of one attempt to deliver to a webhook.",
            buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0), **made,
        )  # fmt: skip

    def took(self, receipt: Receipt | ValuesReceipt) -> None:
        """A request was answered."""
        if isinstance(receipt, Receipt):
            self.rows.labels("accepted").inc(receipt.accepted)
            self.rows.labels("duplicate").inc(receipt.duplicates)
            self.rows.labels("late").inc(receipt.late)
        else:
            self.values.labels("accepted").inc(receipt.accepted)
            self.values.labels("late").inc(receipt.late)
            self.values.labels("ahead").inc(receipt.ahead)
            self.rows.labels("assembled").inc(receipt.rows)

    def stepped(self, rows: int, seconds: float) -> None:
        """So many rows were judged."""
        self.judged.inc(rows)
        self.step.observe(seconds / rows)

    def watch(
        self,
        entities: Callable[[], Iterable[Entity]],
        opened: Callable[[], dict[str, int]],
        not_judged: Callable[[], int],
    ) -> None:
        """How entities stand is read when it is asked for."""
        self.registry.register(_Standing(entities, opened, not_judged))

    def watch_alerts(self, counts: Callable[[], Counts]) -> None:
        """What fires, what waits for webhooks and what was given up is read when it is asked for."""
        self.registry.register(_Outbox(counts))

    def text(self) -> bytes:
        """In Prometheus' format."""
        return generate_latest(self.registry)


class _Standing(Collector):
    def __init__(
        self,
        entities: Callable[[], Iterable[Entity]],
        opened: Callable[[], dict[str, int]],
        not_judged: Callable[[], int],
    ) -> None:
        self.entities, self.opened, self.not_judged = entities, opened, not_judged

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        ratio = GaugeMetricFamily("ccmtad_score_ratio", "Newest score over the threshold.", labels=["entity"])
        alarm = GaugeMetricFamily("ccmtad_alarm", "1 while in alarm.", labels=["entity"])
        health = GaugeMetricFamily("ccmtad_health", "1 for the state it is in.", labels=["entity", "state"])
        rows = GaugeMetricFamily("ccmtad_entity_rows", "Rows of it that were judged, ever.", labels=["entity"])
        heard = GaugeMetricFamily(
            "ccmtad_entity_heard_timestamp_seconds", "When its last row came, since 1970.", labels=["entity"]
        )
        there = list(self.entities())
        number = GaugeMetricFamily("ccmtad_entities", "Entities of this process.", len(there))
        not_judged = GaugeMetricFamily(
            "ccmtad_entities_not_judged", "Entities of this process that cannot be judged; /healthz says why.",
            self.not_judged(),
        )  # fmt: skip
        left_out = GaugeMetricFamily(
            "ccmtad_entities_without_metrics", "Entities without metrics of their own: the newest of too many.",
            max(len(there) - MOST_ENTITIES, 0),
        )  # fmt: skip
        for entity in sorted(there, key=lambda one: one.id)[:MOST_ENTITIES]:
            status = entity.status
            ratio.add_metric([entity.name], status.score / status.threshold if status.threshold else 0.0)
            alarm.add_metric([entity.name], float(status.alarm))
            rows.add_metric([entity.name], float(entity.stepped))
            if entity.heard is not None:
                heard.add_metric([entity.name], entity.heard / 1e9)
            for state in HEALTH:
                health.add_metric([entity.name, state], float(status.health == state))
        counts = GaugeMetricFamily("ccmtad_open_events", "Events that go on.", labels=["kind"])
        for kind, opened in self.opened().items():
            counts.add_metric([kind], float(opened))
        yield from (ratio, alarm, health, rows, heard, number, not_judged, left_out, counts)


class _Outbox(Collector):
    def __init__(self, counts: Callable[[], Counts]) -> None:
        self.counts = counts

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        counts = self.counts()
        yield GaugeMetricFamily("ccmtad_alerts_firing", "Events that others are told of.", counts.firing)
        yield GaugeMetricFamily("ccmtad_webhook_waiting", "Letters to webhooks that wait.", counts.waiting)
        yield GaugeMetricFamily("ccmtad_webhook_dead_letters", "Letters to webhooks that were given up.", counts.dead)
