"""Labelled values, as Prometheus, Influx and OpenTelemetry have them: which entity they are of, and which tag of it.

The entity is the value of the first label on a list that is there. The tag is the name of the metric, and the labels
that are left, sorted, as Prometheus writes them: `level` or `level{tank="2"}`. So the same series has the same tag
wherever it comes from: pushed to the service, or fetched to be fitted on.
"""

from dataclasses import dataclass
from functools import lru_cache

__all__ = ["DROP_LABELS", "ENTITY_LABELS", "Labels", "Naming"]

Labels = tuple[tuple[str, str], ...]

ENTITY_LABELS = ("instance", "host", "service.instance.id", "host.name", "service.name")
DROP_LABELS = ("job",)  # who scraped it, not what it is
REMEMBERED = 16_384  # series whose names are not made anew
ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@dataclass(frozen=True)
class Naming:
    """Which labels name the entity, and which are no part of a tag.

    Naming().place("level", (("instance", "works"), ("job", "plc"), ("tank", "2")))  # ("works", 'level{tank="2"}')
    """

    entity_labels: tuple[str, ...] = ENTITY_LABELS
    drop_labels: tuple[str, ...] = DROP_LABELS

    def place(self, name: str, labels: Labels, around: Labels = ()) -> tuple[str | None, str]:
        """Entity and tag; no entity where no label names one. `around` may name it too, and is no part of the tag."""
        return _place(self, name, labels, around)


@lru_cache(maxsize=REMEMBERED)
def _place(how: Naming, name: str, labels: Labels, around: Labels) -> tuple[str | None, str]:
    there, outside = dict(labels), dict(around)
    chosen = next((one for one in how.entity_labels if there.get(one)), None)
    entity = there[chosen] if chosen else next((outside[one] for one in how.entity_labels if outside.get(one)), None)
    left = sorted(
        (key, value) for key, value in there.items() if value and key != chosen and key not in how.drop_labels
    )
    inside = ",".join(f'{key}="{value.translate(ESCAPES)}"' for key, value in left)
    return entity, f"{name}{{{inside}}}" if inside else name
