"""Files written whole or not at all, and the sealed envelope around what this library writes: refused unless it is
whole, unaltered and understood.

    magic (8 bytes) | format version (2, big-endian) | SHA-256 of the payload (32) | payload

The payload is safetensors: named arrays, and text as metadata. Opening one executes nothing.
"""

import contextlib
import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from .errors import FileError

__all__ = ["check_writable", "digest", "open_sealed", "read", "seal", "sweep", "write"]

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
        facts = json.loads(json.loads(payload[8 : 8 + length])["__metadata__"]["facts"], parse_constant=_refuse)
    except (SafetensorError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(f"{what} must hold arrays and facts as ccmtad writes them; got {error}") from error
    if not isinstance(facts, dict):
        raise FileError(f"{what} must hold its facts as an object; got {type(facts).__name__}")
    return arrays, facts


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant}, which is no number")


def digest(data: bytes) -> str:
    """The checksum of sealed bytes: what ties a snapshot to its model."""
    return data[10:HEADER].hex()


def check_writable(path: str | Path, argument: str = "path") -> None:
    """Says that a place cannot be written to before the work is done that should end there."""
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise IsADirectoryError(0, "Is a directory")
        draft = _draft(target)
        draft.touch(exist_ok=False)
        draft.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise FileError(f"{argument} must be writable; got {str(path)!r}: {why}") from error


def write(data: bytes, path: str | Path) -> None:
    """Writes the whole file or none of it: to a temporary one beside it, then renamed over it."""
    try:
        target = Path(os.path.realpath(path))  # a link stays a link
        draft = _draft(target)
        try:
            with draft.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                draft.chmod(target.stat().st_mode)
            os.replace(draft, target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        raise FileError(
            f"path must be writable; got {str(path)!r}: {getattr(error, 'strerror', None) or error}"
        ) from error


def sweep(path: str | Path) -> None:
    """Removes what killed writers of a file have left beside it; for who knows that nobody writes it now."""
    target = Path(os.path.realpath(path))
    for draft in target.parent.glob(f"{_drafts(target)}*"):
        with contextlib.suppress(OSError):
            draft.unlink()


def _drafts(target: Path) -> str:
    """How the names of its temporary files begin; a name may be too long to be part of another."""
    return f".ccm-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]}-"


def _draft(target: Path) -> Path:
    return target.parent / f"{_drafts(target)}{secrets.token_hex(8)}"


def read(path: str | Path, magic: bytes = b"") -> bytes:
    """The bytes of a file; no more than the first of one that does not begin with `magic`, however long it is."""
    try:
        with Path(path).open("rb") as file:
            first = file.read(len(magic))
            return first + file.read() if first == magic else first
    except (OSError, ValueError) as error:
        raise FileError(
            f"path must be readable; got {str(path)!r}: {getattr(error, 'strerror', None) or error}"
        ) from error
