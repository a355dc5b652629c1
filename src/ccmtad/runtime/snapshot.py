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
        "filled": stream.filled,
        "score": stream.accumulator.score,
        "negatives": stream.accumulator.negatives,
        "life": {name: getattr(life, name) for name in FACTS},
        "times": {name: _number(getattr(life, name)) for name in TIMES},
    }
    return seal(MAGIC, VERSION, arrays, facts)


def restore(stream: Stream, data: bytes) -> None:
    """Puts a fresh stream of the same model into the state that was taken."""
    arrays, facts = open_sealed(bytes(data), MAGIC, VERSION, "snapshot")
    if facts.get("model") != stream.model.fingerprint:
        raise FileError(
            "snapshot must be of this model; got one of another: resume it with the model it was taken from"
        )
    try:
        for name in ARRAYS:
            old, new = getattr(stream, name), arrays[name]
            if old.shape != new.shape or old.dtype != new.dtype:
                raise FileError(f"snapshot must hold {name} of shape {old.shape}; got {new.shape}")
            setattr(stream, name, new.copy())
        stream.tally = Tally(**facts["tally"])
        stream.last_time, stream.filled = facts["last_time"], facts["filled"]
        stream.accumulator.score, stream.accumulator.negatives = facts["score"], facts["negatives"]
        for name in FACTS:
            setattr(stream.lifecycle, name, facts["life"][name])
        for name in TIMES:
            setattr(stream.lifecycle, name, _time(facts["times"][name]))
        stream.lifecycle.blame = arrays["blame"].copy()
    except (KeyError, TypeError) as error:
        raise FileError(f"snapshot must hold the whole state of a stream; got {error}") from error


def _number(time: np.datetime64 | None) -> int | None:
    return None if time is None else int(time.astype(np.int64))


def _time(number: int | None) -> np.datetime64 | None:
    return None if number is None else np.datetime64(number, "ns")
