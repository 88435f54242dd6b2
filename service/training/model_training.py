"""The stages of one recipe, from settings to a model that may serve.

An order of one recipe walks through them once, an order of all families once for each.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from core.batch.snapshot import encoders_of
from core.errors import SnapshotFormat
from core.gate import Decision, decide
from core.search.search import Budget
from core.snapshot import Snapshot, mapped
from service.errors import VersionConflict
from service.store.clock import now_ms
from service.store.jobs.job import JobRecord
from service.store.models.records import LEAD, SHOWN, ModelRecord
from service.store.models.registry import Registry
from service.telemetry import logger
from service.training.by_features import encoders
from service.training.data.dataset import Dataset, EncodedUsers
from service.training.orders import family_of
from service.training.recipe import ServedRecipe
from service.training.recipes import checked
from service.training.reporter import Reporter
from service.training.splits import first_lead, popular_splits, validated_splits
from service.training.validation import Validation


@dataclass(frozen=True)
class Contender:
    """A fitted model and its validation."""

    model: str
    fitted: Any
    config: Any
    """Settings of the fit; None for a model that was validated as it serves."""
    validation: Validation


@dataclass(frozen=True)
class Judged:
    """The winner of a comparison, its metrics beside those of its rivals, and the decision."""

    candidate: Contender
    metrics: dict[str, Any]
    decision: dict[str, Any]


class ModelTraining:
    """The stages of one recipe in a job."""

    def __init__(
        self, registry: Registry, seed: int, record: JobRecord, model: str, reporter: Reporter
    ) -> None:
        """``record`` states the settings that are fixed and who ordered it."""
        self._registry, self._seed = registry, seed
        self._record, self._reporter = record, reporter
        self.model = model
        self.recipe: ServedRecipe[Any] = checked(model, record.parameters)
        self.family = family_of(model)

    def search(self, data: Dataset, budget: Budget) -> Any:
        """Return the settings: stated ones, and those found within the budget."""
        stated = self.recipe.settings.ordered(self._record.parameters)
        told = replace(budget, on_share=self._reporter.share)
        return self.recipe.search(data.at_cut, stated, told).config

    def fit(self, data: Dataset, config: Any) -> Any:
        """Return the model that has learned the events up to the cut."""
        return self.recipe.fit(data.at_cut, config)

    def judge(self, data: Dataset, fitted: Any, config: Any) -> Judged:
        """Compare the candidate with the model that serves."""
        validation = validated_splits(self.recipe, data, fitted, config)
        candidate = Contender(self.model, fitted, config, validation)
        self._reporter.share(0.3)
        version = self._registry.active().get(self.family.strategy)
        rival = None if version is None else self._rival(data, version, candidate)
        self._reporter.share(0.8)
        if rival is not None and self._would_rather_keep(rival, candidate):
            decision = Decision("promoted", _kept(rival, candidate))
            candidate = rival
        else:
            scores = None if rival is None else rival.validation.scores
            rng = np.random.default_rng(self._seed)
            decision = decide(candidate.validation.scores, scores, rng)
        popular = popular_splits(self.recipe, data)
        lead = first_lead(candidate.validation, popular)
        metrics = {
            **candidate.validation.metrics,
            **({} if lead is None else {LEAD: lead}),
            "judges": candidate.validation.scores.size,
            "splits": len(data.splits),
            "held_out": data.cut.says,
            "popular": popular.metrics,
            "rival": {} if rival is None else rival.validation.metrics,
        }
        return Judged(candidate, metrics, self._decision(decision, version))

    def refine(self, data: Dataset, judged: Judged) -> Snapshot:
        """Return the candidate as a snapshot, after further training on all events."""
        fitted, config = judged.candidate.fitted, judged.candidate.config
        if data.cut.holds_out:
            fitted = self.recipe.fit(data.now, config, previous=fitted)
        return self._snapshot(data, fitted, config, judged.metrics)

    def record_of(self, snapshot: Snapshot, judged: Judged) -> ModelRecord:
        """Return the registry's record of a snapshot."""
        return ModelRecord.of(
            snapshot,
            self.family.strategy,
            created_ms=now_ms(),
            job=self._record.id,
            decision=judged.decision,
        )

    def promote(self, published: ModelRecord, decision: dict[str, Any]) -> dict[str, Any]:
        """Let the model serve if the gate allows it, unless the serving model changed meanwhile."""
        if decision["outcome"] != "promoted":
            return decision
        if published.version == decision["rival"]:
            return {**decision, "reason": "the same model serves already"}
        why = f"job {self._record.id}: {decision['reason']}"
        try:
            self._registry.set_active(
                self.family.strategy,
                published.version,
                expected=decision["rival"],
                who=self._record.who,
                why=why,
            )
        except VersionConflict as error:
            return {**decision, "outcome": "refused", "reason": str(error)}
        return decision

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
        if record.model == self.model and config == candidate.config:
            return candidate
        refitted = recipe.fit(data.at_cut, config)
        validation = validated_splits(recipe, data, refitted, config)
        return Contender(record.model, refitted, config, validation)

    def _would_rather_keep(self, rival: Contender, candidate: Contender) -> bool:
        """Return whether the serving settings beat those that the search found.

        Always False if the order states settings of its own.
        """
        comparable = rival.model == candidate.model and rival.config is not None
        if self._record.parameters or not comparable or rival is candidate:
            return False
        ours, found = (one.validation.scores for one in (rival, candidate))
        return bool(found.size and ours.mean() >= found.mean())

    def _decision(self, decision: Decision, serving: str | None) -> dict[str, Any]:
        outcome, reason = decision.outcome, decision.reason
        if outcome == "not_judged" and self._record.promote_unjudged:
            outcome, reason = (
                "promoted",
                f"{reason}; the order allows it to serve all the same",
            )
        elif outcome == "not_judged":
            reason = f"{reason}; promote it by hand if you want it to serve"
        pinned = self._registry.pins().get(self.family.strategy)
        if pinned is not None and outcome == "promoted":
            outcome = "refused"
            reason = f"version {pinned[:SHOWN]} is pinned: unpin it to let others serve ({reason})"
        return {
            "outcome": outcome,
            "reason": reason,
            "rival": serving,
            "difference": None if decision.difference is None else asdict(decision.difference),
        }

    def _snapshot(
        self, data: Dataset, fitted: Any, config: Any, metrics: Mapping[str, Any]
    ) -> Snapshot:
        through = {str(p): sequence for p, sequence in enumerate(data.sequences)}
        return self.recipe.snapshot(
            self.model,
            fitted,
            data.encoded,
            {
                "settings": self.recipe.settings.values(config),
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


def _has_columns_of(encoded: EncodedUsers | None, served: Snapshot) -> bool:
    """Return whether documents are encoded as for the training of a model, if it reads any."""
    users, items = encoders_of(served)
    now = encoders(encoded)
    return not users.width or (users, items) == (now["encoder"], now["item_encoder"])


def _kept(rival: Contender, candidate: Contender) -> str:
    ours, found = (one.validation.metrics["ndcg@10"] for one in (rival, candidate))
    return (
        f"the serving settings, fitted again, beat those that the search found "
        f"(ndcg@10 {ours:.4f}, {found:.4f})"
    )
