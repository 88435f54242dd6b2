"""Every metric, its labels and its meaning; docs/reference/metrics.md is made from this list.

No label has unbounded values: routes are templates, codes and families are names of ours. Nothing
here names a user or an item.
"""

from dataclasses import dataclass
from typing import Literal

REQUEST_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
TRAIN_S = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 10800.0)
FRESH_S = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

HTTP, FEEDBACK, LEARNING = "Requests", "Feedback", "Learning"
TRAINING, MODELS, STORE, PROCESSES = "Trainings", "Models and rankers", "Store", "Processes"

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True)
class Metric:
    """A family of figures, one for each combination of the labels' values."""

    name: str
    """As Prometheus knows it, with the unit."""
    kind: Kind
    part: str
    """What it belongs to, a heading of its reference."""
    about: str
    """Its meaning, as one sentence for people."""
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    """The upper bounds of a histogram's buckets, rising, without infinity."""

    @property
    def cells(self) -> int:
        """Numbers that one series takes: of a histogram, those of all buckets and the sum."""
        return len(self.bounds) + 2 if self.bounds else 1


REQUESTS = Metric(
    "hedgerow_http_requests_total",
    "counter",
    HTTP,
    "Requests, by route and status. Status `none`: the client closed the connection first.",
    ("method", "route", "status"),
)
REQUEST_SECONDS = Metric(
    "hedgerow_http_request_duration_seconds",
    "histogram",
    HTTP,
    "Time from a request's headers to the end of its answer; for a stream, to the end of its body.",
    ("method", "route"),
    REQUEST_S,
)
CONNECTIONS_REFUSED = Metric(
    "hedgerow_http_connections_refused_total",
    "counter",
    HTTP,
    "Connections that were ended before they had a complete request, by error code.",
    ("code",),
)
SOCKETS_CLOSED = Metric(
    "hedgerow_sockets_closed_total",
    "counter",
    HTTP,
    "WebSockets that have ended, by the code with which the service closed them, or `client` if "
    "the client closed them.",
    ("code",),
)
EVENTS_ACCEPTED = Metric(
    "hedgerow_events_accepted_total",
    "counter",
    FEEDBACK,
    "Events that were stored and acknowledged.",
)
EVENTS_REFUSED = Metric(
    "hedgerow_events_refused_total",
    "counter",
    FEEDBACK,
    "Events that were not stored, by error code; a body that cannot be read counts once.",
    ("code",),
)

INGESTED = Metric(
    "hedgerow_ingested_messages_total",
    "counter",
    FEEDBACK,
    "Messages of a broker that `hedgerow ingest` read: `stored`, or `set_aside` as dead letters.",
    ("outcome",),
)
KEPT_ANSWERS = Metric(
    "hedgerow_kept_answers_total",
    "counter",
    HTTP,
    "Users' lists that were answered from memory (`hit`) or made for the request (`miss`).",
    ("result",),
)
FRESHNESS = Metric(
    "hedgerow_event_freshness_seconds",
    "histogram",
    LEARNING,
    "Time from the arrival of an event at an api process to the commit that makes it count.",
    ("partition",),
    FRESH_S,
)
LEARN_SECONDS = Metric(
    "hedgerow_learner_batch_seconds",
    "histogram",
    LEARNING,
    "Time that a learner takes to learn a batch of events.",
    ("partition",),
    REQUEST_S,
)
COMMIT_SECONDS = Metric(
    "hedgerow_learner_commit_seconds",
    "histogram",
    LEARNING,
    "Time from the start of a batch's commit to its end. Meanwhile the learner may learn the next "
    "batch.",
    ("partition",),
    REQUEST_S,
)
EVENTS_LEARNED = Metric(
    "hedgerow_events_learned_total",
    "counter",
    LEARNING,
    "Events that were learned: `rating`, `other` kinds, `repeat` (dropped), `deletion`.",
    ("partition", "what"),
)
LAG_EVENTS = Metric(
    "hedgerow_lag_events",
    "gauge",
    LEARNING,
    "Events that are stored and not learned yet.",
    ("partition",),
)
LAG_SECONDS = Metric(
    "hedgerow_lag_seconds",
    "gauge",
    LEARNING,
    "Time since the newest learned event was accepted; 0 if no event waits, or none was learned.",
    ("partition",),
)
LOG_BYTES = Metric(
    "hedgerow_log_bytes",
    "gauge",
    LEARNING,
    "Bytes of the events that wait to be learned; above `log_max_bytes` writes are refused.",
    ("partition",),
)
DEAD_LETTERS = Metric(
    "hedgerow_dead_letters",
    "gauge",
    LEARNING,
    "Entries of the log that could not be learned and wait in `hedgerow dead-letters`.",
    ("partition",),
)
LEARNER_UP = Metric(
    "hedgerow_learner_up",
    "gauge",
    LEARNING,
    "1: the partition has a running learner; 0: it has none.",
    ("partition",),
)
WEBHOOK_DELIVERIES = Metric(
    "hedgerow_webhook_deliveries_total",
    "counter",
    PROCESSES,
    "Tries to send to webhooks: `delivered`, `failed` (tried again later) or `given_up`.",
    ("outcome",),
)
WEBHOOKS_WAITING = Metric(
    "hedgerow_webhook_deliveries_waiting",
    "gauge",
    PROCESSES,
    "Deliveries to webhooks that wait to be sent, or to be sent again.",
)
TRAININGS = Metric(
    "hedgerow_trainings_total",
    "counter",
    TRAINING,
    "Trainings that have ended: `failed`, `cancelled`, or the decision about their model.",
    ("outcome",),
)
TRAINING_SECONDS = Metric(
    "hedgerow_training_duration_seconds",
    "histogram",
    TRAINING,
    "Time from the start of a training to its end, without trainings whose trainer died.",
    ("outcome",),
    TRAIN_S,
)
JOBS = Metric(
    "hedgerow_jobs",
    "gauge",
    TRAINING,
    "Trainings that wait (`queued`) or run (`running`).",
    ("status",),
)
TRAINER_UP = Metric(
    "hedgerow_trainer_up", "gauge", TRAINING, "1: a trainer takes jobs; 0: none does."
)
MODEL_AGE = Metric(
    "hedgerow_model_age_seconds",
    "gauge",
    MODELS,
    "Time since the model that serves was trained.",
    ("family",),
)
NDCG = Metric(
    "hedgerow_ranker_ndcg_at_10",
    "gauge",
    MODELS,
    "Mean ndcg@10 of the ranker over about the last 10 000 events with which it was tested.",
    ("family",),
)
MIXTURE_WEIGHT = Metric(
    "hedgerow_mixture_weight",
    "gauge",
    MODELS,
    "Weight of a family in the mixture; all weights sum to 1.",
    ("family",),
)
EXPERT_ERROR = Metric(
    "hedgerow_expert_error",
    "gauge",
    MODELS,
    "Mean error of an expert's predictions of about the last 1 000 ratings, each made just before "
    "the rating was learned, divided by the width of the scale.",
    ("partition", "expert"),
)
STORE_UP = Metric(
    "hedgerow_store_up", "gauge", STORE, "1: the store answers the api process; 0: it does not."
)
STALE_SECONDS = Metric(
    "hedgerow_stale_seconds",
    "gauge",
    STORE,
    "Time since the store last answered; 0 while it answers.",
)
ACCEPTING = Metric(
    "hedgerow_accepting", "gauge", STORE, "1: the store takes writes; 0: they get 503."
)
DURABLE = Metric(
    "hedgerow_durable",
    "gauge",
    STORE,
    "1: accepted events survive a power cut; 0: they may be lost.",
)
ROLLBACKS = Metric(
    "hedgerow_rollbacks",
    "gauge",
    STORE,
    "How often the store was found to have lost something that it had acknowledged, up to 20.",
)
LAST_ROLLBACK = Metric(
    "hedgerow_last_rollback_timestamp_seconds",
    "gauge",
    STORE,
    "When the store was last found to have lost something, in Unix time; no value: never.",
)
STORE_BYTES = Metric(
    "hedgerow_store_bytes",
    "gauge",
    STORE,
    "Approximate number of bytes that each kind of data takes, estimated from samples.",
    ("data",),
)
ITEMS = Metric(
    "hedgerow_items", "gauge", STORE, "Number of items in the namespace, including deleted ones."
)
RESTARTS = Metric(
    "hedgerow_process_restarts_total",
    "counter",
    PROCESSES,
    "Restarts of processes of `hedgerow serve` that ended by themselves or were killed.",
    ("role",),
)

METRICS = (
    REQUESTS,
    REQUEST_SECONDS,
    CONNECTIONS_REFUSED,
    SOCKETS_CLOSED,
    KEPT_ANSWERS,
    EVENTS_ACCEPTED,
    EVENTS_REFUSED,
    INGESTED,
    FRESHNESS,
    LEARN_SECONDS,
    COMMIT_SECONDS,
    EVENTS_LEARNED,
    LAG_EVENTS,
    LAG_SECONDS,
    LOG_BYTES,
    DEAD_LETTERS,
    LEARNER_UP,
    TRAININGS,
    TRAINING_SECONDS,
    JOBS,
    TRAINER_UP,
    MODEL_AGE,
    NDCG,
    MIXTURE_WEIGHT,
    EXPERT_ERROR,
    STORE_UP,
    STALE_SECONDS,
    ACCEPTING,
    DURABLE,
    ROLLBACKS,
    LAST_ROLLBACK,
    STORE_BYTES,
    ITEMS,
    RESTARTS,
    WEBHOOK_DELIVERIES,
    WEBHOOKS_WAITING,
)
"""All metrics, in the order of the answer."""
BY_NAME = {metric.name: metric for metric in METRICS}
