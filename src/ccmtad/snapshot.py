"""A stream's whole state as bytes, tied to its model: a restarted stream goes on as if it had never stopped."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .calibrate import feedback
from .errors import FileError
from .files import open_sealed, seal
from .lanes import ARRAYS, SIGNALS, Lanes
from .model_file import fingerprint_before_3
from .record import MOST_COUNTED, NEVER
from .score import channels
from .score.level import LEVELS

__all__ = ["MAGIC", "VERSION", "restore", "take"]

MAGIC = b"CCMTADst"
VERSION = 4

Arrays = Mapping[str, NDArray[Any]]


def take(lanes: Lanes, lane: int) -> bytes:
    """The state of a stream, between two updates."""
    arrays, facts = lanes.state(lane)
    said = {"feedback": feedback.plain(lanes.model.feedback)} if lanes.model.feedback else {}
    return seal(MAGIC, VERSION, arrays, {"model": lanes.model.fingerprint, **said, **facts})


def restore(lanes: Lanes, lane: int, data: bytes) -> None:
    """Puts a stream of the same model into the state that was taken; one that does not fit changes nothing."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise FileError(f"snapshot must be bytes; got {type(data).__name__}")
    arrays: Arrays
    arrays, facts = open_sealed(bytes(data), MAGIC, VERSION, "snapshot")
    model, old = lanes.model, "tally" in facts  # before version 3
    if facts.get("model") != (fingerprint_before_3(model) if old else model.fingerprint):
        raise FileError(
            "snapshot must be of this model; got one of another: resume it with the model it was taken from"
        )
    before = lanes.state(lane)
    before = {name: array.copy() for name, array in before[0].items()}, before[1]
    try:
        if old:
            arrays, facts = _of_version_2(lanes, arrays, facts)
        elif "lasted" not in facts["stream"]:
            arrays, facts = _of_version_3(lanes, arrays, facts)
        _check_arrays(arrays, before[0])
        _check_numbers(lanes, arrays, facts)
        said = feedback.verdicts(facts.get("feedback", []))
        lanes.restore(lane, arrays, facts)
        if said:
            lanes.heed(said)  # with what the model was told since: the union
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        lanes.restore(lane, *before)
        if isinstance(error, FileError):
            raise
        raise FileError(f"snapshot must hold the whole state of a stream; got {error}") from error


def _check_arrays(arrays: Arrays, like: Arrays) -> None:
    for name, usual in like.items():
        new = arrays[name]
        # A huge value may be on its way through the average, and a channel may have no last value.
        whole = name in ("averaged", "traces") or np.isfinite(new).all()
        _check(bool(new.shape == usual.shape and new.dtype == usual.dtype and whole), name)


def _check_numbers(lanes: Lanes, arrays: Arrays, facts: Mapping[str, Any]) -> None:
    """Those that places are found by, and those that a step could not go on from."""
    settle, rows = lanes.model.settings.settle, facts["stream"]["rows"]
    for track, settling in zip(facts["tracks"], arrays["settling"], strict=True):
        settled = track["settled"]
        _check(type(settled) is int and 0 <= settled <= settle, "settled")
        ordered = settling[:settled]
        _check(bool((np.diff(ordered) >= 0).all() and (np.abs(ordered) <= LEVELS[1] + 1).all()), "settling")
    for name in ("age", "counts"):
        _check(bool((arrays[name] >= -1).all() and (arrays[name] <= MOST_COUNTED).all()), name)
    for name in ("recent", "blame"):
        _check(bool((arrays[name] >= 0).all()), name)
    _check(bool((arrays["peaks"][[0, *range(3, 7)]] >= 0).all()), "peaks")
    _check(type(rows) is int and channels.possible(arrays["traces"], rows), "traces")


def _check(right: bool, name: str) -> None:
    if not right:
        raise FileError(f"snapshot must hold a valid {name}; got something else")


def _of_version_2(lanes: Lanes, arrays: Arrays, facts: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """What versions 1 and 2 wrote, as a lane knows it. Version 1 had one track, and no level, alarm or health."""
    fresh, start = Lanes(lanes.model, 1, lanes.engine).state(0)
    life, times, tally = facts["life"], facts["times"], facts["tally"]
    stream = {**start["stream"], **life, **{name: tally[name] for name in ("rows", "late", "gaps", "missing")}}
    stream |= {name: NEVER if time is None else _whole(time) for name, time in times.items()}
    stream |= {"filled": facts["filled"], "untimed": facts["untimed"]}
    stream["last_time"] = NEVER if facts["last_time"] is None else _whole(facts["last_time"])
    made = {name: arrays[name] for name in ARRAYS if name not in ("past", "blame", "peaks")}
    made["blame"] = arrays["blame"] if len(arrays["blame"]) else fresh["blame"]
    made |= {name: fresh[name].copy() for name in ("recent", "settling", "past", "peaks", *SIGNALS)}
    # Severity was how far above the threshold the score came, and goes on from there.
    calibration = lanes.model.calibration
    stream["peak"] = calibration.typical * (float(life["peak"]) / calibration.threshold) ** 2
    told = facts.get("tracks", [{"score": facts.get("score"), "negatives": facts.get("negatives"), "level": None}])
    tracks = [dict(track) for track in start["tracks"]]
    for i, (track, old) in enumerate(zip(tracks, told, strict=True)):
        track |= {"score": float(old["score"]), "negatives": old["negatives"]}
        if "tracks" not in facts:
            continue
        recent = arrays[f"recent.{i}"]
        made["recent"][i, : len(recent)] = recent
        track["met"] = len(recent) if lanes.model.calibration.tracks[i].rows > 1 else 0
        if old["level"] is not None:
            track |= {"level": float(old["level"][0]), "high": old["level"][1]}
            settling = arrays.get(f"settling.{i}")
            track["settled"] = lanes.model.settings.settle if settling is None else len(settling)
            if settling is not None:
                made["settling"][i, : len(settling)] = settling
    if "tracks" in facts:
        alarming, pulse = facts["alarming"], facts["pulse"]
        stream |= {"above": alarming["above"], "since_alarm": alarming["since"]}
        stream |= {"same_excursion": alarming["same"]}
        tracks[0]["seen"] = alarming["seen"]
        stream |= {"shares": arrays["shares"].tolist(), "weight": float(pulse["weight"]), "healthy_rows": pulse["rows"]}
    return made, {"stream": stream, "tracks": tracks, "kinds": start["kinds"]}


def _of_version_3(lanes: Lanes, arrays: Arrays, facts: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """What version 3 wrote, which knew of no excursions, as a lane knows it: whatever is beyond a limit of its own, and
    whoever is worst, has a part in the anomaly that is going on."""
    fresh, start = Lanes(lanes.model, 1, lanes.engine).state(0)
    traces, old, kinds = fresh["traces"].copy(), arrays["traces"], facts["kinds"]
    _check(old.shape == (channels.BLAME + channels.EXCURSION, traces.shape[1]) and old.dtype == traces.dtype, "traces")
    traces[: len(old)] = old
    lasted = facts["stream"]["alarmed"] if facts["stream"]["same_excursion"] else 0
    beyond = (arrays["counts"][channels.FAR_VALUE : channels.FAR_STEP + 1] != 0).any(axis=0)
    beyond[np.argmax(traces[channels.WORSE])] = True
    traces[channels.PART, beyond] = lasted
    stream = {**start["stream"], **facts["stream"], "lasted": lasted}
    tracks = [{**track, "seen": False} for track in facts["tracks"]]
    tracks[0]["seen"] = facts["stream"]["seen_by_first"]
    peaks = fresh["peaks"].copy()
    _check(arrays["peaks"].shape == (5, peaks.shape[1]) and arrays["peaks"].dtype == peaks.dtype, "peaks")
    peaks[:5] = arrays["peaks"]
    kinds = [*kinds, *start["kinds"][len(kinds) :]]
    return {**arrays, "traces": traces, "peaks": peaks}, {**facts, "stream": stream, "tracks": tracks, "kinds": kinds}


def _whole(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} where a time should be")
    return value
