"""Experiments: begun, compared, stopped and promoted by an admin."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from pydantic import Field, model_validator

from core.comparison import Estimate
from service.api import schemas
from service.api.figures import Figure
from service.api.routing import Caller, Route, Runtime
from service.api.schemas import Answer, Page
from service.api.slates.requests import MAX_K
from service.api.times import Time, rfc3339, rfc3339_or_none
from service.errors import InvalidEvent
from service.http.documentation import problems
from service.http.faults import SLUG
from service.ranking.families import AnyStrategy
from service.runtime.api import ApiRuntime
from service.serving.experiments.comparison import ArmResult
from service.serving.experiments.following import IMPRESSION
from service.store import experiments as stored
from service.store.experiments import MOST_ARMS, Experiment, State

router = APIRouter(route_class=Route, tags=["experiments"])

Name = Annotated[str, Field(pattern=SLUG)]
Share = Annotated[float, Field(ge=0, le=1)]
ROUNDING = 1e-9


class ArmParameters(schemas.Request):
    """Parameters of requests for recommendations. A parameter that is left out has its default."""

    model: AnyStrategy | None = None
    """The strategy that ranks."""
    blend: Share | None = None
    """Share of the online model in the score."""
    diversity: Share | None = None
    """0: the best items; towards 1: items that differ from each other."""
    max_per_category: Annotated[int, Field(ge=1, le=MAX_K)] | None = None
    """Maximum number of items of one category."""


class NewArm(schemas.Request):
    """A group of users, and how their lists are made."""

    name: Name
    """The name of the arm."""
    share: Annotated[float, Field(gt=0, le=1)]
    """Its share of all users; users beyond the sum of the shares are in no arm."""
    parameters: ArmParameters = ArmParameters()
    """The parameters of the arm; usually the first arm has none."""


class NewGuardrail(schemas.Request):
    """What ends the experiment by itself."""

    kind: schemas.Name = "click"
    """The kind of event whose number for each impression is watched."""
    most_loss: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The share of events that may be lost: 0.05 ends the experiment when the rate of an arm is
    surely more than 5 % lower than that of the first arm."""


class NewExperiment(schemas.Request):
    """An experiment to begin."""

    name: Name
    """A name of small letters, digits and `-`."""
    arms: Annotated[list[NewArm], Field(min_length=2, max_length=MOST_ARMS)]
    """The arms; the others are compared with the first."""
    guardrail: NewGuardrail | None = None
    """When the experiment ends by itself; null: never."""

    @model_validator(mode="after")
    def _fits(self) -> "NewExperiment":
        names = [arm.name for arm in self.arms]
        if len({*names}) < len(names):
            raise ValueError("`arms`: give each arm a name of its own")
        if sum(arm.share for arm in self.arms) > 1.0 + ROUNDING:
            raise ValueError("`arms`: the shares are more than 1 together")
        made = [_given(arm.parameters) for arm in self.arms]
        if any("blend" in one and "model" not in one for one in made):
            raise ValueError("`arms`: `blend` has an effect with a `model` alone: give both")
        if all(one == made[0] for one in made):
            raise ValueError("`arms`: all arms have the same parameters, so nothing is compared")
        return self


class Rate(Answer):
    """A figure with an interval that you may look at as often as you like."""

    value: Figure
    """The figure."""
    low: Figure
    """The lower end of the 95 % interval."""
    high: Figure
    """The upper end."""


class ArmReport(Answer):
    """An arm, and what followed its lists."""

    name: str
    """The arm."""
    share: float
    """Its share of all users."""
    parameters: dict[str, Any]
    """Parameters of its users' lists."""
    impressions: int
    """Events of the kind `impression` with the `rec_id` of such a list."""
    events: dict[str, int]
    """Events with such a `rec_id`, by kind."""
    rates: dict[str, Rate | None]
    """Events of each other kind for each impression; null: too few to say."""
    lifts: dict[str, Rate | None]
    """(The rate of the arm / the rate of the first arm) - 1: 0.1 is 10 % more. Empty for the first
    arm."""


class ExperimentSummary(Answer):
    """An experiment without figures."""

    name: str
    """Its name."""
    state: State
    """`running`, `stopped`, or `promoted`: the parameters of an arm hold for everybody."""
    created: Time
    """When it began."""
    ended: Time | None
    """When it ended; null while it runs."""
    ended_by: str | None
    """Who ended it; null while it runs."""
    why: str | None
    """Why it ended; null while it runs."""
    promoted: str | None
    """The arm that was promoted."""
    guardrail: NewGuardrail | None
    """What ends it by itself."""


class ExperimentReport(ExperimentSummary):
    """An experiment and how its arms compare."""

    arms: list[ArmReport]
    """The arms; the others are compared with the first."""
    reason: str | None
    """Why there are no figures yet, and what to send; otherwise null."""


class ExperimentPage(Page[ExperimentReport]):
    """Experiments, the newest first."""


class Promotion(schemas.Request):
    """The arm to promote."""

    arm: Name
    """Its parameters will hold for all users."""


ExperimentInput = Annotated[
    NewExperiment,
    Body(
        openapi_examples={
            "variety": {
                "value": {
                    "name": "more-variety",
                    "arms": [
                        {"name": "as-before", "share": 0.5},
                        {"name": "varied", "share": 0.5, "parameters": {"diversity": 0.3}},
                    ],
                    "guardrail": {"kind": "click", "most_loss": 0.05},
                }
            }
        }
    ),
]
PromotionInput = Annotated[Promotion, Body(openapi_examples={"one": {"value": {"arm": "varied"}}})]
InPath = Annotated[str, Path(pattern=SLUG, description="The experiment's name.")]


@router.post(
    "/v1/experiments",
    status_code=201,
    summary="Begin an experiment",
    responses=problems("conflict", "unknown_kind"),
)
async def begin_experiment(
    runtime: Runtime, caller: Caller, body: ExperimentInput
) -> ExperimentReport:
    """From now on the users' lists are made with the parameters of their arms, within seconds.

    A user is always in the same arm. Lists of an arm name it in `experiment`, and their `rec_id`
    lets feedback count for it. A request that itself gives a parameter which some arm sets takes no
    part, unless it gives the default value.
    409 `conflict` if another experiment is running.
    """
    kinds = runtime.experiments.kinds
    if body.guardrail is not None and body.guardrail.kind not in {*kinds} - {IMPRESSION}:
        one_of = ", ".join(sorted({*kinds} - {IMPRESSION}))
        raise InvalidEvent(f"`guardrail.kind` must be one of: {one_of}", code="unknown_kind")
    arms = [stored.Arm(arm.name, arm.share, _given(arm.parameters)) for arm in body.arms]
    watched = body.guardrail
    guardrail = None if watched is None else stored.Guardrail(watched.kind, watched.most_loss)
    store = runtime.experiments.store
    new = await asyncio.to_thread(store.begin, body.name, arms, guardrail, caller)
    return await _now(runtime, new)


@router.get("/v1/experiments", summary="List experiments")
async def list_experiments(runtime: Runtime) -> ExperimentPage:
    """All experiments and how their arms compare, the newest first."""
    found = await asyncio.to_thread(runtime.experiments.store.read)
    reports = await _reports(runtime, found[::-1])
    return ExperimentPage(items=reports, next_cursor=None)


@router.get(
    "/v1/experiments/{experiment}",
    summary="Compare the arms of an experiment",
    responses=problems("not_found"),
)
async def get_experiment(runtime: Runtime, experiment: InPath) -> ExperimentReport:
    """What followed the lists of each arm, and the difference to the first arm.

    The intervals hold at all times together, however often one looks.
    """
    found = await asyncio.to_thread(runtime.experiments.store.read)
    [report] = await _reports(runtime, [stored.named(found, experiment)])
    return report


@router.post(
    "/v1/experiments/{experiment}/stop",
    summary="Stop an experiment",
    responses=problems("not_found"),
)
async def stop_experiment(runtime: Runtime, caller: Caller, experiment: InPath) -> ExperimentReport:
    """All users get lists as before. Feedback to lists that were shown still counts.

    An experiment that has ended stays as it is.
    """
    store = runtime.experiments.store
    ended = await asyncio.to_thread(store.stop, experiment, caller, "it was stopped")
    return await _now(runtime, ended)


@router.post(
    "/v1/experiments/{experiment}/promote",
    summary="Let an arm hold for all users",
    responses=problems("not_found"),
)
async def promote_arm(
    runtime: Runtime, caller: Caller, experiment: InPath, body: PromotionInput
) -> ExperimentReport:
    """The parameters of this arm are those of all requests that do not set them.

    The experiment ends, if it runs. What another experiment had promoted holds no longer.
    """
    store = runtime.experiments.store
    promoted = await asyncio.to_thread(store.promote, experiment, body.arm, caller)
    return await _now(runtime, promoted)


@router.delete(
    "/v1/experiments/{experiment}",
    summary="Delete an experiment",
    responses=problems("not_found"),
)
async def delete_experiment(runtime: Runtime, experiment: InPath) -> ExperimentSummary:
    """If it runs, it ends; if one of its arms was promoted, that holds no longer."""
    gone = await asyncio.to_thread(runtime.experiments.store.delete, experiment)
    await runtime.experiments.refresh()
    return ExperimentSummary(**_summary(gone))


async def _now(runtime: ApiRuntime, experiment: Experiment) -> ExperimentReport:
    """Let this process act on a change at once, and return the report."""
    await runtime.experiments.refresh()
    [report] = await _reports(runtime, [experiment])
    return report


async def _reports(
    runtime: ApiRuntime, experiments: Sequence[Experiment]
) -> list[ExperimentReport]:
    followed = runtime.experiments
    names = {code: name for name, code in followed.kinds.items()}
    found = await followed.results(experiments)
    return [_report(*one, names) for one in zip(experiments, found, strict=True)]


def _report(
    experiment: Experiment, found: Sequence[ArmResult], names: Mapping[int, str]
) -> ExperimentReport:
    arms = [_shown(arm, one, names) for arm, one in zip(experiment.arms, found, strict=True)]
    reason = None
    if not any(arm.impressions for arm in arms):
        reason = (
            "nothing was shown yet: send an `impression` for each item that a user sees, and the "
            "clicks and purchases that follow, with the `rec_id` of the list"
        )
    return ExperimentReport(**_summary(experiment), arms=arms, reason=reason)


def _shown(arm: stored.Arm, found: ArmResult, names: Mapping[int, str]) -> ArmReport:
    def by_name(figures: Mapping[int, Any]) -> dict[str, Any]:
        return {names.get(code, f"kind {code}"): one for code, one in figures.items()}

    return ArmReport(
        name=arm.name,
        share=arm.share,
        parameters=dict(arm.parameters),
        impressions=found.shown,
        events=by_name(found.events),
        rates=by_name({code: _rate(one) for code, one in found.rates.items()}),
        lifts=by_name({code: _rate(one) for code, one in found.lifts.items()}),
    )


def _rate(estimate: Estimate | None) -> Rate | None:
    if estimate is None:
        return None
    return Rate(value=estimate.value, low=estimate.low, high=estimate.high)


def _summary(experiment: Experiment) -> dict[str, Any]:
    watched = experiment.guardrail
    return {
        "name": experiment.name,
        "state": experiment.state,
        "created": rfc3339(experiment.created_ms),
        "ended": rfc3339_or_none(experiment.ended_ms),
        "ended_by": experiment.ended_by or None,
        "why": experiment.why or None,
        "promoted": experiment.promoted if experiment.state == "promoted" else None,
        "guardrail": None
        if watched is None
        else NewGuardrail(kind=watched.kind, most_loss=watched.most_loss),
    }


def _given(parameters: ArmParameters) -> dict[str, Any]:
    return parameters.model_dump(exclude_none=True)
