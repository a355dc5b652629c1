"""Bodies as they travel: plain, gzip (one member or several, one after the other), or a snappy block."""

import zlib

from ...errors import MissingExtraError
from ..refusal import Refusal
from .series import malformed

__all__ = ["unpacked"]

GZIP = 16 + zlib.MAX_WBITS


def unpacked(body: bytes, encoding: str, most: int) -> bytes:
    """What was packed, of at most so many bytes: no more than that is ever unpacked."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding in ("gzip", "x-gzip"):
        return _gzip(body, most)
    if encoding == "snappy":
        return _snappy(body, most)
    raise Refusal(415, "bad-encoding", "content encoding must be gzip, snappy or none")


def _gzip(body: bytes, most: int) -> bytes:
    parts, size, rest = [], 0, body
    while rest:
        member = zlib.decompressobj(GZIP)
        try:
            part = member.decompress(rest, most - size + 1)
        except zlib.error as error:
            raise malformed(f"body must be gzip; got {error}") from error
        size += len(part)
        if size > most:
            raise _too_large(most)
        if not member.eof:
            raise malformed("body must be gzip; it ends too early")
        parts.append(part)
        rest = member.unused_data.lstrip(b"\0")  # members may be padded
    return b"".join(parts)


def _snappy(body: bytes, most: int) -> bytes:
    try:
        import cramjam
    except ImportError as error:
        raise MissingExtraError(f"remote write needs {error.name}: pip install 'ccmtad[push]'") from error
    try:
        if cramjam.snappy.decompress_raw_len(body) > most:
            raise _too_large(most)
        return bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise malformed(f"body must be a snappy block; got {error}") from error


def _too_large(most: int) -> Refusal:
    return Refusal(413, "too-large", f"body must have at most {most:,} bytes when unpacked")
