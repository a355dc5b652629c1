"""Where a study is kept, so that several processes share it and a killed one goes on."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import FileError, MissingExtraError, SettingError
from ..executors import HERE, Crew

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

__all__ = ["for_a_crew", "kept"]

NOT_THERE = "storage must be a file, or the URL of a database such as postgresql://HOST/NAME; got"


@contextmanager
def for_a_crew(storage: str | None, crew: Crew) -> Iterator[str | None]:
    """The storage, or a journal for as long as several processes of this machine need one to share."""
    if storage is not None or crew == HERE:
        yield storage
        return
    if crew.address is not None:
        raise SettingError(
            "storage must be one that all machines of the cluster see, who share the study by it; got none"
        )
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "study.journal")


@contextmanager
def kept(storage: str | None) -> Iterator["BaseStorage"]:
    """A journal file, a database by its URL, or nothing that lasts."""
    place = _place(storage)
    try:
        yield place
    finally:
        place.remove_session()
        engine = getattr(place, "engine", None)  # of a database: its connections stay open otherwise
        if engine is not None:
            engine.dispose()


def _place(storage: str | None) -> "BaseStorage":
    try:
        from optuna.storages import InMemoryStorage, JournalStorage, RDBStorage
        from optuna.storages.journal import JournalFileBackend
    except ImportError as error:
        raise MissingExtraError(f"tuning needs optuna ({error}): pip install 'ccmtad[tune]'") from error
    if storage is None:
        return InMemoryStorage()
    if ":" not in storage:
        path = Path(storage)
        if path.is_dir() or not path.parent.is_dir():
            raise FileError(f"storage must be a file in a folder that is there; got {storage!r}")
        try:
            return JournalStorage(JournalFileBackend(str(path)))
        except OSError as error:
            raise FileError(f"storage must be writable; got {storage!r}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise FileError(f"storage must be a journal that tune wrote; got {storage!r}: {error}") from error
    from sqlalchemy.exc import SQLAlchemyError

    shown = re.sub(r"//[^@/]*@", "//***@", storage)  # no password in a log
    try:
        return RDBStorage(re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", storage))
    except (SQLAlchemyError, ImportError, ValueError, RuntimeError) as error:
        why = str(error).strip().partition("\n")[0].replace(storage, shown)
        raise SettingError(f"{NOT_THERE} {shown!r}: {why}") from error
