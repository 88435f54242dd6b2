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
        400, "What arrived is not HTTP/1.1.", "Use an HTTP client, or look at the bytes it sends."
    ),
    "malformed_body": ErrorCode(
        400,
        "The body cannot be read at all, or is not packed as `Content-Encoding` says.",
        "Send JSON in UTF-8. For text that is not JSON the code is `malformed_json`.",
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
        "A page of another site may not write.",
        "Send from your server, or name the site in `HEDGEROW_TRUSTED_ORIGINS`.",
    ),
    "not_found": ErrorCode(
        404,
        "There is no such path, user, item, rating, job, model or key.",
        "Compare the path with `/docs`, and the id with your own.",
    ),
    "method_not_allowed": ErrorCode(
        405,
        "The path exists, but not with this method.",
        "Use a method of the header `Allow`.",
    ),
    "too_slow": ErrorCode(
        408,
        "The headers or the body did not arrive in time; `detail` names the setting.",
        "Send the request again, faster, or in smaller parts.",
    ),
    "version_conflict": ErrorCode(
        409,
        "The document or the schedule has changed meanwhile.",
        "Read it, and write again with its present version.",
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
        "The `Idempotency-Key` came before with another body; nothing was stored.",
        "Give each body a key of its own.",
    ),
    "conflict": ErrorCode(
        409,
        "The present state does not allow this.",
        "`detail` says which state would: bring it about first.",
    ),
    "cursor_expired": ErrorCode(
        410,
        "The model that made the list is no longer kept.",
        "Begin again without the cursor.",
    ),
    "too_large": ErrorCode(
        413,
        "The body, line, array or document exceeds its bound.",
        "Send several smaller ones; many events go to `/v1/events/stream`.",
    ),
    "request_line_too_long": ErrorCode(
        414,
        "Path and query are longer than `HEDGEROW_LIMITS__HEADER_BYTES`.",
        "Shorten it; requests for lists also take their parameters in the body of a POST.",
    ),
    "unsupported_media_type": ErrorCode(
        415,
        "The route does not read this content type.",
        "Send one of those that `detail` names.",
    ),
    "untrusted_host": ErrorCode(
        421,
        "The header `Host` names none of the service's names.",
        "Add the name to `HEDGEROW_TRUSTED_HOSTS`.",
    ),
    "invalid_request": ErrorCode(
        422,
        "A parameter or a field is unknown, missing or of the wrong type.",
        "`errors` names each one with what it must be.",
    ),
    "invalid_id": ErrorCode(
        422,
        "An id is empty, too long, not UTF-8, or holds control characters.",
        "Send 1 to 256 characters; encode those of a path.",
    ),
    "invalid_event": ErrorCode(
        422, "A row of feedback cannot be accepted.", "Correct what `detail` names."
    ),
    "malformed_json": ErrorCode(
        422, "The body is not JSON.", "Send one complete value; `detail` says what is wrong."
    ),
    "out_of_scale": ErrorCode(
        422,
        "The rating lies outside the scale, or is not a finite number.",
        "Send a number on the scale, which `GET /v1/stats` shows.",
    ),
    "future_timestamp": ErrorCode(
        422,
        "The event is dated too far ahead (`HEDGEROW_FUTURE_TOLERANCE_S`).",
        "Check the clock that made the time, and its unit.",
    ),
    "unknown_kind": ErrorCode(
        422,
        "This kind of feedback is not in the settings.",
        "Use a kind of `GET /v1/stats`, or add yours to `HEDGEROW_KINDS`.",
    ),
    "nothing_accepted": ErrorCode(
        422, "No row of the request was accepted.", "`rejected` says what is wrong with each."
    ),
    "item_limit": ErrorCode(
        422,
        "The namespace has no item numbers left.",
        "Raise `HEDGEROW_MAX_ITEMS`, and restart the service.",
    ),
    "line_too_long": ErrorCode(
        422,
        "A line of an NDJSON body exceeds `HEDGEROW_MAX_LINE_BYTES`.",
        "Shorten the row, or end each row with a line feed.",
    ),
    "invalid_filter": ErrorCode(
        422, "The filter cannot be read.", "`detail` gives the position and what may stand there."
    ),
    "invalid_cursor": ErrorCode(
        422,
        "The cursor belongs to another list, or was changed.",
        "Send it as it came, with the same parameters, or begin again without it.",
    ),
    "invalid_sequence": ErrorCode(
        422, "No answer ever held this sequence.", "Send the `sequence` of a write as it came."
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
        "The key or the address sent too many requests in a short time.",
        f"{_AGAIN} `detail` names the settings.",
    ),
    "headers_too_large": ErrorCode(
        431,
        "Request line and headers are longer than `HEDGEROW_LIMITS__HEADER_BYTES`.",
        "Send fewer headers or smaller cookies.",
    ),
    "internal": ErrorCode(
        500, "A fault of the service.", "Report it with the `request_id`, which the log has too."
    ),
    "backlogged": ErrorCode(503, "The log is full: the learner is behind.", _AGAIN),
    "not_ready": ErrorCode(
        503, "The service is starting, or has not learned or read this yet.", _AGAIN
    ),
    "sequence_not_reached": ErrorCode(503, "`min_sequence` was not learned in time.", _AGAIN),
    "too_many_connections": ErrorCode(
        503, "A bound on connections is reached; `detail` names the setting.", _AGAIN
    ),
    "overloaded": ErrorCode(
        503,
        "The bodies of other requests fill the room for them; `detail` names the setting.",
        _AGAIN,
    ),
    "store_unavailable": ErrorCode(
        503,
        "Redis does not answer, or takes no writes. A write may or may not be stored.",
        f"{_AGAIN} With an `event_id` or an `Idempotency-Key`, an event counts once.",
    ),
    "store_rolled_back": ErrorCode(
        503,
        "The store has lost events that the service knew of, or is another store; nothing was "
        "written.",
        "Send the request again. If that does not help, do what `detail` says.",
    ),
}
"""In the order of their statuses."""
