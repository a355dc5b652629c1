"""`python -m ccmtad.bench`: the heavy part, where only numpy, scipy, scikit-learn and torch are installed.

`ccmtad bench run` does the same with progress bars, `ccmtad bench report` makes tables of the results.
"""

import argparse
import os
import sys
from typing import Any

from ..errors import CcmtadError
from .flags import FLAGS, plan_of
from .run import Record, run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ccmtad.bench", description=__doc__)
    for flag in FLAGS:
        names = [f"--{flag.name}", *([flag.short] if flag.short else [])]
        if flag.kind is bool:
            parser.add_argument(*names, action="store_true", help=flag.means)
        else:
            default = os.environ.get(flag.variable) if flag.variable else flag.default
            rest: dict[str, Any] = {"action": "extend", "nargs": "+"} if flag.many else {}
            if default is not None and not flag.many:
                rest["default"] = flag.kind(default)
            parser.add_argument(*names, type=flag.kind, help=flag.means, **rest)
    given = vars(parser.parse_args())
    try:
        run(plan_of(given), given["out"], workers=given["workers"], progress=_tell)
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
