"""The sink that an address names."""

import os
import re
from urllib.parse import quote

from ...errors import SettingError
from ..address import Address, kind_of
from . import Sink

__all__ = ["reached"]

VARIABLE = re.compile(r"\$\{(\w+)\}")


def reached(url: str) -> Sink:
    """A sink by its URL. `${NAME}` in it stands for a variable of the environment, so that no secret is on a command
    line or in a file."""
    address = Address.parse(VARIABLE.sub(_of_environment, url), "sink")
    kind: type[Sink] = kind_of("live.sinks", address, "sink")
    return kind(address)


def _of_environment(found: re.Match[str]) -> str:
    value = os.environ.get(found[1])
    if value is None:
        raise SettingError(f"sink must name variables of the environment that are set; got {found[0]}")
    return quote(value, safe="")
