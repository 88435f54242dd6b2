"""A job without a recipe: it trains what is worth training.

    reading ▶ for each recipe: searching ▶ fitting
            ▶ weighing: which families add to the stack on the hold-out (``worth.py``)
            ▶ for each chosen one: judging ▶ refining ▶ publishing
            ▶ promoting: all of them

No model serves before all are published, so a job that ends early changes nothing that serves.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from core.errors import CoreError
from core.gate import FEWEST_USERS, Interval, paired_interval
from core.search.search import Budget
from core.stack.guard import Guarded
from service.errors import InvalidTraining
from service.ranking.families import FAMILIES
from service.settings import Settings
from service.store.connection import Client
from service.store.jobs.records import PROMOTING, JobRecord, JobRecords
from service.store.models.records import ModelRecord
from service.store.models.registry import Registry
from service.store.namespace import Namespace
from service.telemetry import logger
from service.training.afterwards import Afterwards, costs
from service.training.candidates import Candidate, Tried, considered
from service.training.contest import Contest, contest
from service.training.dataset import Dataset
from service.training.model_training import ModelTraining
from service.training.next_events import next_events
from service.training.reading import read_for
from service.training.reporter import Reporter
from service.training.settled import COUNTED, ranker_of
from service.training.validation import validated_popular
from service.training.worth import Worth, worth

SEARCHED, WEIGHED, PUBLISHED = 0.6, 0.7, 0.99
"""Progress after the fits, after the choice and before the promotions."""


@dataclass
class Fitted:
    """A recipe that was fitted to the events before the cut."""

    training: ModelTraining
    tried: Tried
    data: Dataset
    """What the recipe learns from, with the held-out users that it is meant for."""
    config: Any
    model: Any


class AllFamilies:
    """The stages of a job that names no recipe."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        namespace: Namespace,
        record: JobRecord,
        reporter: Reporter,
    ) -> None:
        self._settings, self._client, self._namespace = settings, client, namespace
        self._record, self._reporter = record, reporter
        self._registry = Registry(client, namespace.name)
        self._records = JobRecords(client, namespace.name)
        self._afterwards = Afterwards(settings, client, namespace, record)
        self._tried: list[Tried] = []

    def run(self) -> None:
        """Run all stages in order."""
        with self._reporter.stage("reading"):
            data = self._read()
            candidates, left_out = considered(data, self._record, self._registry, self._records)
        self._tried = [*(one.tried for one in candidates), *left_out]
        fitted = self._fitted(data, candidates)
        if not fitted:
            reasons = "; ".join(f"{one.model}: {one.why}" for one in self._tried)
            raise InvalidTraining(f"no model could be trained: {reasons}")
        with self._stage("weighing", (SEARCHED, WEIGHED)):
            metrics = self._weigh(data, fitted)
        stopped = _stopped(fitted, metrics["judges"])
        wanted = sorted(
            (one for one in fitted if one.tried.chosen or one.tried.serves),
            key=lambda one: not one.tried.chosen,
        )
        del fitted
        published = self._published(wanted)
        with self._stage(PROMOTING):
            for training, tried, record in published:
                tried.decision = training.promote(record, tried.decision)
        self._end(data, metrics, stopped)

    def _read(self) -> Dataset:
        trained = [family for family in FAMILIES.values() if family.trained]
        share = self._reporter.share
        return read_for(
            trained, self._settings, self._client, self._namespace, with_order=True, on_share=share
        )

    @contextmanager
    def _stage(
        self, name: str, bounds: tuple[float, float] | None = None, recipe: str = ""
    ) -> Iterator[None]:
        """Report a stage, the recipe that it is about, and what came of all so far."""
        tried = [asdict(one) for one in self._tried]
        with self._reporter.stage(name, bounds, recipe=recipe, tried=tried):
            yield

    def _fitted(self, data: Dataset, candidates: list[Candidate]) -> list[Fitted]:
        """Search and fit each candidate; each may use its share of what is left of the budget."""
        found: list[Fitted] = []
        left, n = self._record.budget_s, len(candidates)
        for at, candidate in enumerate(candidates):
            began = perf_counter()
            budget = Budget(perf_counter, max(left, 0.0) / (n - at))
            low, high = (0.1 + (SEARCHED - 0.1) * part / n for part in (at, at + 1))
            try:
                one, searched = self._fit(data, candidate, budget, (low, high))
                left -= searched
                found.append(one)
            except CoreError as error:
                candidate.tried.why = str(error)
                left -= perf_counter() - began
            candidate.tried.seconds = round(perf_counter() - began, 3)
        return found

    def _fit(
        self, data: Dataset, candidate: Candidate, budget: Budget, bounds: tuple[float, float]
    ) -> tuple[Fitted, float]:
        """Return the fitted candidate, and the seconds of its search."""
        name, (low, high) = candidate.tried.model, bounds
        training = self._training(candidate)
        own = training.recipe.held_out(data.read_by(candidate.family))
        between, began = low + 0.8 * (high - low), perf_counter()
        with self._stage("searching", (low, between), name):
            config = training.search(own, budget)
        searched = perf_counter() - began
        with self._stage("fitting", (between, high), name):
            model = training.fit(own, config)
        return Fitted(training, candidate.tried, own, config, model), searched

    def _training(self, candidate: Candidate) -> ModelTraining:
        seed, order = self._namespace.seed, candidate.order
        name, reporter = candidate.tried.model, self._reporter
        return ModelTraining(self._registry, seed, order, name, reporter)

    # --- which of them are worth it ---------------------------------------------------------------

    def _weigh(self, data: Dataset, fitted: list[Fitted]) -> dict[str, Any]:
        """Note what each recipe is worth; return the figures of all together."""
        judges = int(data.held_out.user_ix.size)
        metrics: dict[str, Any] = {"judges": judges, "held_out": data.cut.says}
        if judges < FEWEST_USERS:
            for one in fitted:
                one.tried.chosen = not one.tried.serves
                one.tried.why = _too_few(judges)
            return metrics
        by_history = {one.tried.model: one for one in fitted if one.training.family.reads_history}
        for one in fitted:
            if not one.training.family.reads_history:
                _weigh_by_features(one, self._namespace.seed)
        return metrics | self._weigh_together(data, by_history)

    def _weigh_together(self, data: Dataset, fitted: Mapping[str, Fitted]) -> dict[str, Any]:
        known = data.at_cut
        base = {name: counted(FAMILIES[name], known) for name, counted in COUNTED.items()}
        rankers = base | {
            name: ranker_of(one.training.family, one.training.recipe, one.model, one.data.encoded)
            for name, one in fitted.items()
        }
        events = next_events(data)
        share = self._reporter.share
        table = contest(rankers, events, self._namespace.seed, lambda part: share(0.5 * part))
        families = {name: one.tried.strategy for name, one in fitted.items()}
        found = worth(table, [*base], families, self._namespace.seed)
        for name, one in found.items():
            _note(fitted[name].tried, one, float(table.alone(name).mean()))
        if not any(one.tried.chosen or one.tried.serves for one in fitted.values()):
            _choose_the_first(found, fitted)
        return {"events": len(events), **self._together(table, [*base], fitted)}

    def _together(
        self, table: Contest, base: list[str], fitted: Mapping[str, Fitted]
    ) -> dict[str, Any]:
        """Return the figures of the stack of everything that will serve."""
        trained = [name for name, one in fitted.items() if one.tried.chosen]
        taken = {fitted[name].tried.strategy for name in trained}
        trained += [
            name
            for name, one in fitted.items()
            if one.tried.serves and one.tried.strategy not in taken
        ]
        stack = table.stack([*base, *trained])
        return {
            "ndcg@10": float(table.gains([*base, *trained]).mean()),
            "counted": {"ndcg@10": float(table.gains(base).mean())},
            "weights": _weights(stack),
        }

    # --- what was chosen --------------------------------------------------------------------------

    def _published(self, wanted: list[Fitted]) -> list[tuple[ModelTraining, Tried, ModelRecord]]:
        """Judge, refine and publish one after the other; none is kept in memory any longer."""
        found: list[tuple[ModelTraining, Tried, ModelRecord]] = []
        n = len(wanted)
        for at in range(n):
            step = (PUBLISHED - WEIGHED) / n
            one = wanted.pop(0)
            record = self._publish(one, WEIGHED + at * step, step)
            found.append((one.training, one.tried, record))
        return found

    def _publish(self, one: Fitted, low: float, step: float) -> ModelRecord:
        name, tried, began = one.tried.model, one.tried, perf_counter()
        ends = [low + step * share for share in (0.0, 0.4, 0.8, 1.0)]
        with self._stage("judging", (ends[0], ends[1]), name):
            judged = one.training.judge(one.data, one.model, one.config)
        tried.metrics, tried.decision = judged.metrics, judged.decision
        with self._stage("refining", (ends[1], ends[2]), name):
            snapshot = one.training.refine(one.data, judged)
        record = one.training.record_of(snapshot, judged)
        tried.version = record.version
        with self._stage("publishing", (ends[2], ends[3]), name):
            self._registry.publish(snapshot, record)
        tried.seconds = round(tried.seconds + perf_counter() - began, 3)
        return record

    def _end(self, data: Dataset, metrics: Mapping[str, Any], stopped: str) -> None:
        removed = self._afterwards.prune()
        self._afterwards.note_for_the_schedule(data)
        decision = {"outcome": _outcome(self._tried), "reason": stopped}
        self._reporter.succeed(
            recipe="",
            tried=[asdict(one) for one in self._tried],
            decision=decision,
            metrics={**metrics, **costs(data, self._reporter.seconds)},
        )
        for one in self._tried:
            logger().info(
                "recipe_tried",
                job=self._record.id,
                model=one.model,
                version=one.version,
                outcome=one.decision.get("outcome", "not_chosen"),
                ndcg10=one.ndcg10,
                added=one.added,
                why=one.why,
            )
        logger().info(
            "training_ended",
            job=self._record.id,
            outcome=decision["outcome"],
            reason=stopped,
            removed=len(removed),
        )


def _weigh_by_features(one: Fitted, seed: int) -> None:
    """Choose a family without histories if it beats popularity for users whom it knows so alone."""
    own, popular = one.training.recipe.validated(one.data, one.model), validated_popular(one.data)
    n = own.scores.size
    if n < FEWEST_USERS:
        one.tried.why = f"only {n} held-out users with features, {FEWEST_USERS} are needed"
        return
    added = paired_interval(own.scores, popular.scores, np.random.default_rng(seed))
    found = Worth(added, chosen=added.low > 0.0, beside=("popular",))
    _note(one.tried, found, float(own.scores.mean()))


def _note(tried: Tried, found: Worth, alone: float) -> None:
    tried.ndcg10, tried.added = alone, asdict(found.added)
    tried.chosen, tried.why = found.chosen, found.says
    if tried.serves and not tried.chosen:
        tried.why += "; it is kept up to date, as it serves already"


def _choose_the_first(found: Mapping[str, Worth], fitted: Mapping[str, Fitted]) -> None:
    """Choose the family that adds most, if anything, where no trained model serves yet."""
    best = max(found, key=lambda name: found[name].added.mean)
    if found[best].added.mean > 0.0:
        fitted[best].tried.chosen = True
        fitted[best].tried.why += "; nothing that was trained serves yet"


def _stopped(fitted: list[Fitted], judges: int) -> str:
    """Return why no more families are trained."""
    if judges < FEWEST_USERS:
        trained = ", ".join(one.tried.model for one in fitted)
        return f"{trained} alone: {_too_few(judges)}"
    chosen = [one.tried.model for one in fitted if one.tried.chosen]
    left = [one.tried for one in fitted if not one.tried.chosen and one.tried.added is not None]
    taken = f"{', '.join(chosen)} chosen" if chosen else "nothing new chosen"
    if not left:
        return f"{taken}: nothing is left"
    best = max(left, key=lambda one: (one.added or {})["mean"])
    interval = Interval(**(best.added or {}))
    return (
        f"{taken}: the next best, {best.model}, adds {interval.mean:+.4f} to ndcg@10 "
        f"(95 % interval {interval.low:+.4f} to {interval.high:+.4f})"
    )


def _too_few(judges: int) -> str:
    return f"only {judges} held-out users, {FEWEST_USERS} are needed to tell what adds to the rest"


def _outcome(tried: list[Tried]) -> str:
    """Return the best outcome of all; ``not_chosen`` if nothing was trained."""
    outcomes = {one.decision.get("outcome") for one in tried}
    ordered = ("promoted", "refused", "not_judged")
    return next((name for name in ordered if name in outcomes), "not_chosen")


def _weights(found: Guarded) -> dict[str, float]:
    """Return the weights of the stack at the mean length of a history, or 1 for one ranker."""
    if found.alone is not None:
        return {found.alone: 1.0}
    named = zip(found.logit.names, found.logit.weights[:, 0].tolist(), strict=True)
    return {name: round(weight, 6) for name, weight in named if weight}
