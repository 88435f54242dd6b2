"""One job, from the histories to models that serve, in a process that is forked for it.

    reading ▶ searching ▶ fitting ▶ judging ▶ refining ▶ publishing ▶ promoting

A job that ends early leaves the serving models unchanged: a new model becomes visible when it is
complete, and begins to serve by one compare-and-set at the very end. An order that names a recipe
trains it; ``all_families/job.py`` does an order that names none.
"""

from time import perf_counter

from core.errors import CoreError
from core.search.search import Budget
from service.errors import ServiceError
from service.settings import Settings
from service.store.connection import Client
from service.store.jobs.job import PROMOTING, JobRecord
from service.store.jobs.records import JobGone, JobRecords
from service.store.models.registry import Registry
from service.store.namespace import Namespace, existing_namespace
from service.store.recovery.steady import SteadyItems
from service.telemetry import logger
from service.training.afterwards import Afterwards, costs
from service.training.all_families.job import AllFamilies, FirstServes, goes_on
from service.training.data.dataset import Dataset
from service.training.job_data import read_for
from service.training.model_training import ModelTraining
from service.training.orders import recipes_of
from service.training.reporter import Reporter


def run(
    settings: Settings,
    client: Client,
    job: str,
    reporter: type[Reporter] = Reporter,
    first_serves: FirstServes = goes_on,
) -> None:
    """Do the work of a running job and record how it ended; bugs pass through.

    ``first_serves`` is called if the first model of all serves while the job goes on.
    """
    records = JobRecords(client, settings.namespace)
    record = records.record(job)
    try:
        namespace = existing_namespace(client, settings)
        reports = reporter(records, record)
        recipes = recipes_of(record.model)
        if len(recipes) == 1:
            OneRecipe(settings, client, namespace, record, recipes[0], reports).run()
        else:
            AllFamilies(settings, client, namespace, record, reports).run(first_serves)
    except JobGone:
        logger().info("training_given_up", job=job, reason="the job was cancelled")
    except (ServiceError, CoreError) as error:
        records.fail(job, str(error))
        logger().warning("training_failed", job=job, reason=str(error))


class OneRecipe:
    """The stages of a job that names a recipe."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        namespace: Namespace,
        record: JobRecord,
        model: str,
        reporter: Reporter,
    ) -> None:
        self._settings, self._client, self._namespace = settings, client, namespace
        self._record, self._reporter = record, reporter
        self._registry = Registry(client, namespace.name)
        self._items = SteadyItems(client, namespace)
        self._training = ModelTraining(self._registry, namespace.seed, record, model, reporter)
        self._afterwards = Afterwards(settings, client, namespace, record)

    def run(self) -> None:
        """Run all stages in order."""
        stage, training = self._reporter.stage, self._training
        with stage("reading"):
            data = training.recipe.held_out(self._read())
        with stage("searching"):
            config = training.search(data, Budget(perf_counter, self._record.budget_s))
        with stage("fitting"):
            fitted = training.fit(data, config)
        with stage("judging"):
            judged = training.judge(data, fitted, config)
        with stage("refining", metrics=judged.metrics, decision=judged.decision):
            snapshot = training.refine(data, judged)
        published = training.record_of(snapshot, judged)
        with stage("publishing", version=published.version):
            self._registry.publish(snapshot, published, token=self._items.token)
        with stage(PROMOTING):
            decision = training.promote(published, judged.decision)
        removed = self._afterwards.prune()
        leads = self._afterwards.note_for_the_schedule(data)
        self._reporter.succeed(
            version=published.version,
            decision=decision,
            metrics={**judged.metrics, **costs(data, self._reporter.seconds)},
        )
        if leads:
            self._afterwards.order_others(training.family.strategy)
        logger().info(
            "training_ended",
            job=self._record.id,
            version=published.version,
            outcome=decision["outcome"],
            removed=len(removed),
        )

    def _read(self) -> Dataset:
        family, share = self._training.family, self._reporter.share
        return read_for([family], self._settings, self._client, self._namespace, on_share=share)
