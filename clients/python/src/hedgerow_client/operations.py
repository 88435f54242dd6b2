# Written by `make clients` from openapi/openapi.json: do not change it here.

"""A method for each operation of the service."""

# ruff: noqa: A002 - parameters have the names that they have in the OpenAPI document

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from hedgerow_client import types
from hedgerow_client.requests import Request, path


class Operations(ABC):
    """The operations of the service, each as a method."""

    @abstractmethod
    def call(self, request: Request) -> Any:
        """Send a request and return the JSON of its answer."""

    @abstractmethod
    def iterate(self, request: Request) -> Iterator[Any]:
        """Go over the rows of all pages, beginning with this request's."""

    def check_health(self) -> types.Health:
        """Yes, if it answers at all."""
        answer: types.Health = self.call(Request("GET", "/healthz"))
        return answer

    def check_readiness(self) -> types.Ready:
        """Ready once the namespace is open and its rows fit the settings, catalogue and
        registry are read, and the kernels are compiled. The process stays ready while the
        store does not answer, because it then answers from memory. A 503 names what is
        `missing`. `accepting`, `learning` and `training` say what else works, and `warning`
        says what does not. `durable` false: the store may lose acknowledged events in a
        crash.
        """
        answer: types.Ready = self.call(Request("GET", "/readyz"))
        return answer

    def list_keys(self) -> types.KeyPage:
        """All keys, revoked ones too, without their secrets."""
        answer: types.KeyPage = self.call(Request("GET", "/v1/admin/keys"))
        return answer

    def create_key(self, body: types.NewKey) -> types.CreatedKey:
        """Only this answer contains the secret; the service stores a hash. Once there is a key,
        every request needs one, except `/healthz`, `/readyz`, `/docs`, `/openapi.json`,
        `/llms.txt` and the files of `/console`. This applies at once in this process and to
        all writes, and within 250 ms to reads in other processes. If there is no valid admin
        key that never expires, the new key must be such a key; otherwise the answer is 409
        `conflict`.
        """
        answer: types.CreatedKey = self.call(
            Request("POST", "/v1/admin/keys", body=body, repeatable=False)
        )
        return answer

    def revoke_key(self, key: str) -> types.Key:
        """The key stops working at once in this process and for all writes, and within 250 ms
        for reads in other processes. It stays in the list. 409 `conflict` if it is the last
        admin key that never expires: make another one first.
        """
        answer: types.Key = self.call(Request("DELETE", path("/v1/admin/keys/{key}", key=key)))
        return answer

    def list_alarms(self) -> types.AlarmList:
        """What the console shows as problems, as this process sees it at this moment."""
        answer: types.AlarmList = self.call(Request("GET", "/v1/alarms"))
        return answer

    def get_audit(self, *, limit: int | None = None, cursor: str | None = None) -> types.AuditPage:
        """What operators did, the newest first: keys, models, trainings, deletions, exports of
        users.

        The newest 10 000 acts are kept. A request without the needed role is not an act.

        - limit: Maximum number of acts on the page.
        - cursor: `next_cursor` of the page before.
        """
        answer: types.AuditPage = self.call(
            Request("GET", "/v1/audit", query={"limit": limit, "cursor": cursor})
        )
        return answer

    def iterate_audit(self, *, limit: int | None = None) -> Iterator[types.AuditEntry]:
        """Go over all pages of ``get_audit``, row by row."""
        return self.iterate(Request("GET", "/v1/audit", query={"limit": limit}))

    def list_categories(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> types.CategoryPage:
        """The categories of the items that may be shown now, the largest first.

        - limit: Maximum number of entries on the page.
        - cursor: `next_cursor` of the page before.
        """
        answer: types.CategoryPage = self.call(
            Request("GET", "/v1/categories", query={"limit": limit, "cursor": cursor})
        )
        return answer

    def iterate_categories(self, *, limit: int | None = None) -> Iterator[types.CategoryCount]:
        """Go over all pages of ``list_categories``, row by row."""
        return self.iterate(Request("GET", "/v1/categories", query={"limit": limit}))

    def get_erasure(self, erasure: str) -> types.ErasedUser:
        """Which traces of a deleted user are removed, and which are not yet; receipts are kept
        for 400 days.
        """
        answer: types.ErasedUser = self.call(
            Request("GET", path("/v1/erasures/{erasure}", erasure=erasure))
        )
        return answer

    def list_experiments(self) -> types.ExperimentPage:
        """All experiments and how their arms compare, the newest first."""
        answer: types.ExperimentPage = self.call(Request("GET", "/v1/experiments"))
        return answer

    def begin_experiment(self, body: types.NewExperiment) -> types.ExperimentReport:
        """From now on the users' lists are made with the parameters of their arms, within
        seconds.

        A user is always in the same arm. Lists of an arm name it in `experiment`, and their
        `rec_id` lets feedback count for it. A request that itself gives a parameter which
        some arm sets takes no part, unless it gives the default value. 409 `conflict` if
        another experiment is running.
        """
        answer: types.ExperimentReport = self.call(Request("POST", "/v1/experiments", body=body))
        return answer

    def delete_experiment(self, experiment: str) -> types.ExperimentSummary:
        """If it runs, it ends; if one of its arms was promoted, that holds no longer."""
        answer: types.ExperimentSummary = self.call(
            Request("DELETE", path("/v1/experiments/{experiment}", experiment=experiment))
        )
        return answer

    def get_experiment(self, experiment: str) -> types.ExperimentReport:
        """What followed the lists of each arm, and the difference to the first arm.

        The intervals hold at all times together, however often one looks.
        """
        answer: types.ExperimentReport = self.call(
            Request("GET", path("/v1/experiments/{experiment}", experiment=experiment))
        )
        return answer

    def promote_arm(self, experiment: str, body: types.Promotion) -> types.ExperimentReport:
        """The parameters of this arm are those of all requests that do not set them.

        The experiment ends, if it runs. What another experiment had promoted holds no
        longer.
        """
        answer: types.ExperimentReport = self.call(
            Request(
                "POST",
                path("/v1/experiments/{experiment}/promote", experiment=experiment),
                body=body,
            )
        )
        return answer

    def stop_experiment(self, experiment: str) -> types.ExperimentReport:
        """All users get lists as before. Feedback to lists that were shown still counts.

        An experiment that has ended stays as it is.
        """
        answer: types.ExperimentReport = self.call(
            Request("POST", path("/v1/experiments/{experiment}/stop", experiment=experiment))
        )
        return answer

    def get_experts(self, *, partition: int | None = None) -> types.Experts:
        """Weights, losses, and each expert's regret to the best one in hindsight.

        - partition: Each partition has a learner of its own.
        """
        answer: types.Experts = self.call(
            Request("GET", "/v1/experts", query={"partition": partition})
        )
        return answer

    def get_expert_history(
        self, *, partition: int | None = None, limit: int | None = None
    ) -> types.ExpertHistory:
        """Weights and recent losses every so many events, oldest first.

        - partition: Each partition has a learner of its own.
        - limit: Maximum number of points; the newest are kept.
        """
        answer: types.ExpertHistory = self.call(
            Request("GET", "/v1/experts/history", query={"partition": partition, "limit": limit})
        )
        return answer

    def list_items(
        self, *, limit: int | None = None, cursor: str | None = None, q: str | None = None
    ) -> types.ItemPage:
        """All items with a document or feedback, the oldest first; deleted items are left out.

        So a page may be shorter than `limit`: the list ends where `next_cursor` is null.
        With `q` only the items that it finds, the best first.

        - limit: Maximum number of entries on the page.
        - cursor: `next_cursor` of the page before.
        - q: Words that must all be in the `title`, `name` or `comment` of an item, whatever
          their case and accents.
        """
        answer: types.ItemPage = self.call(
            Request("GET", "/v1/items", query={"limit": limit, "cursor": cursor, "q": q})
        )
        return answer

    def iterate_items(
        self, *, limit: int | None = None, q: str | None = None
    ) -> Iterator[types.Item]:
        """Go over all pages of ``list_items``, row by row."""
        return self.iterate(Request("GET", "/v1/items", query={"limit": limit, "q": q}))

    def write_items(self, body: types.ItemLine | Sequence[types.ItemLine]) -> types.BulkWritten:
        """One item per line of NDJSON, of any length, or a JSON array of up to 10 000 items.

        Each row holds an id and a document, which replaces the old one. A bad row is one
        entry of `rejected` and stops nothing. If an item has several rows, the last one
        counts.
        """
        answer: types.BulkWritten = self.call(Request("POST", "/v1/items", body=body))
        return answer

    def find_audience(self, body: types.AudienceBody) -> types.AudienceAnswer:
        """Users with documents, ranked for one item by their features; needs an active `exmlds`
        model.

        If the model has no feedback for the item, it uses the item's features. Nothing is
        stored.
        """
        answer: types.AudienceAnswer = self.call(Request("POST", "/v1/items/audience", body=body))
        return answer

    def delete_item(self, item: str) -> types.Receipt:
        """Forget the item: its document, what was learned about it, its events in all
        histories.

        Feedback sent afterwards counts from zero; the item is listed again once it is
        written again.
        """
        answer: types.Receipt = self.call(Request("DELETE", path("/v1/items/{item}", item=item)))
        return answer

    def get_item(self, item: str) -> types.Item:
        """The item's document; version 0 if it is known from feedback alone."""
        answer: types.Item = self.call(Request("GET", path("/v1/items/{item}", item=item)))
        return answer

    def change_item(
        self, item: str, body: types.ItemPatch, *, if_match: str | None = None
    ) -> types.Item:
        """Change the given members of the item's document and keep the others.

        - if_match: Write only if the document is still at this version (its ETag).
        """
        answer: types.Item = self.call(
            Request(
                "PATCH",
                path("/v1/items/{item}", item=item),
                headers={"if-match": if_match},
                body=body,
                repeatable=if_match is None,
            )
        )
        return answer

    def write_item(
        self, item: str, body: types.ItemBody, *, if_match: str | None = None
    ) -> types.Item:
        """Create or replace the item's document.

        - if_match: Write only if the document is still at this version (its ETag).
        """
        answer: types.Item = self.call(
            Request(
                "PUT",
                path("/v1/items/{item}", item=item),
                headers={"if-match": if_match},
                body=body,
                repeatable=if_match is None,
            )
        )
        return answer

    def find_similar_items(
        self,
        item: str,
        *,
        k: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        category: str | None = None,
        filter: str | None = None,
        exclude: str | None = None,
        fields: str | None = None,
        user: str | None = None,
        min_sequence: str | None = None,
        model: Literal[
            "content", "exmlds", "fbgd", "neighbours", "next", "ocmf", "ordinal", "sequence"
        ]
        | None = None,
    ) -> types.Slate:
        """Items liked by the users who like this one. Compare scores only within one answer.

        - k: Maximum number of items.
        - offset: Items to skip; not together with `cursor`.
        - cursor: `next_cursor` of the page before, with all other parameters unchanged.
        - category: Only items of this category.
        - filter: Only items for which this filter is true: `year >= 2020 and not tags has
          'slow'`.
        - exclude: Ids of items to leave out: `a,b`.
        - fields: What to add to each item: `categories` or names of features.
        - user: Leave out what this user has rated, bought, ...
        - min_sequence: Answer only once this `sequence` is learned: read your own writes.
        - model: The strategy that compares items; by default the best.
        """
        answer: types.Slate = self.call(
            Request(
                "GET",
                path("/v1/items/{item}/similar", item=item),
                query={
                    "k": k,
                    "offset": offset,
                    "cursor": cursor,
                    "category": category,
                    "filter": filter,
                    "exclude": exclude,
                    "fields": fields,
                    "user": user,
                    "min_sequence": min_sequence,
                    "model": model,
                },
            )
        )
        return answer

    def iterate_similar_items(
        self,
        item: str,
        *,
        k: int | None = None,
        category: str | None = None,
        filter: str | None = None,
        exclude: str | None = None,
        fields: str | None = None,
        user: str | None = None,
        min_sequence: str | None = None,
        model: Literal[
            "content", "exmlds", "fbgd", "neighbours", "next", "ocmf", "ordinal", "sequence"
        ]
        | None = None,
    ) -> Iterator[types.SlateItem]:
        """Go over all pages of ``find_similar_items``, row by row."""
        return self.iterate(
            Request(
                "GET",
                path("/v1/items/{item}/similar", item=item),
                query={
                    "k": k,
                    "category": category,
                    "filter": filter,
                    "exclude": exclude,
                    "fields": fields,
                    "user": user,
                    "min_sequence": min_sequence,
                    "model": model,
                },
            )
        )

    def list_jobs(self, *, limit: int | None = None, cursor: str | None = None) -> types.JobPage:
        """The newest first; jobs of the last 30 days, at most 500.

        - limit: Maximum number of jobs on the page.
        - cursor: `next_cursor` of the page before.
        """
        answer: types.JobPage = self.call(
            Request("GET", "/v1/jobs", query={"limit": limit, "cursor": cursor})
        )
        return answer

    def iterate_jobs(self, *, limit: int | None = None) -> Iterator[types.Job]:
        """Go over all pages of ``list_jobs``, row by row."""
        return self.iterate(Request("GET", "/v1/jobs", query={"limit": limit}))

    def cancel_job(self, job: str) -> types.Job:
        """A running job stops within about a second. 409 if it has ended, or is promoting its
        model.
        """
        answer: types.Job = self.call(
            Request("DELETE", path("/v1/jobs/{job}", job=job), repeatable=False)
        )
        return answer

    def get_job(self, job: str) -> types.Job:
        """A job whose trainer is gone is `failed` within seconds; the models that serve stay."""
        answer: types.Job = self.call(Request("GET", path("/v1/jobs/{job}", job=job)))
        return answer

    def list_latest(
        self,
        *,
        k: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        category: str | None = None,
        filter: str | None = None,
        exclude: str | None = None,
        fields: str | None = None,
        user: str | None = None,
        min_sequence: str | None = None,
    ) -> types.Slate:
        """The latest items: by `available_from`, or else by when they were written for the
        first time.

        The score is that day, in days since 1970, and 0 where it is not known.

        - k: Maximum number of items.
        - offset: Items to skip; not together with `cursor`.
        - cursor: `next_cursor` of the page before, with all other parameters unchanged.
        - category: Only items of this category.
        - filter: Only items for which this filter is true: `year >= 2020 and not tags has
          'slow'`.
        - exclude: Ids of items to leave out: `a,b`.
        - fields: What to add to each item: `categories` or names of features.
        - user: Leave out what this user has rated, bought, ...
        - min_sequence: Answer only once this `sequence` is learned: read your own writes.
        """
        answer: types.Slate = self.call(
            Request(
                "GET",
                "/v1/latest",
                query={
                    "k": k,
                    "offset": offset,
                    "cursor": cursor,
                    "category": category,
                    "filter": filter,
                    "exclude": exclude,
                    "fields": fields,
                    "user": user,
                    "min_sequence": min_sequence,
                },
            )
        )
        return answer

    def iterate_latest(
        self,
        *,
        k: int | None = None,
        category: str | None = None,
        filter: str | None = None,
        exclude: str | None = None,
        fields: str | None = None,
        user: str | None = None,
        min_sequence: str | None = None,
    ) -> Iterator[types.SlateItem]:
        """Go over all pages of ``list_latest``, row by row."""
        return self.iterate(
            Request(
                "GET",
                "/v1/latest",
                query={
                    "k": k,
                    "category": category,
                    "filter": filter,
                    "exclude": exclude,
                    "fields": fields,
                    "user": user,
                    "min_sequence": min_sequence,
                },
            )
        )

    def list_models(
        self,
        *,
        strategy: Literal[
            "fbgd", "ocmf", "exmlds", "ordinal", "sequence", "neighbours", "content", "here"
        ]
        | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> types.Models:
        """The newest first, with their metrics, the gate's decisions, and which of them serve.

        `served` is what the answering process has loaded. A promotion reaches every process
        within a second, or up to ten seconds later if the model never served and the lists
        of many users are prepared first. A roll-back never waits.

        - strategy: Only the models of this strategy.
        - limit: Maximum number of entries on the page.
        - cursor: `next_cursor` of the page before.
        """
        answer: types.Models = self.call(
            Request(
                "GET", "/v1/models", query={"strategy": strategy, "limit": limit, "cursor": cursor}
            )
        )
        return answer

    def iterate_models(
        self,
        *,
        strategy: Literal[
            "fbgd", "ocmf", "exmlds", "ordinal", "sequence", "neighbours", "content", "here"
        ]
        | None = None,
        limit: int | None = None,
    ) -> Iterator[types.Model]:
        """Go over all pages of ``list_models``, row by row."""
        return self.iterate(
            Request("GET", "/v1/models", query={"strategy": strategy, "limit": limit})
        )

    def list_model_changes(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> types.ChangePage:
        """The last 1 000 changes with who, when and why, the newest first.

        If the gate let a model serve, `who` is the one who ordered its training.

        - limit: Maximum number of entries on the page.
        - cursor: `next_cursor` of the page before.
        """
        answer: types.ChangePage = self.call(
            Request("GET", "/v1/models/changes", query={"limit": limit, "cursor": cursor})
        )
        return answer

    def iterate_model_changes(self, *, limit: int | None = None) -> Iterator[types.Change]:
        """Go over all pages of ``list_model_changes``, row by row."""
        return self.iterate(Request("GET", "/v1/models/changes", query={"limit": limit}))

    def roll_back_model(self, body: types.RollBack | None = None) -> types.Model:
        """The version that served before serves again; if you repeat the request, the version
        before that. 409 `no_earlier_version` if none is left, 409 `model_pinned` if the
        active one is pinned.
        """
        answer: types.Model = self.call(
            Request("POST", "/v1/models/rollback", body=body, repeatable=False)
        )
        return answer

    def unpin_model(self, version: str, *, why: str | None = None) -> types.Model:
        """The model goes on serving; the next training may replace it. Unpinning twice is
        harmless.

        - why: Kept with who and when.
        """
        answer: types.Model = self.call(
            Request("DELETE", path("/v1/models/{version}/pin", version=version), query={"why": why})
        )
        return answer

    def pin_model(self, version: str, body: types.Reason | None = None) -> types.Model:
        """The model becomes active, and stays active until it is unpinned; it is never removed.

        409 `model_pinned` if another version is pinned.
        """
        answer: types.Model = self.call(
            Request("PUT", path("/v1/models/{version}/pin", version=version), body=body)
        )
        return answer

    def promote_model(self, version: str, body: types.Reason | None = None) -> types.Model:
        """The model becomes the active one of its strategy, whatever the gate said.

        409 `model_pinned` if another version is pinned. The next training may replace the
        model: pin it to keep it.
        """
        answer: types.Model = self.call(
            Request("POST", path("/v1/models/{version}/promote", version=version), body=body)
        )
        return answer

    def list_popular(
        self,
        *,
        k: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        category: str | None = None,
        filter: str | None = None,
        exclude: str | None = None,
        fields: str | None = None,
        user: str | None = None,
        min_sequence: str | None = None,
    ) -> types.Slate:
        """The most popular items of all times: the score is the weight of all positives.

        - k: Maximum number of items.
        - offset: Items to skip; not together with `cursor`.
        - cursor: `next_cursor` of the page before, with all other parameters unchanged.
        - category: Only items of this category.
        - filter: Only items for which this filter is true: `year >= 2020 and not tags has
          'slow'`.
        - exclude: Ids of items to leave out: `a,b`.
        - fields: What to add to each item: `categories` or names of features.
        - user: Leave out what this user has rated, bought, ...
        - min_sequence: Answer only once this `sequence` is learned: read your own writes.
        """
        answer: types.Slate = self.call(
            Request(
                "GET",
                "/v1/popular",
                query={
                    "k": k,
                    "offset": offset,
                    "cursor": cursor,
                    "category": category,
                    "filter": filter,
                    "exclude": exclude,
                    "fields": fields,
                    "user": user,
                    "min_sequence": min_sequence,
                },
            )
        )
        return answer

    def iterate_popular(
        self,
        *,
        k: int | None = None,
        category: str | None = None,
        filter: str | None = None,
        exclude: str | None = None,
        fields: str | None = None,
        user: str | None = None,
        min_sequence: str | None = None,
    ) -> Iterator[types.SlateItem]:
        """Go over all pages of ``list_popular``, row by row."""
        return self.iterate(
            Request(
                "GET",
                "/v1/popular",
                query={
                    "k": k,
                    "category": category,
                    "filter": filter,
                    "exclude": exclude,
                    "fields": fields,
                    "user": user,
                    "min_sequence": min_sequence,
                },
            )
        )

    def predict_ratings(
        self, body: types.Pairs, *, min_sequence: str | None = None
    ) -> types.Predictions:
        """Up to 1 000 pairs at once, answered in their order.

        - min_sequence: Answer only once this `sequence` is learned: so you read your own
          writes.
        """
        answer: types.Predictions = self.call(
            Request("POST", "/v1/predictions", query={"min_sequence": min_sequence}, body=body)
        )
        return answer

    def rank(self, body: types.RankBody) -> types.Slate:
        """The candidates in the best order for this user, without hidden, expired and unknown
        ones.

        Candidates that the model does not know come last, the popular ones first.
        """
        answer: types.Slate = self.call(Request("POST", "/v1/rank", body=body))
        return answer

    def get_rankers(self) -> types.Rankers:
        """Weights and metrics of each ranker in the mixture, measured on events before learning
        them.

        Every ranker ranks a sample of the arriving positive events with what was known just
        before. For models that were promoted while a learner was away, its partition does
        not count.
        """
        answer: types.Rankers = self.call(Request("GET", "/v1/rankers"))
        return answer

    def recommend_to_anyone(self, body: types.RecommendationBody) -> types.Slate:
        """The best items, or the best of these `candidates`, for a user, a `history` or
        `features`.

        Asking stores nothing.
        """
        answer: types.Slate = self.call(Request("POST", "/v1/recommendations", body=body))
        return answer

    def retrain(self, body: types.Retrain | None = None) -> types.Job:
        """A trainer takes the job as soon as it is free; watch it by its id.

        202 is a new job. If the same order waits or runs already, the answer is 200 with
        that job, unless so much was learned since it began that another training is worth
        it.

        Without `model` the trainer tries all recipes that can learn from the data, and
        trains those that add to the others. A new model serves if the newest events of
        enough users do not show it to be worse than the active model.
        """
        answer: types.Job = self.call(Request("POST", "/v1/retrain", body=body))
        return answer

    def reset_schedule(self) -> types.CurrentSchedule:
        """Forget the schedule that was set. The answer is that of the settings, with a new
        version.
        """
        answer: types.CurrentSchedule = self.call(Request("DELETE", "/v1/retrain/schedule"))
        return answer

    def get_schedule(self) -> types.CurrentSchedule:
        """The conditions that start a training, and how near they are."""
        answer: types.CurrentSchedule = self.call(Request("GET", "/v1/retrain/schedule"))
        return answer

    def set_schedule(
        self, body: types.ScheduleBody, *, if_version: int | None = None
    ) -> types.CurrentSchedule:
        """Replace the whole schedule: a condition that is left out is off.

        An empty object ends automatic retraining; DELETE lets the settings decide again. The
        answer is the schedule as it is now. The pause after a training
        (HEDGEROW_RETRAIN_PAUSE_S) always holds.

        - if_version: Change nothing unless the schedule has this version.
        """
        answer: types.CurrentSchedule = self.call(
            Request(
                "PUT",
                "/v1/retrain/schedule",
                query={"if_version": if_version},
                body=body,
                repeatable=if_version is None,
            )
        )
        return answer

    def get_settings(self) -> types.SettingsInEffect:
        """The settings of the process that answers; other processes may have other settings.

        Change settings before the start: by flags, by variables or in `hedgerow.toml`.
        """
        answer: types.SettingsInEffect = self.call(Request("GET", "/v1/settings"))
        return answer

    def get_stats(self) -> types.Stats:
        """Counters, lag, memory by family of keys, and what each kind of event means."""
        answer: types.Stats = self.call(Request("GET", "/v1/stats"))
        return answer

    def get_click_through(self, *, context: str | None = None) -> types.ClickThrough:
        """Impressions and clicks by strategy and model, from feedback with the `rec_id` of a
        slate.

        With `context`, those that happened there.

        - context: Only events of this context: `device=phone`. Kept for each of the last 1
          024 pairs of a model and a context that had events.
        """
        answer: types.ClickThrough = self.call(
            Request("GET", "/v1/stats/click-through", query={"context": context})
        )
        return answer

    def get_contexts(self, *, context: str | None = None) -> types.ContextCounts:
        """The number of events of each kind by each name and text of their `context`.

        Kept for each of the last 1 024 contexts that had events.

        - context: Only this context: `device=phone`; by default all.
        """
        answer: types.ContextCounts = self.call(
            Request("GET", "/v1/stats/contexts", query={"context": context})
        )
        return answer

    def get_topics(self) -> types.Topics:
        """Groups of items that the same people like, made of the vectors of an active model.

        The first request after a new model may take some seconds.
        """
        answer: types.Topics = self.call(Request("GET", "/v1/topics"))
        return answer

    def list_trending(
        self,
        *,
        k: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        category: str | None = None,
        filter: str | None = None,
        exclude: str | None = None,
        fields: str | None = None,
        user: str | None = None,
        min_sequence: str | None = None,
    ) -> types.Slate:
        """The most popular items lately: each positive counts half as much after a half-life.

        - k: Maximum number of items.
        - offset: Items to skip; not together with `cursor`.
        - cursor: `next_cursor` of the page before, with all other parameters unchanged.
        - category: Only items of this category.
        - filter: Only items for which this filter is true: `year >= 2020 and not tags has
          'slow'`.
        - exclude: Ids of items to leave out: `a,b`.
        - fields: What to add to each item: `categories` or names of features.
        - user: Leave out what this user has rated, bought, ...
        - min_sequence: Answer only once this `sequence` is learned: read your own writes.
        """
        answer: types.Slate = self.call(
            Request(
                "GET",
                "/v1/trending",
                query={
                    "k": k,
                    "offset": offset,
                    "cursor": cursor,
                    "category": category,
                    "filter": filter,
                    "exclude": exclude,
                    "fields": fields,
                    "user": user,
                    "min_sequence": min_sequence,
                },
            )
        )
        return answer

    def iterate_trending(
        self,
        *,
        k: int | None = None,
        category: str | None = None,
        filter: str | None = None,
        exclude: str | None = None,
        fields: str | None = None,
        user: str | None = None,
        min_sequence: str | None = None,
    ) -> Iterator[types.SlateItem]:
        """Go over all pages of ``list_trending``, row by row."""
        return self.iterate(
            Request(
                "GET",
                "/v1/trending",
                query={
                    "k": k,
                    "category": category,
                    "filter": filter,
                    "exclude": exclude,
                    "fields": fields,
                    "user": user,
                    "min_sequence": min_sequence,
                },
            )
        )

    def list_users(self, *, limit: int | None = None, cursor: str | None = None) -> types.UserPage:
        """All users with a document or learned feedback, ordered by the bytes of their ids.

        - limit: Maximum number of entries on the page.
        - cursor: `next_cursor` of the page before.
        """
        answer: types.UserPage = self.call(
            Request("GET", "/v1/users", query={"limit": limit, "cursor": cursor})
        )
        return answer

    def iterate_users(self, *, limit: int | None = None) -> Iterator[types.User]:
        """Go over all pages of ``list_users``, row by row."""
        return self.iterate(Request("GET", "/v1/users", query={"limit": limit}))

    def write_users(self, body: types.UserLine | Sequence[types.UserLine]) -> types.BulkWritten:
        """One user per line of NDJSON, of any length, or a JSON array of up to 10 000 users.

        Each row holds an id and a document, which replaces the old one. A bad row is one
        entry of `rejected` and stops nothing. If a user has several rows, the last one
        counts.
        """
        answer: types.BulkWritten = self.call(Request("POST", "/v1/users", body=body))
        return answer

    def delete_user(self, user: str) -> types.Receipt:
        """Delete everything of a user: document, history, what was learned. The answer is the
        receipt.

        Feedback acknowledged before cannot come back. Others' links to the user, and the
        private server's file on the disk, follow soon: `erasure` names the receipt. What
        other users' rows and the experts' weights have learned from these ratings stays, as
        in any trained model; `hedgerow rebuild` learns everything without them.
        """
        answer: types.Receipt = self.call(Request("DELETE", path("/v1/users/{user}", user=user)))
        return answer

    def get_user(self, user: str) -> types.User:
        """The user's document; version 0 if they are known from feedback alone."""
        answer: types.User = self.call(Request("GET", path("/v1/users/{user}", user=user)))
        return answer

    def change_user(
        self, user: str, body: types.UserPatch, *, if_match: str | None = None
    ) -> types.User:
        """Change the given members of the user's document and keep the others.

        - if_match: Write only if the document is still at this version (its ETag).
        """
        answer: types.User = self.call(
            Request(
                "PATCH",
                path("/v1/users/{user}", user=user),
                headers={"if-match": if_match},
                body=body,
                repeatable=if_match is None,
            )
        )
        return answer

    def write_user(
        self, user: str, body: types.UserBody, *, if_match: str | None = None
    ) -> types.User:
        """Create or replace the user's document: features and links to other users.

        - if_match: Write only if the document is still at this version (its ETag).
        """
        answer: types.User = self.call(
            Request(
                "PUT",
                path("/v1/users/{user}", user=user),
                headers={"if-match": if_match},
                body=body,
                repeatable=if_match is None,
            )
        )
        return answer

    def export_user(self, user: str) -> types.UserExport:
        """Document, links of others, events, impressions, and what was learned, as JSON.

        All documents are looked through for links, so with many users it takes some seconds.
        Of an unknown user everything is empty. Models that are trained hold nothing of a
        single user.
        """
        answer: types.UserExport = self.call(
            Request("GET", path("/v1/users/{user}/export", user=user))
        )
        return answer

    def merge_users(self, user: str, body: types.Merge) -> types.Merged:
        """Move the source's events to the user, each once, and delete the source, as at a log-
        in.

        The online row with more ratings is kept. The user's document stays as it is. It is
        harmless to send the same merge again.
        """
        answer: types.Merged = self.call(
            Request("POST", path("/v1/users/{user}/merge", user=user), body=body)
        )
        return answer

    def predict_rating(
        self,
        user: str,
        item: str,
        *,
        model: Literal["online", "ordinal"] | None = None,
        strategy: Literal["online", "ordinal"] | None = None,
        min_sequence: str | None = None,
    ) -> types.Prediction | types.OrdinalPrediction:
        """The rating that this user would give this item, with the part of each expert.

        An unknown user or item is not an error: the interval is then wide. Asking stores
        nothing.

        - model: The strategy that predicts: `ordinal` reads only documents of user and item.
        - strategy: The same as `model`.
        - min_sequence: Answer only once this `sequence` is learned: so you read your own
          writes.
        """
        answer: types.Prediction | types.OrdinalPrediction = self.call(
            Request(
                "GET",
                path("/v1/users/{user}/predictions/{item}", user=user, item=item),
                query={"model": model, "strategy": strategy, "min_sequence": min_sequence},
            )
        )
        return answer

    def get_history(
        self, user: str, *, limit: int | None = None, cursor: str | None = None
    ) -> types.EventPage:
        """All learned events that are kept, the newest first; new events do not shift the
        pages.

        - limit: Maximum number of entries on the page.
        - cursor: `next_cursor` of the page before.
        """
        answer: types.EventPage = self.call(
            Request(
                "GET",
                path("/v1/users/{user}/ratings", user=user),
                query={"limit": limit, "cursor": cursor},
            )
        )
        return answer

    def iterate_history(self, user: str, *, limit: int | None = None) -> Iterator[types.Event]:
        """Go over all pages of ``get_history``, row by row."""
        return self.iterate(
            Request("GET", path("/v1/users/{user}/ratings", user=user), query={"limit": limit})
        )

    def delete_rating(self, user: str, item: str) -> types.Receipt:
        """Delete all events of this user and this item that were acknowledged before.

        404 only if nobody ever named the item: whether this user rated it is known once the
        deletion is learned.
        """
        answer: types.Receipt = self.call(
            Request("DELETE", path("/v1/users/{user}/ratings/{item}", user=user, item=item))
        )
        return answer

    def recommend(
        self,
        user: str,
        *,
        k: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        category: str | None = None,
        filter: str | None = None,
        model: Literal[
            "content",
            "exmlds",
            "fbgd",
            "here",
            "latest",
            "mixture",
            "neighbours",
            "next",
            "ocmf",
            "online",
            "ordinal",
            "popular",
            "sequence",
            "trending",
        ]
        | None = None,
        blend: float | None = None,
        diversity: float | None = None,
        max_per_category: int | None = None,
        explain: bool | None = None,
        exclude_seen: bool | None = None,
        min_sequence: str | None = None,
        exclude: str | None = None,
        fields: str | None = None,
        context: str | None = None,
    ) -> types.Slate:
        """The best items for this user as of now; an unknown user gets popular items, with a
        `reason`.

        Asking stores nothing. `next_cursor` leads to the next page; no item comes twice,
        whatever happens meanwhile.

        - k: Maximum number of items; with `diversity` or `max_per_category` `offset` and `k`
          are at most 1000 together.
        - offset: Items to skip; not together with `cursor`; with `diversity` or
          `max_per_category` `offset` and `k` are at most 1000 together.
        - cursor: `next_cursor` of the page before, with all other parameters unchanged.
        - category: Only items of this category.
        - filter: Only items for which this filter is true: `year >= 2020 and not tags has
          'slow'`.
        - model: The strategy that ranks; by default the best.
        - blend: Share of the online model in the score, 0 to 1.
        - diversity: 0: the best items; towards 1: items that differ from each other. Above 0
          `offset` and `k` are at most 1000 together.
        - max_per_category: Maximum number of items of one category in an answer. With it
          `offset` and `k` are at most 1000 together.
        - explain: Add which past items make up the score, and how much (`fbgd`, `ocmf`,
          `next`, `sequence`, `neighbours`, `content`).
        - exclude_seen: Leave out items that the user has rated, bought, ...
        - min_sequence: Answer only once this `sequence` is learned: read your own writes.
        - exclude: Ids of items to leave out: `a,b`.
        - fields: What to add to each item: `categories` or names of features.
        - context: Where the list is shown: `device=phone,page=home`. Once a model of `here`
          is active, the list depends on this context. The `rec_id` contains the context, so
          that feedback to the list is counted for it.
        """
        answer: types.Slate = self.call(
            Request(
                "GET",
                path("/v1/users/{user}/recommendations", user=user),
                query={
                    "k": k,
                    "offset": offset,
                    "cursor": cursor,
                    "category": category,
                    "filter": filter,
                    "model": model,
                    "blend": blend,
                    "diversity": diversity,
                    "max_per_category": max_per_category,
                    "explain": explain,
                    "exclude_seen": exclude_seen,
                    "min_sequence": min_sequence,
                    "exclude": exclude,
                    "fields": fields,
                    "context": context,
                },
            )
        )
        return answer

    def iterate_recommendations(
        self,
        user: str,
        *,
        k: int | None = None,
        category: str | None = None,
        filter: str | None = None,
        model: Literal[
            "content",
            "exmlds",
            "fbgd",
            "here",
            "latest",
            "mixture",
            "neighbours",
            "next",
            "ocmf",
            "online",
            "ordinal",
            "popular",
            "sequence",
            "trending",
        ]
        | None = None,
        blend: float | None = None,
        diversity: float | None = None,
        max_per_category: int | None = None,
        explain: bool | None = None,
        exclude_seen: bool | None = None,
        min_sequence: str | None = None,
        exclude: str | None = None,
        fields: str | None = None,
        context: str | None = None,
    ) -> Iterator[types.SlateItem]:
        """Go over all pages of ``recommend``, row by row."""
        return self.iterate(
            Request(
                "GET",
                path("/v1/users/{user}/recommendations", user=user),
                query={
                    "k": k,
                    "category": category,
                    "filter": filter,
                    "model": model,
                    "blend": blend,
                    "diversity": diversity,
                    "max_per_category": max_per_category,
                    "explain": explain,
                    "exclude_seen": exclude_seen,
                    "min_sequence": min_sequence,
                    "exclude": exclude,
                    "fields": fields,
                    "context": context,
                },
            )
        )

    def find_similar_users(
        self,
        user: str,
        *,
        k: int | None = None,
        model: Literal["content", "fbgd", "ocmf"] | None = None,
    ) -> types.SimilarUsers:
        """Users with a similar vector, among a sample of up to 20 000.

        A user unknown to all active models has none; `reason` says so. The first request
        after a new model may take some seconds.

        - k: Maximum number of users.
        - model: The strategy that compares users; by default the best.
        """
        answer: types.SimilarUsers = self.call(
            Request(
                "GET", path("/v1/users/{user}/similar", user=user), query={"k": k, "model": model}
            )
        )
        return answer

    def get_user_topics(self, user: str) -> types.UserTopics:
        """The share of each topic in the user's positive feedback, with items that stand for
        it.

        A user about whom nothing is known has none; `reason` says so.
        """
        answer: types.UserTopics = self.call(
            Request("GET", path("/v1/users/{user}/topics", user=user))
        )
        return answer

    def list_webhooks(self) -> types.WebhookPage:
        """All webhooks without their secrets, and how their latest deliveries went."""
        answer: types.WebhookPage = self.call(Request("GET", "/v1/webhooks"))
        return answer

    def create_webhook(self, body: types.NewWebhook) -> types.CreatedWebhook:
        """From now on events are posted to this address, signed with the secret of this answer.

        The secret is shown here and nowhere else. 409 `conflict` if there are 16 webhooks.
        """
        answer: types.CreatedWebhook = self.call(Request("POST", "/v1/webhooks", body=body))
        return answer

    def delete_webhook(self, webhook: str) -> types.Webhook:
        """Nothing is sent to it any longer; what waits for it is forgotten."""
        answer: types.Webhook = self.call(
            Request("DELETE", path("/v1/webhooks/{webhook}", webhook=webhook))
        )
        return answer

    def list_deliveries(self, webhook: str) -> types.DeliveryPage:
        """The latest 200 deliveries: those that wait, those that arrived, and those given up."""
        answer: types.DeliveryPage = self.call(
            Request("GET", path("/v1/webhooks/{webhook}/deliveries", webhook=webhook))
        )
        return answer

    def try_webhook(self, webhook: str) -> types.Delivery:
        """Send it an event of the type `webhook.test`, within seconds and like all others.

        How it went stands in its deliveries. 409 `conflict` if the webhook is disabled.
        """
        answer: types.Delivery = self.call(
            Request("POST", path("/v1/webhooks/{webhook}/test", webhook=webhook))
        )
        return answer
