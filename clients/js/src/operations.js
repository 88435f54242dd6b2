// Written by `make clients` from openapi/openapi.json: do not change it here.

import { path } from "./requests.js";

/** @import * as types from "./types.js" */

/** The operations of the service, each as a method. */
export class Operations {
  /**
   * Send a request and return the JSON of its answer.
   * @param {import("./requests.js").Request} _request
   * @returns {Promise<any>}
   */
  call(_request) {
    throw new Error("a client defines how requests are sent");
  }

  /**
   * Go over the rows of all pages, beginning with this request's.
   * @param {import("./requests.js").Request} _request
   * @returns {AsyncGenerator<any, void, void>}
   */
  iterate(_request) {
    throw new Error("a client defines how requests are sent");
  }

  /**
   * Yes, if it answers at all.
   *
   * @returns {Promise<types.Health>}
   */
  checkHealth() {
    return this.call({ method: "GET", path: "/healthz" });
  }

  /**
   * Ready once the namespace is open and its rows fit the settings, catalogue and registry are
   * read, and the kernels are compiled. The process stays ready while the store does not answer,
   * because it then answers from memory. A 503 names what is `missing`. `accepting`, `learning` and
   * `training` say what else works, and `warning` says what does not. `durable` false: the store may
   * lose acknowledged events in a crash.
   *
   * @returns {Promise<types.Ready>}
   */
  checkReadiness() {
    return this.call({ method: "GET", path: "/readyz" });
  }

  /**
   * All keys, revoked ones too, without their secrets.
   *
   * @returns {Promise<types.KeyPage>}
   */
  listKeys() {
    return this.call({ method: "GET", path: "/v1/admin/keys" });
  }

  /**
   * Only this answer contains the secret; the service stores a hash. Once there is a key, every
   * request needs one, except `/healthz`, `/readyz`, `/docs`, `/openapi.json`, `/llms.txt` and the
   * files of `/console`. This applies at once in this process and to all writes, and within 250 ms
   * to reads in other processes. If there is no valid admin key that never expires, the new key must
   * be such a key; otherwise the answer is 409 `conflict`.
   *
   * @param {types.NewKey} body
   * @returns {Promise<types.CreatedKey>}
   */
  createKey(body) {
    return this.call({ method: "POST", path: "/v1/admin/keys", body, repeatable: false });
  }

  /**
   * The key stops working at once in this process and for all writes, and within 250 ms for reads
   * in other processes. It stays in the list. 409 `conflict` if it is the last admin key that never
   * expires: make another one first.
   *
   * @param {string} key
   * @returns {Promise<types.Key>}
   */
  revokeKey(key) {
    return this.call({ method: "DELETE", path: path("/v1/admin/keys/{key}", { key }) });
  }

  /**
   * What the console shows as problems, as this process sees it at this moment.
   *
   * @returns {Promise<types.AlarmList>}
   */
  listAlarms() {
    return this.call({ method: "GET", path: "/v1/alarms" });
  }

  /**
   * What operators did, the newest first: keys, models, trainings, deletions, exports of users.
   *
   * The newest 10 000 acts are kept. A request without the needed role is not an act.
   *
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of acts on the page.
   * @param {string} [options.cursor] `next_cursor` of the page before.
   * @returns {Promise<types.AuditPage>}
   */
  getAudit(options = {}) {
    return this.call({ method: "GET", path: "/v1/audit", query: options });
  }

  /**
   * Go over all pages of `getAudit`, row by row.
   *
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of acts on the page.
   * @returns {AsyncGenerator<types.AuditEntry, void, void>}
   */
  iterateAudit(options = {}) {
    return this.iterate({ method: "GET", path: "/v1/audit", query: options });
  }

  /**
   * The categories of the items that may be shown now, the largest first.
   *
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of entries on the page.
   * @param {string} [options.cursor] `next_cursor` of the page before.
   * @returns {Promise<types.CategoryPage>}
   */
  listCategories(options = {}) {
    return this.call({ method: "GET", path: "/v1/categories", query: options });
  }

  /**
   * Go over all pages of `listCategories`, row by row.
   *
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of entries on the page.
   * @returns {AsyncGenerator<types.CategoryCount, void, void>}
   */
  iterateCategories(options = {}) {
    return this.iterate({ method: "GET", path: "/v1/categories", query: options });
  }

  /**
   * Which traces of a deleted user are removed, and which are not yet; receipts are kept for 400
   * days.
   *
   * @param {string} erasure
   * @returns {Promise<types.ErasedUser>}
   */
  getErasure(erasure) {
    return this.call({ method: "GET", path: path("/v1/erasures/{erasure}", { erasure }) });
  }

  /**
   * All experiments and how their arms compare, the newest first.
   *
   * @returns {Promise<types.ExperimentPage>}
   */
  listExperiments() {
    return this.call({ method: "GET", path: "/v1/experiments" });
  }

  /**
   * From now on the users' lists are made with the parameters of their arms, within seconds.
   *
   * A user is always in the same arm. Lists of an arm name it in `experiment`, and their `rec_id`
   * lets feedback count for it. A request that itself gives a parameter which some arm sets takes no
   * part, unless it gives the default value.
   * 409 `conflict` if another experiment is running.
   *
   * @param {types.NewExperiment} body
   * @returns {Promise<types.ExperimentReport>}
   */
  beginExperiment(body) {
    return this.call({ method: "POST", path: "/v1/experiments", body });
  }

  /**
   * If it runs, it ends; if one of its arms was promoted, that holds no longer.
   *
   * @param {string} experiment
   * @returns {Promise<types.ExperimentSummary>}
   */
  deleteExperiment(experiment) {
    return this.call({ method: "DELETE", path: path("/v1/experiments/{experiment}", { experiment }) });
  }

  /**
   * What followed the lists of each arm, and the difference to the first arm.
   *
   * The intervals hold at all times together, however often one looks.
   *
   * @param {string} experiment
   * @returns {Promise<types.ExperimentReport>}
   */
  getExperiment(experiment) {
    return this.call({ method: "GET", path: path("/v1/experiments/{experiment}", { experiment }) });
  }

  /**
   * The parameters of this arm are those of all requests that do not set them.
   *
   * The experiment ends, if it runs. What another experiment had promoted holds no longer.
   *
   * @param {string} experiment
   * @param {types.Promotion} body
   * @returns {Promise<types.ExperimentReport>}
   */
  promoteArm(experiment, body) {
    return this.call({ method: "POST", path: path("/v1/experiments/{experiment}/promote", { experiment }), body });
  }

  /**
   * All users get lists as before. Feedback to lists that were shown still counts.
   *
   * An experiment that has ended stays as it is.
   *
   * @param {string} experiment
   * @returns {Promise<types.ExperimentReport>}
   */
  stopExperiment(experiment) {
    return this.call({ method: "POST", path: path("/v1/experiments/{experiment}/stop", { experiment }) });
  }

  /**
   * Weights, losses, and each expert's regret to the best one in hindsight.
   *
   * @param {object} [options]
   * @param {number} [options.partition] Each partition has a learner of its own.
   * @returns {Promise<types.Experts>}
   */
  getExperts(options = {}) {
    return this.call({ method: "GET", path: "/v1/experts", query: options });
  }

  /**
   * Weights and recent losses every so many events, oldest first.
   *
   * @param {object} [options]
   * @param {number} [options.partition] Each partition has a learner of its own.
   * @param {number} [options.limit] Maximum number of points; the newest are kept.
   * @returns {Promise<types.ExpertHistory>}
   */
  getExpertHistory(options = {}) {
    return this.call({ method: "GET", path: "/v1/experts/history", query: options });
  }

  /**
   * All items with a document or feedback, the oldest first; deleted items are left out.
   *
   * So a page may be shorter than `limit`: the list ends where `next_cursor` is null. With `q` only
   * the items that it finds, the best first.
   *
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of entries on the page.
   * @param {string} [options.cursor] `next_cursor` of the page before.
   * @param {string} [options.q] Words that must all be in the `title`, `name` or `comment` of an item, whatever their case and accents.
   * @returns {Promise<types.ItemPage>}
   */
  listItems(options = {}) {
    return this.call({ method: "GET", path: "/v1/items", query: options });
  }

  /**
   * Go over all pages of `listItems`, row by row.
   *
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of entries on the page.
   * @param {string} [options.q] Words that must all be in the `title`, `name` or `comment` of an item, whatever their case and accents.
   * @returns {AsyncGenerator<types.Item, void, void>}
   */
  iterateItems(options = {}) {
    return this.iterate({ method: "GET", path: "/v1/items", query: options });
  }

  /**
   * One item per line of NDJSON, of any length, or a JSON array of up to 10 000 items.
   *
   * Each row holds an id and a document, which replaces the old one. A bad row is one entry of
   * `rejected` and stops nothing. If an item has several rows, the last one counts.
   *
   * @param {types.ItemLine | Array<types.ItemLine>} body
   * @returns {Promise<types.BulkWritten>}
   */
  writeItems(body) {
    return this.call({ method: "POST", path: "/v1/items", body });
  }

  /**
   * Users with documents, ranked for one item by their features; needs an active `exmlds` model.
   *
   * If the model has no feedback for the item, it uses the item's features. Nothing is stored.
   *
   * @param {types.AudienceBody} body
   * @returns {Promise<types.AudienceAnswer>}
   */
  findAudience(body) {
    return this.call({ method: "POST", path: "/v1/items/audience", body });
  }

  /**
   * Forget the item: its document, what was learned about it, its events in all histories.
   *
   * Feedback sent afterwards counts from zero; the item is listed again once it is written again.
   *
   * @param {string} item
   * @returns {Promise<types.Receipt>}
   */
  deleteItem(item) {
    return this.call({ method: "DELETE", path: path("/v1/items/{item}", { item }) });
  }

  /**
   * The item's document; version 0 if it is known from feedback alone.
   *
   * @param {string} item
   * @returns {Promise<types.Item>}
   */
  getItem(item) {
    return this.call({ method: "GET", path: path("/v1/items/{item}", { item }) });
  }

  /**
   * Change the given members of the item's document and keep the others.
   *
   * @param {string} item
   * @param {types.ItemPatch} body
   * @param {object} [options]
   * @param {string} [options.if_match] Write only if the document is still at this version (its ETag).
   * @returns {Promise<types.Item>}
   */
  changeItem(item, body, options = {}) {
    return this.call({ method: "PATCH", path: path("/v1/items/{item}", { item }), headers: { "if-match": options.if_match }, body, repeatable: options.if_match === undefined });
  }

  /**
   * Create or replace the item's document.
   *
   * @param {string} item
   * @param {types.ItemBody} body
   * @param {object} [options]
   * @param {string} [options.if_match] Write only if the document is still at this version (its ETag).
   * @returns {Promise<types.Item>}
   */
  writeItem(item, body, options = {}) {
    return this.call({ method: "PUT", path: path("/v1/items/{item}", { item }), headers: { "if-match": options.if_match }, body, repeatable: options.if_match === undefined });
  }

  /**
   * Items liked by the users who like this one. Compare scores only within one answer.
   *
   * @param {string} item
   * @param {object} [options]
   * @param {number} [options.k] Maximum number of items.
   * @param {number} [options.offset] Items to skip; not together with `cursor`.
   * @param {string} [options.cursor] `next_cursor` of the page before, with all other parameters unchanged.
   * @param {string} [options.category] Only items of this category.
   * @param {string} [options.filter] Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`.
   * @param {string} [options.exclude] Ids of items to leave out: `a,b`.
   * @param {string} [options.fields] What to add to each item: `categories` or names of features.
   * @param {string} [options.user] Leave out what this user has rated, bought, ...
   * @param {string} [options.min_sequence] Answer only once this `sequence` is learned: read your own writes.
   * @param {"content" | "exmlds" | "fbgd" | "neighbours" | "next" | "ocmf" | "ordinal" | "sequence"} [options.model] The strategy that compares items; by default the best.
   * @returns {Promise<types.Slate>}
   */
  findSimilarItems(item, options = {}) {
    return this.call({ method: "GET", path: path("/v1/items/{item}/similar", { item }), query: options });
  }

  /**
   * Go over all pages of `findSimilarItems`, row by row.
   *
   * @param {string} item
   * @param {object} [options]
   * @param {number} [options.k] Maximum number of items.
   * @param {string} [options.category] Only items of this category.
   * @param {string} [options.filter] Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`.
   * @param {string} [options.exclude] Ids of items to leave out: `a,b`.
   * @param {string} [options.fields] What to add to each item: `categories` or names of features.
   * @param {string} [options.user] Leave out what this user has rated, bought, ...
   * @param {string} [options.min_sequence] Answer only once this `sequence` is learned: read your own writes.
   * @param {"content" | "exmlds" | "fbgd" | "neighbours" | "next" | "ocmf" | "ordinal" | "sequence"} [options.model] The strategy that compares items; by default the best.
   * @returns {AsyncGenerator<types.SlateItem, void, void>}
   */
  iterateSimilarItems(item, options = {}) {
    return this.iterate({ method: "GET", path: path("/v1/items/{item}/similar", { item }), query: options });
  }

  /**
   * The newest first; jobs of the last 30 days, at most 500.
   *
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of jobs on the page.
   * @param {string} [options.cursor] `next_cursor` of the page before.
   * @returns {Promise<types.JobPage>}
   */
  listJobs(options = {}) {
    return this.call({ method: "GET", path: "/v1/jobs", query: options });
  }

  /**
   * Go over all pages of `listJobs`, row by row.
   *
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of jobs on the page.
   * @returns {AsyncGenerator<types.Job, void, void>}
   */
  iterateJobs(options = {}) {
    return this.iterate({ method: "GET", path: "/v1/jobs", query: options });
  }

  /**
   * A running job stops within about a second. 409 if it has ended, or is promoting its model.
   *
   * @param {string} job
   * @returns {Promise<types.Job>}
   */
  cancelJob(job) {
    return this.call({ method: "DELETE", path: path("/v1/jobs/{job}", { job }), repeatable: false });
  }

  /**
   * A job whose trainer is gone is `failed` within seconds; the models that serve stay.
   *
   * @param {string} job
   * @returns {Promise<types.Job>}
   */
  getJob(job) {
    return this.call({ method: "GET", path: path("/v1/jobs/{job}", { job }) });
  }

  /**
   * The latest items: by `available_from`, or else by when they were written for the first time.
   *
   * The score is that day, in days since 1970, and 0 where it is not known.
   *
   * @param {object} [options]
   * @param {number} [options.k] Maximum number of items.
   * @param {number} [options.offset] Items to skip; not together with `cursor`.
   * @param {string} [options.cursor] `next_cursor` of the page before, with all other parameters unchanged.
   * @param {string} [options.category] Only items of this category.
   * @param {string} [options.filter] Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`.
   * @param {string} [options.exclude] Ids of items to leave out: `a,b`.
   * @param {string} [options.fields] What to add to each item: `categories` or names of features.
   * @param {string} [options.user] Leave out what this user has rated, bought, ...
   * @param {string} [options.min_sequence] Answer only once this `sequence` is learned: read your own writes.
   * @returns {Promise<types.Slate>}
   */
  listLatest(options = {}) {
    return this.call({ method: "GET", path: "/v1/latest", query: options });
  }

  /**
   * Go over all pages of `listLatest`, row by row.
   *
   * @param {object} [options]
   * @param {number} [options.k] Maximum number of items.
   * @param {string} [options.category] Only items of this category.
   * @param {string} [options.filter] Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`.
   * @param {string} [options.exclude] Ids of items to leave out: `a,b`.
   * @param {string} [options.fields] What to add to each item: `categories` or names of features.
   * @param {string} [options.user] Leave out what this user has rated, bought, ...
   * @param {string} [options.min_sequence] Answer only once this `sequence` is learned: read your own writes.
   * @returns {AsyncGenerator<types.SlateItem, void, void>}
   */
  iterateLatest(options = {}) {
    return this.iterate({ method: "GET", path: "/v1/latest", query: options });
  }

  /**
   * The newest first, with their metrics, the gate's decisions, and which of them serve.
   *
   * `served` is what the answering process has loaded. A promotion reaches every process within a
   * second, or up to ten seconds later if the model never served and the lists of many users are
   * prepared first. A roll-back never waits.
   *
   * @param {object} [options]
   * @param {"fbgd" | "ocmf" | "exmlds" | "ordinal" | "sequence" | "neighbours" | "content" | "here"} [options.strategy] Only the models of this strategy.
   * @param {number} [options.limit] Maximum number of entries on the page.
   * @param {string} [options.cursor] `next_cursor` of the page before.
   * @returns {Promise<types.Models>}
   */
  listModels(options = {}) {
    return this.call({ method: "GET", path: "/v1/models", query: options });
  }

  /**
   * Go over all pages of `listModels`, row by row.
   *
   * @param {object} [options]
   * @param {"fbgd" | "ocmf" | "exmlds" | "ordinal" | "sequence" | "neighbours" | "content" | "here"} [options.strategy] Only the models of this strategy.
   * @param {number} [options.limit] Maximum number of entries on the page.
   * @returns {AsyncGenerator<types.Model, void, void>}
   */
  iterateModels(options = {}) {
    return this.iterate({ method: "GET", path: "/v1/models", query: options });
  }

  /**
   * The last 1 000 changes with who, when and why, the newest first.
   *
   * If the gate let a model serve, `who` is the one who ordered its training.
   *
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of entries on the page.
   * @param {string} [options.cursor] `next_cursor` of the page before.
   * @returns {Promise<types.ChangePage>}
   */
  listModelChanges(options = {}) {
    return this.call({ method: "GET", path: "/v1/models/changes", query: options });
  }

  /**
   * Go over all pages of `listModelChanges`, row by row.
   *
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of entries on the page.
   * @returns {AsyncGenerator<types.Change, void, void>}
   */
  iterateModelChanges(options = {}) {
    return this.iterate({ method: "GET", path: "/v1/models/changes", query: options });
  }

  /**
   * The version that served before serves again; if you repeat the request, the version before
   * that. 409 `no_earlier_version` if none is left, 409 `model_pinned` if the active one is pinned.
   *
   * @param {types.RollBack | null} [body]
   * @returns {Promise<types.Model>}
   */
  rollBackModel(body = null) {
    return this.call({ method: "POST", path: "/v1/models/rollback", body, repeatable: false });
  }

  /**
   * The model goes on serving; the next training may replace it. Unpinning twice is harmless.
   *
   * @param {string} version
   * @param {object} [options]
   * @param {string} [options.why] Kept with who and when.
   * @returns {Promise<types.Model>}
   */
  unpinModel(version, options = {}) {
    return this.call({ method: "DELETE", path: path("/v1/models/{version}/pin", { version }), query: options });
  }

  /**
   * The model becomes active, and stays active until it is unpinned; it is never removed.
   *
   * 409 `model_pinned` if another version is pinned.
   *
   * @param {string} version
   * @param {types.Reason | null} [body]
   * @returns {Promise<types.Model>}
   */
  pinModel(version, body = null) {
    return this.call({ method: "PUT", path: path("/v1/models/{version}/pin", { version }), body });
  }

  /**
   * The model becomes the active one of its strategy, whatever the gate said.
   *
   * 409 `model_pinned` if another version is pinned. The next training may replace the model: pin it
   * to keep it.
   *
   * @param {string} version
   * @param {types.Reason | null} [body]
   * @returns {Promise<types.Model>}
   */
  promoteModel(version, body = null) {
    return this.call({ method: "POST", path: path("/v1/models/{version}/promote", { version }), body });
  }

  /**
   * The most popular items of all times: the score is the weight of all positives.
   *
   * @param {object} [options]
   * @param {number} [options.k] Maximum number of items.
   * @param {number} [options.offset] Items to skip; not together with `cursor`.
   * @param {string} [options.cursor] `next_cursor` of the page before, with all other parameters unchanged.
   * @param {string} [options.category] Only items of this category.
   * @param {string} [options.filter] Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`.
   * @param {string} [options.exclude] Ids of items to leave out: `a,b`.
   * @param {string} [options.fields] What to add to each item: `categories` or names of features.
   * @param {string} [options.user] Leave out what this user has rated, bought, ...
   * @param {string} [options.min_sequence] Answer only once this `sequence` is learned: read your own writes.
   * @returns {Promise<types.Slate>}
   */
  listPopular(options = {}) {
    return this.call({ method: "GET", path: "/v1/popular", query: options });
  }

  /**
   * Go over all pages of `listPopular`, row by row.
   *
   * @param {object} [options]
   * @param {number} [options.k] Maximum number of items.
   * @param {string} [options.category] Only items of this category.
   * @param {string} [options.filter] Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`.
   * @param {string} [options.exclude] Ids of items to leave out: `a,b`.
   * @param {string} [options.fields] What to add to each item: `categories` or names of features.
   * @param {string} [options.user] Leave out what this user has rated, bought, ...
   * @param {string} [options.min_sequence] Answer only once this `sequence` is learned: read your own writes.
   * @returns {AsyncGenerator<types.SlateItem, void, void>}
   */
  iteratePopular(options = {}) {
    return this.iterate({ method: "GET", path: "/v1/popular", query: options });
  }

  /**
   * Up to 1 000 pairs at once, answered in their order.
   *
   * @param {types.Pairs} body
   * @param {object} [options]
   * @param {string} [options.min_sequence] Answer only once this `sequence` is learned: so you read your own writes.
   * @returns {Promise<types.Predictions>}
   */
  predictRatings(body, options = {}) {
    return this.call({ method: "POST", path: "/v1/predictions", query: options, body });
  }

  /**
   * The candidates in the best order for this user, without hidden, expired and unknown ones.
   *
   * Candidates that the model does not know come last, the popular ones first.
   *
   * @param {types.RankBody} body
   * @returns {Promise<types.Slate>}
   */
  rank(body) {
    return this.call({ method: "POST", path: "/v1/rank", body });
  }

  /**
   * Weights and metrics of each ranker in the mixture, measured on events before learning them.
   *
   * Every ranker ranks a sample of the arriving positive events with what was known just before. For
   * models that were promoted while a learner was away, its partition does not count.
   *
   * @returns {Promise<types.Rankers>}
   */
  getRankers() {
    return this.call({ method: "GET", path: "/v1/rankers" });
  }

  /**
   * The best items, or the best of these `candidates`, for a user, a `history` or `features`.
   *
   * Asking stores nothing.
   *
   * @param {types.RecommendationBody} body
   * @returns {Promise<types.Slate>}
   */
  recommendToAnyone(body) {
    return this.call({ method: "POST", path: "/v1/recommendations", body });
  }

  /**
   * A trainer takes the job as soon as it is free; watch it by its id.
   *
   * 202 is a new job. If the same order waits or runs already, the answer is 200 with that job,
   * unless so much was learned since it began that another training is worth it.
   *
   * Without `model` the trainer tries all recipes that can learn from the data, and trains those
   * that add to the others. A new model serves if the newest events of enough users do not show it
   * to be worse than the active model.
   *
   * @param {types.Retrain | null} [body]
   * @returns {Promise<types.Job>}
   */
  retrain(body = null) {
    return this.call({ method: "POST", path: "/v1/retrain", body });
  }

  /**
   * Forget the schedule that was set. The answer is that of the settings, with a new version.
   *
   * @returns {Promise<types.CurrentSchedule>}
   */
  resetSchedule() {
    return this.call({ method: "DELETE", path: "/v1/retrain/schedule" });
  }

  /**
   * The conditions that start a training, and how near they are.
   *
   * @returns {Promise<types.CurrentSchedule>}
   */
  getSchedule() {
    return this.call({ method: "GET", path: "/v1/retrain/schedule" });
  }

  /**
   * Replace the whole schedule: a condition that is left out is off.
   *
   * An empty object ends automatic retraining; DELETE lets the settings decide again. The answer is
   * the schedule as it is now. The pause after a training (HEDGEROW_RETRAIN_PAUSE_S) always holds.
   *
   * @param {types.ScheduleBody} body
   * @param {object} [options]
   * @param {number} [options.if_version] Change nothing unless the schedule has this version.
   * @returns {Promise<types.CurrentSchedule>}
   */
  setSchedule(body, options = {}) {
    return this.call({ method: "PUT", path: "/v1/retrain/schedule", query: options, body, repeatable: options.if_version === undefined });
  }

  /**
   * The settings of the process that answers; other processes may have other settings.
   *
   * Change settings before the start: by flags, by variables or in `hedgerow.toml`.
   *
   * @returns {Promise<types.SettingsInEffect>}
   */
  getSettings() {
    return this.call({ method: "GET", path: "/v1/settings" });
  }

  /**
   * Counters, lag, memory by family of keys, and what each kind of event means.
   *
   * @returns {Promise<types.Stats>}
   */
  getStats() {
    return this.call({ method: "GET", path: "/v1/stats" });
  }

  /**
   * Impressions and clicks by strategy and model, from feedback with the `rec_id` of a slate.
   *
   * With `context`, those that happened there.
   *
   * @param {object} [options]
   * @param {string} [options.context] Only events of this context: `device=phone`. Kept for each of the last 1 024 pairs of a model and a context that had events.
   * @returns {Promise<types.ClickThrough>}
   */
  getClickThrough(options = {}) {
    return this.call({ method: "GET", path: "/v1/stats/click-through", query: options });
  }

  /**
   * The number of events of each kind by each name and text of their `context`.
   *
   * Kept for each of the last 1 024 contexts that had events.
   *
   * @param {object} [options]
   * @param {string} [options.context] Only this context: `device=phone`; by default all.
   * @returns {Promise<types.ContextCounts>}
   */
  getContexts(options = {}) {
    return this.call({ method: "GET", path: "/v1/stats/contexts", query: options });
  }

  /**
   * Groups of items that the same people like, made of the vectors of an active model.
   *
   * The first request after a new model may take some seconds.
   *
   * @returns {Promise<types.Topics>}
   */
  getTopics() {
    return this.call({ method: "GET", path: "/v1/topics" });
  }

  /**
   * The most popular items lately: each positive counts half as much after a half-life.
   *
   * @param {object} [options]
   * @param {number} [options.k] Maximum number of items.
   * @param {number} [options.offset] Items to skip; not together with `cursor`.
   * @param {string} [options.cursor] `next_cursor` of the page before, with all other parameters unchanged.
   * @param {string} [options.category] Only items of this category.
   * @param {string} [options.filter] Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`.
   * @param {string} [options.exclude] Ids of items to leave out: `a,b`.
   * @param {string} [options.fields] What to add to each item: `categories` or names of features.
   * @param {string} [options.user] Leave out what this user has rated, bought, ...
   * @param {string} [options.min_sequence] Answer only once this `sequence` is learned: read your own writes.
   * @returns {Promise<types.Slate>}
   */
  listTrending(options = {}) {
    return this.call({ method: "GET", path: "/v1/trending", query: options });
  }

  /**
   * Go over all pages of `listTrending`, row by row.
   *
   * @param {object} [options]
   * @param {number} [options.k] Maximum number of items.
   * @param {string} [options.category] Only items of this category.
   * @param {string} [options.filter] Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`.
   * @param {string} [options.exclude] Ids of items to leave out: `a,b`.
   * @param {string} [options.fields] What to add to each item: `categories` or names of features.
   * @param {string} [options.user] Leave out what this user has rated, bought, ...
   * @param {string} [options.min_sequence] Answer only once this `sequence` is learned: read your own writes.
   * @returns {AsyncGenerator<types.SlateItem, void, void>}
   */
  iterateTrending(options = {}) {
    return this.iterate({ method: "GET", path: "/v1/trending", query: options });
  }

  /**
   * All users with a document or learned feedback, ordered by the bytes of their ids.
   *
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of entries on the page.
   * @param {string} [options.cursor] `next_cursor` of the page before.
   * @returns {Promise<types.UserPage>}
   */
  listUsers(options = {}) {
    return this.call({ method: "GET", path: "/v1/users", query: options });
  }

  /**
   * Go over all pages of `listUsers`, row by row.
   *
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of entries on the page.
   * @returns {AsyncGenerator<types.User, void, void>}
   */
  iterateUsers(options = {}) {
    return this.iterate({ method: "GET", path: "/v1/users", query: options });
  }

  /**
   * One user per line of NDJSON, of any length, or a JSON array of up to 10 000 users.
   *
   * Each row holds an id and a document, which replaces the old one. A bad row is one entry of
   * `rejected` and stops nothing. If a user has several rows, the last one counts.
   *
   * @param {types.UserLine | Array<types.UserLine>} body
   * @returns {Promise<types.BulkWritten>}
   */
  writeUsers(body) {
    return this.call({ method: "POST", path: "/v1/users", body });
  }

  /**
   * Delete everything of a user: document, history, what was learned. The answer is the receipt.
   *
   * Feedback acknowledged before cannot come back. Others' links to the user, and the private
   * server's file on the disk, follow soon: `erasure` names the receipt. What other users' rows and
   * the experts' weights have learned from these ratings stays, as in any trained model; `hedgerow
   * rebuild` learns everything without them.
   *
   * @param {string} user
   * @returns {Promise<types.Receipt>}
   */
  deleteUser(user) {
    return this.call({ method: "DELETE", path: path("/v1/users/{user}", { user }) });
  }

  /**
   * The user's document; version 0 if they are known from feedback alone.
   *
   * @param {string} user
   * @returns {Promise<types.User>}
   */
  getUser(user) {
    return this.call({ method: "GET", path: path("/v1/users/{user}", { user }) });
  }

  /**
   * Change the given members of the user's document and keep the others.
   *
   * @param {string} user
   * @param {types.UserPatch} body
   * @param {object} [options]
   * @param {string} [options.if_match] Write only if the document is still at this version (its ETag).
   * @returns {Promise<types.User>}
   */
  changeUser(user, body, options = {}) {
    return this.call({ method: "PATCH", path: path("/v1/users/{user}", { user }), headers: { "if-match": options.if_match }, body, repeatable: options.if_match === undefined });
  }

  /**
   * Create or replace the user's document: features and links to other users.
   *
   * @param {string} user
   * @param {types.UserBody} body
   * @param {object} [options]
   * @param {string} [options.if_match] Write only if the document is still at this version (its ETag).
   * @returns {Promise<types.User>}
   */
  writeUser(user, body, options = {}) {
    return this.call({ method: "PUT", path: path("/v1/users/{user}", { user }), headers: { "if-match": options.if_match }, body, repeatable: options.if_match === undefined });
  }

  /**
   * Document, links of others, events, impressions, and what was learned, as JSON.
   *
   * All documents are looked through for links, so with many users it takes some seconds. Of an
   * unknown user everything is empty. Models that are trained hold nothing of a single user.
   *
   * @param {string} user
   * @returns {Promise<types.UserExport>}
   */
  exportUser(user) {
    return this.call({ method: "GET", path: path("/v1/users/{user}/export", { user }) });
  }

  /**
   * Move the source's events to the user, each once, and delete the source, as at a log-in.
   *
   * The online row with more ratings is kept. The user's document stays as it is. It is harmless to
   * send the same merge again.
   *
   * @param {string} user
   * @param {types.Merge} body
   * @returns {Promise<types.Merged>}
   */
  mergeUsers(user, body) {
    return this.call({ method: "POST", path: path("/v1/users/{user}/merge", { user }), body });
  }

  /**
   * The rating that this user would give this item, with the part of each expert.
   *
   * An unknown user or item is not an error: the interval is then wide. Asking stores nothing.
   *
   * @param {string} user
   * @param {string} item
   * @param {object} [options]
   * @param {"online" | "ordinal"} [options.model] The strategy that predicts: `ordinal` reads only documents of user and item.
   * @param {"online" | "ordinal"} [options.strategy] The same as `model`.
   * @param {string} [options.min_sequence] Answer only once this `sequence` is learned: so you read your own writes.
   * @returns {Promise<types.Prediction | types.OrdinalPrediction>}
   */
  predictRating(user, item, options = {}) {
    return this.call({ method: "GET", path: path("/v1/users/{user}/predictions/{item}", { user, item }), query: options });
  }

  /**
   * All learned events that are kept, the newest first; new events do not shift the pages.
   *
   * @param {string} user
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of entries on the page.
   * @param {string} [options.cursor] `next_cursor` of the page before.
   * @returns {Promise<types.EventPage>}
   */
  getHistory(user, options = {}) {
    return this.call({ method: "GET", path: path("/v1/users/{user}/ratings", { user }), query: options });
  }

  /**
   * Go over all pages of `getHistory`, row by row.
   *
   * @param {string} user
   * @param {object} [options]
   * @param {number} [options.limit] Maximum number of entries on the page.
   * @returns {AsyncGenerator<types.Event, void, void>}
   */
  iterateHistory(user, options = {}) {
    return this.iterate({ method: "GET", path: path("/v1/users/{user}/ratings", { user }), query: options });
  }

  /**
   * Delete all events of this user and this item that were acknowledged before.
   *
   * 404 only if nobody ever named the item: whether this user rated it is known once the deletion is
   * learned.
   *
   * @param {string} user
   * @param {string} item
   * @returns {Promise<types.Receipt>}
   */
  deleteRating(user, item) {
    return this.call({ method: "DELETE", path: path("/v1/users/{user}/ratings/{item}", { user, item }) });
  }

  /**
   * The best items for this user as of now; an unknown user gets popular items, with a `reason`.
   *
   * Asking stores nothing. `next_cursor` leads to the next page; no item comes twice, whatever
   * happens meanwhile.
   *
   * @param {string} user
   * @param {object} [options]
   * @param {number} [options.k] Maximum number of items; with `diversity` or `max_per_category` `offset` and `k` are at most 1000 together.
   * @param {number} [options.offset] Items to skip; not together with `cursor`; with `diversity` or `max_per_category` `offset` and `k` are at most 1000 together.
   * @param {string} [options.cursor] `next_cursor` of the page before, with all other parameters unchanged.
   * @param {string} [options.category] Only items of this category.
   * @param {string} [options.filter] Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`.
   * @param {"content" | "exmlds" | "fbgd" | "here" | "latest" | "mixture" | "neighbours" | "next" | "ocmf" | "online" | "ordinal" | "popular" | "sequence" | "trending"} [options.model] The strategy that ranks; by default the best.
   * @param {number} [options.blend] Share of the online model in the score, 0 to 1.
   * @param {number} [options.diversity] 0: the best items; towards 1: items that differ from each other. Above 0 `offset` and `k` are at most 1000 together.
   * @param {number} [options.max_per_category] Maximum number of items of one category in an answer. With it `offset` and `k` are at most 1000 together.
   * @param {boolean} [options.explain] Add which past items make up the score, and how much (`fbgd`, `ocmf`, `next`, `sequence`, `neighbours`, `content`).
   * @param {boolean} [options.exclude_seen] Leave out items that the user has rated, bought, ...
   * @param {string} [options.min_sequence] Answer only once this `sequence` is learned: read your own writes.
   * @param {string} [options.exclude] Ids of items to leave out: `a,b`.
   * @param {string} [options.fields] What to add to each item: `categories` or names of features.
   * @param {string} [options.context] Where the list is shown: `device=phone,page=home`. Once a model of `here` is active, the list depends on this context. The `rec_id` contains the context, so that feedback to the list is counted for it.
   * @returns {Promise<types.Slate>}
   */
  recommend(user, options = {}) {
    return this.call({ method: "GET", path: path("/v1/users/{user}/recommendations", { user }), query: options });
  }

  /**
   * Go over all pages of `recommend`, row by row.
   *
   * @param {string} user
   * @param {object} [options]
   * @param {number} [options.k] Maximum number of items; with `diversity` or `max_per_category` `offset` and `k` are at most 1000 together.
   * @param {string} [options.category] Only items of this category.
   * @param {string} [options.filter] Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`.
   * @param {"content" | "exmlds" | "fbgd" | "here" | "latest" | "mixture" | "neighbours" | "next" | "ocmf" | "online" | "ordinal" | "popular" | "sequence" | "trending"} [options.model] The strategy that ranks; by default the best.
   * @param {number} [options.blend] Share of the online model in the score, 0 to 1.
   * @param {number} [options.diversity] 0: the best items; towards 1: items that differ from each other. Above 0 `offset` and `k` are at most 1000 together.
   * @param {number} [options.max_per_category] Maximum number of items of one category in an answer. With it `offset` and `k` are at most 1000 together.
   * @param {boolean} [options.explain] Add which past items make up the score, and how much (`fbgd`, `ocmf`, `next`, `sequence`, `neighbours`, `content`).
   * @param {boolean} [options.exclude_seen] Leave out items that the user has rated, bought, ...
   * @param {string} [options.min_sequence] Answer only once this `sequence` is learned: read your own writes.
   * @param {string} [options.exclude] Ids of items to leave out: `a,b`.
   * @param {string} [options.fields] What to add to each item: `categories` or names of features.
   * @param {string} [options.context] Where the list is shown: `device=phone,page=home`. Once a model of `here` is active, the list depends on this context. The `rec_id` contains the context, so that feedback to the list is counted for it.
   * @returns {AsyncGenerator<types.SlateItem, void, void>}
   */
  iterateRecommendations(user, options = {}) {
    return this.iterate({ method: "GET", path: path("/v1/users/{user}/recommendations", { user }), query: options });
  }

  /**
   * Users with a similar vector, among a sample of up to 20 000.
   *
   * A user unknown to all active models has none; `reason` says so. The first request after a new
   * model may take some seconds.
   *
   * @param {string} user
   * @param {object} [options]
   * @param {number} [options.k] Maximum number of users.
   * @param {"content" | "fbgd" | "ocmf"} [options.model] The strategy that compares users; by default the best.
   * @returns {Promise<types.SimilarUsers>}
   */
  findSimilarUsers(user, options = {}) {
    return this.call({ method: "GET", path: path("/v1/users/{user}/similar", { user }), query: options });
  }

  /**
   * The share of each topic in the user's positive feedback, with items that stand for it.
   *
   * A user about whom nothing is known has none; `reason` says so.
   *
   * @param {string} user
   * @returns {Promise<types.UserTopics>}
   */
  getUserTopics(user) {
    return this.call({ method: "GET", path: path("/v1/users/{user}/topics", { user }) });
  }

  /**
   * All webhooks without their secrets, and how their latest deliveries went.
   *
   * @returns {Promise<types.WebhookPage>}
   */
  listWebhooks() {
    return this.call({ method: "GET", path: "/v1/webhooks" });
  }

  /**
   * From now on events are posted to this address, signed with the secret of this answer.
   *
   * The secret is shown here and nowhere else. 409 `conflict` if there are 16 webhooks.
   *
   * @param {types.NewWebhook} body
   * @returns {Promise<types.CreatedWebhook>}
   */
  createWebhook(body) {
    return this.call({ method: "POST", path: "/v1/webhooks", body });
  }

  /**
   * Nothing is sent to it any longer; what waits for it is forgotten.
   *
   * @param {string} webhook
   * @returns {Promise<types.Webhook>}
   */
  deleteWebhook(webhook) {
    return this.call({ method: "DELETE", path: path("/v1/webhooks/{webhook}", { webhook }) });
  }

  /**
   * The latest 200 deliveries: those that wait, those that arrived, and those given up.
   *
   * @param {string} webhook
   * @returns {Promise<types.DeliveryPage>}
   */
  listDeliveries(webhook) {
    return this.call({ method: "GET", path: path("/v1/webhooks/{webhook}/deliveries", { webhook }) });
  }

  /**
   * Send it an event of the type `webhook.test`, within seconds and like all others.
   *
   * How it went stands in its deliveries. 409 `conflict` if the webhook is disabled.
   *
   * @param {string} webhook
   * @returns {Promise<types.Delivery>}
   */
  tryWebhook(webhook) {
    return this.call({ method: "POST", path: path("/v1/webhooks/{webhook}/test", { webhook }) });
  }
}
