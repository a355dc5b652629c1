"""How the service says no: a status, a word for machines and a sentence for people (RFC 9457)."""

from typing import Any

__all__ = ["Refusal"]


class Refusal(Exception):  # noqa: N818  it is an answer
    """A request that is not done. Nothing of it has been."""

    def __init__(self, status: int, kind: str, detail: str, *, retry: float | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.retry = retry  # seconds after which it may be asked again
        self.more = more

    @property
    def body(self) -> dict[str, Any]:
        """As JSON knows it."""
        return {"type": self.kind, "status": self.status, "detail": self.detail, **self.more}

    @property
    def headers(self) -> dict[str, str]:
        """Beside it."""
        return {} if self.retry is None else {"Retry-After": f"{max(1, round(self.retry))}"}
