"""One self-contained HTML file that shows what was found, and why: it needs no network and no server."""

from .page import html, save

__all__ = ["html", "save"]
