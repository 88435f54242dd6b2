"""Every error code that a client may see, in one table.

The OpenAPI document, `/docs/errors` and docs/reference/errors.md are made from it.
"""

from typing import NamedTuple


class ErrorCode(NamedTuple):
    """An error code: its status, what it means, and what to do."""

    status: int
    meaning: str
    remedy: str


_AGAIN = "Send the request again after `retry_after` seconds."

CODES: dict[str, ErrorCode] = {
    "malformed_request": ErrorCode(
        400,
        "The request is not valid HTTP/1.1.",
        "Use an HTTP client, or check the bytes that it sends.",
    ),
    "malformed_body": ErrorCode(
        400,
        "The body cannot be decoded: it is not text, or not packed as `Content-Encoding` says.",
        "Send JSON in UTF-8. (Text that is not JSON has the code `malformed_json`.)",
    ),
    "unauthorised": ErrorCode(
        401,
        "There is no API key, or it is unknown, revoked or expired.",
        "Send `Authorization: Bearer hr_...` with a key that `hedgerow keys list` shows as valid.",
    ),
    "forbidden": ErrorCode(
        403,
        "The key's role is not enough for this route.",
        "Use a key with the role that `detail` names.",
    ),
    "foreign_origin": ErrorCode(
        403,
        "A web page of another site tried to write.",
        "Send the request from your server, or name the site in `HEDGEROW_TRUSTED_ORIGINS`.",
    ),
    "not_found": ErrorCode(
        404,
        "There is no such path, user, item, rating, job, model or key.",
        "Compare the path with `/docs`, and check the id.",
    ),
    "method_not_allowed": ErrorCode(
        405,
        "The path exists, but not with this method.",
        "Use a method that the header `Allow` lists.",
    ),
    "too_slow": ErrorCode(
        408,
        "The headers or the body did not arrive in time; `detail` names the setting.",
        "Send the request again, faster or in smaller parts.",
    ),
    "version_conflict": ErrorCode(
        409,
        "The document or the schedule has changed since you read it.",
        "Read it again, and write with its present version.",
    ),
    "model_pinned": ErrorCode(
        409, "Another version of this strategy is pinned.", "Unpin that version first."
    ),
    "no_earlier_version": ErrorCode(
        409,
        "There is no earlier version to go back to.",
        "Promote a version of `GET /v1/models` instead.",
    ),
    "idempotency_key_reused": ErrorCode(
        409,
        "The `Idempotency-Key` was used before with another body; nothing was stored.",
        "Use a different key for each body.",
    ),
    "conflict": ErrorCode(
        409,
        "The request does not fit the present state.",
        "`detail` says what must be changed first.",
    ),
    "cursor_expired": ErrorCode(
        410,
        "The model that made the list is no longer kept.",
        "Begin again without the cursor.",
    ),
    "too_large": ErrorCode(
        413,
        "The body, array or document is larger than its limit.",
        "Divide it into several requests; send many events to `/v1/events/stream`.",
    ),
    "request_line_too_long": ErrorCode(
        414,
        "Path and query together are longer than `HEDGEROW_LIMITS__HEADER_BYTES`.",
        "Shorten them; requests for lists can have their parameters in the body of a POST.",
    ),
    "unsupported_media_type": ErrorCode(
        415,
        "The route does not read this content type.",
        "Send a content type that `detail` names.",
    ),
    "untrusted_host": ErrorCode(
        421,
        "The header `Host` has a name that the service does not know as its own.",
        "Add the name to `HEDGEROW_TRUSTED_HOSTS`.",
    ),
    "invalid_request": ErrorCode(
        422,
        "A parameter or a field is unknown, missing or of the wrong type.",
        "`errors` names each of them, and says what it must be.",
    ),
    "invalid_id": ErrorCode(
        422,
        "An id is empty, too long, not UTF-8, or contains control characters.",
        "Send 1 to 256 characters; percent-encode an id in a path.",
    ),
    "invalid_event": ErrorCode(
        422, "A row of feedback cannot be accepted.", "Correct what `detail` names."
    ),
    "malformed_json": ErrorCode(
        422, "The body is not JSON.", "Send one complete JSON value; `detail` says what is wrong."
    ),
    "out_of_scale": ErrorCode(
        422,
        "The rating is outside the scale, or is not a finite number.",
        "Send a number within the scale, which `GET /v1/stats` shows.",
    ),
    "future_timestamp": ErrorCode(
        422,
        "The time of the event is too far in the future (`HEDGEROW_FUTURE_TOLERANCE_S`).",
        "Check the clock of the sender, and the unit of the time.",
    ),
    "unknown_kind": ErrorCode(
        422,
        "This kind of feedback is not in the settings.",
        "Use a kind that `GET /v1/stats` lists, or add yours to `HEDGEROW_KINDS`.",
    ),
    "nothing_accepted": ErrorCode(
        422, "No row of the request was accepted.", "`rejected` says what is wrong with each row."
    ),
    "item_limit": ErrorCode(
        422,
        "The namespace has no item numbers left.",
        "Raise `HEDGEROW_MAX_ITEMS`, and restart the service.",
    ),
    "line_too_long": ErrorCode(
        422,
        "A line of an NDJSON body is longer than `HEDGEROW_MAX_LINE_BYTES`.",
        "Shorten the row, and end each row with a line feed.",
    ),
    "invalid_filter": ErrorCode(
        422,
        "The filter cannot be read.",
        "`detail` says where the fault is and what is expected there.",
    ),
    "invalid_webhook": ErrorCode(
        422,
        "Nothing can be sent to this address.",
        "Give an address of the Internet by HTTPS, or allow private ones with "
        "`HEDGEROW_WEBHOOKS_TO_PRIVATE`.",
    ),
    "invalid_cursor": ErrorCode(
        422,
        "The cursor belongs to another list, or was changed.",
        "Send the cursor unchanged and with the same parameters, or begin again without it.",
    ),
    "invalid_sequence": ErrorCode(
        422, "This is not a sequence of an answer.", "Send the `sequence` of a write unchanged."
    ),
    "invalid_document": ErrorCode(
        422,
        "A document of an item or user cannot be accepted.",
        "Correct what `detail` names.",
    ),
    "invalid_schedule": ErrorCode(
        422, "A condition of the schedule cannot be read.", "Correct what `detail` names."
    ),
    "invalid_training": ErrorCode(
        422,
        "There is no such recipe, or it has no such setting.",
        "Use a name that `detail` lists.",
    ),
    "upgrade_required": ErrorCode(
        426,
        "This path is a WebSocket.",
        "Connect with a WebSocket client; a proxy must pass on `Upgrade` and `Connection`.",
    ),
    "rate_limited": ErrorCode(
        429,
        "Too many requests came with this key or from this address in a short time.",
        f"{_AGAIN} `detail` names the settings.",
    ),
    "headers_too_large": ErrorCode(
        431,
        "Request line and headers together are longer than `HEDGEROW_LIMITS__HEADER_BYTES`.",
        "Send fewer headers or smaller cookies.",
    ),
    "internal": ErrorCode(
        500, "A fault of the service.", "Report it with the `request_id`, which is also in the log."
    ),
    "backlogged": ErrorCode(503, "Too many events wait to be learned.", _AGAIN),
    "not_ready": ErrorCode(
        503,
        "The service is starting, or has not yet learned or read what it needs for the answer.",
        _AGAIN,
    ),
    "sequence_not_reached": ErrorCode(
        503, "The event that `min_sequence` names was not learned in time.", _AGAIN
    ),
    "too_many_connections": ErrorCode(
        503, "The maximum number of connections is reached; `detail` names the setting.", _AGAIN
    ),
    "overloaded": ErrorCode(
        503,
        "The bodies of other requests fill the memory for bodies; `detail` names the setting.",
        _AGAIN,
    ),
    "store_unavailable": ErrorCode(
        503,
        "Redis does not answer, or takes no writes. A write may or may not be stored.",
        f"{_AGAIN} With an `event_id` or an `Idempotency-Key`, an event counts once.",
    ),
    "store_rolled_back": ErrorCode(
        503,
        "The store has lost events that the service knew of, or it is another store; nothing was "
        "written.",
        "Send the request again. If that does not help, do what `detail` says.",
    ),
}
"""In the order of their statuses."""
