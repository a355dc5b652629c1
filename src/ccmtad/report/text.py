"""Names and other words of the data, as they may stand in a picture of a page."""

from html import escape

from ..wording import printable

__all__ = ["in_picture"]


def in_picture(text: str) -> str:
    """In a title, label or hover text of plotly, which reads tags, and these entities but not those of quotes."""
    return escape(printable(text), quote=False)
