"""How files are damaged."""

import gzip
import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccmtad import files

__all__ = ["crafted", "damaged", "flipped", "resealed"]

Random = np.random.Generator

# What may stand in a file where something else should.
ODD: tuple[Any, ...] = (
    None, True, False, "", "x", "1", "\ud800", "a\x1b[31m", [], {}, [None], [[]], {"a": 1}, -1, 0, 1, 2, 3, 10**8,
    2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 10**400, 0.5, -0.0, 5e-324, 1e-300, 1e100, 1e300, 1e308, -1e308,
    float("nan"), float("inf"), -float("inf"),
)  # fmt: skip
CELLS = (
    b"", b"nan", b"inf", b"1e308", b"-1e308", b"1e999", b"\x1b[31m", b"\xff", b"\xe2\x80\xae", b'"', b"'", b",,", b";",
    b"\n", b"\r", b"\0", b"{", b"[1]", b"9" * 400, b"0x10", b"2026-13-45", b"9999-12-31", b"1e18", b"true",
    b"\xef\xbb\xbf",
)  # fmt: skip


def flipped(data: bytes, random: Random) -> bytes:
    """A few bytes changed, or the end cut off, or some more put in."""
    made = bytearray(data)
    what = int(random.integers(4))
    if what == 0:
        return bytes(made[: int(random.integers(len(made)))])
    if what == 1:
        place = int(random.integers(len(made)))
        made[place:place] = random.bytes(int(random.integers(1, 9)))
        return bytes(made)
    for _ in range(int(random.integers(1, 4))):
        made[int(random.integers(len(made)))] ^= int(random.integers(1, 256))
    return bytes(made)


def resealed(data: bytes, random: Random) -> bytes:
    """Damaged, and sealed again as if it were whole."""
    payload = data[files.HEADER :]
    # Half of them in the header, where the shapes and the facts are.
    head = 8 + int.from_bytes(payload[:8], "little")
    payload = flipped(payload[:head], random) + payload[head:] if random.random() < 0.5 else flipped(payload, random)
    return data[:10] + hashlib.sha256(payload).digest() + payload


def crafted(data: bytes, magic: bytes, version: int, random: Random) -> bytes:
    """Well-made, with one or two things in it that no release would write."""
    arrays, facts = files.open_sealed(data, magic, version, "file")
    arrays = {name: array.copy() for name, array in arrays.items()}
    for _ in range(int(random.integers(1, 3))):
        if random.random() < 0.4 and arrays:
            _spoil_array(arrays, random)
        else:
            _spoil_fact(facts, random)
    return files.seal(magic, int.from_bytes(data[8:10], "big"), arrays, facts)


def _spoil_array(arrays: dict[str, NDArray[Any]], random: Random) -> None:
    name = str(random.choice(sorted(arrays)))
    array, what = arrays[name], int(random.integers(7))
    if what == 0:
        del arrays[name]
    elif what == 1:
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(random.choice(["f2", "f4", "f8", "i1", "i4", "i8", "u8", "?"]))
    elif what == 2:
        arrays[name] = array.reshape(-1)[: int(random.integers(array.size + 1))]
    elif what == 3:
        arrays[name] = np.concatenate([array.reshape(-1), array.reshape(-1)])
    elif what == 4:
        arrays[name] = array[None]
    else:
        real = array.dtype if array.dtype.kind == "f" else np.dtype("f8")
        info: Any = np.iinfo(array.dtype) if array.dtype.kind == "i" else np.finfo(real)
        odd = [info.max, info.min, 0, -1, 1, 10**8]
        odd += [np.nan, np.inf, -np.inf, info.tiny] if array.dtype.kind == "f" else []
        new = odd[int(random.integers(len(odd)))]
        if array.size:
            where = slice(None) if what == 5 else int(random.integers(array.size))
            with np.errstate(all="ignore"):
                array.reshape(-1)[where] = np.asarray(new).astype(array.dtype)


def _spoil_fact(facts: Any, random: Random) -> None:
    """One value somewhere in it."""
    place = facts
    while True:
        keys: list[Any] = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = keys[int(random.integers(len(keys)))]
        if not isinstance(place[key], dict | list) or not place[key] or random.random() < 0.15:
            break
        place = place[key]
    if random.random() < 0.1:
        del place[key]
    else:
        place[key] = ODD[int(random.integers(len(ODD)))]


def damaged(name: str, data: bytes, random: Random) -> bytes:
    """A table with bytes changed, or cells."""
    if name.endswith(("parquet", "gz")) or random.random() < 0.3:
        if name.endswith("gz") and random.random() < 0.7:
            return gzip.compress(damaged("t.csv", gzip.decompress(data), random), mtime=0)
        return flipped(data, random)
    lines = data.split(b"\n")
    for _ in range(int(random.integers(1, 4))):
        i = int(random.integers(len(lines)))
        mark = b"," if name == "t.csv" or b'"' not in lines[i] else b":"
        cells = lines[i].split(mark)
        cells[int(random.integers(len(cells)))] = CELLS[int(random.integers(len(CELLS)))]
        lines[i] = mark.join(cells)
    return b"\n".join(lines)
