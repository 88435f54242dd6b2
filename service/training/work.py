"""One training, from the histories to a published model, in a process that is forked for the job.

    reading ▶ searching ▶ fitting ▶ judging ▶ refining ▶ publishing ▶ promoting

A training that ends early leaves the serving model unchanged: a new model becomes visible when it
is complete, and begins to serve by one compare-and-set at the very end.
"""

import resource
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from time import perf_counter, process_time
from typing import Any

import numpy as np

from core.batch.snapshot import encoders_of
from core.errors import CoreError, SnapshotFormat
from core.gate import FEWEST_USERS, Decision, decide
from core.search.search import Budget
from core.snapshot import Snapshot, mapped
from service import configs
from service.errors import Backlogged, NotFound, ServiceError, StoreUnavailable, VersionConflict
from service.settings import Settings
from service.store.clock import now_ms
from service.store.connection import Client
from service.store.jobs.records import ORDERED, PROMOTING, JobGone, JobRecord, JobRecords
from service.store.jobs.schedule import Schedules
from service.store.models.records import LEAD, SHOWN, ModelRecord
from service.store.models.registry import Registry
from service.store.namespace import Namespace, open_namespace
from service.store.profiles.history_reader import HistoryReader
from service.telemetry import logger
from service.training import dataset as datasets
from service.training.by_features import encoders
from service.training.dataset import Dataset, EncodedUsers
from service.training.orders import family_of
from service.training.recipe import ServedRecipe
from service.training.recipes import SERVED, checked
from service.training.reporter import Reporter
from service.training.validation import Validation, validated_popular


class NothingToLearn(ServiceError):
    """Raised if the histories hold no positive; the job fails with this message."""

    status, code = 409, "nothing_to_learn"


def run(settings: Settings, client: Client, job: str, reporter: type[Reporter] = Reporter) -> None:
    """Do the work of a running job and record how it ended; bugs pass through."""
    records = JobRecords(client, settings.namespace)
    record = records.record(job)
    try:
        namespace = open_namespace(client, settings)
        Training(settings, client, namespace, record, reporter(records, record)).run()
    except JobGone:
        logger().info("training_given_up", job=job)
    except (ServiceError, CoreError) as error:
        records.fail(job, str(error))
        logger().warning("training_failed", job=job, reason=str(error))


@dataclass(frozen=True)
class Contender:
    """A fitted model and its validation."""

    model: str
    fitted: Any
    config: Any
    """Settings of the fit; None for a model that was validated as it serves."""
    validation: Validation


class Training:
    """The stages of one job."""

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
        self._recipe: ServedRecipe[Any] = checked(record.model, record.parameters)
        self._family = family_of(record.model)

    def run(self) -> None:
        """Run all stages in order."""
        stage = self._reporter.stage
        with stage("reading"):
            data = self._recipe.held_out(self._read())
        with stage("searching"):
            config = self._search(data)
        with stage("fitting"):
            fitted = self._recipe.fit(data.at_cut, config)
        with stage("judging"):
            candidate, metrics, decision = self._candidate_and_decision(data, fitted, config)
        with stage("refining", metrics=metrics, decision=decision):
            snapshot = self._snapshot(data, self._refined(data, candidate), candidate, metrics)
        published = self._published(snapshot, decision)
        with stage("publishing", version=published.version):
            self._registry.publish(snapshot, published)
        with stage(PROMOTING):
            decision = self._promote(published, decision)
        removed = self._prune()
        leads = self._note_for_the_schedule(data)
        self._reporter.succeed(
            version=published.version,
            decision=decision,
            metrics={**metrics, **self._costs(data)},
        )
        if leads:
            try:
                self._order_others()
            except StoreUnavailable as error:
                reason = error.detail
                logger().warning("others_not_ordered", job=self._record.id, reason=reason)
        logger().info(
            "training_ended",
            job=self._record.id,
            version=published.version,
            outcome=decision["outcome"],
            removed=len(removed),
        )

    def _read(self) -> Dataset:
        data = datasets.read(
            HistoryReader(self._client, self._namespace),
            configs.meanings(self._settings, self._namespace),
            with_documents=self._family.reads_user_features,
            with_items=self._family.reads_item_features,
            with_ratings=self._family.predicts_stars,
            with_order=self._family.reads_order,
            on_progress=self._reporter.share,
        )
        whole = data.whole
        if not len(whole) or (whole.target is not None and not (whole.target > 0).any()):
            raise NothingToLearn(
                "there is no positive feedback to learn from: post ratings of at least 60 % of "
                "the scale, or likes, purchases, clicks, views (POST /v1/ratings), then retrain"
            )
        return data

    def _search(self, data: Dataset) -> Any:
        budget = Budget(perf_counter, self._record.budget_s)
        stated = self._recipe.settings.ordered(self._record.parameters)
        return self._recipe.search(data.at_cut, stated, budget, self._reporter.share).config

    def _candidate_and_decision(
        self, data: Dataset, fitted: Any, config: Any
    ) -> tuple[Contender, dict[str, Any], dict[str, Any]]:
        """Return the candidate, its metrics beside those of its rivals, and the gate's decision."""
        validation = self._recipe.validated(data, fitted)
        candidate = Contender(self._record.model, fitted, config, validation)
        self._reporter.share(0.3)
        version = self._registry.active().get(self._family.strategy)
        rival = None if version is None else self._rival(data, version, candidate)
        self._reporter.share(0.8)
        if rival is not None and self._would_rather_keep(rival, candidate):
            decision = Decision("promoted", _kept(rival, candidate))
            candidate = rival
        else:
            scores = None if rival is None else rival.validation.scores
            rng = np.random.default_rng(self._namespace.seed)
            decision = decide(candidate.validation.scores, scores, rng)
        popular = validated_popular(data)
        metrics = {
            **candidate.validation.metrics,
            **_lead(candidate.validation, popular),
            "judges": int(data.held_out.user_ix.size),
            "held_out": data.cut.says,
            "popular": popular.metrics,
            "rival": {} if rival is None else rival.validation.metrics,
        }
        return candidate, metrics, self._decision(decision, version)

    def _rival(self, data: Dataset, version: str, candidate: Contender) -> Contender:
        """Return the serving model as it is, or its settings fitted to the events before the cut.

        As it is, it can be compared if its training ended before the held-out events, and if it
        learned from the columns into which documents are encoded now.
        """
        record = self._registry.record(version)
        recipe = checked(record.model, {})
        if data.cut.is_beyond(record.cuts.get("trained_until_ms", data.cut.newest_ms)):
            try:
                manifest, chunks = self._registry.manifest(version), self._registry.chunks(version)
                snapshot = mapped(manifest, b"".join(chunks))
                served = recipe.restored(snapshot)
                if _has_columns_of(data.encoded, snapshot):
                    return Contender(record.model, served, None, recipe.validated(data, served))
            except SnapshotFormat as error:
                # refit its settings: otherwise no model could ever replace a damaged one
                logger().warning("model_damaged", version=version, reason=str(error))
        config = recipe.settings.stored(record.parameters)
        if record.model == self._record.model and config == candidate.config:
            return candidate
        refitted = recipe.fit(data.at_cut, config)
        return Contender(record.model, refitted, config, recipe.validated(data, refitted))

    def _would_rather_keep(self, rival: Contender, candidate: Contender) -> bool:
        """Return whether the serving settings beat those that the search found.

        Always False if the order states settings of its own.
        """
        comparable = rival.model == candidate.model and rival.config is not None
        if self._record.parameters or not comparable or rival is candidate:
            return False
        enough = candidate.validation.scores.size >= FEWEST_USERS
        return enough and rival.validation.scores.mean() >= candidate.validation.scores.mean()

    def _decision(self, decision: Decision, serving: str | None) -> dict[str, Any]:
        outcome, reason = decision.outcome, decision.reason
        if outcome == "not_judged" and self._record.promote_unjudged:
            outcome, reason = (
                "promoted",
                f"{reason}; the order allows it to serve all the same",
            )
        elif outcome == "not_judged":
            reason = f"{reason}; promote it if you know better"
        pinned = self._registry.pins().get(self._family.strategy)
        if pinned is not None and outcome == "promoted":
            outcome = "refused"
            reason = f"version {pinned[:SHOWN]} is pinned: unpin it to let others serve ({reason})"
        return {
            "outcome": outcome,
            "reason": reason,
            "rival": serving,
            "difference": None if decision.difference is None else asdict(decision.difference),
        }

    def _refined(self, data: Dataset, candidate: Contender) -> Any:
        """Return the candidate after further training on all events."""
        if not data.cut.holds_out:
            return candidate.fitted
        return self._recipe.fit(data.now, candidate.config, previous=candidate.fitted)

    def _snapshot(
        self,
        data: Dataset,
        fitted: Any,
        candidate: Contender,
        metrics: Mapping[str, Any],
    ) -> Snapshot:
        through = {str(p): sequence for p, sequence in enumerate(data.sequences)}
        return self._recipe.snapshot(
            self._record.model,
            fitted,
            data.encoded,
            {
                "settings": self._recipe.settings.values(candidate.config),
                "metrics": {n: value for n, value in metrics.items() if isinstance(value, float)},
                "cuts": {
                    "trained_through": through,
                    "judged_through": through,
                    "trained_until_ms": data.cut.newest_ms,
                    "held_out": data.cut.says,
                    "held_out_after_ms": None if data.cut.of_each else data.cut.at_ms,
                },
            },
        )

    def _published(self, snapshot: Snapshot, decision: Mapping[str, Any]) -> ModelRecord:
        return ModelRecord.of(
            snapshot,
            self._family.strategy,
            created_ms=now_ms(),
            job=self._record.id,
            decision=decision,
        )

    def _promote(self, published: ModelRecord, decision: dict[str, Any]) -> dict[str, Any]:
        """Let the model serve if the gate allows it, unless the serving model changed meanwhile."""
        if decision["outcome"] != "promoted":
            return decision
        if published.version == decision["rival"]:
            return {**decision, "reason": "the same model serves already"}
        why = f"job {self._record.id}: {decision['reason']}"
        try:
            self._registry.set_active(
                self._family.strategy,
                published.version,
                expected=decision["rival"],
                who=self._record.who,
                why=why,
            )
        except VersionConflict as error:
            return {**decision, "outcome": "refused", "reason": str(error)}
        return decision

    def _note_for_the_schedule(self, data: Dataset) -> bool:
        """Let the schedule count from here; return whether to retrain the other models, too."""
        began_ms = self._record.started_ms or now_ms()
        schedules = Schedules(self._client, self._settings)
        try:
            counts = schedules.trained(self._record.model, began_ms, data.sequences)
        except StoreUnavailable as error:
            # the model serves all the same; the schedule will order one training too many
            logger().warning("training_not_noted", job=self._record.id, reason=error.detail)
            return False
        return counts and self._record.why != ORDERED

    def _order_others(self) -> None:
        """Order a training of every other serving model that is not pinned.

        Only records are written; the trainer finds them.
        """
        pinned = self._registry.pins()
        for strategy, version in self._registry.active().items():
            served = self._registry.record(version)
            if strategy in {self._family.strategy, *pinned} or served.model not in SERVED:
                continue
            # with a full queue this model is left out
            with suppress(Backlogged):
                self._order_again(served)

    def _order_again(self, served: ModelRecord) -> None:
        """Order a training of a serving model with the settings that were stated for it."""
        records, job = JobRecords(self._client, self._namespace.name), self._record
        order = None
        # the record of its job may expire before the model does
        with suppress(NotFound):
            order = records.record(served.job) if served.job else None
        records.create(
            served.model,
            order.parameters if order else {},
            budget_s=job.budget_s,
            who=job.who,
            why=job.why,
            promote_unjudged=job.promote_unjudged or (order is not None and order.promote_unjudged),
        )

    def _prune(self) -> list[str]:
        max_age_ms = int(self._settings.keep_models_days * 86_400_000)
        return self._registry.prune(self._settings.keep_models, max_age_ms)

    def _costs(self, data: Dataset) -> dict[str, Any]:
        # ru_maxrss is in kilobytes, on macOS in bytes
        unit = 1 if sys.platform == "darwin" else 1024
        return {
            "users": data.whole.n_users,
            "items": data.whole.n_items,
            "pairs": len(data.whole),
            **_encoded(data.encoded),
            "seconds": self._reporter.seconds,
            "processor_seconds": round(process_time(), 3),
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
        }


def _has_columns_of(encoded: EncodedUsers | None, served: Snapshot) -> bool:
    """Return whether documents are encoded as for the training of a model, if it reads any."""
    users, items = encoders_of(served)
    now = encoders(encoded)
    return not users.width or (users, items) == (now["encoder"], now["item_encoder"])


def _lead(candidate: Validation, popular: Validation) -> dict[str, float]:
    """Return the model's lead over popularity, which gives its initial weight in the mixture.

    The answer is empty if too few users are held out.
    """
    enough = candidate.scores.size >= FEWEST_USERS
    return {LEAD: candidate.lead(popular)} if enough else {}


def _encoded(encoded: EncodedUsers | None) -> dict[str, Any]:
    """Return the columns made of features, those left out, and the number of links.

    The answer is empty for a model without documents.
    """
    if encoded is None:
        return {}
    of = {"users": encoded} | ({"items": encoded.items} if encoded.items else {})
    found = {
        who: {"columns": one.encoder.width, "left_out": asdict(one.left_out)}
        for who, one in of.items()
    }
    return {"features": found, "links": int(encoded.links.nnz)}


def _kept(rival: Contender, candidate: Contender) -> str:
    ours, found = (one.validation.metrics["ndcg@10"] for one in (rival, candidate))
    return (
        f"the serving settings, fitted again, beat those that the search found "
        f"(ndcg@10 {ours:.4f}, {found:.4f})"
    )
