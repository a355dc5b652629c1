"""Where rows come from and notices go to, as one URL: `mqtt://user:secret@host:1883/plant/#?client=hall`.

Each kind of source or sink declares its options once, as a frozen dataclass; checks, messages and docs derive from it.
What is secret in an address is never shown.
"""

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from ..errors import SettingError
from ..registry import gather
from ..wording import got, some

__all__ = ["Address", "Reached", "kind_of", "kinds", "option"]

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
VARIABLE = re.compile(r"\$\{(\w+)\}")
SECRETS = ("password", "passphrase", "secret", "token", "key", "sas", "credential", "signature")
HIDDEN = "***"
SHORTEST_SECRET = 3  # characters: what is shorter would blot out half of a message
TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

Kind = TypeVar("Kind")


class Reached(Protocol):
    """What is found by the scheme of an address: one file of a package, such as `live.sources`."""

    name: str
    schemes: tuple[str, ...]


def option(default: Any, help: str, least: float | None = None) -> Any:
    """One option of an address: a field of a frozen dataclass, of the type of its default."""
    return field(default=default, metadata={"help": help, "least": least})


@dataclass(frozen=True, repr=False)
class Address:
    """The parts of a URL, decoded. `str` and `repr` show no secrets."""

    scheme: str
    user: str
    password: str
    hosts: tuple[tuple[str, int | None], ...]  # names and ports, in order; () where there are none
    path: str  # without the first slash
    given: Mapping[str, str]  # its options, as they were written

    @classmethod
    def parse(cls, text: str, argument: str = "address") -> "Address":
        """An address from what a user wrote; `argument` names it in messages. `${NAME}` in it stands for a variable of
        the environment, so that no secret is on a command line or in a file."""
        text = VARIABLE.sub(lambda found: _of_environment(found, argument), text)
        if not SCHEME.match(text):
            raise SettingError(f"{argument} must be a URL such as mqtt://localhost/plant; got {got(text)}")
        scheme, rest = text.split("://", 1)
        rest, _, query = rest.partition("?")  # a # stays: MQTT's topics have them
        place, _, path = rest.partition("/")
        login, _, hosts = place.rpartition("@")
        user, _, password = login.partition(":")
        try:
            pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), errors="strict")
            found = tuple(_host(host) for host in hosts.split(",")) if hosts else ()
        except ValueError as error:
            raise SettingError(f"{argument} must be a URL whose parts can be read; got {error}") from None
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise SettingError(f"{argument} must give each option once; got {name!r} {names.count(name)} times")
        given = MappingProxyType(dict(pairs))
        return cls(scheme.lower(), unquote(user), unquote(password), found, unquote(path), given)

    @property
    def host(self) -> str:
        """The first host, this machine where none is named."""
        return self.hosts[0][0] if self.hosts else "localhost"

    def port(self, default: int) -> int:
        """The first host's."""
        return default if not self.hosts or self.hosts[0][1] is None else self.hosts[0][1]

    def options(self, kind: type[Kind], further: Callable[[str], bool] = lambda _: False) -> Kind:
        """What it says of the options of a kind: an instance of that dataclass. Others are refused, unless they are
        `further` ones, which are for the library that is asked for them (`rest`)."""
        known = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
        read: dict[str, Any] = {}
        for name, text in self.given.items():
            if name in known:
                read[name] = _value(name, text, known[name].default, known[name].metadata.get("least"))
            elif not further(name):
                raise SettingError(f"options of {self.scheme}:// must be among {some(sorted(known), 40)}; got {name!r}")
        return kind(**read)

    def rest(self, kind: type) -> dict[str, str]:
        """Its options that are none of this kind."""
        known = {one.name for one in fields(kind)}
        return {name: text for name, text in self.given.items() if name not in known}

    @property
    def shown(self) -> str:
        """The address without what is secret: passwords, a user alone (it may be a token), and options so named."""
        login = ""
        if self.user or self.password:
            login = f"{quote(self.user) if self.password else HIDDEN}{f':{HIDDEN}' * bool(self.password)}@"
        hosts = ",".join(_written(name, port) for name, port in self.hosts)
        options = "&".join(
            f"{quote(name)}={HIDDEN if _secret(name) else quote(text)}" for name, text in self.given.items()
        )
        path = f"/{quote(self.path, safe='/#+*$')}" if self.path else ""
        return f"{self.scheme}://{login}{hosts}{path}{f'?{options}' * bool(options)}"

    def __str__(self) -> str:
        return self.shown

    __repr__ = __str__

    def clean(self, text: object) -> str:
        """What a library says, such as an error, without the secrets of this address."""
        secrets = [self.password, *(text for name, text in self.given.items() if _secret(name))]
        secrets += [self.user] * (not self.password)
        said = str(text)
        for secret in sorted({one for one in secrets if len(one) >= SHORTEST_SECRET}, key=len, reverse=True):
            for form in (secret, quote(secret), quote(secret, safe="")):
                said = said.replace(form, HIDDEN)
        return said


def kinds(package: str) -> dict[str, Reached]:
    """What a package offers, by scheme: `kinds("live.sources")`."""
    offered = (cast(Reached, one) for one in gather(package).values() if getattr(one, "schemes", ()))
    return {scheme: one for one in offered for scheme in one.schemes}


def kind_of(package: str, address: Address, argument: str = "address") -> Any:
    """The one of a package that knows the scheme of an address."""
    known = kinds(package)
    if address.scheme not in known:
        names = ", ".join(f"{scheme}://" for scheme in sorted(known))
        raise SettingError(f"{argument} must begin with one of {names}; got {address.scheme}://")
    return known[address.scheme]


def _of_environment(found: re.Match[str], argument: str) -> str:
    value = os.environ.get(found[1])
    if value is None:
        raise SettingError(f"{argument} must name variables of the environment that are set; got {found[0]}")
    return quote(value, safe="")


def _host(text: str) -> tuple[str, int | None]:
    parts = urlsplit(f"//{text}")
    return unquote(parts.hostname or ""), parts.port


def _written(name: str, port: int | None) -> str:
    host = f"[{name}]" if ":" in name else name
    return host if port is None else f"{host}:{port}"


def _secret(name: str) -> bool:
    return any(word in name.lower() for word in SECRETS)


def _value(name: str, text: str, default: Any, least: float | None) -> Any:
    """An option's text as its default's type."""
    if isinstance(default, bool):
        if text.lower() not in TRUTH:
            raise SettingError(f"{name} must be true or false; got {text!r}")
        return TRUTH[text.lower()]
    if not isinstance(default, int | float):
        return text
    try:
        number = type(default)(text)
    except ValueError:
        what = "a whole number" if isinstance(default, int) else "a number"
        raise SettingError(f"{name} must be {what}; got {text!r}") from None
    if math.isnan(number) or (least is not None and number < least):
        raise SettingError(f"{name} must be {'a number' if least is None else f'at least {least:g}'}; got {text}")
    return number
