"""Names and other words of the data, as they may stand in a page and in its pictures."""

from html import escape

from ..wording import printable

__all__ = ["in_html", "in_picture"]


def in_html(text: str) -> str:
    """In an element or an attribute."""
    return escape(printable(text))


def in_picture(text: str) -> str:
    """In a title, label or hover text of plotly, which reads tags, and these entities but not those of quotes."""
    return escape(printable(text), quote=False)
