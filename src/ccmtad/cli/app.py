"""The commands, gathered."""

from typing import Annotated

import typer

from .. import __version__
from .bench import bench
from .demo import demo

__all__ = ["app"]

app = typer.Typer(
    help="Online anomaly detection for multivariate time series.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)
app.command()(demo)
app.add_typer(bench, name="bench")


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
