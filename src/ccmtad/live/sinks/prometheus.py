"""Metrics to be scraped: `prometheus://0.0.0.0:9105` answers `GET /metrics`."""

from collections import Counter as Tally
from collections.abc import Sequence
from typing import Any

from ..alert import Standing
from . import Letter, Sink

__all__ = ["Prometheus"]


class Prometheus(Sink):
    """Events that were opened and that go on, by entity and kind. Counters begin at 0 with each start, as all do."""

    name = "prometheus"
    schemes = ("prometheus",)
    extra = ("prometheus-client", "live")
    again = 5.0

    def load(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge

        self.registry = CollectorRegistry()
        made: Any = {"registry": self.registry}
        self._opened = Counter("ccmtad_watch_events", "Events that were opened.", ["entity", "kind"], **made)
        self._open = Gauge("ccmtad_watch_open_events", "Events that go on.", ["entity", "kind"], **made)
        self._severity = Gauge(
            "ccmtad_watch_severity", "The largest severity of the events that go on.", ["entity", "kind"], **made
        )
        self._server: Any = None

    def deliver(self, letters: Sequence[Letter], standings: Sequence[Standing]) -> None:
        if self._server is None:
            from prometheus_client import start_http_server

            self._server, self._thread = start_http_server(
                self.address.port(9105), self.address.host, registry=self.registry
            )
        for letter in letters:
            labels = letter.notice["entity"], letter.notice["kind"]
            opened = self._opened.labels(*labels)
            if letter.notice["change"] == "opened":
                opened.inc()
        firing = [one.event for one in standings if one.firing]
        number = Tally((one["entity"], one["kind"]) for one in firing)
        for labels in {(one.event["entity"], one.event["kind"]) for one in standings}:
            self._open.labels(*labels).set(number[labels])
            sizes = [one["severity"] for one in firing if (one["entity"], one["kind"]) == labels]
            self._severity.labels(*labels).set(max(sizes, default=0.0))

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = None
