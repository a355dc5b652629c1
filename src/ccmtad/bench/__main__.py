"""`python -m ccmtad.bench`: the heavy part, where only numpy, scipy, scikit-learn and torch are installed.

`ccmtad bench run` does the same with progress bars, `ccmtad bench report` makes tables of the results.
"""

import argparse
import sys

from ..errors import CcmtadError
from .flags import FLAGS, add_flags, crew_of, plan_of
from .run import Record, run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ccmtad.bench", description=__doc__)
    add_flags(parser, FLAGS)
    given = vars(parser.parse_args())
    try:
        run(plan_of(given), given["out"], crew=crew_of(given), progress=None if given["quiet"] else _tell)
    except CcmtadError as error:
        sys.exit(f"ccmtad.bench: {error}")


def _tell(done: int, planned: int, record: Record) -> None:
    print(
        f"{done} of {planned}: {record['dataset']} {record['entity']}, {record['method']}, "
        f"seed {record['seed']}, {record['seconds']['method']} + {record['seconds']['judging']} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
