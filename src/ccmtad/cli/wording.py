"""Library messages as the command line says them."""

import re

__all__ = ["with_flags"]

OPTIONS = re.compile(r"\b(time_format|time|missing|drop)=(?=['\"])|\b(largest)=(?=\d)")


def with_flags(message: str) -> str:
    """A cure such as missing='n/a' or force=True becomes the flag that gives it."""
    message = message.replace("force=True", "--force")
    return OPTIONS.sub(lambda match: f"--{(match[1] or match[2]).replace('_', '-')} ", message)
