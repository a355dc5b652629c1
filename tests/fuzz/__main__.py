"""Hostile files, by the thousand: each is read, and used as far as it can be.

    python -m tests.fuzz --flips 20000 --resealed 100000 --crafted 20000 --tables 20000

A typed error is right, and so is a file that works. An error of another type, a warning, a crash, a case that takes too
long or too much memory is a finding: it is printed with its number, which makes it again (`--first`). Each two thousand
run in a process of their own, so that a crash is a finding too. `--plain` does without compiled code.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter

from .cases import KINDS, peak, run
from .victims import Victims

AT_A_TIME = 2_000


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _worker(given: argparse.Namespace) -> None:
    if given.plain:
        sys.modules["numba"] = None  # type: ignore[assignment]
    victims = Victims.make()
    run(victims, given.kind, 0, 3)  # what is loaded and compiled once is no case's memory
    told = run(victims, given.kind, given.first, given.last, given.seed, lambda number: _tell(f"begin {number}"))
    _tell(json.dumps([*told, peak()]))


def _supervise(given: argparse.Namespace, kind: str, last: int) -> tuple[Counter[str], list[str], float]:
    """Where a process dies, the next one goes on after the case that killed it. The last value: the most megabytes that
    one of them took."""
    counts: Counter[str] = Counter()
    findings: list[str] = []
    most = 0.0
    first = given.first
    while first < last:
        upto = min(first + AT_A_TIME, last)
        command = [sys.executable, "-m", "tests.fuzz", "--kind", kind, "--first", str(first), "--last", str(upto)]
        command += ["--seed", str(given.seed), *["--plain"] * given.plain]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        told = ended.stdout.splitlines() or [f"begin {first}"]
        if ended.returncode == 0:
            more, found, taken = json.loads(told[-1])
            counts, findings, first, most = counts + Counter(more), findings + found, upto, max(most, taken)
            continue
        number = int(told[-1].removeprefix("begin "))
        counts += Counter({"crash": 1, "uncounted": number - first})
        findings.append(f"{kind} {number}: crash, code {ended.returncode}: {ended.stderr[:300]}")
        first = number + 1
    return counts, findings, most


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0, help="cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="case to begin with")
    parser.add_argument("--plain", action="store_true", help="without compiled code")
    parser.add_argument("--kind", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--last", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.kind:
        _worker(given)
        return
    wrong = 0
    for kind in KINDS:
        last = given.first + getattr(given, kind)
        if last > given.first:
            began = time.monotonic()
            counts, findings, most = _supervise(given, kind, last)
            told = ", ".join(f"{number:,} {what}" for what, number in sorted(counts.items()))
            cost = f"{time.monotonic() - began:.0f} s, {most:.0f} MB at most in a process"
            _tell("\n  ".join([f"{kind}: {last - given.first:,} cases, {told}; {cost}", *findings]))
            wrong += len(findings)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
