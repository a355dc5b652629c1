"""Messages signed as Standard Webhooks say."""

from collections.abc import Sequence
from datetime import UTC, datetime

from standardwebhooks.webhooks import Webhook as Signer

from .. import __version__

__all__ = ["signed_headers"]


def signed_headers(secrets: Sequence[str], message: str, body: bytes, now: float) -> dict[str, str]:
    """Of one attempt to deliver, signed with each secret; unsigned where there is none."""
    stamp = datetime.fromtimestamp(int(now), tz=UTC)
    headers = {
        "content-type": "application/json",
        "user-agent": f"ccmtad/{__version__}",
        "webhook-id": message,
        "webhook-timestamp": f"{int(now)}",
    }
    if secrets:
        headers["webhook-signature"] = " ".join(Signer(one).sign(message, stamp, body.decode()) for one in secrets)
    return headers
