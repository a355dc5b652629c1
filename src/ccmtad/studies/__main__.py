"""`python -m ccmtad.studies`: `ccmtad study`, where numpy, scipy, scikit-learn and torch alone are installed.

python -m ccmtad.studies train all --data datasets --out kept --device cuda --workers 16 --minutes 9
"""

import argparse
import sys

from ..bench.flags import add_flags
from ..errors import CcmtadError
from .command import perform
from .flags import FLAGS
from .plan import Training

__all__: list[str] = []


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m ccmtad.studies", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="+", help="NAME.., all, list; or train and NAME.. to train alone")
    add_flags(parser, FLAGS)
    given = vars(parser.parse_args())
    try:
        for line in perform(given["words"], given, _tell):
            print(line, flush=True)
    except CcmtadError as error:
        sys.exit(f"ccmtad.studies: {error}")


def _tell(done: int, planned: int, training: Training) -> None:
    print(f"{done} of {planned}: {training.dataset.name} {training.entity}", flush=True)


if __name__ == "__main__":
    main()
