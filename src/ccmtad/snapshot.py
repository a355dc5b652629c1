"""A stream's whole state as bytes, tied to its model: a restarted stream goes on as if it had never stopped."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import FileError
from .files import open_sealed, seal
from .score.tracks import Scorer, Track
from .stream import Stream, Tally

__all__ = ["MAGIC", "VERSION", "restore", "take"]

MAGIC = b"CCMTADst"
VERSION = 2

ARRAYS = ("held", "age", "averaged", "ring")
TIMES = ("onset_time", "positive_time", "start_time", "alarm_time", "end_time")
FACTS = ("onset", "positive", "active", "in_alarm", "start", "alarm", "end", "peak", "alarmed")


def take(stream: Stream) -> bytes:
    """The state of a stream, between two updates."""
    life, scorer = stream.lifecycle, stream.scorer
    arrays: dict[str, NDArray[Any]] = {name: getattr(stream, name) for name in ARRAYS}
    arrays["blame"] = life.blame
    arrays["shares"] = np.array(scorer.pulse.shares)
    for i, track in enumerate(scorer.tracks):
        arrays[f"recent.{i}"] = np.array(track.recent, dtype=np.float64)
        if track.level is not None and track.level.settling is not None:
            arrays[f"settling.{i}"] = np.array(track.level.settling, dtype=np.float64)
    facts = {
        "model": stream.model.fingerprint,
        "tally": asdict(stream.tally),
        "last_time": stream.last_time,
        "untimed": stream.untimed,
        "filled": stream.filled,
        "tracks": [
            {
                "score": track.accumulator.score,
                "negatives": track.accumulator.negatives,
                "level": None if track.level is None else [track.level.log, track.level.alarmed],
            }
            for track in scorer.tracks
        ],
        "alarming": {"above": scorer.above, "since": scorer.since, "same": scorer.same, "seen": scorer.seen},
        "pulse": {"weight": scorer.pulse.weight, "rows": scorer.pulse.rows},
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
            finite = name == "averaged" or np.isfinite(new).all()  # a huge value may be on its way through the average
            _check(bool(old.shape == new.shape and old.dtype == new.dtype and finite), name)
            setattr(stream, name, new.copy())
        stream.tally = Tally(**{name: _whole(count) for name, count in facts["tally"].items()})
        stream.last_time = None if facts["last_time"] is None else int(facts["last_time"])
        stream.untimed, stream.filled = bool(facts["untimed"]), _whole(facts["filled"])
        _restore_scorer(stream.scorer, arrays, facts)
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


def _restore_scorer(scorer: Scorer, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
    if "tracks" not in facts:  # version 1: one scale, and nothing more had a state
        _restore_sum(scorer.tracks[0], facts)
        return
    shares, alarming = arrays["shares"], facts["alarming"]
    _check(shares.shape == (len(scorer.pulse.shares),) and len(facts["tracks"]) == len(scorer.tracks), "shares")
    scorer.pulse.shares = shares.tolist()
    scorer.pulse.weight, scorer.pulse.rows = float(facts["pulse"]["weight"]), _whole(facts["pulse"]["rows"])
    scorer.above, scorer.since = _whole(alarming["above"]), _whole(alarming["since"])
    scorer.same, scorer.seen = bool(alarming["same"]), bool(alarming["seen"])
    for i, (track, told) in enumerate(zip(scorer.tracks, facts["tracks"], strict=True)):
        _restore_sum(track, told)
        recent = arrays[f"recent.{i}"]
        _check(recent.ndim == 1 and len(recent) <= track.scale.persistence, "recent")
        track.recent.extend(recent.tolist())
        _check((track.level is None) == (told["level"] is None), "level")
        if track.level is not None:
            track.level.log, track.level.alarmed = float(told["level"][0]), _whole(told["level"][1])
            _check(bool(np.isfinite(track.level.log)), "level")
            settling = arrays.get(f"settling.{i}")
            track.level.settling = None if settling is None else settling.tolist()


def _restore_sum(track: Track, told: dict[str, Any]) -> None:
    track.accumulator.score, track.accumulator.negatives = float(told["score"]), _whole(told["negatives"])


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
