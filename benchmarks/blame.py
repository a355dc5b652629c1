"""Is the right channel blamed? `python benchmarks/blame.py DATA [machines]` (a minute a machine).

SMD says of every labelled event which channels it was about. Of those that an event of ours overlaps: how often the
channel blamed first is one of them, and how often one of the first three; beside it, what naming channels at random
would give.
"""

import sys
from pathlib import Path

import numpy as np

from ccmtad import Detector
from ccmtad.bench import datasets


def main(folder: Path, machines: int) -> None:
    data = datasets.find("SMD", folder)
    total = np.zeros(5)
    for name in data.entities()[:machines]:
        entity = data.read(name)
        found = Detector().fit(entity.train).detect(entity.test)
        channels = list(found.frame.channels)
        here = np.zeros(5)
        for first, last, causes in entity.truth.causes:
            named = next(
                (
                    [channels.index(channel) for channel in event.channels[:3]]
                    for event in found.events
                    if event.start <= last and (event.end is None or event.end >= first) and event.channels
                ),
                None,
            )
            here[0] += 1
            if named is not None:
                share = len(causes) / len(channels)
                here[1:] += 1, named[0] in causes, bool(set(named) & set(causes)), share
        total += here
        show(name, here)
    show("all", total)


def show(name: str, counts: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> None:
    events, found, first, three, share = counts
    each = max(found, 1)
    print(
        f"{name:14} {found:3.0f} of {events:3.0f} events found; blamed first {first / each:.2f}, "
        f"among three {three / each:.2f}; at random {share / each:.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 28)
