"""`ccmtad bench`: run the benchmark, report its results, list what there is."""

import os
from inspect import Parameter, Signature
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any

import typer
from rich.table import Table

from ..bench import datasets, methods, protocol
from ..bench.flags import FLAGS, Flag, crew_of, plan_of
from ..bench.run import run
from ..errors import CcmtadError, InputError
from ..wording import printable, some
from . import show as printing

__all__ = ["as_option", "bench"]

bench = typer.Typer(
    help="The honest benchmark: floors, oracles and label-free results side by side.", no_args_is_help=True
)

Data = Annotated[
    Path | None, typer.Option(help="Folder with the datasets.", envvar="CCMTAD_DATA", show_envvar=True, file_okay=False)
]


def _run(**given: Any) -> None:
    """Run methods on datasets; one JSON line per dataset, entity, seed and method.

    Example: `ccmtad bench run --dataset MSL --method ccmtad --method pca --data datasets -o msl.jsonl`
    """
    plan = plan_of(given)
    with printing.working("Running", given["quiet"]) as show_progress:

        def tell(done: int, planned: int, record: dict[str, Any]) -> None:
            text = f"{record['dataset']} {record['entity']} seed {record['seed']} {record['method']}"
            show_progress(done / planned, printable(f"{done} of {planned}, {text}"))

        records = run(plan, given["out"], crew=crew_of(given), progress=tell)
    out = printing.safe(given["out"])
    if not given["quiet"]:
        printing.err.print(f"{len(records)} results in {out}; `ccmtad bench report {out}` makes tables of them.")


def as_option(flag: Flag) -> Parameter:
    """A flag as typer takes it."""
    kind: Any = GenericAlias(list, (flag.kind,)) if flag.many else flag.kind
    names = [f"--{flag.name}", *([flag.short] if flag.short else [])]
    option = typer.Option(*names, help=flag.means, min=flag.least, envvar=flag.variable or None)
    optional = flag.default is None
    annotation: Any = Annotated.__class_getitem__((kind | None if optional else kind, option))  # type: ignore[attr-defined]
    return Parameter(flag.name.replace("-", "_"), Parameter.KEYWORD_ONLY, default=flag.default, annotation=annotation)


_run.__signature__ = Signature([as_option(flag) for flag in FLAGS])  # type: ignore[attr-defined]
_run.__annotations__ = {name: one.annotation for name, one in _run.__signature__.parameters.items()}  # type: ignore[attr-defined]
bench.command("run")(_run)


@bench.command("report")
def report(
    results: Annotated[list[Path], typer.Argument(help="Results files of `bench run`.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write: .md or .html. Markdown to the screen if absent.")
    ] = None,
) -> None:
    """Make tables of results, with the paper's published numbers beside them.

    Example: `ccmtad bench report msl.jsonl smap.jsonl -o report.html`
    """
    from ..bench.report import markdown, page, sections
    from ..bench.run import read

    if out is not None and out.suffix not in {".md", ".html"}:
        raise InputError(f"out must end in .md or .html; got {str(out)!r}")
    records = [record for path in results for record in read(path)]
    if not records:
        raise InputError(f"results must hold at least one record; got none in {some([str(path) for path in results])}")
    parts = sections(records)
    if out is None:
        typer.echo(markdown(parts))
    else:
        out.write_text(page(parts) if out.suffix == ".html" else markdown(parts), encoding="utf-8")
        typer.echo(f"wrote {printable(str(out))}")


@bench.command("list")
def show(data: Data = None) -> None:
    """List datasets (and whether they are there), methods and columns.

    Example: `ccmtad bench list --data datasets`
    """
    console = printing.console()
    table = Table("dataset", "entities", "", box=None, padding=(0, 2, 0, 0))
    for name in datasets.known():
        found = datasets.find(name, data or Path(os.devnull))
        try:
            names = found.entities()
            if len(names) == 1:
                found.read(names[0])
            table.add_row(name, str(len(names)), "")
        except CcmtadError as error:
            table.add_row(name, "", printing.safe("missing: " + str(error).rpartition(": ")[2]))
    console.print(table)
    listed = Table("method", "", box=None, padding=(0, 2, 0, 0))
    for method in methods.known().values():
        ahead = f"; looks ahead: {method.looks_ahead}" if method.looks_ahead else ""
        listed.add_row(method.name, f"{method.means}{ahead}")
    listed.add_row("MODULE:CLASS", "any class with PyOD's fit and decision_function, such as pyod.models.ecod:ECOD")
    console.print(listed)
    columns = (protocol.__doc__ or "").partition("\n\n")[2].strip("\n")
    console.print(f"\n[bold]columns[/]\n{columns}", highlight=False)
