"""A table of notices: `postgresql://user:secret@host/plant?table=events`, `sqlite:///events.db`.

A notice is a row, unique by id and revision: told again, it changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import SettingError
from ..address import option
from ..alert import Standing
from . import Letter, Sink

__all__ = ["Sql"]

DRIVERS = {"postgresql": "postgresql+psycopg", "sqlite": "sqlite"}
PATIENCE = 10  # seconds that a server may take to answer


@dataclass(frozen=True)
class SqlOptions:
    """Options of a database; others are its driver's."""

    table: str = option("ccmtad_events", "Table to write to; made on first use.")


class Sql(Sink):
    """Rows of one table, in one transaction each time."""

    name = "sql"
    schemes = ("postgresql", "sqlite")
    Options = SqlOptions
    extra = ("sqlalchemy", "sql")

    def further(self, name: str) -> bool:  # noqa: ARG002
        return self.address.scheme == "postgresql"

    def check(self) -> None:
        if not self.address.path or not self.options.table:
            raise SettingError(f"{self.address.scheme}:// must name a database; got {self.address.shown!r}")

    def load(self) -> None:
        import sqlalchemy as sa

        address, text = self.address, sa.Text
        url = sa.URL.create(DRIVERS[address.scheme], database=address.path)
        connect: dict[str, Any] = {"timeout": PATIENCE}
        if address.scheme == "postgresql":
            import psycopg  # noqa: F401

            where = (address.user or None, address.password or None, address.host, address.port(5432))
            url = url.set(username=where[0], password=where[1], host=where[2], port=where[3])
            connect = {"connect_timeout": PATIENCE, "options": f"-c statement_timeout={PATIENCE * 1_000}"}
            connect |= address.rest(SqlOptions)
        self.engine = sa.create_engine(url, connect_args=connect, poolclass=sa.NullPool, hide_parameters=True)
        self.table = sa.Table(
            self.options.table, sa.MetaData(),
            sa.Column("id", sa.String(500), primary_key=True), sa.Column("revision", sa.Integer, primary_key=True),
            sa.Column("change", sa.String(20), nullable=False), sa.Column("entity", text, nullable=False),
            sa.Column("kind", sa.String(40), nullable=False), sa.Column("severity", sa.Float, nullable=False),
            sa.Column("start_time", sa.String(40)), sa.Column("end_time", sa.String(40)),
            sa.Column("sentence", text, nullable=False), sa.Column("notice", text, nullable=False),
        )  # fmt: skip
        self._made = False

    def deliver(self, letters: Sequence[Letter], standings: Sequence[Standing]) -> None:  # noqa: ARG002
        import sqlalchemy as sa

        columns = [one.name for one in self.table.columns if one.name != "notice"]
        with self.engine.begin() as connection:
            if not self._made:
                self.table.create(connection, checkfirst=True)
            for letter in letters:
                row = {name: letter.notice[name] for name in columns} | {"notice": letter.line.decode()}
                try:
                    with connection.begin_nested():
                        connection.execute(sa.insert(self.table).values(**row))
                except sa.exc.IntegrityError:
                    continue  # it is there already
        self._made = True

    def close(self) -> None:
        self.engine.dispose()
