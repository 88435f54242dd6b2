"""A job without a recipe: it trains what is worth training, of all families or of one.

    reading ▶ where nothing serves yet, and much is to be learned: the usual recipe at once
            ▶ for each recipe: searching ▶ fitting
            ▶ weighing: which families add to the stack on the hold-out (``worth.py``)
            ▶ for each chosen one: judging ▶ refining ▶ publishing
            ▶ promoting: all of them

But for that first one no model serves before all are published, so a job that ends early changes
nothing that serves.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from time import perf_counter
from typing import Any

from core.errors import CoreError
from core.search.search import Budget
from core.stack.guard import Guarded
from service.errors import InvalidTraining, StoreUnavailable
from service.ranking.family import ADDS
from service.ranking.strategies import DEFAULT_RECIPE
from service.settings import Settings
from service.store.connection import Client
from service.store.jobs.job import PROMOTING, JobRecord
from service.store.jobs.records import JobRecords
from service.store.models.mixture import write_first_stack
from service.store.models.records import ModelRecord
from service.store.models.registry import Registry
from service.store.namespace import Namespace
from service.store.recovery.steady import SteadyItems
from service.telemetry import logger
from service.training.afterwards import Afterwards, costs
from service.training.all_families.candidates import Candidate, Tried, considered
from service.training.all_families.foretelling import first_stack
from service.training.all_families.weighing import Fitted, Weighed, weigh
from service.training.data.dataset import Dataset
from service.training.job_data import read_for
from service.training.model_training import ModelTraining
from service.training.orders import family_of, recipes_of
from service.training.reporter import Reporter

SEARCHED, WEIGHED, PUBLISHED = 0.6, 0.7, 0.99
"""Progress after the fits, after the choice and before the promotions."""
READ = 0.1
"""Progress after the reading."""
LARGE = 100_000
"""Fewest pairs of a first training that lets the usual recipe serve before the others are fitted:
with fewer all are ready within seconds."""
LEAST_SHARE = 0.5
"""Share of an equal part of the budget that is left to a recipe, however long the others took."""


FirstServes = Callable[[], None]


def goes_on() -> None:
    """Go on as before when the first model serves."""


class AllFamilies:
    """The stages of a job that names no recipe."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        namespace: Namespace,
        record: JobRecord,
        reporter: Reporter,
        *,
        large: int = LARGE,
    ) -> None:
        self._settings, self._client, self._namespace = settings, client, namespace
        self._record, self._reporter, self._large = record, reporter, large
        self._registry = Registry(client, namespace.name)
        self._items = SteadyItems(client, namespace)
        self._records = JobRecords(client, namespace.name)
        self._afterwards = Afterwards(settings, client, namespace, record)
        self._tried: list[Tried] = []

    def run(self, first_serves: FirstServes = goes_on) -> None:
        """Run all stages in order; ``first_serves`` is called when the first model of all does."""
        with self._reporter.stage("reading"):
            data = self._read()
            candidates, left_out = considered(data, self._record, self._registry, self._records)
        self._tried = [*(one.tried for one in candidates), *left_out]
        serves = bool(self._registry.active())
        if not serves and data.at_cut.pairs.item_ix.size >= self._large:
            self._serve_first(data, candidates)
            if self._registry.active():
                first_serves()
        fitted = self._fitted(data, candidates)
        if not fitted:
            raise self._nothing_trained()
        with self._stage("weighing", (SEARCHED, WEIGHED)):
            weighed = self._weighed(data, fitted, serves=serves)
        # nothing that was not chosen is kept in memory
        del fitted
        published = self._published(weighed.wanted)
        with self._stage(PROMOTING):
            for training, tried, record in published:
                tried.decision = training.promote(record, tried.decision)
            self._foretell(weighed.stack)
        self._end(data, weighed.metrics, weighed.stopped)

    def _serve_first(self, data: Dataset, candidates: Sequence[Candidate]) -> None:
        """Let the usual recipe serve with its usual settings.

        People have lists of their own while the rest is searched, fitted and weighed; then the
        recipe is trained again beside the others, and kept up to date like one that served before.
        """
        usual = next((one for one in candidates if one.tried.model == DEFAULT_RECIPE), None)
        if usual is None:
            return
        try:
            one, _ = self._fit(data, usual, Budget(perf_counter, 0.0), (READ, READ))
            record = self._publish(one, READ, 0.0)
            with self._stage(PROMOTING, (READ, READ), usual.tried.model):
                decision = one.training.promote(record, one.tried.decision)
        except CoreError as error:
            # it is tried again below, and said there
            logger().info("no_first_model", job=self._record.id, reason=str(error))
            return
        usual.tried.serves = decision["outcome"] == "promoted"

    def _nothing_trained(self) -> InvalidTraining:
        reasons = "; ".join(f"{one.model}: {one.why}" for one in self._tried)
        return InvalidTraining(f"no model could be trained: {reasons}")

    def _read(self) -> Dataset:
        families = map(family_of, recipes_of(self._record.model))
        trained = {family.strategy: family for family in families}
        share = self._reporter.share
        return read_for(
            [*trained.values()],
            self._settings,
            self._client,
            self._namespace,
            with_order=True,
            on_share=share,
        )

    @contextmanager
    def _stage(
        self, name: str, bounds: tuple[float, float] | None = None, recipe: str = ""
    ) -> Iterator[None]:
        """Report a stage, the recipe that it is about, and the outcomes so far."""
        tried = [asdict(one) for one in self._tried]
        with self._reporter.stage(name, bounds, recipe=recipe, tried=tried):
            yield

    def _fitted(self, data: Dataset, candidates: list[Candidate]) -> list[Fitted]:
        """Search and fit each candidate; each may use its part of what is left of the budget."""
        found: list[Fitted] = []
        left, n = self._record.budget_s, len(candidates)
        for at, candidate in enumerate(candidates):
            began = perf_counter()
            least = LEAST_SHARE * self._record.budget_s / n
            budget = Budget(perf_counter, max(left / (n - at), least))
            low, high = (READ + (SEARCHED - READ) * part / n for part in (at, at + 1))
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

    def _weighed(self, data: Dataset, fitted: Sequence[Fitted], *, serves: bool) -> Weighed:
        share = self._reporter.share
        seed, is_named = self._namespace.seed, self._record.model is not None
        return weigh(data, fitted, seed, serves=serves, is_named=is_named, on_share=share)

    def _published(self, wanted: list[Fitted]) -> list[tuple[ModelTraining, Tried, ModelRecord]]:
        """Judge, refine and publish one after the other; none is kept in memory any longer.

        One that fails is left out; the others may serve all the same.
        """
        found: list[tuple[ModelTraining, Tried, ModelRecord]] = []
        n = len(wanted)
        for at in range(n):
            step = (PUBLISHED - WEIGHED) / n
            one = wanted.pop(0)
            try:
                record = self._publish(one, WEIGHED + at * step, step)
                found.append((one.training, one.tried, record))
            except CoreError as error:
                one.tried.chosen, one.tried.why, one.tried.decision = False, str(error), {}
        if n and not found:
            raise self._nothing_trained()
        return found

    def _publish(self, one: Fitted, low: float, step: float) -> ModelRecord:
        name, tried, began = one.tried.model, one.tried, perf_counter()
        ends = [low + step * share for share in (0.0, 0.4, 0.8, 1.0)]
        with self._stage("judging", (ends[0], ends[1]), name):
            judged = one.training.judge(one.data, one.model, one.config)
        if family_of(tried.model).only_places:
            judged.metrics[ADDS] = float(not tried.only_places)
        tried.metrics, tried.decision = judged.metrics, judged.decision
        with self._stage("refining", (ends[1], ends[2]), name):
            snapshot = one.training.refine(one.data, judged)
        record = one.training.record_of(snapshot, judged)
        tried.version = record.version
        with self._stage("publishing", (ends[2], ends[3]), name):
            self._registry.publish(snapshot, record, token=self._items.token)
        tried.seconds = round(tried.seconds + perf_counter() - began, 3)
        return record

    def _foretell(self, found: Guarded | None) -> None:
        """Let the followers begin with the weights of the stack that was fitted to the hold-out.

        A family that the gate refused has none in it, unless an earlier model of it serves.
        """
        if self._record.model is not None:
            # one that knows a single family says nothing of the others
            return
        try:
            first = first_stack(self._record.id, found, self._registry.active())
            if first is not None:
                write_first_stack(self._client, self._namespace.name, first)
        except StoreUnavailable as error:
            # the models serve all the same; the followers learn the weights
            logger().warning("stack_not_foretold", job=self._record.id, reason=error.detail)

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


def _outcome(tried: list[Tried]) -> str:
    """Return the best outcome of all; ``not_chosen`` if nothing was trained."""
    outcomes = {one.decision.get("outcome") for one in tried}
    ordered = ("promoted", "refused", "not_judged")
    return next((name for name in ordered if name in outcomes), "not_chosen")
