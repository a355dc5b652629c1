"""Library messages as the command line says them."""

import re

__all__ = ["with_flags"]

OPTIONS = re.compile(r"\b(time_format|time|missing|drop)=(?=['\"])")


def with_flags(message: str) -> str:
    """A cure such as missing='n/a' becomes the flag that gives it."""
    return OPTIONS.sub(lambda match: f"--{match[1].replace('_', '-')} ", message)
