"""Scripts that are no part of the package, as modules."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["load"]

ROOT = Path(__file__).parents[1]


def load(path: str) -> ModuleType:
    """The script at this place in the repository."""
    name = Path(path).with_suffix("").as_posix().replace("/", "_")
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
