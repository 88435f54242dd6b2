"""The schemas of orders, jobs and the schedule of trainings."""

from typing import Annotated, Any

from pydantic import Field

from service.api.figures import Figure, Measured
from service.api.models.schemas import Versioned
from service.api.schemas import Answer, Page, Parameters, Request
from service.api.times import Time, rfc3339, rfc3339_or_none
from service.ranking.families import FAMILIES
from service.ranking.strategies import meant
from service.store.jobs.job import JobRecord, Status
from service.store.jobs.schedule import Schedules

Model = Annotated[str, Field(min_length=1, max_length=64)]
Seconds = Annotated[float, Field(ge=0, le=3_600, allow_inf_nan=False)]


_RECIPES = [f"`{recipe.name}`" for family in FAMILIES.values() for recipe in family.recipes]
RecipeName = Annotated[
    Model | None,
    Field(
        description=f"{', '.join(_RECIPES[:-1])} or {_RECIPES[-1]}; "
        "null trains all that are worth it."
    ),
]


class Retrain(Request):
    """What to train."""

    model: RecipeName = None
    parameters: Parameters = Field(default_factory=dict)
    """Settings of the recipe that you choose; the others are searched. Without `model` they are
    those of `fbgd`."""
    budget_s: Seconds | None = None
    """Seconds that the search of the other settings may take, for all recipes together; by default
    those of the settings."""
    promote_unjudged: bool = False
    """Promote the model even if it cannot be tested, because no user likes two items."""


class Added(Answer):
    """A mean, and the bounds of its 95 % interval."""

    mean: Figure
    """The mean."""
    low: Figure
    """The lower bound."""
    high: Figure
    """The upper bound."""


class Tried(Versioned):
    """One recipe in a training that names none."""

    model: str
    """The recipe."""
    strategy: str
    """Its family."""
    serves: bool
    """Whether a model of this recipe served before: then it is trained again, unless another recipe
    of its family is chosen."""
    chosen: bool
    """Whether it improves the lists of the others, so that it is trained."""
    only_places: bool = False
    """Whether its model only places new items, and takes no part in mixtures."""
    why: str
    """Why it was chosen, was not chosen or could not be tried."""
    ndcg10: Figure | None
    """ndcg@10 of its own lists for the items that held-out users took next; null: not measured."""
    added: Added | None
    """The ndcg@10 that it adds to the stack of `popular`, `next` and the recipes chosen before."""
    seconds: Figure
    """Wall seconds that it took."""
    version: str | None
    """The model that it published."""
    metrics: Measured
    """As `metrics` of a job of this recipe alone."""
    decision: Measured
    """The decision of the gate; empty unless a model was trained."""


class Job(Versioned):
    """A training: ordered, under way or ended."""

    id: str
    """Names the job in routes."""
    status: Status
    """It only moves forward: `queued`, `running`, then one of the others."""
    progress: Figure
    """0 to 1."""
    stage: str
    """The step of a running job: reading, searching, fitting, weighing, judging, refining,
    publishing or promoting."""
    model: str | None
    """The recipe that was ordered. Null: every recipe that improves lists; `tried` says which."""
    recipe: str
    """In a running job without `model`: the recipe that is being trained."""
    tried: list[Tried]
    """The recipes that a job without `model` has considered; empty for other jobs."""
    parameters: dict[str, Any]
    """Settings of the recipe that were ordered; the others are searched."""
    budget_s: float
    """Seconds that the search may take."""
    promote_unjudged: bool
    """Whether the model is promoted even if too few users can be held out."""
    who: str
    """Who ordered it."""
    why: str
    """`order`, or the condition of the schedule that started it: `cron`, `events`, `drift`."""
    created: Time
    """When it was ordered."""
    started: Time | None
    """When a trainer took it."""
    ended: Time | None
    """When it ended."""
    error: str | None
    """Why it failed or was cancelled, and what to do."""
    metrics: Measured
    """Quality of the new model, of the serving model and of popularity on held-out users; costs."""
    decision: Measured
    """The decision of the gate: `outcome` (`promoted`, `refused`, `not_judged`), `reason`, and the
    difference that it is based on. For a job without `model`: the best outcome of all recipes
    (`not_chosen` if none was trained), and why no more recipes were trained.
    """
    version: str | None
    """The model that it published; null without `model`: see `tried`."""


class ScheduleBody(Request):
    """When to retrain automatically: any condition starts a job, and each may be left out."""

    cron: Annotated[str, Field(max_length=200)] | None = None
    """Five fields, in UTC: `0 4 * * *` is every day at four."""
    after_events: Annotated[int, Field(ge=1, le=2**48)] | None = None
    """New events of the log, impressions included, since the last successful training began."""
    drift: Annotated[float, Field(gt=1, le=1_000, allow_inf_nan=False)] | None = None
    """Ratio of the recent online error to the usual one: 1.1 is ten percent more. One drift starts
    one job."""
    model: RecipeName = None
    parameters: Parameters = Field(default_factory=dict)
    """Settings of the recipe that you choose; the others are searched."""
    budget_s: Seconds | None = None
    """Seconds that the search may take; by default those of the settings."""
    promote_unjudged: bool = False
    """Promote models even if too few users can be held out: for small communities."""


class JobPage(Page[Job]):
    """A page of the trainings, the newest first."""


class CurrentSchedule(Answer):
    """The schedule, and the current values for its conditions."""

    cron: str | None
    """Five fields, in UTC; null: off."""
    after_events: int | None
    """New events that start a training; null: off. While the settings decide, the number usually
    grows with the log."""
    drift: float | None
    """Ratio of the recent online error to the usual one that starts a training; null: off."""
    model: str | None
    """The recipe that is ordered; null: every recipe that improves lists."""
    parameters: dict[str, Any]
    """Settings of the recipe that are fixed."""
    budget_s: float | None
    """Seconds that the search may take; null: as the settings say."""
    promote_unjudged: bool
    """Whether models are promoted even if too few users can be held out."""
    of_settings: bool
    """Whether the settings decide: nobody has set a schedule, or it was deleted."""
    version: int
    """The number of changes so far, also by DELETE."""
    who: str | None
    """Who changed it last."""
    changed: Time | None
    """When it was changed last."""
    last_began: Time | None
    """When the last training began, from which the conditions count: the last successful training
    of the schedule's model, even if somebody ordered it. After a change of `model` it is the last
    training of the previous model, until a training of the new model succeeds."""
    at_once: bool
    """Whether a training begins as soon as no more events arrive, whatever `not_before` says,
    because nothing serves yet, or because the number of events has grown by half or more since the
    last training began."""
    not_before: Time | None
    """The end of the pause: before it, the trainer starts no training by itself. The pause
    (HEDGEROW_RETRAIN_PAUSE_S) follows each training and each start of the trainer, and doubles with
    each scheduled training without a result. Null: nothing was trained yet."""
    events_at_last: int
    """Events that were learned before that training began, including impressions."""
    new_events: int
    """Events that were learned since that training began, including impressions."""
    drift_now: Figure
    """The recent online error divided by the usual one, or by the error since the last training
    began if that is higher."""


def recipe_of(body: Retrain | ScheduleBody) -> str | None:
    """Return the recipe that an order means; None: whatever is worth training."""
    return meant(body.model, body.parameters)


def shown_job(record: JobRecord) -> Job:
    """Return a job as the api shows it."""
    values = {name: getattr(record, name) for name in Job.model_fields if hasattr(record, name)}
    return Job(
        **values,
        created=rfc3339(record.created_ms),
        started=rfc3339_or_none(record.started_ms),
        ended=rfc3339_or_none(record.ended_ms),
    )


def shown_schedule(schedules: Schedules) -> CurrentSchedule:
    """Return the schedule of this moment as the api shows it."""
    schedule, last = schedules.current(), schedules.last()
    return CurrentSchedule(
        cron=schedule.cron,
        after_events=schedules.after_events(schedule, last),
        drift=schedule.drift,
        model=schedule.model,
        parameters=schedule.parameters,
        budget_s=schedule.budget_s,
        promote_unjudged=schedule.promote_unjudged,
        of_settings=schedule.of_settings,
        version=schedule.version,
        who=schedule.who or None,
        changed=rfc3339_or_none(schedule.changed_ms or None),
        last_began=rfc3339_or_none(last.at_ms or None),
        at_once=schedules.is_urgent(schedule, last),
        not_before=rfc3339_or_none(schedules.not_before_ms(last) or None),
        events_at_last=last.events,
        new_events=schedules.new_events(last),
        drift_now=schedules.drift(),
    )
