"""What the guide shows of libraries in the second environment runs there."""

import re
import textwrap
from typing import Any

import pytest

from ..scripts import ROOT
from .environment import needs

needs("darts")

GUIDE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
SHOWN = re.compile(r"<!-- make test-adapters -->\n\n((?:(?:    .*)?\n)+)")


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the first block of the page makes."""
    made: dict[str, Any] = {}
    first = re.search(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    assert first is not None
    exec(first[1], made)
    return made


@pytest.mark.filterwarnings("default")  # of these libraries
@pytest.mark.parametrize("block", SHOWN.findall(GUIDE), ids=["sktime", "aeon", "darts"])
def test_the_guides_blocks_run(block: str, names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(textwrap.dedent(block), "docs/adapters.md", "exec"), dict(names))
    found = re.match(r"(\d+) of 1000 rows", capsys.readouterr().out)
    assert found is not None
    assert 0 < int(found[1]) < 500
