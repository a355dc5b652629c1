"""`ccmtad bench`: run the benchmark, report its results, list what there is."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from ..errors import CcmtadError, InputError, MissingExtraError
from ..settings import Settings

__all__ = ["bench"]

bench = typer.Typer(
    help="The honest benchmark: floors, oracles and label-free results side by side.", no_args_is_help=True
)

Data = Annotated[
    Path | None, typer.Option(help="Folder with the datasets.", envvar="CCMTAD_DATA", show_envvar=True, file_okay=False)
]


@bench.command("run")
def run(
    dataset: Annotated[list[str] | None, typer.Option(help="MSL, SMAP, SMD, PSM, SWaT or WADI; repeatable.")] = None,
    data: Data = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Results file; an unfinished one goes on.")] = Path(
        "results.jsonl"
    ),
    method: Annotated[list[str] | None, typer.Option(help="Method, repeatable; all where none is given.")] = None,
    entity: Annotated[list[str] | None, typer.Option(help="Only this entity; repeatable.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0, 1, ..")] = 3,
    preset: Annotated[str, typer.Option(help="default, paper, or authors (the paper's own, per entity).")] = "default",
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE put over the preset; repeatable.")
    ] = None,
    combined: Annotated[bool, typer.Option("--combined", help="Protocol 1: one model over all entities.")] = False,
    oracle_epoch: Annotated[
        bool, typer.Option("--oracle-epoch", help="Also choose the epoch on test labels, in a column that says so.")
    ] = False,
    point_adjusted: Annotated[
        bool, typer.Option("--point-adjusted", help="Also compute point-adjusted F1, which misleads.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes side by side.")] = 1,
    train: Annotated[Path | None, typer.Option(help="Your own data: CSV or Parquet to learn from.")] = None,
    test: Annotated[Path | None, typer.Option(help="Your own data: CSV or Parquet to judge, with labels.")] = None,
    label: Annotated[str, typer.Option(help="Label column of your own data, 0 and 1.")] = "label",
    time: Annotated[str | None, typer.Option(help="Time column of your own data.")] = None,
) -> None:
    """Run methods on datasets; one JSON line per dataset, entity, seed and method.

    Example: `ccmtad bench run --dataset MSL --method ccmtad --method pca --data datasets -o msl.jsonl`
    """
    try:
        from ..bench import datasets, methods
        from ..bench.run import Plan
        from ..bench.run import run as run_plan
    except ImportError as error:
        raise MissingExtraError(f"the benchmark needs {error.name}: pip install 'ccmtad[bench,train,cli]'") from error
    chosen: list[Any] = [datasets.find(name, _folder(data)) for name in dataset or []]
    if train is not None or test is not None:
        if train is None or test is None:
            raise InputError("train and test must be given together; got only one of them")
        chosen.append(datasets.Pair(train, test, label, time))
    if not chosen:
        raise InputError("bench run must have a --dataset, or --train and --test; got neither")
    plan = Plan(
        tuple(chosen),
        tuple(method or methods.METHODS),
        seeds,
        preset,
        Settings.read(setting or []),
        combined,
        oracle_epoch,
        point_adjusted,
        tuple(entity or ()),
    )
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("starting", total=None)

        def tell(done: int, planned: int, record: dict[str, Any]) -> None:
            text = f"{record['dataset']} {record['entity']} seed {record['seed']} {record['method']}"
            progress.update(task, completed=done, total=planned, description=text)

        records = run_plan(plan, out, workers=workers, progress=tell)
    console.print(f"{len(records)} results in {out}; `ccmtad bench report {out}` makes tables of them.")


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
        raise InputError(f"results must hold at least one record; got none in {', '.join(map(str, results))}")
    parts = sections(records)
    if out is None:
        typer.echo(markdown(parts))
    else:
        out.write_text(page(parts) if out.suffix == ".html" else markdown(parts), encoding="utf-8")
        typer.echo(f"wrote {out}")


@bench.command("list")
def show(data: Data = None) -> None:
    """List datasets (and whether they are there), methods and columns.

    Example: `ccmtad bench list --data datasets`
    """
    from ..bench import datasets, methods, protocol

    console = Console()
    table = Table("dataset", "entities", "", box=None, padding=(0, 2, 0, 0))
    for name in datasets.DATASETS:
        found = datasets.find(name, data or Path(os.devnull))
        try:
            names = found.entities()
            if len(names) == 1:
                found.read(names[0])
            table.add_row(name, str(len(names)), "")
        except CcmtadError as error:
            table.add_row(name, "", "missing: " + str(error).rpartition(": ")[2])
    console.print(table)
    for title, module in (("methods", methods), ("columns", protocol)):
        console.print(
            f"\n[bold]{title}[/]\n{(module.__doc__ or '').partition(chr(10) * 2)[2].strip(chr(10))}", highlight=False
        )


def _folder(data: Path | None) -> Path:
    if data is None:
        raise InputError("data must name the folder with the datasets, or CCMTAD_DATA must; got neither")
    return data
