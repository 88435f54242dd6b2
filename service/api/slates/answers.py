"""The shape of a slate, and how an answer of the recommender becomes one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from service.api.figures import figure
from service.api.slates.cursors import make_slate_cursor
from service.arms import joined
from service.ids import sequence_token
from service.ranking.families import AnyStrategy, ItemStrategy, title_of
from service.ranking.family import ScoreKind
from service.ranking.reasons import MOST_NAMED, meant
from service.rec_ids import encode, model_prefix, with_context
from service.runtime.api import ApiRuntime
from service.serving.asked import Answer
from service.serving.experiments.assignment import Treatment

_encode = msgspec.json.Encoder().encode


class JsonResponse(Response):
    """An encoded JSON body; it skips the work on headers that starlette would do."""

    background = None

    def __init__(self, body: bytes) -> None:
        self.status_code, self.body = 200, body
        self.raw_headers = [
            (b"content-length", b"%d" % len(body)),
            (b"content-type", b"application/json"),
        ]


class Because(Struct):
    """A past item and its contribution to a score."""

    item: str
    """The past item."""
    part: float
    """What it adds to the score."""


class SlateItem(Struct, gc=False):
    """One item, the best first; `score_kind` of the answer says what scores are."""

    item: str
    """The item's id."""
    score: float
    """The number that orders the list, unless variety or exploration move an item."""
    strategy: ItemStrategy
    """The ranker that adds most to its score. `explore`: the item is new and got its position by
    exploration, and its score says how well it fits the user (0: as well as other new items)."""
    because: list[Because] | UnsetType = UNSET
    """With `explain`: the past items that contribute most to the score, the largest first."""
    parts: dict[str, float] | UnsetType = UNSET
    """With `explain`, if scores are probabilities: what each ranker adds to the logarithm of the
    item's probability, compared with the average candidate."""
    fields: dict[str, Any] | UnsetType = UNSET
    """With `fields`: the fields asked for, null where the item has none."""


class Blend(Struct):
    """The share of the online model in the scores."""

    share: float
    """From 0 to 1."""
    model_version: str
    """The version of the online model."""


class SlateWarning(Struct):
    """Something in the request that had no effect."""

    code: str
    """`unknown_items` or `unknown_fields`."""
    field: str
    """The part of the request: `candidates`, `exclude`, `history` or `fields`."""
    n: int
    """How many of its entries."""
    detail: str
    """What had no effect and what to send, for people."""


class InExperiment(Struct):
    """The experiment that a list is part of."""

    name: str
    """The experiment."""
    arm: str
    """The arm that the user is in."""


class Slate(Struct):
    """Items in order, and the models that ranked them."""

    user: str | None
    """The user; null if the request named none."""
    rec_id: str
    """The id of the slate: send it with the feedback that the slate brings."""
    items: list[SlateItem]
    """The best first."""
    model_version: str
    """The version of the models that made the list; the name of the strategy if it has none."""
    short_version: str | None
    """The first 12 characters of the version, as in `rec_id` and click-through; null without a
    model."""
    strategy: AnyStrategy
    """The strategy that made the list."""
    title: str
    """The name of the strategy for people."""
    trained_through: str
    """The last events that its models were trained on."""
    seen_through: str
    """The last event that the list reflects."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""
    reason: str | None
    """Why the answer is not what was asked for, or not personal; otherwise null."""
    removed: int
    """How many items `filter` left out."""
    warnings: list[SlateWarning]
    """What in the request had no effect: unknown items, names of features that no item has."""
    models: dict[str, str]
    """Version of each trained model that ranked, by strategy."""
    score_kind: ScoreKind
    """What scores are. `probability`: that the user takes this item next, among all items that were
    considered; `stars`: the predicted rating; `count`: the number of events, with weights;
    `likeness`: how well an item fits, without a fixed scale; `days`: since 1970; `rank_sum`: a sum
    over the lists of several rankers."""
    blend: Blend | None
    """With `blend`, if possible: `model_version` then stands for both models and the share."""
    experiment: InExperiment | None = None
    """The running experiment, if the user and the request take part in it; otherwise null."""

    def take_part(self, treatment: Treatment | None, context: bytes) -> None:
        """Let the id say where the list is shown and which arm it is in; the list says that too."""
        counted = None if treatment is None else treatment.counted
        if treatment is not None and counted is not None:
            self.experiment = InExperiment(treatment.name, treatment.arm)
        self.rec_id = with_context(self.rec_id, joined(context, counted))


class Failure(Struct):
    """Why there is no list: as in a problem."""

    status: int
    """The status that the user's own request would have."""
    code: str
    """What is wrong, for programs."""
    detail: str
    """What is wrong and what to do, for people."""


class FailedSlate(Struct):
    """A line of a batch for a user who got no list."""

    user: str
    """As in `users`."""
    error: Failure
    """Why."""


class SimilarUser(Struct):
    """A user and the cosine of the two vectors."""

    user: str
    """The similar user."""
    score: float
    """The cosine of the two vectors."""


class SimilarUsers(Struct):
    """The most similar first."""

    user: str
    """The user that was asked for."""
    users: list[SimilarUser]
    """The most similar first."""
    model_version: str | None
    """The version of the model whose vectors were compared; null without one."""
    short_version: str | None
    """The first 12 characters of the version, as click-through shows them; null without a model."""
    strategy: AnyStrategy | None
    """The strategy of the model."""
    trained_through: str | None
    """The last events that the model was trained on."""
    seen_through: str
    """The last event that the answer reflects."""
    reason: str | None
    """Why there are none."""


def line(slate: Slate | FailedSlate) -> bytes:
    """Return a line of NDJSON."""
    return _encode(slate) + b"\n"


def encoded(slate: Slate) -> bytes:
    """Return the body of the HTTP answer."""
    return _encode(slate)


def response(slate: Slate | SimilarUsers) -> Response:
    """Return the HTTP answer."""
    return JsonResponse(_encode(slate))


async def slate_of(
    runtime: ApiRuntime, answer: Answer, *, user: str | None, of: bytes, fields: Sequence[str]
) -> Slate:
    """Return an answer as a slate; ``of`` names the list and every parameter that shapes it."""
    made, origin = answer.slate, answer.slate.origin
    items = [
        SlateItem(item, figure(pick.score), pick.strategy)
        for item, pick in zip(answer.ids, made.picks, strict=True)
    ]
    if answer.because is not None:
        for one, reasons in zip(items, answer.because, strict=True):
            one.because = [Because(item, figure(part)) for item, part in reasons]
    if made.parts is not None:
        for one, parts in zip(items, made.parts, strict=True):
            one.parts = {name: figure(part) for name, part in dict(parts).items()}
    if fields:
        await _add_fields(runtime, items, [pick.item for pick in made.picks], fields)
    blend = origin.blend
    return Slate(
        user=user,
        rec_id=encode(origin.strategy, origin.version, answer.time_ms, user),
        items=items,
        model_version=origin.version,
        short_version=model_prefix(origin.version) or None,
        strategy=origin.strategy,
        title=title_of(origin.strategy),
        trained_through=sequence_token(origin.trained_through),
        seen_through=answer.seen_through,
        next_cursor=None if answer.position is None else make_slate_cursor(of, answer.position),
        reason=made.reason,
        removed=answer.removed,
        warnings=[*_warnings(runtime, answer.unknown, fields)],
        models=dict(origin.versions),
        score_kind=made.score_kind,
        blend=None if blend is None else Blend(blend.share, blend.version),
    )


def _warnings(
    runtime: ApiRuntime, unknown: Mapping[str, Sequence[str]], fields: Sequence[str]
) -> Iterator[SlateWarning]:
    for field, ids in unknown.items():
        if ids:
            says = f"nothing was ever said of {_some(ids)}: GET /v1/items lists the known items"
            yield SlateWarning("unknown_items", field, len(ids), says)
    known = {*runtime.view.features, "categories"} if fields and runtime.view.ready else set(fields)
    if absent := [name for name in dict.fromkeys(fields) if name not in known]:
        hint = meant(absent[0], sorted(known), "GET /v1/items")
        says = f"no item has a feature {_some(absent)}: {hint}"
        yield SlateWarning("unknown_fields", "fields", len(absent), says)


def _some(names: Sequence[str]) -> str:
    """Return the first names in words."""
    shown = ", ".join(f"`{name}`" for name in names[:MOST_NAMED])
    return f"{shown} and {len(names) - MOST_NAMED} more" if names[MOST_NAMED:] else shown


async def _add_fields(
    runtime: ApiRuntime, items: list[SlateItem], numbers: list[int], fields: Sequence[str]
) -> None:
    documents = await runtime.catalogue.items(numbers)
    for item, document in zip(items, documents, strict=True):
        body = document.body or {}
        said = {**body.get("features", {}), "categories": body.get("categories", [])}
        item.fields = {name: said.get(name) for name in fields}
