"""Influx line protocol: `measurement,tag=a,other=b field=1.5,count=3i 1700000000000000000`."""

import re

from ...live.labels import Labels
from .series import Body, Series, malformed

__all__ = ["precision_of", "read"]

UNITS = {"n": 1, "u": 10**3, "µ": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
UNITS |= {"": 1, "ns": 1, "us": 10**3}
HEAD = re.compile(r"((?:[^ \\]|\\.)+) +", re.DOTALL)
PART = re.compile(r"(?:[^,\\]|\\.)+", re.DOTALL)
PAIR = re.compile(r"((?:[^=\\]|\\.)+)=((?:[^=\\]|\\.)+)", re.DOTALL)
FIELD = re.compile(r'((?:[^=, \\]|\\.)+)=("(?:[^"\\]|\\.)*"|[^", ]+)(,|$| +)', re.DOTALL)
ESCAPED = re.compile(r"\\([,= ])")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf|nan", re.IGNORECASE)
WHOLE = re.compile(r"([+-]?\d{1,20})[iu]")
TIME = re.compile(r"-?\d{1,19}")
TRUTHS = dict.fromkeys(("t", "T", "true", "True", "TRUE"), 1.0) | dict.fromkeys(
    ("f", "F", "false", "False", "FALSE"), 0.0
)
ALONE = "value"  # a field of this name adds nothing to that of its measurement


def precision_of(text: str) -> int:
    """Nanoseconds in the unit that times count."""
    if text not in UNITS:
        raise malformed(f"precision must be one of ns, us, ms, s, m, h; got {text[:20]!r}")
    return UNITS[text]


def read(body: bytes, unit: int, now: int) -> Body:
    """The series of all lines; a line without a time is of now. A line that is none is left out."""
    found, lines = Body(), 0
    for number, raw in enumerate(body.split(b"\n"), 1):
        try:
            line = raw.decode().strip()
            if line and not line.startswith("#"):
                lines += 1
                found.series += _series(line, unit, now)
        except UnicodeDecodeError:
            lines += 1
            found.leave_out(f"line {number} must be UTF-8")
        except ValueError as error:
            found.leave_out(f"line {number} {error}")
    if not lines:
        raise malformed("body must hold at least one line; got none")
    if found.refused == lines:
        raise malformed(f"body must be lines such as 'plant,host=works flow=2.4 1700000000'; {found.notes[0]}")
    return found


def _series(line: str, unit: int, now: int) -> list[Series]:
    head = HEAD.match(line)
    if head is None:
        raise ValueError("must have a measurement and fields")
    measurement, *tags = PART.findall(head[1])
    labels: Labels = tuple(_tag(one) for one in tags)
    fields, place, after = dict[str, float](), head.end(), ","
    while after == ",":
        field = FIELD.match(line, place)
        if field is None:
            raise ValueError("must have fields such as flow=2.4,count=3i")
        value = _number(field[2])
        if value is not None:
            fields[_plain(field[1])] = value
        place, after = field.end(), field[3]
    rest = line[place:].strip()
    if rest and TIME.fullmatch(rest) is None:
        raise ValueError("must end with a time that is a whole number")
    time = int(rest) * unit if rest else now
    name = _plain(measurement)
    return [
        Series(name if field == ALONE else f"{name}_{field}", labels, ((value, time),))
        for field, value in fields.items()
    ]


def _tag(text: str) -> tuple[str, str]:
    pair = PAIR.fullmatch(text)
    if pair is None:
        raise ValueError("must have tags such as host=works")
    return _plain(pair[1]), _plain(pair[2])


def _number(text: str) -> float | None:
    """A value; None where it is text, of which no row is made."""
    if text.startswith('"'):
        return None
    if text in TRUTHS:
        return TRUTHS[text]
    whole = WHOLE.fullmatch(text)
    if whole is None and NUMBER.fullmatch(text) is None:
        raise ValueError(f"must have numbers, truths or quoted text in its fields; got {text[:40]!r}")
    return float(whole[1] if whole else text)


def _plain(text: str) -> str:
    return ESCAPED.sub(r"\1", text) if "\\" in text else text
