"""What may be called what. Names are looked up and shown, and never part of a path."""

import re

from ..wording import is_text, printable
from .refusal import Refusal

__all__ = ["check_entity", "check_text", "is_model_name"]

LONGEST_NAME = 200
LONGEST_TEXT = 10_000
MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def is_model_name(name: str) -> bool:
    """Letters, digits, '.', '_' and '-'."""
    return MODEL_NAME.fullmatch(name) is not None


def check_entity(name: object) -> str:
    """The name of an entity: any printable text without a slash."""
    right = (
        isinstance(name, str)
        and 0 < len(name) <= LONGEST_NAME
        and is_text(name)
        and name == name.strip()
        and printable(name) == name
        and not set(name) & {"/", "\\", "\ufffd"}  # the last stands for what was no text
        and name not in (".", "..")
    )
    if not right:
        raise Refusal(
            422, "bad-name", f"entity must be a printable name of 1 to {LONGEST_NAME} characters without slashes"
        )
    return str(name)


def check_text(text: object, what: str) -> str:
    """What people write."""
    if not isinstance(text, str) or len(text) > LONGEST_TEXT or "\x00" in text or not is_text(text):
        raise Refusal(422, "bad-text", f"{what} must be text of at most {LONGEST_TEXT:,} characters")
    return text
