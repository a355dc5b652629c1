"""`ccmtad serve`: the live service, and its keys."""

import logging
import time as clock
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError, MissingExtraError
from . import show
from .options import Json, Quiet

if TYPE_CHECKING:
    from ..serve.keys import Keys

__all__ = ["serve"]

serve = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")
keys = typer.Typer(no_args_is_help=True, help="The keys that requests need.", rich_markup_mode="markdown")
serve.add_typer(keys, name="keys")

Store = Annotated[
    str, typer.Option("--store", help="SQLite file, or a URL: sqlite:///plant.db, postgresql://host/name.")
]
STORE = "ccmtad.db"
DAY = 86_400.0


@serve.callback()
def service(
    context: typer.Context,
    models: Annotated[
        Path | None, typer.Option(help="Folder of model files that `fit` wrote, NAME.ccm each.", show_default=False)
    ] = None,
    store: Store = STORE,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8787,
    address: Annotated[
        str, typer.Option(help="URL that other services on this store reach this one by.", show_default=False)
    ] = "",
    no_keys: Annotated[bool, typer.Option("--no-keys", help="Ask for no key; only on this machine itself.")] = False,
    keep_rows: Annotated[float, typer.Option(help="Days that rows and scores are kept.")] = 30.0,
    keep_events: Annotated[float, typer.Option(help="Days that events are kept after their end.")] = 365.0,
    silence: Annotated[
        float, typer.Option(help="Seconds without a row, at the least, that are told as lost; 0 tells nothing.")
    ] = 60.0,
    grace: Annotated[float, typer.Option(help="Seconds that single values may come late.")] = 5.0,
    ahead: Annotated[
        float, typer.Option(help="Seconds that single values may be ahead of this machine's clock; 0 takes all.")
    ] = 300.0,
    entity_label: Annotated[
        list[str] | None,
        typer.Option(
            help="Label of pushed values that names their entity; repeatable, the first that is there counts.",
            show_default="instance, host, service.instance.id, host.name, service.name",
        ),
    ] = None,
    drop_label: Annotated[
        list[str] | None,
        typer.Option(help="Label of pushed values that is no part of their tag; repeatable.", show_default="job"),
    ] = None,
    rate: Annotated[float, typer.Option(help="Requests a second that one key may make.")] = 2_000.0,
    queue: Annotated[int, typer.Option(help="MiB of rows that may wait to be written.")] = 64,
    lease: Annotated[
        float, typer.Option(help="Seconds without a sign of life after which another service takes over.")
    ] = 15.0,
    alertmanager: Annotated[
        list[str] | None, typer.Option(help="URL of an Alertmanager to tell of events; repeatable.")
    ] = None,
    alert_interval: Annotated[
        float, typer.Option(help="Seconds after which an Alertmanager is told of an open event again.")
    ] = 60.0,
    critical: Annotated[
        float, typer.Option(help="Severity from which an alert is critical; below, it is a warning.")
    ] = 10.0,
    webhook_attempts: Annotated[int, typer.Option(help="Attempts to deliver to a webhook.")] = 10,
    webhook_wait: Annotated[
        float, typer.Option(help="Seconds before the second attempt; three times as many before each that follows.")
    ] = 5.0,
    webhook_timeout: Annotated[float, typer.Option(help="Seconds that a webhook's receiver has to answer.")] = 10.0,
    webhook_target: Annotated[
        list[str] | None,
        typer.Option(help="Addresses that webhooks may lead to: a network, or `public`; repeatable. Any if absent."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Serve models over HTTP: rows in, events out, nothing acknowledged is lost.

    One stream for each entity, made on its first row. The first start makes a key and prints it once. Ends on Ctrl-C.

    Example: `ccmtad serve --models models --store plant.db`
    """
    if context.invoked_subcommand is not None:
        return
    if models is None:
        raise InputError("models must be a folder of model files; got none")
    _needed()
    from ..live.labels import DROP_LABELS, ENTITY_LABELS
    from ..serve.run import run
    from ..serve.settings import MIB, ServeSettings

    show.notes(quiet)
    settings = ServeSettings(
        models=models, store=store, host=host, port=port, address=address.rstrip("/"), keys=not no_keys,
        keep_rows=keep_rows * DAY, keep_events=keep_events * DAY, silence=silence, grace=grace, ahead=ahead, rate=rate,
        queue=queue * MIB, lease=lease, alertmanagers=tuple(alertmanager or ()), alert_interval=alert_interval,
        critical=critical, webhook_attempts=webhook_attempts, webhook_wait=webhook_wait,
        webhook_timeout=webhook_timeout, webhook_targets=tuple(webhook_target or ()),
        entity_labels=ENTITY_LABELS if entity_label is None else tuple(entity_label),
        drop_labels=DROP_LABELS if drop_label is None else tuple(drop_label),
    )  # fmt: skip
    logging.getLogger("ccmtad").setLevel(logging.WARNING)
    run(settings, lambda text: print(text, flush=True))


@keys.command("list")
def list_keys(store: Store = STORE, json: Json = False) -> None:
    """List keys, without their secrets.

    Example: `ccmtad serve keys list --store plant.db`
    """
    with _keys(store) as kept:
        found = kept.all()
    if json:
        show.as_json({"keys": [{**vars(key), "scopes": list(key.scopes)} for key in found]})
        return
    table = show.plain_table("id", "name", "scopes", "made", "state")
    for key in found:
        made = clock.strftime("%Y-%m-%d %H:%M:%S", clock.gmtime(key.made / 1e9))
        table.add_row(
            key.id, show.safe(key.name), ", ".join(key.scopes), made, "in use" if not key.revoked else "ended"
        )
    show.out.print(table)


@keys.command("add")
def add_key(
    name: Annotated[str, typer.Argument(help="Who it is for.", show_default=False)],
    scope: Annotated[list[str] | None, typer.Option(help="read, write or admin; repeatable. Read if absent.")] = None,
    store: Store = STORE,
) -> None:
    """Make a key, and print it: this once.

    Example: `ccmtad serve keys add gateway --scope write --store plant.db`
    """
    with _keys(store) as kept:
        _, text = kept.make(name, tuple(dict.fromkeys(scope or ["read"])))
    print(text)


@keys.command("rotate")
def rotate_key(
    number: Annotated[str, typer.Argument(metavar="ID", help="Id of a key.", show_default=False)], store: Store = STORE
) -> None:
    """Replace a key by a new one with the same name and scopes, and print that.

    Example: `ccmtad serve keys rotate 0123456789abcdef --store plant.db`
    """
    with _keys(store) as kept:
        _, text = kept.rotate(number)
    print(text)


@keys.command("revoke")
def revoke_key(
    number: Annotated[str, typer.Argument(metavar="ID", help="Id of a key.", show_default=False)], store: Store = STORE
) -> None:
    """End a key.

    Example: `ccmtad serve keys revoke 0123456789abcdef --store plant.db`
    """
    with _keys(store) as kept:
        kept.revoke(number)


@contextmanager
def _keys(url: str) -> "Iterator[Keys]":
    _needed()
    from ..serve.keys import Keys
    from ..serve.store.store import Store

    store = Store(url)
    try:
        yield Keys(store)
    finally:
        store.close()


def _needed() -> None:
    try:
        import alembic  # noqa: F401
        import fastapi  # noqa: F401
        import orjson  # noqa: F401
        import prometheus_client  # noqa: F401
        import sqlalchemy  # noqa: F401
        import standardwebhooks  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(f"serving needs {error.name}: pip install 'ccmtad[serve]'") from error
