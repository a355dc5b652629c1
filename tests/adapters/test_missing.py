"""An adapter whose library is not there says what to do."""

import importlib
import sys

import pytest

from ccmtad import MissingExtraError


@pytest.mark.parametrize(
    ("adapter", "module", "install"),
    [("sklearn", "sklearn", "scikit-learn"), ("river",) * 3, ("sktime",) * 3, ("aeon",) * 3],
)
def test_a_missing_library_says_its_cure(
    adapter: str, module: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [one for one in sys.modules if one.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"ccmtad.adapters.{adapter}", raising=False)
    with pytest.raises(MissingExtraError, match=rf"this adapter needs {module}\S*: pip install {install}"):
        importlib.import_module(f"ccmtad.adapters.{adapter}")
