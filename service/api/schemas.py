"""The answers, and the documents of the catalogue: strict types, nothing optional by accident."""

from datetime import UTC, datetime
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

import msgspec
from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from service.api.faults import NAME, unknown
from service.ids import MAX_ID_LENGTH, id_fault, is_id
from service.store.api_keys import Role

T = TypeVar("T")


class Answer(BaseModel):
    """What the service says."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class Request(BaseModel):
    """What a client says: strict, and nothing unknown."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)

    @model_validator(mode="wrap")
    @classmethod
    def _name_what_is_known(cls, given: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return read(given)
        except ValidationError as error:
            faults = [
                InitErrorDetails(type=_unknown_field(cls), loc=fault["loc"], input=None)
                for fault in error.errors(include_url=False, include_input=False)
                if fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1
            ]
            if not faults:
                raise
            raise ValidationError.from_exception_data(cls.__name__, faults) from None


def _unknown_field(of: type[BaseModel]) -> PydanticCustomError:
    return PydanticCustomError("unknown_field", "{words}", {"words": unknown([*of.model_fields])})


def _id(text: str) -> str:
    if not is_id(text):
        raise ValueError(id_fault("id", text))
    return text


def _moment(text: str) -> str:
    """RFC 3339 with an offset, kept in UTC."""
    try:
        moment: datetime = msgspec.convert(text, Annotated[datetime, msgspec.Meta(tz=True)])
        utc = moment.astimezone(UTC)
    except (msgspec.ValidationError, OverflowError):
        raise ValueError("give a time as RFC 3339 with an offset: 2026-11-18T12:00:00Z") from None
    return utc.isoformat().replace("+00:00", "Z")


def _feature(given: Any, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(given)
    except ValidationError:
        # one sentence instead of one fault for each type that it is not
        raise PydanticCustomError(
            "feature",
            "must be a number (whole ones up to 2^53), true, false, a string of at most 1000 characters "
            "or a list of at most 100 such strings",
        ) from None


Id = Annotated[str, Field(min_length=1, max_length=MAX_ID_LENGTH), AfterValidator(_id)]
Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"}), AfterValidator(_moment)]
Name = Annotated[str, StringConstraints(pattern=NAME)]
Text = Annotated[StrictStr, StringConstraints(max_length=1_000)]
Whole = Annotated[StrictInt, Field(ge=-(2**53), le=2**53)]
Finite = Annotated[StrictFloat, AllowInfNan(False)]
Feature = Annotated[
    StrictBool | Whole | Finite | Text | Annotated[list[Text], Field(max_length=100)],
    WrapValidator(_feature),
]
Features = Annotated[dict[Name, Feature], Field(max_length=64)]


class Page(Answer, Generic[T]):
    """A page of a list."""

    items: list[T]
    next_cursor: str | None
    """Hand it back as `cursor` for the next page; null at the end."""


# --- catalogue -----------------------------------------------------------------------------------------


class ItemBody(Request):
    """What an application says of an item."""

    categories: Annotated[list[Annotated[Text, Field(min_length=1)]], Field(max_length=64)] = []
    """Names of the groups that the item belongs to."""
    features: Features = {}
    """Typed facts: numbers, strings, booleans, lists of strings."""
    hidden: bool = False
    """A hidden item is never recommended."""
    available_from: Moment | None = None
    """Not recommended before this moment."""
    available_until: Moment | None = None
    """Not recommended from this moment on."""

    @model_validator(mode="after")
    def _is_available_at_all(self) -> Self:
        since, until = self.available_from, self.available_until
        # a fraction of a second is not always there: as texts they do not compare
        if since and until and datetime.fromisoformat(since) >= datetime.fromisoformat(until):
            raise ValueError(
                "`available_from` must be before `available_until`, or it would never be shown"
            )
        return self


class ItemLine(ItemBody):
    """One line of a bulk upload."""

    item: Id


class Item(Answer):
    """An item's document; version 0: known from feedback alone."""

    item: str
    version: int
    categories: list[str]
    features: dict[str, Any]
    hidden: bool
    available_from: str | None
    available_until: str | None


class Link(Request):
    """A neighbour in the graph of users."""

    user: Id
    weight: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] = 1.0


class UserBody(Request):
    """What an application says of a user."""

    features: Features = {}
    """Typed facts: numbers, strings, booleans, lists of strings."""
    links: Annotated[list[Link], Field(max_length=1_000)] = []
    """The user's neighbours: friends, household, colleagues. They shape a training with the parameter `graph` alone:
    recommendations are made of history and features."""


class UserLine(UserBody):
    """One line of a bulk upload."""

    user: Id


class User(Answer):
    """A user's document; version 0: known from feedback alone."""

    user: str
    version: int
    features: dict[str, Any]
    links: list[Link]


class BulkRejected(Answer):
    """A line that was not accepted."""

    index: int
    line: int
    code: str
    detail: str


class BulkWritten(Answer):
    """What became of the lines; the first 1 000 bad ones are spelt out."""

    accepted: int
    rejected: list[BulkRejected]
    rejected_total: int
    lines: int


# --- history and deletions ----------------------------------------------------------------------------


class Event(Answer):
    """One event of a history."""

    item: str
    kind: str
    """`rating`, or the kind of feedback."""
    rating: float | None
    """Null for other kinds."""
    timestamp: str
    sequence: str


class Receipt(Answer):
    """The proof of a deletion: it has its place in the order of events."""

    deleted: Literal["rating", "item", "user"]
    user: str | None
    item: str | None
    sequence: str
    learned: bool
    """True: nothing of it is left. False (202): the deletion is safe and follows within moments."""
    timestamp: str


# --- predictions --------------------------------------------------------------------------------------


PredictionStrategy = Literal["online", "ordinal"]


class Pair(Request):
    """A user and an item."""

    user: Id
    item: Id


class Pairs(Request):
    """What to predict."""

    pairs: Annotated[list[Pair], Field(min_length=1, max_length=1_000)]
    model: PredictionStrategy | None = None
    """Who predicts: the `online` model, or an `ordinal` one from what the documents say of user and item."""
    strategy: PredictionStrategy | None = None
    """The same as `model`."""


class ExpertPart(Answer):
    """One expert's own prediction and its part in the answer."""

    name: str
    rating: float
    weight: float


class PredictedRating(Answer):
    """A predicted rating; `low` to `high` is the central 80 % interval."""

    user: str
    item: str
    rating: float
    low: float
    high: float
    experts: list[ExpertPart]
    model_version: str
    trained_through: str
    seen_through: str


class Prediction(PredictedRating):
    """What the online model foresees."""

    strategy: Literal["online"]


class OrdinalPrediction(PredictedRating):
    """What an ordinal model foresees from features; no experts have a part in it, so `experts` is empty."""

    strategy: Literal["ordinal"]
    level: int
    """Counted from 1: the level of stars, the lowest first."""
    level_probabilities: list[float]
    """Of each level, in their order."""
    expected: float
    """The mean of the levels' ratings; `rating` is the same."""
    reason: str | None
    """Why it holds for any user or any item; null where it is of these two."""


class Predictions(Answer):
    """In the order of the pairs."""

    predictions: list[Prediction | OrdinalPrediction]


class Expert(Answer):
    """How one expert is doing."""

    name: str
    family: str
    rank: int
    c: float | None
    """Aggressiveness."""
    weight: float
    """Its Hedge weight."""
    part: float
    """Its part in what is served."""
    cumulative_loss: float
    recent_loss: float
    updates: int
    regret_to_best: float


class Experts(Answer):
    """The experts of a partition."""

    partition: int
    model_version: str
    aggregator: str
    experts: list[Expert]
    seen_through: str


# --- operations ---------------------------------------------------------------------------------------


class Health(Answer):
    """The process answers."""

    status: Literal["ok"]


class NewKey(Request):
    """A key to make."""

    role: Role
    name: Annotated[str, Field(min_length=1, max_length=100)]
    """Who will use it, for your own list."""


class Key(Answer):
    """A key without its secret."""

    id: str
    name: str
    role: Role
    created: str
    revoked: str | None


class CreatedKey(Key):
    """A key with its secret, shown this once."""

    secret: str


class Ready(Answer):
    """The process can serve."""

    status: Literal["ready"]
    namespace: str
    durable: bool
    """Whether an acknowledged event survives a power cut."""
    warning: str | None
    """Why not."""


class KindMeaning(Answer):
    """What one kind of feedback means to the rankers."""

    name: str
    code: int
    weight: float
    sign: int
    hides: bool


class RatingMeaning(Answer):
    """What a rating means to the rankers; it also teaches the experts."""

    positive_from: float
    negative_to: float
    weight: float
    hides: bool


class PartitionStats(Answer):
    """One partition's learner and log."""

    partition: int
    appended: int
    """Number of the newest event."""
    learned_through: int
    """Number of the newest event that is learned."""
    lag_events: int
    lag_ms: int
    log_bytes: int
    """Bytes of events that wait."""
    learner: str | None
    """Who learns; null: nobody."""
    epoch: int
    generation: int
    ratings: int
    duplicates: int
    other_events: int
    deletions: int
    trimmed_records: int
    memory: dict[str, int]
    """About how many bytes each family of keys takes."""


class Stats(Answer):
    """How the service is doing."""

    namespace: str
    created: str
    scale: str
    durable: bool
    warning: str | None
    store: str
    model_version: str
    items: int
    partitions: list[PartitionStats]
    memory: dict[str, int]
    rating: RatingMeaning
    kinds: list[KindMeaning]
    seen_through: str


class HistoryExpert(Answer):
    """One expert at one point."""

    name: str
    weight: float
    part: float
    recent_loss: float


class HistoryPoint(Answer):
    """The experts after so many ratings."""

    sequence: str
    learned: int
    experts: list[HistoryExpert]


class ExpertHistory(Answer):
    """Points in time, oldest first."""

    partition: int
    points: list[HistoryPoint]


class TopicItem(Answer):
    """An item and how much it belongs to a topic."""

    item: str
    strength: float


class Topics(Answer):
    """The heaviest items of each component."""

    partition: int
    topics: list[list[TopicItem]]
    seen_through: str
