"""Does a dismissal hold, and does it cost anything else? `python benchmarks/dismissed.py [NAME=VALUE ..]`.

The simulated plant with ten equal faults in one channel, for several channels: the first that was found is dismissed,
and the others are judged again. Then the faults of every other channel: those found before should still be found.
"""

import sys

from ccmtad import Detector, Settings
from ccmtad.results import Event
from ccmtad.simulate import Fault, Run, simulate

ROWS, EVERY, LASTS, AFTER = 10_000, 900, 90, 24
CASES = {
    "FIT401": ("sensor bias", ("FIT401",), 6.0),
    "LIT101": ("sensor bias", ("LIT101",), 6.0),
    "PIT101": ("sensor bias", ("PIT101",), 6.0),
    "FIT501": ("sensor bias", ("FIT501",), 6.0),
    "MV101": ("stuck valve", ("MV101", "FIT101", "LIT101"), 3.0),
}


def faults(channel: str) -> list[Fault]:
    """Ten of them, alike."""
    kind, affected, size = CASES[channel]
    starts = range(EVERY, ROWS - EVERY, EVERY)
    return [Fault(kind, channel, start, start + LASTS - 1, size, affected) for start in starts]  # type: ignore[arg-type]


def raised(detector: Detector, run: Run) -> list[Event | None]:
    """The first event of each fault."""
    events = detector.detect(run.frame).events
    return [
        next((one for one in events if fault.start <= one.alarm <= fault.end + AFTER), None) for fault in run.faults
    ]


def main(settings: list[str]) -> None:
    detector = Detector(**{"seed": 0, **Settings.read(settings)}).fit(simulate(ROWS, seed=1).frame)
    runs = {channel: simulate(ROWS, seed=2, faults=faults(channel)) for channel in CASES}
    before = {channel: raised(detector, run) for channel, run in runs.items()}
    totals = [0, 0, 0, 0]
    print(f"{'dismissed':10} {'found':>6} {'again':>6} {'others':>7} {'still found':>12}")
    for channel, run in runs.items():
        found = [one for one in before[channel] if one is not None]
        if not found:
            print(f"{channel:10} {0:6}")
            continue
        detector.dismiss(found[0])
        again = raised(detector, run)
        told = [one is not None for one in before[channel]]
        told[told.index(True)] = False  # the one that was dismissed
        lost: list[str] = []
        figures = [sum(told), sum(one is not None for one, was in zip(again, told, strict=True) if was), 0, 0]
        for other, its in runs.items():
            if other != channel:
                was = [one is not None for one in before[other]]
                now = raised(detector, its)
                figures[2] += sum(was)
                kept = sum(one is not None for one, there in zip(now, was, strict=True) if there)
                figures[3] += kept
                lost += [f"{sum(was) - kept} of {sum(was)} in {other}"] * (kept < sum(was))
        detector.undo(found[0])
        print(f"{channel:10} {figures[0]:6} {figures[1]:6} {figures[2]:7} {figures[3]:12}", *lost, flush=True)
        totals = [a + b for a, b in zip(totals, figures, strict=True)]
    print(f"{'all':10} {totals[0]:6} {totals[1]:6} {totals[2]:7} {totals[3]:12}")


if __name__ == "__main__":
    main(sys.argv[1:])
