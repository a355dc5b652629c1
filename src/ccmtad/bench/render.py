"""Headings, paragraphs and tables, as Markdown or as one HTML page."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

__all__ = ["Section", "markdown", "page"]


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs and a table; **bold** anywhere in them."""

    level: int
    title: str
    text: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def markdown(parts: Sequence[Section]) -> str:
    lines: list[str] = []
    for part in parts:
        lines += ["#" * part.level + f" {part.title}", ""]
        lines += [part.text, ""] if part.text else []
        if part.header:
            lines += [_line(part.header), _line(["---"] + ["---:"] * (len(part.header) - 1))]
            lines += [_line(row) for row in part.rows] + [""]
    return "\n".join(lines)


def page(parts: Sequence[Section]) -> str:
    """One self-contained HTML file."""
    body = []
    for part in parts:
        body.append(f"<h{part.level}>{html.escape(part.title)}</h{part.level}>")
        body += [f"<p>{_inline(text)}</p>" for text in part.text.split("\n\n") if text]
        if part.header:
            head = "".join(f"<th>{_inline(cell)}</th>" for cell in part.header)
            rows = "".join(
                "<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>\n" for row in part.rows
            )
            body.append(f"<div><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>")
    template = files(__package__).joinpath("report.html").read_text(encoding="utf-8")
    return template.replace("{{ title }}", html.escape(parts[0].title)).replace("{{ body }}", "\n".join(body))


def _inline(text: str) -> str:
    """Text with **bold** words, as HTML."""
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
