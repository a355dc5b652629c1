"""`ccmtad study`: the paper's studies."""

from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from ..studies.command import perform
from ..studies.flags import FLAGS
from ..studies.plan import Training
from . import show
from .bench import as_option

__all__ = ["study"]

Words = Annotated[
    list[str],
    typer.Argument(help="`list`; names of studies, or `all`; or `train` and names, to train alone.", metavar="WORDS"),
]


def study(words: Words, **given: Any) -> None:
    """Run the paper's studies: train what is not kept yet, judge it, and write a page with what came of each claim.

    Example: `ccmtad study modules scorer --data datasets --out kept --pages pages`
    """
    with show.working("Training", quiet=words[0] == "list") as working:

        def tell(done: int, planned: int, training: Training) -> None:
            working(done / planned, f"{done} of {planned}, {training.dataset.name} {training.entity}")

        told = list(perform(words, given, tell))
    for line in told:
        typer.echo(line)


_first = Parameter("words", Parameter.POSITIONAL_OR_KEYWORD, annotation=Words)
study.__signature__ = Signature([_first, *(as_option(flag) for flag in FLAGS)])  # type: ignore[attr-defined]
study.__annotations__ = {name: one.annotation for name, one in study.__signature__.parameters.items()}  # type: ignore[attr-defined]
