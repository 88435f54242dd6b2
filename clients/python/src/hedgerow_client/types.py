# Written by `make clients` from openapi/openapi.json: do not change it here.

"""The types of what is sent and answered, as the OpenAPI document has them.

A value is a plain dictionary. An answer may have more fields than are listed here: a later version
of the service may add some. Times in answers are RFC 3339.
"""

from typing import Any, Literal, NotRequired, TypedDict


class Added(TypedDict):
    """A mean, and the bounds of its 95 % interval."""

    high: float
    """The upper bound."""
    low: float
    """The lower bound."""
    mean: float
    """The mean."""


class AlarmList(TypedDict):
    """What is wrong now."""

    items: "list[ShownAlarm]"
    """The alarms, those that matter most first; empty: nothing is wrong."""


class Arm(TypedDict):
    """A way to make a mixed slate: `stack`, `fusion`, or a ranker alone."""

    judged: int
    """Positives for which it had a list."""
    mrr: float | None
    """The mean reciprocal rank of the items that users took; null before the first judgement."""
    name: str
    """`stack`, `fusion`, or the strategy of a ranker."""
    ndcg_at_10: float | None
    """The mean ndcg@10 of its lists; null before the first judgement."""
    served_lead: "Interval | None"
    """The ndcg@10 of the served slates minus that of this arm, on the same positive events."""
    weight: float
    """By all judgements. For each length of history, the arm with the largest weight answers,
    but the stack gives way only to an arm with more than three times its weight.
    """


class ArmParameters(TypedDict):
    """Parameters of requests for recommendations. A parameter that is left out has its default."""

    blend: NotRequired[float | None]
    """Share of the online model in the score."""
    diversity: NotRequired[float | None]
    """0: the best items; towards 1: items that differ from each other."""
    max_per_category: NotRequired[int | None]
    """Maximum number of items of one category."""
    model: NotRequired[
        Literal[
            "fbgd",
            "ocmf",
            "exmlds",
            "ordinal",
            "online",
            "mixture",
            "popular",
            "trending",
            "next",
            "sequence",
            "neighbours",
            "content",
            "latest",
            "here",
        ]
        | None
    ]
    """The strategy that ranks."""


class ArmReport(TypedDict):
    """An arm, and what followed its lists."""

    events: dict[str, int]
    """Events with such a `rec_id`, by kind."""
    impressions: int
    """Events of the kind `impression` with the `rec_id` of such a list."""
    lifts: "dict[str, Rate | None]"
    """(The rate of the arm / the rate of the first arm) - 1: 0.1 is 10 % more. Empty for the
    first arm.
    """
    name: str
    """The arm."""
    parameters: dict[str, Any]
    """Parameters of its users' lists."""
    rates: "dict[str, Rate | None]"
    """Events of each other kind for each impression; null: too few to say."""
    share: float
    """Its share of all users."""


class AudienceAnswer(TypedDict):
    """Users with features; those who would most probably like the item come first."""

    considered: int
    """Users with features that were compared: at most 10 000, later pages continue with others."""
    item: str | None
    """The item that was asked for; null for a new one."""
    known_by: Literal["feedback", "features"] | None
    """The source of the item's vector: its feedback or its features."""
    model_version: str | None
    """The version of the model that compared them; null without one."""
    next_cursor: str | None
    """Send it back as `cursor` for the next users; null at the end. A page may be shorter than
    `k`.
    """
    reason: str | None
    """Why the list is empty."""
    short_version: str | None
    """The first 12 characters of `model_version`. Click-through shows them, and every request
    accepts them instead of the version. Null without a trained or online model.
    """
    strategy: Literal["exmlds"] | None
    """The strategy of the model."""
    trained_through: str | None
    """The last events that the model was trained on."""
    users: "list[AudienceMember]"
    """Those who would most probably like the item come first."""


class AudienceBody(TypedDict):
    """An item by its id, or a new item by its features and categories."""

    categories: NotRequired[list[str]]
    """As in an item's document; not together with `item`."""
    cursor: NotRequired[str | None]
    """`next_cursor` of the answer before: the next users."""
    exclude_seen: NotRequired[bool]
    """Leave out users who have rated, bought, ... the item."""
    features: NotRequired[dict[str, bool | int | float | str | list[str]]]
    """As in an item's document; not together with `item`."""
    item: NotRequired[str | None]
    """The item's id; left out for a new item."""
    k: NotRequired[int]
    """Maximum number of users in the answer."""


class AudienceMember(TypedDict):
    """A user; compare scores only within one answer."""

    because: "list[FeaturePart]"
    """The features that raise the score most, the largest first."""
    score: float
    """How well the item fits; only compare scores of one answer."""
    user: str
    """The user."""


class AuditEntry(TypedDict):
    """Something that an operator did, or tried to do."""

    about: dict[str, str]
    """What was changed. Users are not named: the deletion of a user has the id of its erasure."""
    act: str
    """The operation as this document names it, or what the command line did."""
    result: str
    """`done`, the code of the error, or `interrupted` for a verb that Ctrl-C ended."""
    time: str
    """When it ended."""
    who: str
    """`key` and the id of the key; `local` where no key was needed; `command line`."""


class AuditPage(TypedDict):
    """A page of the audit log, the newest act first."""

    items: "list[AuditEntry]"
    """The entries of this page."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""


class BatchBody(TypedDict):
    """Items for each of many users, asked for in the same way."""

    blend: NotRequired[float]
    """Share of the online model in the score, 0 to 1."""
    candidates: NotRequired[list[str] | None]
    """The only items to choose from."""
    category: NotRequired[str | None]
    """Only items of this category."""
    context: NotRequired[dict[str, str]]
    """Where the list is shown: `{"device": "phone"}`. Once a model of `here` is active, the
    list depends on this context. The `rec_id` contains the context, so that feedback to the
    list is counted for it.
    """
    cursor: NotRequired[str | None]
    """Not used here: send the `next_cursor` of a line to POST /v1/recommendations, with its
    `user` and all other parameters unchanged.
    """
    diversity: NotRequired[float]
    """0: the best items; towards 1: items that differ from each other. Above 0 `offset` and `k`
    are at most 1000 together.
    """
    exclude: NotRequired[list[str]]
    """Ids of items to leave out."""
    exclude_seen: NotRequired[bool]
    """Leave out items that the user has rated, bought, ..."""
    explain: NotRequired[bool]
    """Add which past items make up the score, and how much (`fbgd`, `ocmf`, `next`, `sequence`,
    `neighbours`, `content`).
    """
    fields: NotRequired[list[str]]
    """What to add of each item: `categories` or names of features."""
    filter: NotRequired[str | None]
    """Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`."""
    k: NotRequired[int]
    """Maximum number of items; with `diversity` or `max_per_category` `offset` and `k` are at
    most 1000 together.
    """
    max_per_category: NotRequired[int | None]
    """Maximum number of items of one category in an answer. With it `offset` and `k` are at
    most 1000 together.
    """
    min_sequence: NotRequired[str | None]
    """Answer only once this `sequence` is learned: read your own writes."""
    model: NotRequired[
        Literal[
            "content",
            "exmlds",
            "fbgd",
            "here",
            "latest",
            "mixture",
            "neighbours",
            "next",
            "ocmf",
            "online",
            "ordinal",
            "popular",
            "sequence",
            "trending",
        ]
        | None
    ]
    """The strategy that ranks; by default the best."""
    offset: NotRequired[int]
    """Items to skip; not together with `cursor`; with `diversity` or `max_per_category`
    `offset` and `k` are at most 1000 together.
    """
    users: list[str]
    """One line of the answer for each."""


class Because(TypedDict):
    """A past item and its contribution to a score."""

    item: str
    """The past item."""
    part: float
    """What it adds to the score."""


class Blend(TypedDict):
    """The share of the online model in the scores."""

    model_version: str
    """The version of the online model."""
    share: float
    """From 0 to 1."""


class BulkRejected(TypedDict):
    """A line that was not accepted."""

    code: str
    """The error code, for programs."""
    detail: str
    """The explanation for people: what is wrong and what to do."""
    index: int
    """The number of the line, from 0."""
    line: int
    """The number of the line, from 1, as editors count."""


class BulkWritten(TypedDict):
    """The result of a bulk upload, with the first 1 000 rejected lines."""

    accepted: int
    """Lines that were written."""
    lines: int
    """Lines of the body, empty ones included."""
    rejected: "list[BulkRejected]"
    """The first 1 000 lines that were rejected."""
    rejected_total: int
    """How many lines were not written."""


class CategoryCount(TypedDict):
    """A category, as documents spell it."""

    category: str
    """Its name."""
    items: int
    """How many items of it may be shown now: hidden and unavailable ones do not count."""


class CategoryPage(TypedDict):
    """A page of the categories, the largest first."""

    items: "list[CategoryCount]"
    """The entries of this page."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""


class Change(TypedDict):
    """One change of the active model."""

    action: Literal["promoted", "rolled_back", "pinned", "unpinned"]
    """The kind of change."""
    at: str
    """When it was changed."""
    before: str | None
    """The version that was active before."""
    short_version: str | None
    """The first 12 characters of `version`: they are enough wherever a version is asked for."""
    strategy: str
    """The strategy whose model changed."""
    version: str
    """The version that it is about."""
    who: str
    """The caller: a key, or the one who ordered the training."""
    why: str
    """The reason that was given."""


class ChangePage(TypedDict):
    """A page of the changes, the newest first."""

    items: "list[Change]"
    """The entries of this page."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""


class ClickThrough(TypedDict):
    """The slates of each model; the model with the most impressions comes first."""

    seen_through: str
    """The last events that are included."""
    slates: "list[SlateResponses]"
    """The slates of each model."""


class ContextCounts(TypedDict):
    """Where events happened, the contexts with most events first."""

    contexts: "list[ContextEvents]"
    """Each name and text that an event had."""
    seen_through: str
    """The last events that are included."""


class ContextEvents(TypedDict):
    """The events of one context."""

    context: str
    """Where they happened: `device=phone`."""
    events: dict[str, int]
    """Number of events by kind of feedback, including `rating`, with and without a `rec_id`."""


class CreatedKey(TypedDict):
    """A key with its secret, which is shown only once."""

    created: str
    """When it was made."""
    expires: str | None
    """When it stops working, or did; null: never."""
    id: str
    """Names the key in routes and records; it is not a secret."""
    name: str
    """Who uses the key."""
    revoked: str | None
    """When it was revoked; null: it was not."""
    role: Literal["read", "write", "admin"]
    """What the key may do."""
    secret: str
    """Send it as `Authorization: Bearer ...`."""


class CreatedWebhook(TypedDict):
    """A webhook with its secret, which is shown only once."""

    created: str
    """When it was made; it is told of what happens from then on."""
    disabled: str | None
    """Why nothing is sent any longer; null: it is in use."""
    events: list[str]
    """The types of events that it is told of."""
    id: str
    """Names the webhook in routes and records."""
    name: str
    """A name for people."""
    secret: str
    """Checks the signatures of what is sent."""
    url: str
    """Where events are posted."""


class CurrentSchedule(TypedDict):
    """The schedule, and the current values for its conditions."""

    after_events: int | None
    """New events that start a training; null: off. While the settings decide, the number
    usually grows with the log.
    """
    at_once: bool
    """Whether a training begins as soon as no more events arrive, whatever `not_before` says,
    because nothing serves yet, or because the number of events has grown by half or more
    since the last training began.
    """
    budget_s: float | None
    """Seconds that the search may take; null: as the settings say."""
    changed: str | None
    """When it was changed last."""
    cron: str | None
    """Five fields, in UTC; null: off."""
    drift: float | None
    """Ratio of the recent online error to the usual one that starts a training; null: off."""
    drift_now: float
    """The recent online error divided by the usual one, or by the error since the last training
    began if that is higher.
    """
    events_at_last: int
    """Events that were learned before that training began, including impressions."""
    last_began: str | None
    """When the last training began, from which the conditions count: the last successful
    training of the schedule's model, even if somebody ordered it. After a change of `model`
    it is the last training of the previous model, until a training of the new model
    succeeds.
    """
    model: str | None
    """The recipe that is ordered; null: every recipe that improves lists."""
    new_events: int
    """Events that were learned since that training began, including impressions."""
    not_before: str | None
    """The end of the pause: before it, the trainer starts no training by itself. The pause
    (HEDGEROW_RETRAIN_PAUSE_S) follows each training and each start of the trainer, and
    doubles with each scheduled training without a result. Null: nothing was trained yet.
    """
    of_settings: bool
    """Whether the settings decide: nobody has set a schedule, or it was deleted."""
    parameters: dict[str, Any]
    """Settings of the recipe that are fixed."""
    promote_unjudged: bool
    """Whether models are promoted even if too few users can be held out."""
    version: int
    """The number of changes so far, also by DELETE."""
    who: str | None
    """Who changed it last."""


class Delivery(TypedDict):
    """An event on its way to a webhook, or how that ended."""

    body: str
    """What is sent."""
    created: str
    """When the event was queued."""
    ended: str | None
    """When it ended; null: it waits."""
    error: str | None
    """Why the last try failed; null: it did not."""
    id: str
    """The header `webhook-id`, the same with every try."""
    next: str | None
    """When it is sent next; null: it has ended."""
    state: Literal["waiting", "delivered", "given_up"]
    """How far it is."""
    status: int | None
    """The status of the receiver's last answer; null: there was none."""
    tries: int
    """How often it was sent."""
    type: str
    """The type of the event."""


class DeliveryPage(TypedDict):
    """Deliveries, the newest first."""

    items: "list[Delivery]"
    """The entries of this page."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""


class ErasedUser(TypedDict):
    """The receipt of a deleted user, which does not name the user."""

    deleted: str
    """When the deletion was accepted."""
    erased: str | None
    """When the user's id was removed from the store and from all lists and caches; null: not
    yet.
    """
    erased_from_disk: str | None
    """When the private server had rewritten its file; null: not yet, or the service uses
    another server.
    """
    erasure: str
    """Names the receipt."""
    remains: "list[Remains]"
    """What is not removed yet, and until when it stays."""
    removed: "RemovedTraces | None"
    """What was found and removed; null: not yet."""
    sequence: str
    """The place of the deletion in the order of events; a later one if it had to be repeated."""


class Event(TypedDict):
    """One event of a history."""

    context: dict[str, str]
    """Where it happened, as sent; empty if it was not said."""
    item: str
    """The item of the event."""
    kind: str
    """`rating`, or the kind of feedback."""
    rating: float | None
    """Null for other kinds."""
    sequence: str
    """The place of the event in the order of events."""
    timestamp: str
    """When it happened, as sent; else when it was accepted."""


class EventPage(TypedDict):
    """A page of a history, the newest event first."""

    items: "list[Event]"
    """The entries of this page."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""


class ExperimentPage(TypedDict):
    """Experiments, the newest first."""

    items: "list[ExperimentReport]"
    """The entries of this page."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""


class ExperimentReport(TypedDict):
    """An experiment and how its arms compare."""

    arms: "list[ArmReport]"
    """The arms; the others are compared with the first."""
    created: str
    """When it began."""
    ended: str | None
    """When it ended; null while it runs."""
    ended_by: str | None
    """Who ended it; null while it runs."""
    guardrail: "NewGuardrail | None"
    """What ends it by itself."""
    name: str
    """Its name."""
    promoted: str | None
    """The arm that was promoted."""
    reason: str | None
    """Why there are no figures yet, and what to send; otherwise null."""
    state: Literal["running", "stopped", "promoted"]
    """`running`, `stopped`, or `promoted`: the parameters of an arm hold for everybody."""
    why: str | None
    """Why it ended; null while it runs."""


class ExperimentSummary(TypedDict):
    """An experiment without figures."""

    created: str
    """When it began."""
    ended: str | None
    """When it ended; null while it runs."""
    ended_by: str | None
    """Who ended it; null while it runs."""
    guardrail: "NewGuardrail | None"
    """What ends it by itself."""
    name: str
    """Its name."""
    promoted: str | None
    """The arm that was promoted."""
    state: Literal["running", "stopped", "promoted"]
    """`running`, `stopped`, or `promoted`: the parameters of an arm hold for everybody."""
    why: str | None
    """Why it ended; null while it runs."""


class Expert(TypedDict):
    """The state of one expert."""

    c: float | None
    """Its aggressiveness: how far one rating may move it; null where the family has none."""
    cumulative_loss: float
    """The sum of its losses; a loss is the absolute error divided by the width of the scale."""
    family: str
    """The kind of online model."""
    name: str
    """Its number in the settings, its kind and its rank, as one word."""
    part: float
    """The factor with which its prediction enters the combined prediction; all parts sum to 1,
    and a part may be negative.
    """
    rank: int
    """How many numbers it keeps for each user and item."""
    recent_loss: float
    """Its mean loss over about the last 1 000 ratings."""
    regret_to_best: float
    """Its cumulative loss minus that of the best expert in hindsight."""
    updates: int
    """Ratings that it learned from."""
    weight: float
    """How good it is alone; the weights of all experts sum to 1."""


class ExpertHistory(TypedDict):
    """Points in time, oldest first."""

    partition: int
    """The partition whose learner this is."""
    points: "list[HistoryPoint]"
    """The oldest first."""


class ExpertPart(TypedDict):
    """One expert's own prediction and its part in the answer."""

    name: str
    """As in `GET /v1/experts`."""
    rating: float
    """Its own prediction."""
    weight: float
    """The factor with which its prediction enters the answer; all weights sum to 1, and a
    weight may be negative.
    """


class Experts(TypedDict):
    """The experts of a partition."""

    aggregator: str
    """The method that combines the predictions of the experts."""
    experts: "list[Expert]"
    """In the order of the settings."""
    model_version: str
    """The version of the online model."""
    partition: int
    """The partition whose learner this is."""
    seen_through: str
    """The last event that is learned."""
    short_version: str | None
    """The first 12 characters of `model_version`. Click-through shows them, and every request
    accepts them instead of the version. Null without a trained or online model.
    """


class ExportedDocument(TypedDict):
    """The document of a user."""

    extra: NotRequired[dict[str, Any]]
    """Anything else that you keep with the user, as JSON: no list, ranker or filter reads it."""
    features: NotRequired[dict[str, bool | int | float | str | list[str]]]
    """Typed facts: numbers, strings, booleans, lists of strings."""
    links: NotRequired["list[Link]"]
    """The user's neighbours: friends, household, colleagues. Only trainings with the parameter
    `graph` use them; recommendations use history and features.
    """
    version: int
    """Raised by each change of the document; 0: there is none."""


class ExportedTopic(TypedDict):
    """A topic of a user."""

    name: str
    """As in `GET /v1/topics`."""
    share: float
    """Its share in the user's positive feedback."""


class FailedSlate(TypedDict):
    """A line of a batch for a user who got no list."""

    error: "Failure"
    """Why."""
    user: str
    """As in `users`."""


class Failure(TypedDict):
    """Why there is no list: as in a problem."""

    code: str
    """What is wrong, for programs."""
    detail: str
    """What is wrong and what to do, for people."""
    status: int
    """The status that the user's own request would have."""


class FeaturePart(TypedDict):
    """A feature of a user that raises the score above the average of the considered users."""

    feature: str
    """The feature and its value."""
    part: float
    """What it adds to the score."""


class Feedback(TypedDict):
    """One event: a user, an item, and either a rating or a kind."""

    context: NotRequired[dict[str, str]]
    """Where it happened: `{"device": "phone", "page": "home"}`, names and short texts of your
    own. It is kept with the event and counted; put nothing in it that names a person.
    """
    event_id: NotRequired[str]
    """Your own id of the event: a repeat of it counts once."""
    item: str
    """Your own id of the item; no other write is needed before."""
    kind: NotRequired[str]
    """What happened, if it was not a rating: `view`, `click`, `purchase`, ...; `GET /v1/stats`
    lists all kinds.
    """
    rating: NotRequired[float]
    """On the scale of the namespace; not together with `kind`."""
    rec_id: NotRequired[str]
    """The `rec_id` of the slate that showed the item: the event counts for its click-through."""
    timestamp: NotRequired[str | float]
    """When it happened: RFC 3339, Unix seconds, or milliseconds from 1e11 on; by default now."""
    user: str
    """Your own id of the user; no other write is needed before."""


class Health(TypedDict):
    """The process answers."""

    status: Literal["ok"]
    """The process answers."""
    version: str
    """Version of the service."""


class HistoryExpert(TypedDict):
    """One expert at one point."""

    name: str
    """As in `GET /v1/experts`."""
    part: float
    """The factor with which its prediction entered the combined prediction."""
    recent_loss: float
    """Its mean loss over about the last 1 000 ratings."""
    weight: float
    """How good it was alone; the weights of all experts sum to 1."""


class HistoryLength(TypedDict):
    """The weights of the rankers for users with histories of similar length."""

    judged: int
    """Positive events of users with such a history, whichever versions were judged on them."""
    preferences_from: int
    """The least number of items that the user is known to like or dislike."""
    preferences_to: int | None
    """The largest; null: any."""
    weights: "list[LengthWeight]"
    """The heaviest first; they sum to 1."""


class HistoryPoint(TypedDict):
    """The experts after so many ratings."""

    experts: "list[HistoryExpert]"
    """In the order of the settings."""
    learned: int
    """How many ratings were learned."""
    sequence: str
    """The last event that was learned."""


class InExperiment(TypedDict):
    """The experiment that a list is part of."""

    arm: str
    """The arm that the user is in."""
    name: str
    """The experiment."""


class Interval(TypedDict):
    """A mean with its 95 % interval."""

    high: float
    """The upper bound."""
    low: float
    """The lower bound."""
    mean: float
    """The mean."""


class Item(TypedDict):
    """An item's document; version 0: known from feedback alone."""

    available_from: str | None
    """Not recommended before this moment."""
    available_until: str | None
    """Not recommended from this moment on."""
    categories: list[str]
    """Names of the groups that the item belongs to."""
    created: str | None
    """When the document was first written; null if there is no document, or if the time was not
    recorded.
    """
    extra: dict[str, Any]
    """What was written as `extra`."""
    features: dict[str, Any]
    """Typed facts: numbers, strings, booleans, lists of strings."""
    hidden: bool
    """A hidden item is never recommended."""
    item: str
    """Your own id of the item."""
    version: int
    """Raised by each change of the document; the `ETag` of an answer about one item."""


class ItemBody(TypedDict):
    """The document of an item."""

    available_from: NotRequired[str | float | None]
    """Not recommended before this moment."""
    available_until: NotRequired[str | float | None]
    """Not recommended from this moment on."""
    categories: NotRequired[list[str]]
    """Names of the groups that the item belongs to."""
    extra: NotRequired[dict[str, Any]]
    """Anything else that you keep with the item, as JSON: no list, ranker or filter reads it."""
    features: NotRequired[dict[str, bool | int | float | str | list[str]]]
    """Typed facts: numbers, strings, booleans, lists of strings."""
    hidden: NotRequired[bool]
    """A hidden item is never recommended."""


class ItemLine(TypedDict):
    """One line of a bulk upload."""

    available_from: NotRequired[str | float | None]
    """Not recommended before this moment."""
    available_until: NotRequired[str | float | None]
    """Not recommended from this moment on."""
    categories: NotRequired[list[str]]
    """Names of the groups that the item belongs to."""
    extra: NotRequired[dict[str, Any]]
    """Anything else that you keep with the item, as JSON: no list, ranker or filter reads it."""
    features: NotRequired[dict[str, bool | int | float | str | list[str]]]
    """Typed facts: numbers, strings, booleans, lists of strings."""
    hidden: NotRequired[bool]
    """A hidden item is never recommended."""
    item: str
    """Your own id of the item."""


class ItemPage(TypedDict):
    """A page of the items, the oldest first."""

    items: "list[Item]"
    """The entries of this page."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""


class ItemPatch(TypedDict):
    """A JSON Merge Patch (RFC 7396) of an item: a value replaces the old one, null removes it."""

    available_from: NotRequired[str | float | None]
    """Not recommended before this moment."""
    available_until: NotRequired[str | float | None]
    """Not recommended from this moment on."""
    categories: NotRequired[list[str] | None]
    """Names of the groups that the item belongs to."""
    extra: NotRequired[dict[str, Any] | None]
    """Anything else that you keep with the item, as JSON: no list, ranker or filter reads it."""
    features: NotRequired[dict[str, bool | int | float | str | list[str] | None] | None]
    """Typed facts: numbers, strings, booleans, lists of strings."""
    hidden: NotRequired[bool | None]
    """A hidden item is never recommended."""


class Job(TypedDict):
    """A training: ordered, under way or ended."""

    budget_s: float
    """Seconds that the search may take."""
    created: str
    """When it was ordered."""
    decision: dict[str, Any]
    """The decision of the gate: `outcome` (`promoted`, `refused`, `not_judged`), `reason`, and
    the difference that it is based on. For a job without `model`: the best outcome of all
    recipes (`not_chosen` if none was trained), and why no more recipes were trained.
    """
    ended: str | None
    """When it ended."""
    error: str | None
    """Why it failed or was cancelled, and what to do."""
    id: str
    """Names the job in routes."""
    metrics: dict[str, Any]
    """Quality of the new model, of the serving model and of popularity on held-out users;
    costs.
    """
    model: str | None
    """The recipe that was ordered. Null: every recipe that improves lists; `tried` says which."""
    parameters: dict[str, Any]
    """Settings of the recipe that were ordered; the others are searched."""
    progress: float
    """0 to 1."""
    promote_unjudged: bool
    """Whether the model is promoted even if too few users can be held out."""
    recipe: str
    """In a running job without `model`: the recipe that is being trained."""
    short_version: str | None
    """The first 12 characters of `version`: they are enough wherever a version is asked for."""
    stage: str
    """The step of a running job: reading, searching, fitting, weighing, judging, refining,
    publishing or promoting.
    """
    started: str | None
    """When a trainer took it."""
    status: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    """It only moves forward: `queued`, `running`, then one of the others."""
    tried: "list[Tried]"
    """The recipes that a job without `model` has considered; empty for other jobs."""
    version: str | None
    """The model that it published; null without `model`: see `tried`."""
    who: str
    """Who ordered it."""
    why: str
    """`order`, or the condition of the schedule that started it: `cron`, `events`, `drift`."""


class JobPage(TypedDict):
    """A page of the trainings, the newest first."""

    items: "list[Job]"
    """The entries of this page."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""


class Key(TypedDict):
    """A key without its secret."""

    created: str
    """When it was made."""
    expires: str | None
    """When it stops working, or did; null: never."""
    id: str
    """Names the key in routes and records; it is not a secret."""
    name: str
    """Who uses the key."""
    revoked: str | None
    """When it was revoked; null: it was not."""
    role: Literal["read", "write", "admin"]
    """What the key may do."""


class KeyPage(TypedDict):
    """API keys, the oldest first."""

    items: "list[Key]"
    """The entries of this page."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""


class KindMeaning(TypedDict):
    """The meaning of one kind of feedback for the rankers."""

    code: int
    """The number that the log keeps for the kind."""
    hides: bool
    """Whether the item is left out of the user's lists afterwards."""
    name: str
    """The value of `kind` in such feedback."""
    sign: int
    """1: the user wants the item; -1: does not; 0: neither."""
    weight: float
    """How much such an event counts; 0: it counts only for click-through and for new items."""


class Learned(TypedDict):
    """The prediction for a row just before it was learned."""

    high: float
    """Where the central 80 % interval ends."""
    index: int
    """The number of the row, from 0."""
    low: float
    """Where the central 80 % interval begins."""
    rating: float
    """The predicted rating."""


class LengthWeight(TypedDict):
    """The weight of one ranker for a length of history."""

    name: str
    """Its strategy."""
    weight: float
    """In the mixture, for histories of this length."""


class Link(TypedDict):
    """A neighbour in the graph of users."""

    user: str
    """The neighbour."""
    weight: NotRequired[float]
    """How close the two are."""


class Merge(TypedDict):
    """The user whose events are taken over."""

    source: str
    """Ends with the merge: history, online row and document."""


class Merged(TypedDict):
    """The proof of a merge: its position in the order of events."""

    learned: bool
    """True: the user has the events. False (202): the merge is stored and will be learned soon."""
    reason: str | None
    """Why there may be nothing to take over."""
    sequence: str
    """The place of the merge in the order of events."""
    source: str
    """The user whose events were moved, and who no longer exists."""
    timestamp: str
    """When the merge was accepted."""
    user: str
    """The user who has the events now."""


class Model(TypedDict):
    """A trained model; it never changes."""

    active: bool
    """Whether it is the active model of its strategy, which serves."""
    bytes: int
    """Its size in the store."""
    created: str
    """When it was published."""
    cuts: dict[str, Any]
    """The events up to which it was trained and compared with others."""
    decision: dict[str, Any]
    """The decision of the gate: `outcome` (`promoted`, `refused`, `not_judged`), `reason`, and
    the difference that it is based on.
    """
    job: str | None
    """The training that made it, see `/v1/jobs/{job}`."""
    metrics: dict[str, Any]
    """Quality of the model, of the model that served and of popularity on held-out users;
    costs.
    """
    model: str
    """The recipe."""
    parameters: dict[str, Any]
    """The settings that it was trained with."""
    pinned: bool
    """Whether it stays active until it is unpinned."""
    short_version: str | None
    """The first 12 characters of `version`: they are enough wherever a version is asked for."""
    strategy: Literal[
        "fbgd", "ocmf", "exmlds", "ordinal", "sequence", "neighbours", "content", "here"
    ]
    """The family of the recipe: lists ask for it as `model`."""
    title: str
    """The name of the strategy for people."""
    trained_through: str
    """The last events that it was trained on."""
    version: str
    """A digest of everything in the model; its first 12 characters name it too."""


class Models(TypedDict):
    """A page of the models, the newest first."""

    active: dict[str, str]
    """Strategy: version."""
    items: "list[Model]"
    """The models of this page."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""
    pinned: dict[str, str]
    """Strategy: version."""
    served: "list[ServedModel]"
    """What the answering process has loaded."""


class NewArm(TypedDict):
    """A group of users, and how their lists are made."""

    name: str
    """The name of the arm."""
    parameters: NotRequired["ArmParameters"]
    """The parameters of the arm; usually the first arm has none."""
    share: float
    """Its share of all users; users beyond the sum of the shares are in no arm."""


class NewExperiment(TypedDict):
    """An experiment to begin."""

    arms: "list[NewArm]"
    """The arms; the others are compared with the first."""
    guardrail: NotRequired["NewGuardrail | None"]
    """When the experiment ends by itself; null: never."""
    name: str
    """A name of small letters, digits and `-`."""


class NewGuardrail(TypedDict):
    """What ends the experiment by itself."""

    kind: NotRequired[str]
    """The kind of event whose number for each impression is watched."""
    most_loss: NotRequired[float]
    """The share of events that may be lost: 0.05 ends the experiment when the rate of an arm is
    surely more than 5 % lower than that of the first arm.
    """


class NewItemStats(TypedDict):
    """The items that are new now: items with few events and few impressions."""

    clicked: int
    """Clicks on new items (events of the kind `click`)."""
    items: int
    """How many new items there are."""
    share: float
    """Share of the positions in a list, after the first three, that new items get."""
    shown: int
    """Impressions of new items (events of the kind `impression`)."""


class NewKey(TypedDict):
    """A key to create."""

    days: NotRequired[float | None]
    """Days after which the key stops working; null: it lasts until it is revoked."""
    name: str
    """A name for the user of the key; it appears in the list of keys."""
    role: Literal["read", "write", "admin"]
    """What the key may do: `read`; `write`, feedback and documents too; `admin`, everything."""


class NewWebhook(TypedDict):
    """A webhook to make."""

    events: NotRequired[
        list[
            Literal[
                "training.ended",
                "model.promoted",
                "model.rolled_back",
                "model.pinned",
                "model.unpinned",
                "experiment.ended",
                "alarm.opened",
                "alarm.closed",
            ]
        ]
        | None
    ]
    """The types of events that it is told of; null: all."""
    name: NotRequired[str]
    """A name for people."""
    url: str
    """Where events are posted: an address by HTTPS, unless private addresses are allowed."""


class OrdinalPrediction(TypedDict):
    """The prediction of an ordinal model from features; `experts` is always empty."""

    expected: float
    """The mean of the levels' ratings; `rating` is the same."""
    experts: "list[ExpertPart]"
    """The predictions of the single experts."""
    high: float
    """Where the central 80 % interval ends: one of ten ratings is higher."""
    item: str
    """The item."""
    level: int
    """The level of stars, counted from 1 for the lowest."""
    level_probabilities: list[float]
    """The probability of each level, the lowest level first."""
    low: float
    """Where the central 80 % interval begins: one of ten ratings is lower."""
    model_version: str
    """The version of the model that predicts."""
    rating: float
    """The predicted rating, on the scale of the namespace."""
    reason: str | None
    """Why the prediction is the same for all users or all items; null if it is for this pair."""
    seen_through: str
    """The last event that the answer reflects."""
    short_version: str | None
    """The first 12 characters of `model_version`. Click-through shows them, and every request
    accepts them instead of the version. Null without a trained or online model.
    """
    strategy: Literal["ordinal"]
    """The strategy that predicts."""
    trained_through: str
    """The last event that the model has learned."""
    user: str
    """The user."""


class Pair(TypedDict):
    """A user and an item."""

    item: str
    """Your own id of the item, known or not."""
    user: str
    """Your own id of the user, known or not."""


class Pairs(TypedDict):
    """The pairs to predict."""

    model: NotRequired[Literal["online", "ordinal"] | None]
    """The model that predicts: `online`, or `ordinal`, which reads only documents."""
    pairs: "list[Pair]"
    """The answer keeps their order."""
    strategy: NotRequired[Literal["online", "ordinal"] | None]
    """The same as `model`."""


class PartitionStats(TypedDict):
    """One partition's learner and log."""

    appended: int
    """Number of the newest event."""
    dead_letters: int
    """Entries of the log that could not be learned; `hedgerow dead-letters` shows why."""
    deletions: int
    """Deletions that were learned."""
    duplicates: int
    """Events that were dropped as repeats."""
    epoch: int
    """Raised by each learner that takes over."""
    generation: int
    """Raised by each rebuild."""
    lag_events: int
    """Events that wait to be learned."""
    lag_ms: int
    """Milliseconds since the newest learned event was accepted; 0 if none waits."""
    learned_through: int
    """Number of the newest event that is learned."""
    learner: str | None
    """The process that learns; null if there is none."""
    log_bytes: int
    """Bytes of the events that wait to be learned."""
    memory: dict[str, int]
    """About how many bytes each kind of key takes."""
    other_events: int
    """Events of other kinds."""
    partition: int
    """The number of the partition, from 0."""
    ratings: int
    """Ratings that the experts have learned."""
    trimmed_records: int
    """Old events that were removed from histories that had become too long."""


class PastEvent(TypedDict):
    """A past event of the asker with an item: a `rating`, or a `kind` of feedback."""

    item: str
    """The item's id."""
    kind: NotRequired[str]
    """What happened, if it was not a rating: `view`, `click`, `purchase`, ..."""
    rating: NotRequired[float]
    """On the scale of the namespace; not together with `kind`."""


class Positions(TypedDict):
    """How many events and items a store has."""

    items: int
    """Items with a number."""
    sequences: list[int]
    """The newest event of each partition."""


class Prediction(TypedDict):
    """The prediction of the online model."""

    experts: "list[ExpertPart]"
    """The predictions of the single experts."""
    high: float
    """Where the central 80 % interval ends: one of ten ratings is higher."""
    item: str
    """The item."""
    low: float
    """Where the central 80 % interval begins: one of ten ratings is lower."""
    model_version: str
    """The version of the model that predicts."""
    rating: float
    """The predicted rating, on the scale of the namespace."""
    seen_through: str
    """The last event that the answer reflects."""
    short_version: str | None
    """The first 12 characters of `model_version`. Click-through shows them, and every request
    accepts them instead of the version. Null without a trained or online model.
    """
    strategy: Literal["online"]
    """The strategy that predicts."""
    trained_through: str
    """The last event that the model has learned."""
    user: str
    """The user."""


class Predictions(TypedDict):
    """In the order of the pairs."""

    predictions: "list[Prediction | OrdinalPrediction]"
    """One for each pair."""


class Problem(TypedDict):
    """What went wrong and what to do (RFC 9457)."""

    accepted: NotRequired[int]
    """For a write of many rows: how many rows are stored."""
    code: Literal[
        "backlogged",
        "conflict",
        "cursor_expired",
        "forbidden",
        "foreign_origin",
        "future_timestamp",
        "headers_too_large",
        "idempotency_key_reused",
        "internal",
        "invalid_cursor",
        "invalid_document",
        "invalid_event",
        "invalid_filter",
        "invalid_id",
        "invalid_request",
        "invalid_schedule",
        "invalid_sequence",
        "invalid_training",
        "invalid_webhook",
        "item_limit",
        "line_too_long",
        "malformed_body",
        "malformed_json",
        "malformed_request",
        "method_not_allowed",
        "model_pinned",
        "no_earlier_version",
        "not_found",
        "not_ready",
        "nothing_accepted",
        "out_of_scale",
        "overloaded",
        "rate_limited",
        "request_line_too_long",
        "sequence_not_reached",
        "store_rolled_back",
        "store_unavailable",
        "too_large",
        "too_many_connections",
        "too_slow",
        "unauthorised",
        "unknown_kind",
        "unsupported_media_type",
        "untrusted_host",
        "upgrade_required",
        "version_conflict",
    ]
    """The error code, for programs."""
    detail: str
    """The explanation for people: what is wrong and what to do."""
    errors: NotRequired[list[dict[str, Any]]]
    """Each fault of a request with the path of its field."""
    lines: NotRequired[int]
    """Lines of the body, empty ones included."""
    missing: NotRequired[list[str]]
    """With `not_ready`: what the process waits for."""
    rejected: NotRequired[list[dict[str, Any]]]
    """For a write of many rows: the rows that are not stored."""
    rejected_total: NotRequired[int]
    """How many rows are not stored."""
    request_id: str
    """Names the request in the log of the service."""
    retry_after: NotRequired[int]
    """Seconds to wait; only where a retry helps."""
    sequence: NotRequired[str]
    """The place of the stored rows in the order of events."""
    status: int
    """The status of the answer."""
    title: str
    """The words of the status."""
    type: str
    """A page here that says what the code means and what to do."""
    warnings: NotRequired[list[dict[str, Any]]]
    """For a write of many rows: stored rows in which something has no effect."""
    warnings_total: NotRequired[int]
    """How many rows have warnings."""


class Promotion(TypedDict):
    """The arm to promote."""

    arm: str
    """Its parameters will hold for all users."""


class RankBody(TypedDict):
    """Candidates to put in order."""

    blend: NotRequired[float]
    """Share of the online model in the score, 0 to 1."""
    candidates: list[str]
    """The items to put in order."""
    category: NotRequired[str | None]
    """Only items of this category."""
    context: NotRequired[dict[str, str]]
    """Where the list is shown: `{"device": "phone"}`. Once a model of `here` is active, the
    list depends on this context. The `rec_id` contains the context, so that feedback to the
    list is counted for it.
    """
    cursor: NotRequired[str | None]
    """`next_cursor` of the page before, with all other parameters unchanged."""
    diversity: NotRequired[float]
    """0: the best items; towards 1: items that differ from each other. Above 0 `offset` and `k`
    are at most 1000 together.
    """
    exclude: NotRequired[list[str]]
    """Ids of items to leave out."""
    exclude_seen: NotRequired[bool]
    """Leave out items that the user has rated, bought, ..."""
    explain: NotRequired[bool]
    """Add which past items make up the score, and how much (`fbgd`, `ocmf`, `next`, `sequence`,
    `neighbours`, `content`).
    """
    features: NotRequired[dict[str, Any] | None]
    """As in a user's document; together with `user`, they replace the stored features."""
    fields: NotRequired[list[str]]
    """What to add of each item: `categories` or names of features."""
    filter: NotRequired[str | None]
    """Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`."""
    history: NotRequired["list[PastEvent] | None"]
    """Past events of an anonymous asker, oldest first; not together with `user`."""
    k: NotRequired[int]
    """Maximum number of items, by default all. With `diversity` or `max_per_category` `offset`
    and `k` are at most 1000 together, or else there are at most 1000 `candidates`.
    """
    max_per_category: NotRequired[int | None]
    """Maximum number of items of one category in an answer. With it `offset` and `k` are at
    most 1000 together.
    """
    min_sequence: NotRequired[str | None]
    """Answer only once this `sequence` is learned: read your own writes."""
    model: NotRequired[
        Literal[
            "content",
            "exmlds",
            "fbgd",
            "here",
            "latest",
            "mixture",
            "neighbours",
            "next",
            "ocmf",
            "online",
            "ordinal",
            "popular",
            "sequence",
            "trending",
        ]
        | None
    ]
    """The strategy that ranks; by default the best."""
    offset: NotRequired[int]
    """Items to skip; not together with `cursor`; with `diversity` or `max_per_category`
    `offset` and `k` are at most 1000 together.
    """
    user: NotRequired[str | None]
    """The user's id."""


class Ranker(TypedDict):
    """The quality of one ranker; each positive is judged before it is learned."""

    about: str
    """What it does, in one sentence for people."""
    judged: int
    """Positive events with which this version was judged; do not compare rankers with different
    numbers.
    """
    model_version: str
    """The version that was judged; the name of the strategy if it has no models."""
    mrr: float | None
    """Mean of 1 / rank of the item that the user took, among all items not seen before (0
    beyond rank 100), over about the last 10 000 judgements; null before the first judgement.
    """
    name: str
    """Its strategy."""
    ndcg_at_10: float | None
    """The mean ndcg@10 of its lists; null before the first judgement."""
    short_version: str | None
    """The first 12 characters of `model_version`. Click-through shows them, and every request
    accepts them instead of the version. Null without a trained or online model.
    """
    title: str
    """Its name for people."""
    weight: float
    """In the mixture, by all judgements; the weights sum to 1."""


class Rankers(TypedDict):
    """The rankers of the mixture, the one with the largest weight first."""

    arms: "list[Arm]"
    """The ways to make mixed slates, the one with the largest weight first."""
    by_length: "list[HistoryLength]"
    """The weights for slates by length of history; lengths without weights of their own use the
    weights of all judgements.
    """
    judged: int
    """Number of positive events that any ranker was judged on."""
    mixture: "Ranker | None"
    """The combined lists; null until something was judged."""
    passed_over: int
    """Positive events that arrived too fast to judge rankers with them, as of at most two
    seconds ago.
    """
    rankers: "list[Ranker]"
    """The heaviest first."""
    reason: str | None
    """Why there are no figures; null once something was judged."""
    seen_through: str
    """The last events that were judged."""
    stack: "Stack | None"
    """The stack; null until enough positive events were judged, or a training gave it first
    weights.
    """


class Rate(TypedDict):
    """A figure with an interval that you may look at as often as you like."""

    high: float
    """The upper end."""
    low: float
    """The lower end of the 95 % interval."""
    value: float
    """The figure."""


class RatingMeaning(TypedDict):
    """The meaning of a rating for the rankers; the experts learn it too."""

    hides: bool
    """Whether a rated item is left out of the user's lists afterwards."""
    negative_to: float
    """The highest rating that says that a user does not want the item."""
    positive_from: float
    """The lowest rating that says that a user wants the item."""
    weight: float
    """How much a rating counts."""


class Ready(TypedDict):
    """The process can serve; the other fields say what else works."""

    accepting: bool
    """Whether feedback and documents are stored; if not, writes get 503."""
    durable: bool
    """Whether an acknowledged event survives a power cut."""
    learning: bool
    """Whether every partition has a learner; without one, feedback is stored but not learned."""
    namespace: str
    """The namespace that the process serves."""
    serving: bool
    """Lists are made: models, catalogue and popular items are in memory. If not, this is a 503."""
    stale_s: float | None
    """Seconds since the store last answered, if it does not answer now; answers from memory may
    be as old as this.
    """
    status: Literal["ready"]
    """The process can serve."""
    training: bool
    """Whether a trainer takes jobs; without one, they wait."""
    warning: str | None
    """What is wrong, and what to do."""


class Reason(TypedDict):
    """The reason for a change of the active model; it is kept with the caller and the time."""

    why: NotRequired[str]
    """For those who read `GET /v1/models/changes` later."""


class Receipt(TypedDict):
    """The proof of a deletion: its position in the order of events."""

    deleted: Literal["rating", "item", "user"]
    """What was deleted: all events of a user and an item, an item, or a user."""
    erasure: str | None
    """For a user: `GET /v1/erasures/{erasure}` says when all traces are removed, also from
    links of other users and from the disk. Null for a rating or an item.
    """
    item: str | None
    """The item; null for a user."""
    learned: bool
    """True: the deleted data no longer counts in any history or list. The items' rows and the
    trained models keep what they learned from the events until a rebuild and a retraining.
    False (202): the deletion is stored and will be learned soon.
    """
    sequence: str
    """The place of the deletion in the order of events."""
    timestamp: str
    """When the deletion was accepted."""
    user: str | None
    """The user; null for an item."""


class RecommendationBody(TypedDict):
    """Items for a `user`, or for somebody with this `history`, these `features` or both."""

    blend: NotRequired[float]
    """Share of the online model in the score, 0 to 1."""
    candidates: NotRequired[list[str] | None]
    """The only items to choose from."""
    category: NotRequired[str | None]
    """Only items of this category."""
    context: NotRequired[dict[str, str]]
    """Where the list is shown: `{"device": "phone"}`. Once a model of `here` is active, the
    list depends on this context. The `rec_id` contains the context, so that feedback to the
    list is counted for it.
    """
    cursor: NotRequired[str | None]
    """`next_cursor` of the page before, with all other parameters unchanged."""
    diversity: NotRequired[float]
    """0: the best items; towards 1: items that differ from each other. Above 0 `offset` and `k`
    are at most 1000 together.
    """
    exclude: NotRequired[list[str]]
    """Ids of items to leave out."""
    exclude_seen: NotRequired[bool]
    """Leave out items that the user has rated, bought, ..."""
    explain: NotRequired[bool]
    """Add which past items make up the score, and how much (`fbgd`, `ocmf`, `next`, `sequence`,
    `neighbours`, `content`).
    """
    features: NotRequired[dict[str, Any] | None]
    """As in a user's document; together with `user`, they replace the stored features."""
    fields: NotRequired[list[str]]
    """What to add of each item: `categories` or names of features."""
    filter: NotRequired[str | None]
    """Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`."""
    history: NotRequired["list[PastEvent] | None"]
    """Past events of an anonymous asker, oldest first; not together with `user`."""
    k: NotRequired[int]
    """Maximum number of items; with `diversity` or `max_per_category` `offset` and `k` are at
    most 1000 together.
    """
    max_per_category: NotRequired[int | None]
    """Maximum number of items of one category in an answer. With it `offset` and `k` are at
    most 1000 together.
    """
    min_sequence: NotRequired[str | None]
    """Answer only once this `sequence` is learned: read your own writes."""
    model: NotRequired[
        Literal[
            "content",
            "exmlds",
            "fbgd",
            "here",
            "latest",
            "mixture",
            "neighbours",
            "next",
            "ocmf",
            "online",
            "ordinal",
            "popular",
            "sequence",
            "trending",
        ]
        | None
    ]
    """The strategy that ranks; by default the best."""
    offset: NotRequired[int]
    """Items to skip; not together with `cursor`; with `diversity` or `max_per_category`
    `offset` and `k` are at most 1000 together.
    """
    user: NotRequired[str | None]
    """The user's id."""


class Rejected(TypedDict):
    """A row that was not accepted, and why."""

    code: str
    """The error code, for programs."""
    detail: str
    """The explanation for people: what is wrong and what to do."""
    index: int
    """The number of the row, from 0."""


class RejectedLine(TypedDict):
    """A line that was not accepted; ``line`` counts from 1, as editors do."""

    code: str
    """The error code, for programs."""
    detail: str
    """The explanation for people: what is wrong and what to do."""
    index: int
    """The number of the row, from 0."""
    line: int
    """The number of the line, from 1, as editors count."""


class Remains(TypedDict):
    """Something that is not removed yet."""

    until: str
    """When or how it is removed."""
    where: Literal[
        "log", "store", "disk", "models", "documents", "dead_letters", "event_ids", "backups"
    ]
    """`log`: the deletion waits to be learned. `store`: links of other users, the change feed
    and dead letters. `disk`: the server's append-only file. `models`: what models learned
    from the events; they contain no id and no vector of the user. `documents`,
    `dead_letters`: unreadable data that may name the user. `event_ids`: digests of the
    events' ids.
    """


class RemovedTraces(TypedDict):
    """Traces of the user in other data."""

    events: int
    """Events in log entries that could not be learned."""
    links: int
    """Documents of others that linked to the user, or to others deleted at the same time."""


class Retrain(TypedDict):
    """What to train."""

    budget_s: NotRequired[float | None]
    """Seconds that the search of the other settings may take, for all recipes together; by
    default those of the settings.
    """
    model: NotRequired[str | None]
    """`fbgd`, `ocmf-lr-wsq`, `ocmf-sq-wsq`, `ocmf-sq-sq`, `exmlds`, `ordinal`, `sequence`,
    `neighbours`, `content` or `here`; null trains all that are worth it.
    """
    parameters: NotRequired[dict[str, Any]]
    """Settings of the recipe that you choose; the others are searched. Without `model` they are
    those of `fbgd`.
    """
    promote_unjudged: NotRequired[bool]
    """Promote the model even if it cannot be tested, because no user likes two items."""


class RollBack(TypedDict):
    """What to roll back."""

    strategy: NotRequired[
        Literal["fbgd", "ocmf", "exmlds", "ordinal", "sequence", "neighbours", "content", "here"]
        | None
    ]
    """Needed when models of several strategies are active."""
    why: NotRequired[str]
    """For those who read `GET /v1/models/changes` later."""


class RollbackStats(TypedDict):
    """A time when the store was found to have lost something that it had acknowledged."""

    at: str
    """When it was found."""
    era: int
    """The era of the store that began with it, from 1."""
    found: "Positions"
    """The last events and items that it still had."""
    known: "Positions"
    """The last events and items that it was known to have acknowledged."""


class ScheduleBody(TypedDict):
    """When to retrain automatically: any condition starts a job, and each may be left out."""

    after_events: NotRequired[int | None]
    """New events of the log, impressions included, since the last successful training began."""
    budget_s: NotRequired[float | None]
    """Seconds that the search may take; by default those of the settings."""
    cron: NotRequired[str | None]
    """Five fields, in UTC: `0 4 * * *` is every day at four."""
    drift: NotRequired[float | None]
    """Ratio of the recent online error to the usual one: 1.1 is ten percent more. One drift
    starts one job.
    """
    model: NotRequired[str | None]
    """`fbgd`, `ocmf-lr-wsq`, `ocmf-sq-wsq`, `ocmf-sq-sq`, `exmlds`, `ordinal`, `sequence`,
    `neighbours`, `content` or `here`; null trains all that are worth it.
    """
    parameters: NotRequired[dict[str, Any]]
    """Settings of the recipe that you choose; the others are searched."""
    promote_unjudged: NotRequired[bool]
    """Promote models even if too few users can be held out: for small communities."""


class ServedModel(TypedDict):
    """The model that the answering process serves for a strategy."""

    fault: str | None
    """Why the active version does not serve here, and what to do; the version before it goes on
    serving.
    """
    short_version: str | None
    """The first 12 characters of `version`: they are enough wherever a version is asked for."""
    strategy: str
    """The strategy."""
    version: str | None
    """Null: no version could be loaded."""


class Setting(TypedDict):
    """One setting of the service."""

    about: str
    """What it means."""
    default: str | None
    """Its value by default."""
    is_changed: bool
    """Whether value and default differ."""
    name: str
    """Its name; in a table, the name of the table, a dot and its own name."""
    value: str | None
    """Its value in the process that answers; lists and tables are JSON; passwords are masked."""


class SettingsInEffect(TypedDict):
    """Every setting of the service."""

    settings: "list[Setting]"
    """In the order of the reference."""


class ShownAlarm(TypedDict):
    """Something that is wrong, and what to do about it."""

    about: str | None
    """The partition or strategy that it is about; null: the whole service."""
    code: str
    """What it is, for programs."""
    detail: str
    """What it means, and what to do."""
    mend: Literal["retrain", "roll_back"] | None
    """The call that mends it, if one does: `POST /v1/retrain`, or `POST /v1/models/rollback`
    with the strategy of `about`.
    """
    severity: Literal["error", "warning", "info"]
    """`error`: something does not work; `warning`: something will not, or may be lost; `info`:
    something could be better.
    """
    title: str
    """What it is, for people."""


class SignalWeight(TypedDict):
    """The weight of a standardised signal in the stack."""

    by_length: float
    """Added for each standard deviation of the logarithm of the length."""
    short: float
    """Added for histories of fewer than 7 preferences, times log(8 / (1 + preferences))."""
    signal: str
    """The ranker, or `history`, and what it says about an item."""
    weight: float
    """For a history of average length."""


class SimilarUser(TypedDict):
    """A user and the cosine of the two vectors."""

    score: float
    """The cosine of the two vectors."""
    user: str
    """The similar user."""


class SimilarUsers(TypedDict):
    """The most similar first."""

    model_version: str | None
    """The version of the model whose vectors were compared; null without one."""
    reason: str | None
    """Why there are none."""
    seen_through: str
    """The last event that the answer reflects."""
    short_version: str | None
    """The first 12 characters of the version, as click-through shows them; null without a
    model.
    """
    strategy: (
        Literal[
            "content",
            "exmlds",
            "fbgd",
            "here",
            "latest",
            "mixture",
            "neighbours",
            "next",
            "ocmf",
            "online",
            "ordinal",
            "popular",
            "sequence",
            "trending",
        ]
        | None
    )
    """The strategy of the model."""
    trained_through: str | None
    """The last events that the model was trained on."""
    user: str
    """The user that was asked for."""
    users: "list[SimilarUser]"
    """The most similar first."""


class Slate(TypedDict):
    """Items in order, and the models that ranked them."""

    blend: "Blend | None"
    """With `blend`, if possible: `model_version` then stands for both models and the share."""
    experiment: NotRequired["InExperiment | None"]
    """The running experiment, if the user and the request take part in it; otherwise null."""
    items: "list[SlateItem]"
    """The best first."""
    model_version: str
    """The version of the models that made the list; the name of the strategy if it has none."""
    models: dict[str, str]
    """Version of each trained model that ranked, by strategy."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""
    reason: str | None
    """Why the answer is not what was asked for, or not personal; otherwise null."""
    rec_id: str
    """The id of the slate: send it with the feedback that the slate brings."""
    removed: int
    """How many items `filter` left out."""
    score_kind: Literal["count", "days", "likeness", "probability", "rank_sum", "stars"]
    """What scores are. `probability`: that the user takes this item next, among all items that
    were considered; `stars`: the predicted rating; `count`: the number of events, with
    weights; `likeness`: how well an item fits, without a fixed scale; `days`: since 1970;
    `rank_sum`: a sum over the lists of several rankers.
    """
    seen_through: str
    """The last event that the list reflects."""
    short_version: str | None
    """The first 12 characters of the version, as in `rec_id` and click-through; null without a
    model.
    """
    strategy: Literal[
        "content",
        "exmlds",
        "fbgd",
        "here",
        "latest",
        "mixture",
        "neighbours",
        "next",
        "ocmf",
        "online",
        "ordinal",
        "popular",
        "sequence",
        "trending",
    ]
    """The strategy that made the list."""
    title: str
    """The name of the strategy for people."""
    trained_through: str
    """The last events that its models were trained on."""
    user: str | None
    """The user; null if the request named none."""
    warnings: "list[SlateWarning]"
    """What in the request had no effect: unknown items, names of features that no item has."""


class SlateItem(TypedDict):
    """One item, the best first; `score_kind` of the answer says what scores are."""

    because: NotRequired["list[Because]"]
    """With `explain`: the past items that contribute most to the score, the largest first."""
    fields: NotRequired[dict[str, Any]]
    """With `fields`: the fields asked for, null where the item has none."""
    item: str
    """The item's id."""
    parts: NotRequired[dict[str, float]]
    """With `explain`, if scores are probabilities: what each ranker adds to the logarithm of
    the item's probability, compared with the average candidate.
    """
    score: float
    """The number that orders the list, unless variety or exploration move an item."""
    strategy: Literal[
        "content",
        "exmlds",
        "explore",
        "fbgd",
        "here",
        "latest",
        "mixture",
        "neighbours",
        "next",
        "ocmf",
        "online",
        "ordinal",
        "popular",
        "sequence",
        "trending",
    ]
    """The ranker that adds most to its score. `explore`: the item is new and got its position
    by exploration, and its score says how well it fits the user (0: as well as other new
    items).
    """


class SlateResponses(TypedDict):
    """Click-through of the slates of one model."""

    click_through: float | None
    """Clicks for each impression; null before the first impression."""
    clicks: int
    """Events of the kind `click`."""
    events: dict[str, int]
    """Number of events that named a slate, by kind of feedback, including `rating`."""
    impressions: int
    """Events of the kind `impression`."""
    model_version: str | None
    """The first 12 digits of the version; null for slates without a model."""
    strategy: str
    """The strategy that made the slates."""


class SlateWarning(TypedDict):
    """Something in the request that had no effect."""

    code: str
    """`unknown_items` or `unknown_fields`."""
    detail: str
    """What had no effect and what to send, for people."""
    field: str
    """The part of the request: `candidates`, `exclude`, `history` or `fields`."""
    n: int
    """How many of its entries."""


class Stack(TypedDict):
    """The weights by which rankers are combined, see docs/explanation/stack.md."""

    added: "list[StackPart]"
    """The largest first."""
    events: int
    """Number of positive events that it was fitted to."""
    partition: int
    """The partition that learned it: the one that has judged most."""
    weights: "list[SignalWeight]"
    """The heaviest first."""


class StackPart(TypedDict):
    """What a ranker adds to the stack."""

    name: str
    """The ranker, or `history`."""
    ndcg_at_10: float
    """How much lower ndcg@10 is without the ranker, on the newest quarter of the positive
    events that the stack learned.
    """


class Stats(TypedDict):
    """Statistics of the service."""

    created: str
    """When the namespace was made."""
    durable: bool
    """Whether an acknowledged event survives a power cut."""
    items: int
    """Ids of items that are known, from documents or feedback."""
    kinds: "list[KindMeaning]"
    """The meaning of each kind of feedback."""
    memory: dict[str, int]
    """About how many bytes each kind of key takes, in all partitions."""
    model_version: str
    """The version of the online model."""
    namespace: str
    """The namespace that the process serves."""
    new_items: "NewItemStats"
    """The items that are new now."""
    partitions: "list[PartitionStats]"
    """Each partition's learner and log."""
    rating: "RatingMeaning"
    """The meaning of a rating."""
    rollbacks: "list[RollbackStats]"
    """When the store was found to have lost something, the newest 20, the newest first."""
    scale: str
    """The scale of ratings, `lowest:highest`."""
    seen_through: str
    """The last events that are learned."""
    store: str
    """The server that stores everything, and its version."""
    warning: str | None
    """What is wrong, and what to do."""


class Topic(TypedDict):
    """A group of items that the same people like."""

    items: "list[TopicItem]"
    """Up to 20 of them, the most typical first."""
    n_items: int
    """Items of the topic that may be shown; each item belongs to the topic that it fits best."""
    name: str
    """Terms that are typical of the topic; `topic 3`, for example, if there are no such terms."""
    share: float
    """Its share of all that people took; the shares of all topics sum to 1."""
    terms: list[str]
    """The terms of the name: categories first, then words of texts; may be empty."""
    topic: int
    """Its number, from 0, within this version of the model."""


class TopicItem(TypedDict):
    """An item of a topic."""

    item: str
    """The item."""
    strength: float
    """How typical the item is of the topic, 0 to 1; smaller for an item with little feedback."""


class Topics(TypedDict):
    """The topics of the catalogue."""

    model_version: str | None
    """The version of the model that they are made of; null without one."""
    reason: str | None
    """Why there are none; otherwise null."""
    short_version: str | None
    """The first 12 characters of `model_version`. Click-through shows them, and every request
    accepts them instead of the version. Null without a trained or online model.
    """
    strategy: (
        Literal["fbgd", "ocmf", "exmlds", "ordinal", "sequence", "neighbours", "content", "here"]
        | None
    )
    """The strategy of the model."""
    topics: "list[Topic]"
    """The topic that most people like comes first; empty without a model."""
    trained_through: str | None
    """The last events that the model was trained on."""


class Tried(TypedDict):
    """One recipe in a training that names none."""

    added: "Added | None"
    """The ndcg@10 that it adds to the stack of `popular`, `next` and the recipes chosen before."""
    chosen: bool
    """Whether it improves the lists of the others, so that it is trained."""
    decision: dict[str, Any]
    """The decision of the gate; empty unless a model was trained."""
    metrics: dict[str, Any]
    """As `metrics` of a job of this recipe alone."""
    model: str
    """The recipe."""
    ndcg10: float | None
    """ndcg@10 of its own lists for the items that held-out users took next; null: not measured."""
    only_places: NotRequired[bool]
    """Whether its model only places new items, and takes no part in mixtures."""
    seconds: float
    """Wall seconds that it took."""
    serves: bool
    """Whether a model of this recipe served before: then it is trained again, unless another
    recipe of its family is chosen.
    """
    short_version: str | None
    """The first 12 characters of `version`: they are enough wherever a version is asked for."""
    strategy: str
    """Its family."""
    version: str | None
    """The model that it published."""
    why: str
    """Why it was chosen, was not chosen or could not be tried."""


class Uploaded(TypedDict):
    """The result of a stream, with the first 1 000 rejected lines and warnings."""

    accepted: int
    """Lines that are stored."""
    lines: int
    """Lines of the body, empty ones included."""
    rejected: "list[RejectedLine]"
    """The first 1 000 lines that are rejected, and why."""
    rejected_total: int
    """How many lines are not stored."""
    sequence: str
    """The place of the rows in the order of events."""
    warnings: "list[WarnedLine]"
    """The first 1 000 lines that are stored although something in them has no effect."""
    warnings_total: int
    """How many lines have warnings."""


class User(TypedDict):
    """A user's document; version 0: known from feedback alone."""

    extra: dict[str, Any]
    """What was written as `extra`."""
    features: dict[str, Any]
    """Typed facts: numbers, strings, booleans, lists of strings."""
    links: "list[Link]"
    """The user's neighbours: friends, household, colleagues."""
    user: str
    """Your own id of the user."""
    version: int
    """Raised by each change of the document; the `ETag` of an answer about one user."""


class UserBody(TypedDict):
    """The document of a user."""

    extra: NotRequired[dict[str, Any]]
    """Anything else that you keep with the user, as JSON: no list, ranker or filter reads it."""
    features: NotRequired[dict[str, bool | int | float | str | list[str]]]
    """Typed facts: numbers, strings, booleans, lists of strings."""
    links: NotRequired["list[Link]"]
    """The user's neighbours: friends, household, colleagues. Only trainings with the parameter
    `graph` use them; recommendations use history and features.
    """


class UserExport(TypedDict):
    """Everything that is known about a user."""

    document: "ExportedDocument"
    """What you said about the user."""
    events: "list[Event]"
    """All stored events, the oldest first, those of deleted items too."""
    exported: str
    """When this was read."""
    impressions: "list[Event]"
    """The latest events of the kind `impression`: of all users the newest 10 000 are kept."""
    linked_by: "list[Link]"
    """Other users whose documents link to this one, and how strongly."""
    row: list[float] | None
    """What the experts that predict ratings learned of the user; null: nothing."""
    seen: list[str]
    """Items whose events were dropped to shorten the history (`HEDGEROW_HISTORY_LIMIT`)."""
    seen_through: str
    """The last event that the answer reflects."""
    topics: "list[ExportedTopic]"
    """Topics that the user likes, according to the active model; the largest share first."""
    user: str
    """The user."""


class UserLine(TypedDict):
    """One line of a bulk upload."""

    extra: NotRequired[dict[str, Any]]
    """Anything else that you keep with the user, as JSON: no list, ranker or filter reads it."""
    features: NotRequired[dict[str, bool | int | float | str | list[str]]]
    """Typed facts: numbers, strings, booleans, lists of strings."""
    links: NotRequired["list[Link]"]
    """The user's neighbours: friends, household, colleagues. Only trainings with the parameter
    `graph` use them; recommendations use history and features.
    """
    user: str
    """Your own id of the user."""


class UserPage(TypedDict):
    """A page of the users, ordered by the bytes of their ids."""

    items: "list[User]"
    """The entries of this page."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""


class UserPatch(TypedDict):
    """A JSON Merge Patch (RFC 7396) of a user: a value replaces the old one, null removes it."""

    extra: NotRequired[dict[str, Any] | None]
    """Anything else that you keep with the user, as JSON: no list, ranker or filter reads it."""
    features: NotRequired[dict[str, bool | int | float | str | list[str] | None] | None]
    """Typed facts: numbers, strings, booleans, lists of strings."""
    links: NotRequired[list[dict[str, Any]] | None]
    """The user's neighbours: friends, household, colleagues. Only trainings with the parameter
    `graph` use them; recommendations use history and features.
    """


class UserTopic(TypedDict):
    """A topic, and its share in what a user likes."""

    items: list[str]
    """Up to five items of the user in it."""
    lift: float
    """This share divided by the topic's share of all that people took."""
    name: str
    """As in `GET /v1/topics`."""
    share: float
    """Its share of the user's positive feedback; the shares of all topics sum to 1."""
    terms: list[str]
    """As in `GET /v1/topics`."""
    topic: int
    """As in `GET /v1/topics`."""


class UserTopics(TypedDict):
    """The topics of a user."""

    model_version: str | None
    """The version of the model that topics are made of; null without one."""
    reason: str | None
    """Why there are none; otherwise null."""
    seen_through: str
    """The last event of the user that the answer reflects."""
    short_version: str | None
    """The first 12 characters of `model_version`. Click-through shows them, and every request
    accepts them instead of the version. Null without a trained or online model.
    """
    strategy: (
        Literal["fbgd", "ocmf", "exmlds", "ordinal", "sequence", "neighbours", "content", "here"]
        | None
    )
    """The strategy of the model."""
    topics: "list[UserTopic]"
    """Those with a share, the largest first."""
    trained_through: str | None
    """The last events that the model was trained on."""
    user: str
    """The user."""


class Warned(TypedDict):
    """A row that was accepted although something in it has no effect."""

    code: str
    """`unreadable_rec_id` or `foreign_rec_id`."""
    detail: str
    """What does not count and what to send, for people."""
    index: int
    """The number of the row, from 0."""


class WarnedLine(TypedDict):
    """A line that was accepted although something in it has no effect."""

    code: str
    """`unreadable_rec_id` or `foreign_rec_id`."""
    detail: str
    """What does not count and what to send, for people."""
    index: int
    """The number of the row, from 0."""
    line: int
    """The number of the line, from 1, as editors count."""


class Webhook(TypedDict):
    """A webhook without its secret."""

    created: str
    """When it was made; it is told of what happens from then on."""
    disabled: str | None
    """Why nothing is sent any longer; null: it is in use."""
    events: list[str]
    """The types of events that it is told of."""
    id: str
    """Names the webhook in routes and records."""
    name: str
    """A name for people."""
    url: str
    """Where events are posted."""


class WebhookPage(TypedDict):
    """Webhooks, the oldest first."""

    items: "list[WebhookState]"
    """The entries of this page."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""


class WebhookState(TypedDict):
    """A webhook, and how its latest deliveries went."""

    created: str
    """When it was made; it is told of what happens from then on."""
    delivered: int
    """Those of the latest 200 that the receiver has."""
    disabled: str | None
    """Why nothing is sent any longer; null: it is in use."""
    events: list[str]
    """The types of events that it is told of."""
    given_up: int
    """Those of the latest 200 that it does not have, and will not be sent again."""
    id: str
    """Names the webhook in routes and records."""
    name: str
    """A name for people."""
    url: str
    """Where events are posted."""
    waiting: int
    """Deliveries that wait to be sent, or to be sent again."""


class Written(TypedDict):
    """The result of a write; to read what you wrote, send `sequence` as `min_sequence`."""

    accepted: int
    """Rows that are stored."""
    predictions: NotRequired["list[Learned]"]
    """With `wait=learned`: what was predicted for each rating just before it was learned."""
    rejected: "list[Rejected]"
    """The rows that are rejected, and why."""
    repeats: NotRequired[list[int]]
    """The numbers, from 0, of the rows whose ids (`event_id`, or from the idempotency key) the
    service knew already. Each of these events counts once. With `wait=learned` all are
    listed. Otherwise only recent ids are noticed, and the property is absent if there are
    none.
    """
    sequence: str
    """The place of the rows in the order of events."""
    warnings: "list[Warned]"
    """Rows that are stored although something in them has no effect: a `rec_id` that names no
    list of the user.
    """
