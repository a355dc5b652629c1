"""The sealed envelope around everything this library writes: refused unless it is whole, unaltered and understood.

    magic (8 bytes) | format version (2, big-endian) | SHA-256 of the payload (32) | payload

The payload is safetensors: named arrays, and text as metadata. Opening one executes nothing.
"""

import hashlib
import json
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from ..errors import FileError

__all__ = ["digest", "open_sealed", "seal"]

Arrays = dict[str, NDArray[Any]]

HEADER = 8 + 2 + 32


def seal(magic: bytes, version: int, arrays: Arrays, facts: dict[str, Any]) -> bytes:
    """Arrays and JSON facts as sealed bytes."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    payload = safetensors.numpy.save(whole, metadata={"facts": json.dumps(facts, sort_keys=True)})
    return magic + version.to_bytes(2, "big") + hashlib.sha256(payload).digest() + payload


def open_sealed(data: bytes, magic: bytes, version: int, what: str) -> tuple[Arrays, dict[str, Any]]:
    """What `seal` was given; `what` names the thing in error messages."""
    if data[:8] != magic:
        raise FileError(
            f"{what} must be a file of its kind that ccmtad wrote; got {data[:8]!r}: this is another kind of file"
        )
    if len(data) < HEADER:
        raise FileError(f"{what} must be whole; got only {len(data)} bytes")
    found = int.from_bytes(data[8:10], "big")
    if not 1 <= found <= version:
        newer = ": it was written by a newer release of ccmtad" if found > version else ""
        raise FileError(f"{what} must be of format version {version} or older; got {found}{newer}")
    payload = data[HEADER:]
    if hashlib.sha256(payload).digest() != data[10:HEADER]:
        raise FileError(f"{what} must match its checksum; got {len(data)} bytes that do not: truncated or altered")
    try:
        arrays = safetensors.numpy.load(payload)
        length = int.from_bytes(payload[:8], "little")
        facts = json.loads(json.loads(payload[8 : 8 + length])["__metadata__"]["facts"])
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileError(f"{what} must hold arrays and facts as ccmtad writes them; got {error}") from error
    if not isinstance(facts, dict):
        raise FileError(f"{what} must hold its facts as an object; got {type(facts).__name__}")
    return arrays, facts


def digest(data: bytes) -> str:
    """The checksum of sealed bytes: what ties a snapshot to its model."""
    return data[10:HEADER].hex()
