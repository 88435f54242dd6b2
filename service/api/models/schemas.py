"""The schemas of models, of the active ones, and of changes of these."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import StringConstraints, computed_field

from service.api.figures import Measured
from service.api.schemas import Answer, Page, Request
from service.api.times import Time, rfc3339
from service.ids import sequence_token
from service.ranking.families import TrainedStrategy, title_of
from service.served_models import ActiveSet
from service.store.models.records import MOST_TEXT, SHOWN, ModelChange, ModelRecord

Why = Annotated[str, StringConstraints(max_length=MOST_TEXT)]


class Reason(Request):
    """The reason for a change of the active model; it is kept with the caller and the time."""

    why: Why = ""
    """For those who read `GET /v1/models/changes` later."""


class RollBack(Reason):
    """What to roll back."""

    strategy: TrainedStrategy | None = None
    """Needed when models of several strategies are active."""


class Versioned(Answer):
    """Something with the version of a model."""

    version: str | None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def short_version(self) -> str | None:
        """The first 12 characters of `version`: they are enough wherever a version is asked for."""
        return None if self.version is None else self.version[:SHOWN]


class Model(Versioned):
    """A trained model; it never changes."""

    version: str
    """A digest of everything in the model; its first 12 characters name it too."""
    strategy: TrainedStrategy
    """The family of the recipe: lists ask for it as `model`."""
    title: str
    """The name of the strategy for people."""
    model: str
    """The recipe."""
    created: Time
    """When it was published."""
    job: str | None
    """The training that made it, see `/v1/jobs/{job}`."""
    parameters: dict[str, Any]
    """The settings that it was trained with."""
    metrics: Measured
    """Quality of the model, of the model that served and of popularity on held-out users; costs."""
    decision: Measured
    """The decision of the gate: `outcome` (`promoted`, `refused`, `not_judged`), `reason`, and the
    difference that it is based on."""
    cuts: dict[str, Any]
    """The events up to which it was trained and compared with others."""
    trained_through: str
    """The last events that it was trained on."""
    bytes: int
    """Its size in the store."""
    active: bool
    """Whether it is the active model of its strategy, which serves."""
    pinned: bool
    """Whether it stays active until it is unpinned."""


class ServedModel(Versioned):
    """The model that the answering process serves for a strategy."""

    strategy: str
    """The strategy."""
    version: str | None
    """Null: no version could be loaded."""
    fault: str | None
    """Why the active version does not serve here, and what to do; the version before it goes on
    serving."""


class Models(Answer):
    """A page of the models, the newest first."""

    items: list[Model]
    """The models of this page."""
    next_cursor: str | None
    """Send it back as `cursor` for the next page; null at the end."""
    active: dict[str, str]
    """Strategy: version."""
    pinned: dict[str, str]
    """Strategy: version."""
    served: list[ServedModel]
    """What the answering process has loaded."""


class Change(Versioned):
    """One change of the active model."""

    at: Time
    """When it was changed."""
    strategy: str
    """The strategy whose model changed."""
    version: str
    """The version that it is about."""
    before: str | None
    """The version that was active before."""
    action: Literal["promoted", "rolled_back", "pinned", "unpinned"]
    """The kind of change."""
    who: str
    """The caller: a key, or the one who ordered the training."""
    why: str
    """The reason that was given."""


class ChangePage(Page[Change]):
    """A page of the changes, the newest first."""


def shown_model(record: ModelRecord, active: dict[str, str], pinned: dict[str, str]) -> Model:
    """Return a model as the api shows it."""
    values = asdict(record)
    through = record.cuts.get("trained_through", {})
    return Model(
        **{name: values[name] for name in Model.model_fields if name in values},
        title=title_of(record.strategy),
        created=rfc3339(record.created_ms),
        trained_through=sequence_token({int(part): int(at) for part, at in through.items()}),
        active=active.get(record.strategy) == record.version,
        pinned=pinned.get(record.strategy) == record.version,
    )


def shown_served(current: ActiveSet) -> list[ServedModel]:
    """Return the models that a process serves, and the faults of those that it could not load."""
    versions = {strategy: one.record.version for strategy, one in current.models.items()}
    faults = {strategy: fault.detail for strategy, fault in current.faults.items()}
    return [
        ServedModel(strategy=name, version=versions.get(name), fault=faults.get(name))
        for name in sorted(versions.keys() | faults.keys())
    ]


def shown_change(change: ModelChange) -> Change:
    """Return a change as the api shows it."""
    values = asdict(change)
    del values["id"]
    return Change(at=rfc3339(values.pop("at_ms")), **values)
