"""Rows of files in object storage: `s3://bucket/plant/`, `gs://`, `az://`, `file:///var/plant/`. CSV, JSON lines and
Parquet, in the order of their names. The place is a name, and how many rows of that object were taken."""

import logging
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from ...errors import InputError, SettingError
from ...tables import read
from ...tables.lines import BadLineError, Parser, Row
from ...tables.unpacked import GZIP, Bound, gunzipped
from ..address import option
from .connected import Connected
from .payload import Message, PayloadOptions

__all__ = ["Objects"]

log = logging.getLogger("ccmtad")

PARQUET = b"PAR1"  # how such a file begins
PATIENCE = 10.0  # seconds that the storage may take
CLIENT = ("allow_http", "allow_invalid_certificates", "connect_timeout", "timeout", "proxy_url", "user_agent")


@dataclass(frozen=True)
class ObjectsOptions(PayloadOptions):
    """Options of s3://, gs:// and az://; those of the storage, such as endpoint and region, are known to obstore."""

    every: float = option(5.0, "Seconds between two looks for new objects.", least=0)
    age: float = option(0.0, "Seconds since its last change after which an object is read.", least=0)


class Objects(Connected):
    """Objects are written once, each with a later name than those before: what comes before one that was read is not
    seen. One that cannot be read is left out, whole."""

    name = "objects"
    schemes = ("s3", "gs", "az", "file")
    extra = ("obstore", "objects")
    Options = ObjectsOptions

    def further(self, name: str) -> bool:
        return self.address.scheme != "file" and name.isidentifier()

    def check(self) -> None:
        if self.address.scheme == "file" and (self.address.hosts or not self.address.path):
            raise SettingError(
                f"file:// must name a folder, from the root: file:///var/plant; got {self.address.shown!r}"
            )
        if self.address.scheme != "file" and not self.address.hosts:
            raise SettingError(f"{self.address.scheme}:// must name a bucket; got {self.address.shown!r}")

    def load(self) -> tuple[type[Exception], ...]:
        import obstore
        from obstore import exceptions, store

        self._library = obstore
        self._look_again = 0.0
        try:
            self._store = self._made(store)
        except (exceptions.BaseError, ValueError, OSError) as error:
            known = self.address.clean(error)
            raise SettingError(f"options of {self.address.scheme}:// must be known to obstore: {known}") from None
        return exceptions.BaseError, OSError

    def _made(self, store: Any) -> Any:
        if self.address.scheme == "file":
            self._prefix = None
            return None  # the folder need not be there yet
        self._prefix = self.address.path.rstrip("/") or None
        given = self.address.rest(ObjectsOptions)
        client: dict[str, Any] = {name: given.pop(name) for name in CLIENT if name in given}
        endpoint = next((text for name, text in given.items() if name.lower().endswith("endpoint")), "")
        if endpoint.startswith("http://"):
            client["allow_http"] = "true"
        retries = {"max_retries": 1, "retry_timeout": timedelta(seconds=PATIENCE)}  # we try again ourselves, and say so
        place = f"{self.address.scheme}://{self.address.host}"
        return store.from_url(place, config=given, client_options=client, retry_config=retries)

    def identity(self) -> str:
        return f"{self.name} {self.address.host if self.address.hosts else ''}/{self.address.path}"

    def connect(self) -> None:
        from obstore import store

        self._look_again = 0.0
        if self.address.scheme == "file":
            self._store = store.LocalStore(f"/{self.address.path}")

    def disconnect(self) -> None:
        """Nothing is held."""

    def fetch(self, seconds: float) -> list[Message] | None:
        now = time.monotonic()
        if now < self._look_again:
            time.sleep(min(seconds, self._look_again - now))
            return None
        if self.address.scheme == "file" and not Path(f"/{self.address.path}").is_dir():
            raise FileNotFoundError(f"there is no folder /{self.address.path}")  # listing it would find nothing
        name, done = self.place or ("", None)
        if done is not None and (rest := self._messages(name, done)):
            return rest
        for one in self._later(name):
            if one["last_modified"].timestamp() > time.time() - self.options.age:
                break
            if messages := self._messages(one["path"], 0):
                return messages
            self.place = [one["path"], None]
        self._look_again = time.monotonic() + self.options.every
        return None

    def _later(self, name: str) -> list[Any]:
        found = self._library.list(self._store, self._prefix, offset=name or None, chunk_size=1_000)
        return sorted((one for chunk in found for one in chunk if one["path"] > name), key=lambda one: one["path"])

    def _messages(self, name: str, done: int) -> list[Message]:
        """The rows of an object after so many of them."""
        try:
            data = bytes(self._library.get(self._store, name).bytes())
            rows = list(self._rows(name, data))[done:]
        except FileNotFoundError:
            log.warning("object %r was removed before it was read to its end", name)
            return []
        except InputError as error:
            self.payloads.leave_out(f"object {name!r}", error)
            return []
        last = done + len(rows)
        return [Message(row, [name, i if i < last else None], name) for i, row in enumerate(rows, done + 1)]

    def _rows(self, name: str, data: bytes) -> Iterator[Row]:
        model, reading = self.payloads.model, self.payloads.reading
        if data.startswith(PARQUET):
            yield from self._parquet(name, data)
            return
        if data.startswith(GZIP):
            data = gunzipped(data, Bound(f"object {name!r}", reading.largest, len(data)))
        parser = Parser(model.channels, model.named, reading)
        for number, line in enumerate(data.split(b"\n"), 1):
            try:
                row = parser.row(line) if parser.kind else parser.first(line)
            except BadLineError as error:
                self.payloads.leave_out(f"line {number} of object {name!r}", error)
                continue
            if row is not None:
                yield row

    def _parquet(self, name: str, data: bytes) -> Iterator[Row]:
        model, reading = self.payloads.model, self.payloads.reading
        with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
            file.write(data)
            file.flush()
            frame = read(file.name, reading, fitted=model.channels if model.named else (), argument="object")
        frame = frame.align(model.channels, named=model.named, argument=f"object {name!r}")
        times = (
            [None] * len(frame) if frame.times is None else frame.times.astype("datetime64[ns]").astype(int).tolist()
        )
        for values, when in zip(frame.values.tolist(), times, strict=True):
            yield Row(values, when)
