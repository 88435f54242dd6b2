"""One training, from the histories to a published model. Runs in a process of its own, forked for the job.

    reading ▶ searching ▶ fitting ▶ judging ▶ refining ▶ publishing ▶ promoting

Whatever ends it on the way, what serves stays as it was: a model becomes visible when it is whole, and serves by one
compare-and-set, last.
"""

import resource
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from core.batch.ocmf_users import StructuredUsers
from core.batch.search import Budget
from core.errors import CoreError
from core.gate import Decision, decide
from core.snapshot import Snapshot, mapped, of_users, users_of
from service.errors import ServiceError, VersionConflict
from service.kinds import kind_table
from service.settings import Settings
from service.store.connection import Client
from service.store.history_reader import HistoryReader
from service.store.job_records import PROMOTING, JobGone, JobRecord, JobRecords, now_ms
from service.store.namespace import Namespace, open_namespace
from service.store.registry import ModelRecord, Registry
from service.telemetry import logger
from service.training import dataset as datasets
from service.training.dataset import Dataset, Reading
from service.training.judge import Verdict, judged, judged_popular
from service.training.recipes import Recipe, checked

STAGES = {
    "reading": (0.0, 0.1),
    "searching": (0.1, 0.6),
    "fitting": (0.6, 0.75),
    "judging": (0.75, 0.85),
    "refining": (0.85, 0.95),
    "publishing": (0.95, 0.99),
    PROMOTING: (0.99, 1.0),
}
"""Progress at the beginning and the end of each stage."""
REPORT_S = 0.2
"""Between two reports of progress."""


class NothingToLearn(ServiceError):
    """Raised when the histories hold no positive: the job fails and says so."""

    status, code = 409, "nothing_to_learn"


class Reporter:
    """Writes what a job does; JobGone ends the work when the job is cancelled or taken for dead."""

    def __init__(self, records: JobRecords, record: JobRecord) -> None:
        self._records, self._job, self._worker = records, record.id, record.worker
        self._bounds, self._reported_at = (0.0, 0.0), 0.0
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, **more: Any) -> Iterator[None]:
        """Report that a stage begins, with what is known so far, and measure it."""
        self._bounds = STAGES[name]
        self._records.report(self._job, self._worker, stage=name, progress=self._bounds[0], **more)
        started = perf_counter()
        yield
        self.seconds[name] = round(perf_counter() - started, 3)

    def share(self, share: float) -> None:
        """Report how far the stage is."""
        if perf_counter() - self._reported_at < REPORT_S:
            return
        self._reported_at = perf_counter()
        low, high = self._bounds
        progress = round(low + (high - low) * share, 4)
        self._records.report(self._job, self._worker, progress=progress)

    def succeed(self, **results: Any) -> None:
        """Report the end."""
        self._records.succeed(self._job, self._worker, **results)


def run(settings: Settings, client: Client, job: str) -> None:
    """Do the work of a running job; its record tells how it ended. Bugs pass through."""
    records = JobRecords(client, settings.namespace)
    record = records.record(job)
    try:
        namespace = open_namespace(client, settings)
        Training(settings, client, namespace, record, Reporter(records, record)).run()
    except JobGone:
        logger().info("training_given_up", job=job)
    except (ServiceError, CoreError) as error:
        records.fail(job, str(error))
        logger().warning("training_failed", job=job, reason=str(error))


@dataclass(frozen=True)
class Rival:
    """What serves now."""

    version: str
    record: ModelRecord


class Training:
    """One job's way through the stages."""

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
        self._recipe: Recipe[Any] = checked(record.model, record.parameters)

    def run(self) -> None:
        """Go through all stages."""
        stage = self._reporter.stage
        with stage("reading"):
            data = self._read()
        with stage("searching"):
            config = self._search(data)
        with stage("fitting"):
            candidate = self._recipe.fit(data.known, data.described, config)
        rival = self._rival()
        with stage("judging"):
            metrics, decision = self._judge(data, candidate, config, rival)
        with stage("refining", metrics=metrics, decision=decision):
            whole = candidate
            if data.cut.holds_out:
                whole = self._recipe.fit(data.whole, data.described, config, previous=candidate)
            snapshot = self._snapshot(data, whole, config, metrics)
        published = self._published(snapshot, decision)
        with stage("publishing", version=published.version):
            self._registry.publish(snapshot, published)
        with stage(PROMOTING):
            decision = self._promote(published, decision, rival)
        removed = self._prune()
        self._reporter.succeed(
            version=published.version,
            decision=decision,
            metrics={**metrics, **self._costs(data)},
        )
        logger().info(
            "training_ended",
            job=self._record.id,
            version=published.version,
            outcome=decision["outcome"],
            removed=len(removed),
        )

    def _read(self) -> Dataset:
        scale = self._namespace.scale
        data = datasets.read(
            HistoryReader(self._client, self._namespace),
            Reading(kind_table(self._settings), scale.low, scale.high),
            with_documents=self._recipe.with_documents,
            on_progress=self._reporter.share,
        )
        whole = data.whole
        if not len(whole) or (whole.target is not None and not (whole.target > 0).any()):
            raise NothingToLearn(
                "there is no positive feedback to learn from: post ratings of at least 60 % of the scale, "
                "or likes, purchases, clicks, views (POST /v1/ratings), then retrain"
            )
        return data

    def _search(self, data: Dataset) -> Any:
        budget = Budget(perf_counter, self._record.budget_s)
        return self._recipe.search(
            data.known, data.described, self._record.parameters, budget, self._reporter.share
        )

    def _rival(self) -> Rival | None:
        version = self._registry.active().get(self._recipe.strategy)
        return None if version is None else Rival(version, self._registry.record(version))

    def _judge(
        self, data: Dataset, candidate: StructuredUsers, config: Any, rival: Rival | None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what the judges say of candidate, rival and popularity, and the gate's decision."""
        own = judged(data, candidate)
        self._reporter.share(0.3)
        other = None if rival is None else self._judge_rival(data, rival, config, own)
        self._reporter.share(0.8)
        rng = np.random.default_rng(self._namespace.seed)
        decision = decide(own.scores, None if other is None else other.scores, rng)
        metrics = {
            **own.metrics,
            "judges": int(data.judges.user_ix.size),
            "popular": judged_popular(data).metrics,
            "rival": {} if other is None else other.metrics,
        }
        return metrics, self._decision(decision, rival)

    def _judge_rival(self, data: Dataset, rival: Rival, config: Any, own: Verdict) -> Verdict:
        """Judge what serves, or its settings fitted up to the cut if it has seen what is held out."""
        record = rival.record
        if record.cuts.get("trained_until_ms", data.cut.newest_ms) <= data.cut.at_ms:
            manifest = self._registry.manifest(rival.version)
            stored = b"".join(self._registry.chunks(rival.version))
            return judged(data, users_of(mapped(manifest, stored)))
        recipe = checked(record.model, {})
        settings = {n: v for n, v in record.parameters.items() if n in recipe.settings}
        its = recipe.config(settings)
        if its == config:
            return own
        return judged(data, recipe.fit(data.known, data.described, its))

    def _decision(self, decision: Decision, rival: Rival | None) -> dict[str, Any]:
        outcome, reason = decision.outcome, decision.reason
        pinned = self._registry.pins().get(self._recipe.strategy)
        if pinned is not None and decision.may_serve:
            outcome = "refused"
            reason = f"version {pinned} is pinned: unpin it to let others serve ({reason})"
        return {
            "outcome": outcome,
            "reason": reason,
            "rival": None if rival is None else rival.version,
            "difference": None if decision.difference is None else asdict(decision.difference),
        }

    def _snapshot(
        self, data: Dataset, users: StructuredUsers, config: Any, metrics: Mapping[str, Any]
    ) -> Snapshot:
        through = {str(p): sequence for p, sequence in enumerate(data.sequences)}
        made = of_users(
            self._record.model,
            users,
            settings={name: getattr(config, name) for name in self._recipe.settings},
            metrics={name: value for name, value in metrics.items() if isinstance(value, float)},
            cuts={
                "trained_through": through,
                "judged_through": through,
                "trained_until_ms": data.cut.newest_ms,
                "held_out_after_ms": data.cut.at_ms,
            },
        )
        if data.described is None or users.weights is None:
            return made
        encoder = {"encoder": data.described.encoder.to_json()}
        return replace(made, parameters={**made.parameters, **encoder})

    def _published(self, snapshot: Snapshot, decision: Mapping[str, Any]) -> ModelRecord:
        return ModelRecord.of(
            snapshot,
            self._recipe.strategy,
            created_ms=now_ms(),
            job=self._record.id,
            decision=decision,
        )

    def _promote(
        self, published: ModelRecord, decision: dict[str, Any], rival: Rival | None
    ) -> dict[str, Any]:
        """Let the model serve if the gate lets it; what another changed meanwhile stays."""
        if decision["outcome"] != "promoted":
            return decision
        expected = None if rival is None else rival.version
        if published.version == expected:
            return {**decision, "reason": "the very same model serves already"}
        why = f"job {self._record.id}: {decision['reason']}"
        try:
            self._registry.set_active(
                self._recipe.strategy,
                published.version,
                expected=expected,
                who=self._record.who,
                why=why,
            )
        except VersionConflict as error:
            return {**decision, "outcome": "refused", "reason": str(error)}
        return decision

    def _prune(self) -> list[str]:
        max_age_ms = int(self._settings.keep_models_days * 86_400_000)
        return self._registry.prune(self._settings.keep_models, max_age_ms)

    def _costs(self, data: Dataset) -> dict[str, Any]:
        # kilobytes, but on macOS bytes
        unit = 1 if sys.platform == "darwin" else 1024
        return {
            "users": data.whole.n_users,
            "items": data.whole.n_items,
            "pairs": len(data.whole),
            "seconds": self._reporter.seconds,
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
        }
