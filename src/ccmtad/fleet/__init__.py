"""Many entities: a model for each, fitted side by side, and asked about new rows together.

    fleet.fit("history", "models", settings={"budget": "1/week"})
    for found in fleet.detect("models", "recent"):
        print(found.entity, found.events)

Who does the work is an executor, found by its name: processes of this machine (`joblib`), or a Ray cluster (`ray`).
"""

from .detecting import Found, detect
from .fitting import fit
from .inspecting import Facts, inspect
from .manifest import Entry, Manifest

__all__ = ["Entry", "Facts", "Found", "Manifest", "detect", "fit", "inspect"]
