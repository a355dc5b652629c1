"""Rows of the plant with a fault, in the parts that a test sends one after another."""

from functools import cache
from typing import Any

from ccmtad import Frame
from ccmtad.simulate import simulate

from .rows import as_json
from .server import Server, until

BEGINS, GOES_ON, OVER = 300, 330, 460  # rows: the fault begins; it is open for sure; it is over for sure


@cache
def faulty() -> Frame:
    """A channel is far off from row 300 to row 330."""
    frame = simulate(OVER, seed=5).frame
    values = frame.values.copy()
    values[BEGINS:GOES_ON, 3] += 6 * values[:, 3].std() + 1
    return Frame(values, frame.channels, frame.times)


def rows(first: int, last: int) -> dict[str, Any]:
    """As a request sends them."""
    return as_json(faulty(), first, last)


def begin(server: Server, entity: str) -> dict[str, Any]:
    """A fault that goes on: its event."""
    server.send(entity, **rows(0, GOES_ON))
    until(f"an event of {entity}", lambda: server.events(entity=entity, open=True))
    (event,) = server.events(entity=entity, open=True)
    return event


def end(server: Server, entity: str) -> None:
    """It is over."""
    server.send(entity, **rows(GOES_ON, OVER))
    until(f"nothing open of {entity}", lambda: not server.events(entity=entity, open=True))
