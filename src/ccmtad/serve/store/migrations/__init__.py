"""The tables of every version, one file for each step; Alembic runs those that are missing."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine

from ..dialects import Dialect

__all__ = ["upgrade"]


def upgrade(engine: Engine, dialect: Dialect) -> None:
    """To the newest version. Of two processes that start at once, one waits for the other."""
    with engine.begin() as connection:
        dialect.in_turn(connection)
        command.upgrade(_config(connection), "head")


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
