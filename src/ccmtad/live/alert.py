"""An event as an alert, in the words of Alertmanager: what the service and the sinks of a watch both tell."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np

__all__ = [
    "Alert",
    "Standing",
    "Style",
    "alerts_of",
    "distinct",
    "message_id",
    "message_of",
    "page_of",
    "severity_class",
]

CLASSES = ("warning", "critical")
NOT_YET = "0001-01-01T00:00:00Z"  # how a message says that an alert has no end
FNV_START, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


@dataclass(frozen=True)
class Standing:
    """How an event stands towards those who are told of it. Times are nanoseconds, by the clock on the wall."""

    event: dict[str, Any]  # as its last notice told it
    firing: bool
    why: str  # it does not fire though it goes on: "dismissed", "silenced"
    since: int  # when it was first told
    changed: int  # when it was last told
    channel: str  # blamed most at first
    first: float  # its severity at first


@dataclass(frozen=True)
class Style:
    """What alerts are made with, beside the event."""

    address: str  # of this service, for links; "": there are none
    critical: float  # the severity from which one is


@dataclass(frozen=True)
class Alert:
    """One alert. Those with the same labels are the same to Alertmanager. Times are nanoseconds."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    starts: int
    ends: int | None  # None: it fires
    link: str

    @property
    def fingerprint(self) -> str:
        """The name that Alertmanager has for these labels: FNV-1a, 64 bits."""
        found = FNV_START
        for name in sorted(self.labels):
            for byte in b"%s\xff%s\xff" % (name.encode(), self.labels[name].encode()):
                found = (found ^ byte) * FNV_PRIME % 2**64
        return f"{found:016x}"

    def posted(self, until: int) -> dict[str, Any]:
        """For `POST /api/v2/alerts`: while it fires, it is to be forgotten after `until` unless it is sent again."""
        return {
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
            "startsAt": _time(self.starts),
            "endsAt": _time(until if self.ends is None else self.ends),
            "generatorURL": self.link,
        }

    @property
    def told(self) -> dict[str, Any]:
        """As part of a message to a webhook."""
        return {
            "status": "firing" if self.ends is None else "resolved",
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
            "startsAt": _time(self.starts),
            "endsAt": NOT_YET if self.ends is None else _time(self.ends),
            "generatorURL": self.link,
            "fingerprint": self.fingerprint,
        }


def severity_class(severity: float, critical: float) -> str:
    """Of the size of an event."""
    return CLASSES[severity >= critical]


def page_of(address: str, event: str) -> str:
    """Where the page shows an event."""
    return f"{address}/events/{quote(event, safe='')}" if address else ""


def alerts_of(standing: Standing, style: Style) -> list[Alert]:
    """The alert of an event; and, where that has grown from one class into another, the end of the one before.

    Labels are what an alert is known by: they hold what does not change while the event goes on, and its class.
    """
    event = standing.event
    link = page_of(style.address, event["id"])
    starts = min(_start(event, standing.since), standing.since)
    ends = None if standing.firing else max(standing.changed, starts)
    now = severity_class(event["severity"], style.critical)
    before = severity_class(standing.first, style.critical)
    made = [Alert(_labels(standing, now), _annotations(standing, link), starts, ends, link)]
    if before != now:
        gone = Alert(_labels(standing, before), made[0].annotations, starts, max(standing.changed, starts), link)
        made.insert(0, gone)
    return made


def _start(event: Mapping[str, Any], otherwise: int) -> int:
    """When it began, by the times of its rows where they have some."""
    told = event["start_time"]
    return otherwise if told is None else int(np.datetime64(told.removesuffix("Z"), "ns").astype(np.int64))


def _labels(standing: Standing, severity: str) -> dict[str, str]:
    kind = standing.event["kind"]
    labels = {
        "alertname": f"Ccmtad{kind.title().replace(' ', '')}",
        "entity": standing.event["entity"],
        "kind": kind,
        "severity": severity,
        "channel": standing.channel,
    }
    return {name: value for name, value in labels.items() if value}


def _annotations(standing: Standing, link: str) -> dict[str, str]:
    event = standing.event
    told = {
        "summary": f"{event['entity']}: {event['sentence']}",
        "channels": ", ".join(event["channels"]),
        "size": f"{event['severity']:.3g}",
        "began": event["start_time"] or "",
        "ended": event["end_time"] or "",
        "event": event["id"],
        "page": link,
        "why": standing.why,
    }
    return {name: value for name, value in told.items() if value}


def distinct(alerts: list[Alert]) -> list[Alert]:
    """One for each set of labels: an event that goes on hides those before it that had the same ones and are over."""
    found: dict[str, Alert] = {}
    for alert in alerts:
        other = found.get(alert.fingerprint)
        if other is None or _rank(alert) > _rank(other):
            found[alert.fingerprint] = alert
    return list(found.values())


def _rank(alert: Alert) -> tuple[bool, int]:
    return alert.ends is None, alert.ends or alert.starts


def message_id(event: str, number: int) -> str:
    """The same for the same thing told, wherever it goes and however often."""
    return f"msg_{hashlib.sha256(f'{number} {event}'.encode()).hexdigest()[:32]}"


def message_of(standing: Standing, style: Style, receiver: str) -> dict[str, Any]:
    """What a webhook is sent: version 4 of Alertmanager's messages, the group being the one event."""
    told = [one.told for one in alerts_of(standing, style)]
    labels, annotations = ([one[what] for one in told] for what in ("labels", "annotations"))
    return {
        "version": "4",
        "groupKey": f"ccmtad:{standing.event['id']}",
        "truncatedAlerts": 0,
        "status": "firing" if standing.firing else "resolved",
        "receiver": receiver,
        "groupLabels": {name: labels[0][name] for name in ("alertname", "entity")},
        "commonLabels": _common(labels),
        "commonAnnotations": _common(annotations),
        "externalURL": style.address,
        "alerts": told,
    }


def _common(several: list[dict[str, str]]) -> dict[str, str]:
    first, *others = several
    return {name: value for name, value in first.items() if all(one.get(name) == value for one in others)}


def _time(time: int) -> str:
    return f"{np.datetime64(time, 'ns').astype('datetime64[ms]')}Z"
