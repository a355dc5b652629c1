"""Many entities: a model for each, fitted side by side, and asked about new rows together.

    fleet.fit("history", "models", settings={"budget": "1/week"})
    for found in fleet.detect("models", "recent"):
        print(found.entity, found.events)
    new = fleet.start("models", rows).detector  # of an entity with few rows

Who does the work is an executor, found by its name: processes of this machine (`joblib`), or a Ray cluster (`ray`).
"""

from .detecting import Found, detect
from .fitting import fit
from .inspecting import Facts, inspect
from .manifest import Entry, Manifest
from .starting import Started, reading_of, start

__all__ = ["Entry", "Facts", "Found", "Manifest", "Started", "detect", "fit", "inspect", "reading_of", "start"]
