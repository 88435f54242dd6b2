"""Requests for slates: parameters of a query or members of a body, strict, nothing unknown.

msgspec parses both: these are the routes that every page view calls.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from service.api.contexts import Context, fault_of_request
from service.api.slates.reading import names, refuse
from service.errors import InvalidId
from service.http.cursors import CURSOR
from service.ids import ID_LENGTHS, SEQUENCE, id_fault, is_id
from service.ranking.families import FAMILIES, AnyStrategy, ComparingStrategy, SimilarStrategy
from service.store.log.codec import packed_context

MAX_K, MAX_OFFSET = 1_000, 10_000
MAX_NAMED = 10_000
"""Items that a request may exclude, or offer as candidates."""
MAX_VARIED = 1_000
"""Items that are chosen for variety, skipped ones included: choosing compares each with many."""
MAX_HISTORY = 5_000
MAX_FIELDS = 20
MAX_USERS = 1_000
"""Users of a batch."""

_TOGETHER = (
    f"with `diversity` or `max_per_category` `offset` and `k` are at most {MAX_VARIED} together"
)

_EXPLAINERS = ", ".join(f"`{name}`" for name, family in FAMILIES.items() if family.explains)

_FREE = {"k", "offset", "cursor", "fields", "explain", "min_sequence", "context"}
"""Parameters that may differ from page to page."""


Share = Annotated[float, Meta(ge=0, le=1)]
Text = Annotated[str, Meta(max_length=1_000)]
CursorText = Annotated[str, Meta(max_length=8_192, extra_json_schema={"pattern": CURSOR})]
SequenceText = Annotated[str, Meta(max_length=8_192, extra_json_schema={"pattern": SEQUENCE})]
Named = Annotated[list[str], Meta(max_length=MAX_NAMED)]


class Shape(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The parameters of every list."""

    k: Annotated[int, Meta(ge=1, le=MAX_K, description="Maximum number of items.")] = 10
    offset: Annotated[
        int, Meta(ge=0, le=MAX_OFFSET, description="Items to skip; not together with `cursor`.")
    ] = 0
    cursor: Annotated[
        CursorText | None,
        Meta(description="`next_cursor` of the page before, with all other parameters unchanged."),
    ] = None
    category: Annotated[Text | None, Meta(description="Only items of this category.")] = None
    filter: Annotated[
        Text | None,
        Meta(
            description="Only items for which this filter is true: `year >= 2020 and not "
            "tags has 'slow'`."
        ),
    ] = None


Excluded = Annotated[str, Meta(description="Ids of items to leave out: `a,b`.")]
Fields = Annotated[
    str, Meta(description="What to add to each item: `categories` or names of features.")
]


MinSequence = Annotated[
    SequenceText | None,
    Meta(description="Answer only once this `sequence` is learned: read your own writes."),
]


class Query(Shape, frozen=True, kw_only=True):
    """Everybody's list, asked for by GET; several ids or names are separated by commas."""

    exclude: Excluded = ""
    fields: Fields = ""
    user: Annotated[
        str | UnsetType,
        Meta(
            description="Leave out what this user has rated, bought, ...",
            extra_json_schema=ID_LENGTHS,
        ),
    ] = UNSET
    min_sequence: MinSequence = None

    @property
    def reader(self) -> str | None:
        """The user whose seen items are left out; InvalidId for an id that nobody can have."""
        if self.user is UNSET:
            return None
        if not is_id(self.user):
            raise InvalidId(id_fault("user", self.user))
        return self.user


class SimilarQuery(Query, frozen=True, kw_only=True):
    """Items similar to an item."""

    model: Annotated[
        SimilarStrategy | None,
        Meta(description="The strategy that compares items; by default the best."),
    ] = None


class SimilarUsersQuery(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Users similar to a user."""

    k: Annotated[int, Meta(ge=1, le=MAX_K, description="Maximum number of users.")] = 10
    model: Annotated[
        ComparingStrategy | None,
        Meta(description="The strategy that compares users; by default the best."),
    ] = None


class Ranking(Shape, frozen=True, kw_only=True):
    """A personal list."""

    model: Annotated[
        AnyStrategy | None, Meta(description="The strategy that ranks; by default the best.")
    ] = None
    k: Annotated[
        int, Meta(ge=1, le=MAX_K, description=f"Maximum number of items; {_TOGETHER}.")
    ] = 10
    offset: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_OFFSET,
            description=f"Items to skip; not together with `cursor`; {_TOGETHER}.",
        ),
    ] = 0
    blend: Annotated[Share, Meta(description="Share of the online model in the score, 0 to 1.")] = (
        0.0
    )
    diversity: Annotated[
        Share,
        Meta(
            description="0: the best items; towards 1: items that differ from each other. "
            f"Above 0 `offset` and `k` are at most {MAX_VARIED} together."
        ),
    ] = 0.0
    max_per_category: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_K)] | None,
        Meta(
            description="Maximum number of items of one category in an answer. "
            f"With it `offset` and `k` are at most {MAX_VARIED} together."
        ),
    ] = None
    explain: Annotated[
        bool,
        Meta(description=f"Add which past items make up the score, and how much ({_EXPLAINERS})."),
    ] = False
    exclude_seen: Annotated[
        bool, Meta(description="Leave out items that the user has rated, bought, ...")
    ] = True
    min_sequence: MinSequence = None


class RecommendationQuery(Ranking, frozen=True, kw_only=True):
    """Items for a user, asked for by GET."""

    exclude: Excluded = ""
    fields: Fields = ""
    context: Annotated[
        str,
        Meta(
            description="Where the list is shown: `device=phone,page=home`. Once a model of "
            "`here` is active, the list depends on this context. The `rec_id` contains the "
            "context, so that feedback to the list is counted for it."
        ),
    ] = ""


class PastEvent(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A past event of the asker with an item: a `rating`, or a `kind` of feedback."""

    item: str
    """The item's id."""
    rating: float | UnsetType = UNSET
    """On the scale of the namespace; not together with `kind`."""
    kind: str | UnsetType = UNSET
    """What happened, if it was not a rating: `view`, `click`, `purchase`, ..."""


FieldNames = Annotated[
    list[str],
    Meta(
        max_length=MAX_FIELDS,
        description="What to add of each item: `categories` or names of features.",
    ),
]


Where = Annotated[
    Context,
    Meta(
        description='Where the list is shown: `{"device": "phone"}`. Once a model of `here` is '
        "active, the list depends on this context. The `rec_id` contains the context, so that "
        "feedback to the list is counted for it."
    ),
]


class RecommendationBody(Ranking, frozen=True, kw_only=True):
    """Items for a `user`, or for somebody with this `history`, these `features` or both."""

    user: str | None = None
    """The user's id."""
    history: Annotated[
        Annotated[list[PastEvent], Meta(max_length=MAX_HISTORY)] | None,
        Meta(
            description="Past events of an anonymous asker, oldest first; not together with `user`."
        ),
    ] = None
    features: Annotated[
        dict[str, Any] | None,
        Meta(
            description="As in a user's document; together with `user`, they replace the "
            "stored features."
        ),
    ] = None
    exclude: Annotated[Named, Meta(description="Ids of items to leave out.")] = []
    candidates: Annotated[Named | None, Meta(description="The only items to choose from.")] = None
    fields: FieldNames = []
    context: Where = {}


class BatchBody(Ranking, frozen=True, kw_only=True):
    """Items for each of many users, asked for in the same way."""

    users: Annotated[
        list[str],
        Meta(min_length=1, max_length=MAX_USERS, description="One line of the answer for each."),
    ]
    cursor: Annotated[
        CursorText | None,
        Meta(
            description="Not used here: send the `next_cursor` of a line to POST "
            "/v1/recommendations, with its `user` and all other parameters unchanged."
        ),
    ] = None
    exclude: Annotated[Named, Meta(description="Ids of items to leave out.")] = []
    candidates: Annotated[Named | None, Meta(description="The only items to choose from.")] = None
    fields: FieldNames = []
    context: Where = {}


class RankBody(RecommendationBody, frozen=True, kw_only=True):
    """Candidates to put in order."""

    candidates: Annotated[
        list[str],
        Meta(min_length=1, max_length=MAX_NAMED, description="The items to put in order."),
    ]
    k: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_NAMED,
            description=f"Maximum number of items, by default all. {_TOGETHER.capitalize()}, "
            f"or else there are at most {MAX_VARIED} `candidates`.",
        ),
    ] = MAX_NAMED
    exclude_seen: Annotated[
        bool, Meta(description="Leave out items that the user has rated, bought, ...")
    ] = False


def list_name(route: str, about: str | None, shape: bytes) -> bytes:
    """Return the name that a cursor is bound to: the list and the shape of its request."""
    return msgspec.json.encode([route, about, msgspec.Raw(shape)])


def shape_of(request: Struct) -> bytes:
    """Return all parameters that shape a list, encoded."""
    given = msgspec.structs.asdict(request)
    shaping = {name for name in given if name not in _FREE and given[name] is not UNSET}
    return msgspec.json.encode({name: given[name] for name in given if name in shaping})


def field_names(text: str) -> list[str]:
    """Return the names of the fields to add; RequestValidationError if there are too many."""
    found = names(text)
    if len(found) > MAX_FIELDS:
        refuse("query", "fields", f"name at most {MAX_FIELDS}")
    return found


def context_in(where: str, context: Mapping[str, str]) -> bytes:
    """Return the context of a request as a `rec_id` carries it; refuse one that is none."""
    fault = fault_of_request(context)
    if fault is not None:
        refuse(where, "context", fault)
    return packed_context(context)


def context_in_query(text: str) -> dict[str, str]:
    """Return the context of a query, ``device=phone,page=home``; refuse what is written wrong."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair]
    context = {name: said for name, _, said in pairs}
    if not all(equals for _, equals, _ in pairs):
        refuse("query", "context", "write names and texts, such as device=phone,page=home")
    if len(context) < len(pairs):
        refuse("query", "context", "give each name once")
    return context


def check_variety(where: str, ranking: Ranking, candidates: Sequence[str] | None) -> None:
    """Raise RequestValidationError if choosing so many items for variety would be slow."""
    varied = ranking.diversity > 0.0 or ranking.max_per_category is not None
    n, most = ranking.offset + ranking.k, MAX_NAMED if candidates is None else len(candidates)
    if not varied or min(n, most) <= MAX_VARIED:
        return
    if ranking.k >= most:
        # the request asks for all candidates, perhaps without naming `k`
        says = f"with `diversity` or `max_per_category` give at most {MAX_VARIED} `candidates`"
        refuse(where, "candidates", f"{says}, or a lower `k`")
    refuse(
        where,
        "offset" if ranking.offset else "k",
        f"{_TOGETHER}: lower `k`, and go on with `cursor` instead of `offset`",
    )
