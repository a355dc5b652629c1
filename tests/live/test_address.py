"""Addresses of sources and sinks: what they say, what is refused, and what is never shown."""

from dataclasses import dataclass

import pytest

from ccmtad import SettingError
from ccmtad.live.address import Address, kind_of, option


@dataclass(frozen=True)
class Options:
    client: str = option("", "Name of the client.")
    qos: int = option(1, "How often.", least=0)
    grace: float = option(0.5, "Seconds.", least=0)
    tls: bool = option(False, "Whether.")


def test_all_parts_of_an_address_are_decoded() -> None:
    address = Address.parse("MQTT://anna%40plant:p%2Fw@broker:8883/hall%201/+/#?client=a%26b&qos=2&tls=yes")
    assert (address.scheme, address.user, address.password) == ("mqtt", "anna@plant", "p/w")
    assert (address.host, address.port(1883), address.path) == ("broker", 8883, "hall 1/+/#")
    assert address.options(Options) == Options("a&b", 2, 0.5, True)


def test_a_variable_of_the_environment_stands_for_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "p@ss/word?&")
    assert Address.parse("redis://:${PAGER}@localhost/x").password == "p@ss/word?&"
    with pytest.raises(SettingError, match=r"source must name variables of .* that are set; got \$\{NOT_THERE\}"):
        Address.parse("redis://:${NOT_THERE}@localhost/x", "source")


def test_several_hosts_and_none() -> None:
    assert Address.parse("kafka://a:1,[::1]:2,c/rows").hosts == (("a", 1), ("::1", 2), ("c", None))
    nowhere = Address.parse("file:///var/rows")
    assert (nowhere.hosts, nowhere.host, nowhere.path) == ((), "localhost", "var/rows")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("plant.csv", "must be a URL such as"),
        ("mqtt://host:port/x", "whose parts can be read"),
        ("mqtt://host/x?qos=1&qos=2", "each option once; got 'qos' 2 times"),
        ("mqtt://host/x?quos=1", "must be among 'client', 'grace', 'qos', 'tls'; got 'quos'"),
        ("mqtt://host/x?qos=one", "qos must be a whole number; got 'one'"),
        ("mqtt://host/x?qos=-1", "qos must be at least 0; got -1"),
        ("mqtt://host/x?grace=nan", "grace must be at least 0; got nan"),
        ("mqtt://host/x?tls=maybe", "tls must be true or false; got 'maybe'"),
        ("mqtt://host/x?client", "whose parts can be read"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, why: str) -> None:
    with pytest.raises(SettingError, match=why):
        Address.parse(text).options(Options)


def test_further_options_are_left_to_the_library() -> None:
    address = Address.parse("kafka://host/rows?qos=0&sasl.username=anna")
    assert address.options(Options, lambda name: "." in name).qos == 0
    assert address.rest(Options) == {"sasl.username": "anna"}


@pytest.mark.parametrize(
    "text",
    [
        "mqtt://anna:hunter2@host/x",
        "nats://hunter2@host/x",
        "postgresql://host/x?sslpassword=hunter2",
        "s3://bucket/x?aws_secret_access_key=hunter2",
        "az://bucket/x?SAS_token=hunter2",
        "kafka://host/x?sasl.password=hunter2",
    ],
)
def test_secrets_are_never_shown(text: str) -> None:
    address = Address.parse(text)
    assert "hunter2" not in f"{address} {address!r} {address.shown} {address.clean('no hunter2 here: ' + text)}"
    assert "***" in address.shown


def test_what_is_not_secret_is_shown_as_it_was_written() -> None:
    text = "mqtt://host:1883/plant/+/%23%3F?client=a%26b"
    assert Address.parse("mqtt://host:1883/plant/#?qos=1").shown == "mqtt://host:1883/plant/#?qos=1"
    assert Address.parse(Address.parse(text).shown) == Address.parse(text)


def test_a_scheme_that_nothing_knows_is_refused_with_those_known() -> None:
    with pytest.raises(SettingError, match="source must begin with one of .*; got gopher://"):
        kind_of("live.sources", Address.parse("gopher://host/x"), "source")
