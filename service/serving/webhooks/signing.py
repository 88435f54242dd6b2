"""Signs what is sent, as the specification Standard Webhooks says (version 1, symmetric)."""

import base64
import hashlib
import hmac

from service.store.webhooks.hooks import SECRET


def signed(secret: str, delivery: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers that let a receiver check the sender, the content and the time.

    >>> secret = "whsec_dGhpcnR5LXR3byBieXRlcyBvZiByYW5kb21uZXNzLi4="
    >>> signed(secret, "msg_01", 1794999600, b'{"type": "webhook.test"}')["webhook-signature"]
    'v1,VGPLz7ATF7v92KMU/1BLoUJhvs2+cSczKLW6mMnMpbE='
    """
    key = base64.b64decode(secret.removeprefix(SECRET))
    content = b"%b.%d.%b" % (delivery.encode(), timestamp, body)
    digest = hmac.new(key, content, hashlib.sha256).digest()
    return {
        "webhook-id": delivery,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
