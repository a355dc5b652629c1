"""What stands behind "# " in the line of a field is its documentation."""

from typing import Any

import griffe


class Comments(griffe.Extension):
    """Gives fields the comment in their line, where they have no docstring."""

    def on_attribute(self, *, attr: griffe.Attribute, **_: Any) -> None:
        if attr.docstring is None and attr.lineno is not None and attr.lines:
            comment = attr.lines[0].partition("  # ")[2]
            if comment and not comment.startswith(("noqa", "type:", "fmt:")):
                attr.docstring = griffe.Docstring(comment, lineno=attr.lineno, parent=attr)
