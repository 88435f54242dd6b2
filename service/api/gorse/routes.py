"""The table of Gorse's public routes: who answers each, who may call it, what differs from Gorse.

The tables of docs/reference/gorse.md are made from it (``reference.py``).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from service.api.gorse import (
    feedback,
    feedback_lists,
    health,
    items,
    recommendations,
    users,
)
from service.api.gorse.call import Call
from service.api.gorse.showing import WRITE_BACK
from service.http.auth import Need

Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True)
class GorseRoute:
    """A route: ``path`` without ``/api``, an optional last segment in square brackets."""

    method: str
    path: str
    handler: Handler
    need: Need
    differs: str = ""
    """What differs from Gorse, and why; empty: nothing that a client would notice."""
    appends: bool = False
    """Whether it always sends feedback."""
    writes_with: str = ""
    """The parameter with which it sends feedback, too."""
    act: str = ""
    """Its name in the audit log."""


_REPLACES = "It replaces the whole document, also fields that only Hedgerow's own routes can write."
_ADDED = "Records become events, as described above."
_READ = "For `Updated` and missing records, see above."
_LISTS = "Models of Hedgerow rank."

ROUTES: Sequence[GorseRoute] = (
    # users
    GorseRoute("POST", "/user", users.write, "write", _REPLACES),
    GorseRoute("POST", "/users", users.write_many, "write", _REPLACES),
    GorseRoute("GET", "/users", users.list_page, "read"),
    GorseRoute("GET", "/user/{user-id}", users.read, "read"),
    GorseRoute("PATCH", "/user/{user-id}", users.change, "write"),
    GorseRoute(
        "DELETE",
        "/user/{user-id}",
        users.delete,
        "write",
        "All traces of the user are erased, as by `DELETE /v1/users/{user}`.",
        act="deleteUser",
    ),
    # items
    GorseRoute("POST", "/item", items.write, "write", _REPLACES),
    GorseRoute("POST", "/items", items.write_many, "write", _REPLACES),
    GorseRoute(
        "GET",
        "/items",
        items.list_page,
        "read",
        "With `q`, an item must contain all words of `q` (in Gorse: any of them), in the "
        "comment or "
        "in the features `title` and `name`. No setting is needed.",
    ),
    GorseRoute("GET", "/item/{item-id}", items.read, "read"),
    GorseRoute(
        "PATCH",
        "/item/{item-id}",
        items.change,
        "write",
        "`Timestamp` may have any form that `POST` accepts.",
    ),
    GorseRoute(
        "DELETE",
        "/item/{item-id}",
        items.delete,
        "write",
        "New feedback does not bring the item back; write the item again.",
        act="deleteItem",
    ),
    GorseRoute(
        "PUT",
        "/item/{item-id}/category/{category}",
        items.add_category,
        "write",
        "An unknown item is a 404, not a 500.",
    ),
    GorseRoute(
        "DELETE",
        "/item/{item-id}/category/{category}",
        items.remove_category,
        "write",
        "An unknown item is a 404, not a 500.",
    ),
    # feedback
    GorseRoute("POST", "/feedback", feedback.add_feedback, "write", _ADDED, appends=True),
    GorseRoute("PUT", "/feedback", feedback.replace_feedback, "write", _ADDED, appends=True),
    GorseRoute(
        "DELETE",
        "/feedback/{user-id}/{item-id}",
        feedback.delete_pair,
        "write",
    ),
    GorseRoute(
        "DELETE",
        "/feedback/{feedback-type}/{user-id}/{item-id}",
        feedback.delete_one,
        "write",
        "The deletion begins once all earlier feedback is learned (503 if this takes too long). It "
        "deletes all events of the user on the item, and learns those of other types again. If "
        "feedback of another type on the item is sent at the same time, it may be deleted too.",
    ),
    GorseRoute(
        "GET",
        "/feedback[/{feedback-type}]",
        feedback_lists.page,
        "read",
        f"The records are ordered by user, type and item, because histories are stored by user. A "
        f"page reads 500 users and may have fewer than `n` records: the list ends when `Cursor` is "
        f"empty. {_READ}",
    ),
    GorseRoute("GET", "/feedback/{user-id}/{item-id}", feedback_lists.of_pair, "read", _READ),
    GorseRoute(
        "GET",
        "/feedback/{feedback-type}/{user-id}/{item-id}",
        feedback_lists.one,
        "read",
        _READ,
    ),
    GorseRoute(
        "GET", "/user/{user-id}/feedback[/{expression}]", feedback_lists.of_user, "read", _READ
    ),
    GorseRoute(
        "GET",
        "/item/{item-id}/feedback[/{feedback-type}]",
        feedback_lists.of_item,
        "read",
        f"With more than 10000 users it is a 501, because all histories must be read. {_READ}",
    ),
    # lists
    GorseRoute(
        "GET",
        "/recommend/{user-id}[/{category}]",
        recommendations.recommend,
        "read",
        f"{_LISTS} If nothing is known about the user, the newest items come, as in a fresh Gorse. "
        "`write-back-type` needs a key that may write, and is refused for web pages of other "
        "sites; the events are learned at once. The items leave the user's list when "
        "`write-back-delay` is over, or at once if the kind of the events has `hides`.",
        writes_with=WRITE_BACK,
    ),
    GorseRoute(
        "POST",
        "/session/recommend[/{category}]",
        recommendations.for_session,
        "read",
        f"{_LISTS} They use the whole history, not only items similar to those in it. There is "
        "never a 404.",
    ),
    GorseRoute(
        "GET",
        "/collaborative-filtering/{user-id}[/{category}]",
        recommendations.by_others,
        "read",
        f"{_LISTS} The models that are best for the user answer, whether or not they use matrix "
        "factorisation. There is never a 404.",
    ),
    GorseRoute(
        "GET",
        "/latest[/{category}]",
        recommendations.latest,
        "read",
        "An item without a `Timestamp` has the time when it was first written; an item whose "
        "`Timestamp` is in the future is not shown until then.",
    ),
    GorseRoute(
        "GET",
        "/non-personalized/{name}",
        recommendations.leaderboard,
        "read",
        "There are `popular`, `trending` and `latest`, but no expressions of your own.",
    ),
    GorseRoute(
        "GET",
        "/popular[/{category}]",
        recommendations.popular,
        "read",
        "Gorse 0.5 no longer has this route, but older clients ask for it. It answers as "
        "`/non-personalized/popular` does.",
    ),
    GorseRoute(
        "GET",
        "/item-to-item/{name}/{item-id}",
        recommendations.like_item,
        "read",
        f"{_LISTS} If the name is a strategy of Hedgerow, such as `neighbours` or `content`, this "
        "strategy answers; for any other name the best model answers. Embeddings in `Labels` are "
        "stored, but no model reads them.",
    ),
    GorseRoute(
        "GET",
        "/item/{item-id}/neighbors[/{category}]",
        recommendations.like_item,
        "read",
        "It answers as `/item-to-item` does with a name that is no strategy.",
    ),
    GorseRoute(
        "GET",
        "/user-to-user/{name}/{user-id}",
        recommendations.like_user,
        "read",
        "For any name the best model answers, and compares up to 20000 users. `offset` and `n` are "
        "at most 1000 together.",
    ),
    GorseRoute(
        "GET",
        "/user/{user-id}/neighbors",
        recommendations.like_user,
        "read",
        "It answers as `/user-to-user` does.",
    ),
    # health
    GorseRoute("GET", "/health/live", health.live, "open"),
    GorseRoute("GET", "/health/ready", health.ready, "open"),
)
"""The first of two that fit answers."""

NOT_OFFERED: Sequence[tuple[str, str]] = (
    ("GET /dump, POST /restore", "`hedgerow import --format gorse`, `hedgerow backup`"),
    ("GET, POST /bulk/users, items, feedback", "`hedgerow import`, `hedgerow export`"),
    ("POST /purge", "`hedgerow namespaces delete`"),
    ("/dashboard/...", "`/v1/stats`, `/v1/models`, `/v1/jobs`, `/v1/rankers`, `/metrics`"),
    ("POST /chat, /chat/completions", "the service does not chat"),
    ("/login, /logout, /callback/oauth2", "[API keys](../how-to/api-keys.md)"),
)
"""Routes that are answered with a 404, and what to use instead."""
