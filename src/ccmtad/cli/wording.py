"""Library messages as the command line says them."""

import re

__all__ = ["with_flags"]

OPTIONS = re.compile(r"\b(time_format|timezone|time|missing|drop|tag|value|thousands)=(?=['\"])|\b(largest)=(?=\d)")
SWITCHES = {
    "force=True": "--force", "allow_missing=True": "--allow-missing", "day_first=True": "--day-first",
    "day_first=False": "--month-first",
}  # fmt: skip


def with_flags(message: str) -> str:
    """A cure such as missing='n/a' or force=True becomes the flag that gives it."""
    for said, flag in SWITCHES.items():
        message = message.replace(said, flag)
    return OPTIONS.sub(lambda match: f"--{(match[1] or match[2]).replace('_', '-')} ", message)
