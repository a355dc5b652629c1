"""The commands, gathered."""

from typing import Annotated

import typer

from .. import __version__
from .backtest import backtest
from .bench import bench
from .check import check
from .demo import demo
from .detect import detect
from .feedback import confirm, dismiss, feedback, undo
from .fetch import fetch
from .fit import fit
from .fleet import fleet
from .inspect import inspect
from .recalibrate import recalibrate
from .serve import serve
from .study import study
from .tune import tune
from .watch import watch

__all__ = ["app"]

app = typer.Typer(
    help="Online anomaly detection for multivariate time series.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
# In the order they are used.
for command in (
    check,
    fetch,
    fit,
    backtest,
    detect,
    watch,
    inspect,
    dismiss,
    confirm,
    undo,
    feedback,
    recalibrate,
    demo,
):
    app.command()(command)
app.add_typer(fleet, name="fleet")
app.add_typer(serve, name="serve")
app.add_typer(bench, name="bench")
app.command()(study)
app.command()(tune)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ccmtad {__version__}")
        raise typer.Exit()


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Online anomaly detection for multivariate time series."""
