"""Through a trailing mean: sees what is small but lasts."""

from ...settings import Settings
from . import Kind

__all__ = ["average"]


class Average(Kind):
    """What is larger than any normal loss is for the quick track, and would only leave a long shadow here."""

    name = "average"
    order = 1
    limited = True

    def rows(self, settings: Settings) -> int:
        return settings.persistence if settings.persistence > 1 else 0


average = Average()
