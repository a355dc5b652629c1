"""Messages of a broker become rows: a JSON object is a row by tag names, a mere number is one value of the tag that its
topic names. What is neither is left out and told of: nothing that is sent stops a stream."""

import json
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import CcmtadError
from ...model import Model
from ...tables.lines import BadLineError, Parser, Row
from ...tables.reading import Reading
from ...tables.times import is_time_name, moment
from ...wording import got
from ..address import option
from ..assemble import Assembled, Assembler
from .split import LONGEST_LINE

__all__ = ["Message", "PayloadOptions", "Payloads"]

log = logging.getLogger("ccmtad")

LOUD = 10  # messages left out that are told of one by one
VALUE = "value"  # where an object holds a single value: {"value": 2.4, "time": ...}
SECOND = 1_000_000_000


@dataclass(frozen=True)
class PayloadOptions:
    """How single values become rows."""

    period: float = option(0.0, "Seconds of a row made of single values; 0: as in the fitted data.", least=0)
    grace: float = option(1.0, "Periods that a single value may come late.", least=0)
    ahead: float = option(300.0, "Seconds that a single value's time may be ahead of the clock.", least=0)


@dataclass(frozen=True)
class Message:
    """What a broker gave, and the place after it."""

    payload: bytes | dict[str, Any] | Row
    place: Any  # as JSON knows it
    topic: str = ""  # its levels apart by slashes
    time: int | None = None  # nanoseconds since 1970: when the broker took it; None: unknown, and now will do
    key: str | None = None  # the entity it is of


@dataclass
class Payloads:
    """What a model's channels take from messages."""

    model: Model
    reading: Reading = field(default_factory=Reading)
    options: PayloadOptions = field(default_factory=PayloadOptions)
    longest: int = LONGEST_LINE
    clock: Callable[[], int] = time.time_ns

    whole: bool = field(default=False, init=False)  # whether single values are none: rows are of many entities
    left_out: int = field(default=0, init=False)  # messages, of this run
    untimed: int = field(default=0, init=False)  # time given to the last message that had none
    assembler: Assembler | None = field(default=None, init=False)  # from the first single value on

    def __post_init__(self) -> None:
        self._told = 0
        self._parser = Parser(self.model.channels, self.model.named, self.reading, kind="json", rows=True)
        self._single_parser = Parser(self.model.channels, self.model.named, self.reading, kind="json", rows=True)
        self._channels = frozenset(self.model.channels)

    def rows(self, message: Message) -> list[Row]:
        """The rows that a message makes whole: none or one, or several where single values had waited."""
        try:
            return self._rows(message)
        except (CcmtadError, ValueError, OverflowError, RecursionError) as error:
            self.leave_out(f"message of {message.topic!r}", error)
            return []

    def leave_out(self, what: str, why: object, number: int = 1) -> None:
        """Counts what holds no row, and says so the first few times."""
        self.left_out += number
        self._told += 1
        if self._told <= LOUD:
            more = "; further ones are only counted" if self._told == LOUD else ""
            log.warning("%s %s: left out%s", what, why, more)

    def flush(self) -> list[Row]:
        """The rows of single values that still wait: no more are expected."""
        return [] if self.assembler is None else [_row(one) for one in self.assembler.flush()]

    def _rows(self, message: Message) -> list[Row]:
        payload = message.payload
        if isinstance(payload, Row):
            return [payload]
        found = self._whole(payload) if isinstance(payload, dict) else self._read(payload)
        if isinstance(found, list) and not self.model.named:
            return [Row(self._by_position(found), self._moment(None, message), key=message.key)]
        if not isinstance(found, dict):
            return self._single(found, None, message)
        when = self._time_of(found)
        if VALUE in found and VALUE not in self._channels:
            return self._single(found[VALUE], None if when is None else found[when], message)
        if self._channels.isdisjoint(found):
            raise BadLineError(f"must have a channel of the fitted data; got {got(list(found)[:5])}")
        self._parser.time = when
        row = self._parser.mapping(found)
        for note in row.notes:
            log.warning("message of %r: %s", message.topic, note)
        moment_of = self._moment(None, message) if when is None else row.time
        return [replace(row, time=moment_of, key=message.key)]

    def _whole(self, fields: dict[str, Any]) -> dict[str, Any]:
        self._check_size(sum(len(name) + len(value) for name, value in fields.items() if isinstance(value, str)))
        return fields

    def _check_size(self, size: int) -> None:
        if size > self.longest:
            raise BadLineError(f"must be at most {self.longest:,} bytes long; got {size:,}")

    def _read(self, payload: bytes) -> Any:
        self._check_size(len(payload))
        try:
            text = payload.decode()
        except UnicodeDecodeError:
            raise BadLineError(f"must be text in UTF-8; got {got(payload[:20])}") from None
        if text.lstrip()[:1] in ("{", "["):
            try:
                return json.loads(text)
            except ValueError as error:
                raise BadLineError(f"must be a JSON object or a number; got {got(text[:40])}: {error}") from None
        return text.strip()

    def _time_of(self, found: dict[str, Any]) -> str | None:
        """The key that is the time: the one asked for, or one with the name of a time."""
        if self.reading.time is not None:
            if self.reading.time not in found:
                raise BadLineError(f"must have a time, {self.reading.time!r}; got {got(list(found)[:5])}")
            return self.reading.time
        skipped = (*self._channels, *self.reading.drop)
        return next((name for name in found if is_time_name(name) and name not in skipped), None)

    def _by_position(self, found: list[Any]) -> list[float]:
        if len(found) != len(self.model.channels):
            raise BadLineError(f"must have {len(self.model.channels)} values; got {len(found)}")
        return [math.nan if one is None else float(one) for one in found]

    def _single(self, value: object, when: object, message: Message) -> list[Row]:
        if self.whole:
            raise BadLineError(f"must be a JSON object with a channel of the fitted data; got {got(value)}")
        tag = self._tag(message.topic)
        self._single_parser.told.clear()  # each is told of as a message that is left out
        row = self._single_parser.mapping({tag: value})
        if row.notes:
            raise BadLineError(f"must be a JSON object or a number; got {got(value)}")
        at = self._moment(when, message)
        if at > self.clock() + self.options.ahead * SECOND:
            raise BadLineError(f"must have a time of now or before; got {got(when)}: the clock that set it is ahead")
        if self.assembler is None:
            self.assembler = self._assembling()
        made = self.assembler.take(tag, row.values[self.model.channels.index(tag)], at)
        return [_row(one) for one in made]

    def _tag(self, topic: str) -> str:
        """The longest end of a topic that is a channel: `hall/pump/flow`, `pump/flow` or `flow`."""
        levels = topic.split("/")
        for i in range(len(levels)):
            tag = "/".join(levels[i:])
            if tag in self._channels:
                return tag
        raise BadLineError("is a single value, and its topic must end in a channel of the fitted data; it does not")

    def _assembling(self) -> Assembler:
        period = self.options.period or self.model.period
        if not period:
            raise BadLineError("is a single value, and the fitted data had no times: rows need a period")
        return Assembler(self.model.channels, period, self.options.grace * period)

    def _moment(self, when: object, message: Message) -> int:
        """Its own time, or when the broker took it: each later than the one before, so that none is a duplicate."""
        if when is not None:
            text = str(when).strip() if isinstance(when, int | float | str) else ""
            try:
                return moment(text, self.reading)
            except (ValueError, CcmtadError):
                raise BadLineError(f"must have a time; got {got(when)}") from None
        taken = self.clock() if message.time is None else message.time
        self.untimed = max(taken, self.untimed + 1)
        return self.untimed

    def state(self) -> dict[str, Any]:
        """All it remembers, as JSON knows it."""
        return {"untimed": self.untimed, "values": None if self.assembler is None else self.assembler.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on with what it remembered."""
        self.untimed = int(state["untimed"])
        self.assembler = None
        if state["values"] is not None:
            self.assembler = self._assembling()
            self.assembler.restore(state["values"])


def _row(made: Assembled) -> Row:
    return Row(made.values.tolist(), made.time)
