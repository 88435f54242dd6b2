"""Messages of a broker, and those that the service does not accept."""

import json

Pair = tuple[str, str]
BAD = {
    b"{": "malformed_json",
    b'{"user": "a", "item": "b", "rating": 9}': "out_of_scale",
    b'[{"user": "a", "kind": "view"}]': "nothing_accepted",
    b'{"user": "a", "item": "b", "kind": "view"}, "id": "forged"': "malformed_json",
    b'"' + b"x" * 300_000 + b'"': "too_large",
}
"""Bodies, and the code with which each is set aside."""


def message(n: int) -> tuple[Pair, bytes]:
    """Return whom and what the n-th message names, and its body."""
    pair = f"u{n % 97}", f"i{n // 97 % 2000}"
    return pair, json.dumps({"user": pair[0], "item": pair[1], "kind": "view"}).encode()
