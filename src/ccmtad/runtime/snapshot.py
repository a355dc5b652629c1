"""A stream's whole state as bytes, tied to its model: a restarted stream goes on as if it had never stopped."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from .envelope import open_sealed, seal
from .stream import Stream, Tally

__all__ = ["MAGIC", "VERSION", "restore", "take"]

MAGIC = b"CCMTADst"
VERSION = 1

ARRAYS = ("held", "age", "averaged", "ring")
TIMES = ("onset_time", "positive_time", "start_time", "alarm_time", "end_time")
FACTS = ("onset", "positive", "active", "in_alarm", "start", "alarm", "end", "peak", "alarmed")


def take(stream: Stream) -> bytes:
    """The state of a stream, between two updates."""
    life = stream.lifecycle
    arrays: dict[str, NDArray[Any]] = {name: getattr(stream, name) for name in ARRAYS}
    arrays["blame"] = life.blame
    facts = {
        "model": stream.model.fingerprint,
        "tally": asdict(stream.tally),
        "last_time": stream.last_time,
        "untimed": stream.untimed,
        "filled": stream.filled,
        "score": stream.accumulator.score,
        "negatives": stream.accumulator.negatives,
        "life": {name: getattr(life, name) for name in FACTS},
        "times": {name: _number(getattr(life, name)) for name in TIMES},
    }
    return seal(MAGIC, VERSION, arrays, facts)


def restore(stream: Stream, data: bytes) -> None:
    """Puts a fresh stream of the same model into the state that was taken."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise FileError(f"snapshot must be bytes; got {type(data).__name__}")
    arrays, facts = open_sealed(bytes(data), MAGIC, VERSION, "snapshot")
    if facts.get("model") != stream.model.fingerprint:
        raise FileError(
            "snapshot must be of this model; got one of another: resume it with the model it was taken from"
        )
    try:
        for name in ARRAYS:
            old, new = getattr(stream, name), arrays[name]
            _check(bool(old.shape == new.shape and old.dtype == new.dtype and np.isfinite(new).all()), name)
            setattr(stream, name, new.copy())
        stream.tally = Tally(**{name: _whole(count) for name, count in facts["tally"].items()})
        stream.last_time = None if facts["last_time"] is None else int(facts["last_time"])
        stream.untimed, stream.filled = bool(facts["untimed"]), _whole(facts["filled"])
        stream.accumulator.score, stream.accumulator.negatives = float(facts["score"]), _whole(facts["negatives"])
        life = stream.lifecycle
        for name in FACTS:
            kind = type(getattr(life, name))
            _check(type(facts["life"][name]) is kind, name)
            setattr(life, name, facts["life"][name])
        for name in TIMES:
            setattr(life, name, _time(facts["times"][name]))
        life.blame = arrays["blame"].copy()
        _check(len(life.blame) == len(life.channels) or not life.active, "blame")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"snapshot must hold the whole state of a stream; got {error}") from error


def _check(right: bool, name: str) -> None:
    if not right:
        raise FileError(f"snapshot must hold a valid {name}; got something else")


def _whole(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} where a count should be")
    return value


def _number(time: np.datetime64 | None) -> int | None:
    return None if time is None else int(time.astype(np.int64))


def _time(number: int | None) -> np.datetime64 | None:
    return None if number is None else np.datetime64(number, "ns")
