"""Where a webhook may lead. An administrator gives the URL; a setting says which addresses may be reached.

With no rule, any. `public` is every address of the open internet: not this machine's, nor those of private networks,
nor the ones that clouds tell secrets on. A network, such as 10.1.0.0/16, is itself; several rules add up. Where there
are rules, the name of a host is looked up once for each attempt, and what was looked up is connected to: an answer that
changes in between changes nothing. Redirects are never followed.
"""

import asyncio
import ipaddress
import socket
from dataclasses import dataclass
from typing import Any

import httpx

from ...errors import SettingError
from ...wording import got
from ..refusal import Refusal

__all__ = ["ForbiddenTargetError", "Targets", "checked_url"]

LONGEST_URL = 2_000
PUBLIC = "public"
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class ForbiddenTargetError(Exception):
    """No address of this host may be reached."""


def checked_url(text: str) -> str:
    """A URL that may be kept: http or https, a host, no name or password, nothing that is not sent."""
    try:
        url = httpx.URL(text)
        right = url.scheme in ("http", "https") and bool(url.host) and not url.userinfo and not url.fragment
        right = right and len(text) <= LONGEST_URL and (url.port is None or 0 < url.port < 65_536)
    except (httpx.InvalidURL, ValueError, TypeError):
        right = False
    if not right or not text.isprintable() or " " in text:
        rule = (
            f"url must be http or https with a host, without credentials or fragment, of at most {LONGEST_URL} letters"
        )
        raise Refusal(422, "bad-url", f"{rule}; got {got(text[:100])}")
    return text


@dataclass(frozen=True)
class Targets:
    """Which addresses may be reached."""

    rules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for rule in self.rules:
            if rule != PUBLIC:
                try:
                    ipaddress.ip_network(rule)
                except ValueError as error:
                    raise SettingError(
                        f"webhook_targets must be 'public' or networks such as 10.1.0.0/16; got {rule!r}"
                    ) from error

    def allows(self, address: Address) -> bool:
        """Whether an address may be reached."""
        mapped = getattr(address, "ipv4_mapped", None)
        address = address if mapped is None else mapped
        return not self.rules or any(
            (address.is_global and not address.is_multicast)
            if rule == PUBLIC
            else address in ipaddress.ip_network(rule)
            for rule in self.rules
        )

    async def pinned(self, text: str) -> tuple[httpx.URL, dict[str, Any]]:
        """The URL to connect to, and what else the request must be told, so that it goes nowhere else."""
        url = httpx.URL(text)
        if not self.rules:
            return url, {}
        port = url.port or {"http": 80, "https": 443}[url.scheme]
        found = await asyncio.get_running_loop().getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
        addresses = [ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found]
        there = next((one for one in addresses if self.allows(one)), None)
        if there is None:
            raise ForbiddenTargetError("no address of its host may be a target")
        told = {"headers": {"Host": url.netloc.decode()}, "extensions": {"sni_hostname": url.host}}
        return url.copy_with(host=str(there)), told
