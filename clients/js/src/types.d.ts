// Written by `make clients` from openapi/openapi.json: do not change it here.

/**
 * The types of what is sent and answered, as the OpenAPI document has them. An answer may have more
 * fields than are listed here: a later version of the service may add some. Times in answers are
 * RFC 3339.
 */

/** A mean, and the bounds of its 95 % interval. */
export interface Added {
  /** The upper bound. */
  high: number;
  /** The lower bound. */
  low: number;
  /** The mean. */
  mean: number;
}

/** What is wrong now. */
export interface AlarmList {
  /** The alarms, those that matter most first; empty: nothing is wrong. */
  items: Array<ShownAlarm>;
}

/** A way to make a mixed slate: `stack`, `fusion`, or a ranker alone. */
export interface Arm {
  /** Positives for which it had a list. */
  judged: number;
  /** The mean reciprocal rank of the items that users took; null before the first judgement. */
  mrr: number | null;
  /** `stack`, `fusion`, or the strategy of a ranker. */
  name: string;
  /** The mean ndcg@10 of its lists; null before the first judgement. */
  ndcg_at_10: number | null;
  /** The ndcg@10 of the served slates minus that of this arm, on the same positive events. */
  served_lead: Interval | null;
  /**
   * By all judgements. For each length of history, the arm with the largest weight answers, but
   * the stack gives way only to an arm with more than three times its weight.
   */
  weight: number;
}

/** Parameters of requests for recommendations. A parameter that is left out has its default. */
export interface ArmParameters {
  /** Share of the online model in the score. */
  blend?: number | null;
  /** 0: the best items; towards 1: items that differ from each other. */
  diversity?: number | null;
  /** Maximum number of items of one category. */
  max_per_category?: number | null;
  /** The strategy that ranks. */
  model?: "fbgd" | "ocmf" | "exmlds" | "ordinal" | "online" | "mixture" | "popular" | "trending" | "next" | "sequence" | "neighbours" | "content" | "latest" | "here" | null;
}

/** An arm, and what followed its lists. */
export interface ArmReport {
  /** Events with such a `rec_id`, by kind. */
  events: Record<string, number>;
  /** Events of the kind `impression` with the `rec_id` of such a list. */
  impressions: number;
  /**
   * (The rate of the arm / the rate of the first arm) - 1: 0.1 is 10 % more. Empty for the first
   * arm.
   */
  lifts: Record<string, Rate | null>;
  /** The arm. */
  name: string;
  /** Parameters of its users' lists. */
  parameters: Record<string, any>;
  /** Events of each other kind for each impression; null: too few to say. */
  rates: Record<string, Rate | null>;
  /** Its share of all users. */
  share: number;
}

/** Users with features; those who would most probably like the item come first. */
export interface AudienceAnswer {
  /** Users with features that were compared: at most 10 000, later pages continue with others. */
  considered: number;
  /** The item that was asked for; null for a new one. */
  item: string | null;
  /** The source of the item's vector: its feedback or its features. */
  known_by: "feedback" | "features" | null;
  /** The version of the model that compared them; null without one. */
  model_version: string | null;
  /**
   * Send it back as `cursor` for the next users; null at the end. A page may be shorter than
   * `k`.
   */
  next_cursor: string | null;
  /** Why the list is empty. */
  reason: string | null;
  /**
   * The first 12 characters of `model_version`. Click-through shows them, and every request
   * accepts them instead of the version. Null without a trained or online model.
   */
  short_version: string | null;
  /** The strategy of the model. */
  strategy: "exmlds" | null;
  /** The last events that the model was trained on. */
  trained_through: string | null;
  /** Those who would most probably like the item come first. */
  users: Array<AudienceMember>;
}

/** An item by its id, or a new item by its features and categories. */
export interface AudienceBody {
  /** As in an item's document; not together with `item`. */
  categories?: Array<string>;
  /** `next_cursor` of the answer before: the next users. */
  cursor?: string | null;
  /** Leave out users who have rated, bought, ... the item. */
  exclude_seen?: boolean;
  /** As in an item's document; not together with `item`. */
  features?: Record<string, boolean | number | string | Array<string>>;
  /** The item's id; left out for a new item. */
  item?: string | null;
  /** Maximum number of users in the answer. */
  k?: number;
}

/** A user; compare scores only within one answer. */
export interface AudienceMember {
  /** The features that raise the score most, the largest first. */
  because: Array<FeaturePart>;
  /** How well the item fits; only compare scores of one answer. */
  score: number;
  /** The user. */
  user: string;
}

/** Something that an operator did, or tried to do. */
export interface AuditEntry {
  /** What was changed. Users are not named: the deletion of a user has the id of its erasure. */
  about: Record<string, string>;
  /** The operation as this document names it, or what the command line did. */
  act: string;
  /** `done`, the code of the error, or `interrupted` for a verb that Ctrl-C ended. */
  result: string;
  /** When it ended. */
  time: string;
  /** `key` and the id of the key; `local` where no key was needed; `command line`. */
  who: string;
}

/** A page of the audit log, the newest act first. */
export interface AuditPage {
  /** The entries of this page. */
  items: Array<AuditEntry>;
  /** Send it back as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
}

/** Items for each of many users, asked for in the same way. */
export interface BatchBody {
  /** Share of the online model in the score, 0 to 1. */
  blend?: number;
  /** The only items to choose from. */
  candidates?: Array<string> | null;
  /** Only items of this category. */
  category?: string | null;
  /** Where the list is shown: `{"device": "phone"}`. Once a model of `here` is active, the list depends on this context. The `rec_id` contains the context, so that feedback to the list is counted for it. */
  context?: Record<string, string>;
  /** Not used here: send the `next_cursor` of a line to POST /v1/recommendations, with its `user` and all other parameters unchanged. */
  cursor?: string | null;
  /** 0: the best items; towards 1: items that differ from each other. Above 0 `offset` and `k` are at most 1000 together. */
  diversity?: number;
  /** Ids of items to leave out. */
  exclude?: Array<string>;
  /** Leave out items that the user has rated, bought, ... */
  exclude_seen?: boolean;
  /** Add which past items make up the score, and how much (`fbgd`, `ocmf`, `next`, `sequence`, `neighbours`, `content`). */
  explain?: boolean;
  /** What to add of each item: `categories` or names of features. */
  fields?: Array<string>;
  /** Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`. */
  filter?: string | null;
  /** Maximum number of items; with `diversity` or `max_per_category` `offset` and `k` are at most 1000 together. */
  k?: number;
  /** Maximum number of items of one category in an answer. With it `offset` and `k` are at most 1000 together. */
  max_per_category?: number | null;
  /** Answer only once this `sequence` is learned: read your own writes. */
  min_sequence?: string | null;
  /** The strategy that ranks; by default the best. */
  model?: "content" | "exmlds" | "fbgd" | "here" | "latest" | "mixture" | "neighbours" | "next" | "ocmf" | "online" | "ordinal" | "popular" | "sequence" | "trending" | null;
  /** Items to skip; not together with `cursor`; with `diversity` or `max_per_category` `offset` and `k` are at most 1000 together. */
  offset?: number;
  /** One line of the answer for each. */
  users: Array<string>;
}

/** A past item and its contribution to a score. */
export interface Because {
  /** The past item. */
  item: string;
  /** What it adds to the score. */
  part: number;
}

/** The share of the online model in the scores. */
export interface Blend {
  /** The version of the online model. */
  model_version: string;
  /** From 0 to 1. */
  share: number;
}

/** A line that was not accepted. */
export interface BulkRejected {
  /** The error code, for programs. */
  code: string;
  /** The explanation for people: what is wrong and what to do. */
  detail: string;
  /** The number of the line, from 0. */
  index: number;
  /** The number of the line, from 1, as editors count. */
  line: number;
}

/** The result of a bulk upload, with the first 1 000 rejected lines. */
export interface BulkWritten {
  /** Lines that were written. */
  accepted: number;
  /** Lines of the body, empty ones included. */
  lines: number;
  /** The first 1 000 lines that were rejected. */
  rejected: Array<BulkRejected>;
  /** How many lines were not written. */
  rejected_total: number;
}

/** A category, as documents spell it. */
export interface CategoryCount {
  /** Its name. */
  category: string;
  /** How many items of it may be shown now: hidden and unavailable ones do not count. */
  items: number;
}

/** A page of the categories, the largest first. */
export interface CategoryPage {
  /** The entries of this page. */
  items: Array<CategoryCount>;
  /** Send it back as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
}

/** One change of the active model. */
export interface Change {
  /** The kind of change. */
  action: "promoted" | "rolled_back" | "pinned" | "unpinned";
  /** When it was changed. */
  at: string;
  /** The version that was active before. */
  before: string | null;
  /** The first 12 characters of `version`: they are enough wherever a version is asked for. */
  short_version: string | null;
  /** The strategy whose model changed. */
  strategy: string;
  /** The version that it is about. */
  version: string;
  /** The caller: a key, or the one who ordered the training. */
  who: string;
  /** The reason that was given. */
  why: string;
}

/** A page of the changes, the newest first. */
export interface ChangePage {
  /** The entries of this page. */
  items: Array<Change>;
  /** Send it back as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
}

/** The slates of each model; the model with the most impressions comes first. */
export interface ClickThrough {
  /** The last events that are included. */
  seen_through: string;
  /** The slates of each model. */
  slates: Array<SlateResponses>;
}

/** Where events happened, the contexts with most events first. */
export interface ContextCounts {
  /** Each name and text that an event had. */
  contexts: Array<ContextEvents>;
  /** The last events that are included. */
  seen_through: string;
}

/** The events of one context. */
export interface ContextEvents {
  /** Where they happened: `device=phone`. */
  context: string;
  /** Number of events by kind of feedback, including `rating`, with and without a `rec_id`. */
  events: Record<string, number>;
}

/** A key with its secret, which is shown only once. */
export interface CreatedKey {
  /** When it was made. */
  created: string;
  /** When it stops working, or did; null: never. */
  expires: string | null;
  /** Names the key in routes and records; it is not a secret. */
  id: string;
  /** Who uses the key. */
  name: string;
  /** When it was revoked; null: it was not. */
  revoked: string | null;
  /** What the key may do. */
  role: "read" | "write" | "admin";
  /** Send it as `Authorization: Bearer ...`. */
  secret: string;
}

/** A webhook with its secret, which is shown only once. */
export interface CreatedWebhook {
  /** When it was made; it is told of what happens from then on. */
  created: string;
  /** Why nothing is sent any longer; null: it is in use. */
  disabled: string | null;
  /** The types of events that it is told of. */
  events: Array<string>;
  /** Names the webhook in routes and records. */
  id: string;
  /** A name for people. */
  name: string;
  /** Checks the signatures of what is sent. */
  secret: string;
  /** Where events are posted. */
  url: string;
}

/** The schedule, and the current values for its conditions. */
export interface CurrentSchedule {
  /**
   * New events that start a training; null: off. While the settings decide, the number usually
   * grows with the log.
   */
  after_events: number | null;
  /**
   * Whether a training begins as soon as no more events arrive, whatever `not_before` says,
   * because nothing serves yet, or because the number of events has grown by half or more since the
   * last training began.
   */
  at_once: boolean;
  /** Seconds that the search may take; null: as the settings say. */
  budget_s: number | null;
  /** When it was changed last. */
  changed: string | null;
  /** Five fields, in UTC; null: off. */
  cron: string | null;
  /** Ratio of the recent online error to the usual one that starts a training; null: off. */
  drift: number | null;
  /**
   * The recent online error divided by the usual one, or by the error since the last training
   * began if that is higher.
   */
  drift_now: number;
  /** Events that were learned before that training began, including impressions. */
  events_at_last: number;
  /**
   * When the last training began, from which the conditions count: the last successful training
   * of the schedule's model, even if somebody ordered it. After a change of `model` it is the last
   * training of the previous model, until a training of the new model succeeds.
   */
  last_began: string | null;
  /** The recipe that is ordered; null: every recipe that improves lists. */
  model: string | null;
  /** Events that were learned since that training began, including impressions. */
  new_events: number;
  /**
   * The end of the pause: before it, the trainer starts no training by itself. The pause
   * (HEDGEROW_RETRAIN_PAUSE_S) follows each training and each start of the trainer, and doubles with
   * each scheduled training without a result. Null: nothing was trained yet.
   */
  not_before: string | null;
  /** Whether the settings decide: nobody has set a schedule, or it was deleted. */
  of_settings: boolean;
  /** Settings of the recipe that are fixed. */
  parameters: Record<string, any>;
  /** Whether models are promoted even if too few users can be held out. */
  promote_unjudged: boolean;
  /** The number of changes so far, also by DELETE. */
  version: number;
  /** Who changed it last. */
  who: string | null;
}

/** An event on its way to a webhook, or how that ended. */
export interface Delivery {
  /** What is sent. */
  body: string;
  /** When the event was queued. */
  created: string;
  /** When it ended; null: it waits. */
  ended: string | null;
  /** Why the last try failed; null: it did not. */
  error: string | null;
  /** The header `webhook-id`, the same with every try. */
  id: string;
  /** When it is sent next; null: it has ended. */
  next: string | null;
  /** How far it is. */
  state: "waiting" | "delivered" | "given_up";
  /** The status of the receiver's last answer; null: there was none. */
  status: number | null;
  /** How often it was sent. */
  tries: number;
  /** The type of the event. */
  type: string;
}

/** Deliveries, the newest first. */
export interface DeliveryPage {
  /** The entries of this page. */
  items: Array<Delivery>;
  /** Send it back as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
}

/** The receipt of a deleted user, which does not name the user. */
export interface ErasedUser {
  /** When the deletion was accepted. */
  deleted: string;
  /**
   * When the user's id was removed from the store and from all lists and caches; null: not
   * yet.
   */
  erased: string | null;
  /**
   * When the private server had rewritten its file; null: not yet, or the service uses another
   * server.
   */
  erased_from_disk: string | null;
  /** Names the receipt. */
  erasure: string;
  /** What is not removed yet, and until when it stays. */
  remains: Array<Remains>;
  /** What was found and removed; null: not yet. */
  removed: RemovedTraces | null;
  /** The place of the deletion in the order of events; a later one if it had to be repeated. */
  sequence: string;
}

/** One event of a history. */
export interface Event {
  /** Where it happened, as sent; empty if it was not said. */
  context: Record<string, string>;
  /** The item of the event. */
  item: string;
  /** `rating`, or the kind of feedback. */
  kind: string;
  /** Null for other kinds. */
  rating: number | null;
  /** The place of the event in the order of events. */
  sequence: string;
  /** When it happened, as sent; else when it was accepted. */
  timestamp: string;
}

/** A page of a history, the newest event first. */
export interface EventPage {
  /** The entries of this page. */
  items: Array<Event>;
  /** Send it back as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
}

/** Experiments, the newest first. */
export interface ExperimentPage {
  /** The entries of this page. */
  items: Array<ExperimentReport>;
  /** Send it back as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
}

/** An experiment and how its arms compare. */
export interface ExperimentReport {
  /** The arms; the others are compared with the first. */
  arms: Array<ArmReport>;
  /** When it began. */
  created: string;
  /** When it ended; null while it runs. */
  ended: string | null;
  /** Who ended it; null while it runs. */
  ended_by: string | null;
  /** What ends it by itself. */
  guardrail: NewGuardrail | null;
  /** Its name. */
  name: string;
  /** The arm that was promoted. */
  promoted: string | null;
  /** Why there are no figures yet, and what to send; otherwise null. */
  reason: string | null;
  /** `running`, `stopped`, or `promoted`: the parameters of an arm hold for everybody. */
  state: "running" | "stopped" | "promoted";
  /** Why it ended; null while it runs. */
  why: string | null;
}

/** An experiment without figures. */
export interface ExperimentSummary {
  /** When it began. */
  created: string;
  /** When it ended; null while it runs. */
  ended: string | null;
  /** Who ended it; null while it runs. */
  ended_by: string | null;
  /** What ends it by itself. */
  guardrail: NewGuardrail | null;
  /** Its name. */
  name: string;
  /** The arm that was promoted. */
  promoted: string | null;
  /** `running`, `stopped`, or `promoted`: the parameters of an arm hold for everybody. */
  state: "running" | "stopped" | "promoted";
  /** Why it ended; null while it runs. */
  why: string | null;
}

/** The state of one expert. */
export interface Expert {
  /** Its aggressiveness: how far one rating may move it; null where the family has none. */
  c: number | null;
  /** The sum of its losses; a loss is the absolute error divided by the width of the scale. */
  cumulative_loss: number;
  /** The kind of online model. */
  family: string;
  /** Its number in the settings, its kind and its rank, as one word. */
  name: string;
  /**
   * The factor with which its prediction enters the combined prediction; all parts sum to 1, and
   * a part may be negative.
   */
  part: number;
  /** How many numbers it keeps for each user and item. */
  rank: number;
  /** Its mean loss over about the last 1 000 ratings. */
  recent_loss: number;
  /** Its cumulative loss minus that of the best expert in hindsight. */
  regret_to_best: number;
  /** Ratings that it learned from. */
  updates: number;
  /** How good it is alone; the weights of all experts sum to 1. */
  weight: number;
}

/** Points in time, oldest first. */
export interface ExpertHistory {
  /** The partition whose learner this is. */
  partition: number;
  /** The oldest first. */
  points: Array<HistoryPoint>;
}

/** One expert's own prediction and its part in the answer. */
export interface ExpertPart {
  /** As in `GET /v1/experts`. */
  name: string;
  /** Its own prediction. */
  rating: number;
  /**
   * The factor with which its prediction enters the answer; all weights sum to 1, and a weight
   * may be negative.
   */
  weight: number;
}

/** The experts of a partition. */
export interface Experts {
  /** The method that combines the predictions of the experts. */
  aggregator: string;
  /** In the order of the settings. */
  experts: Array<Expert>;
  /** The version of the online model. */
  model_version: string;
  /** The partition whose learner this is. */
  partition: number;
  /** The last event that is learned. */
  seen_through: string;
  /**
   * The first 12 characters of `model_version`. Click-through shows them, and every request
   * accepts them instead of the version. Null without a trained or online model.
   */
  short_version: string | null;
}

/** The document of a user. */
export interface ExportedDocument {
  /** Anything else that you keep with the user, as JSON: no list, ranker or filter reads it. */
  extra?: Record<string, any>;
  /** Typed facts: numbers, strings, booleans, lists of strings. */
  features?: Record<string, boolean | number | string | Array<string>>;
  /**
   * The user's neighbours: friends, household, colleagues. Only trainings with the parameter
   * `graph` use them; recommendations use history and features.
   */
  links?: Array<Link>;
  /** Raised by each change of the document; 0: there is none. */
  version: number;
}

/** A topic of a user. */
export interface ExportedTopic {
  /** As in `GET /v1/topics`. */
  name: string;
  /** Its share in the user's positive feedback. */
  share: number;
}

/** A line of a batch for a user who got no list. */
export interface FailedSlate {
  /** Why. */
  error: Failure;
  /** As in `users`. */
  user: string;
}

/** Why there is no list: as in a problem. */
export interface Failure {
  /** What is wrong, for programs. */
  code: string;
  /** What is wrong and what to do, for people. */
  detail: string;
  /** The status that the user's own request would have. */
  status: number;
}

/** A feature of a user that raises the score above the average of the considered users. */
export interface FeaturePart {
  /** The feature and its value. */
  feature: string;
  /** What it adds to the score. */
  part: number;
}

/** One event: a user, an item, and either a rating or a kind. */
export interface Feedback {
  /**
   * Where it happened: `{"device": "phone", "page": "home"}`, names and short texts of your own.
   * It is kept with the event and counted; put nothing in it that names a person.
   */
  context?: Record<string, string>;
  /** Your own id of the event: a repeat of it counts once. */
  event_id?: string;
  /** Your own id of the item; no other write is needed before. */
  item: string;
  /**
   * What happened, if it was not a rating: `view`, `click`, `purchase`, ...; `GET /v1/stats`
   * lists all kinds.
   */
  kind?: string;
  /** On the scale of the namespace; not together with `kind`. */
  rating?: number;
  /** The `rec_id` of the slate that showed the item: the event counts for its click-through. */
  rec_id?: string;
  /** When it happened: RFC 3339, Unix seconds, or milliseconds from 1e11 on; by default now. */
  timestamp?: string | number;
  /** Your own id of the user; no other write is needed before. */
  user: string;
}

/** The process answers. */
export interface Health {
  /** The process answers. */
  status: "ok";
  /** Version of the service. */
  version: string;
}

/** One expert at one point. */
export interface HistoryExpert {
  /** As in `GET /v1/experts`. */
  name: string;
  /** The factor with which its prediction entered the combined prediction. */
  part: number;
  /** Its mean loss over about the last 1 000 ratings. */
  recent_loss: number;
  /** How good it was alone; the weights of all experts sum to 1. */
  weight: number;
}

/** The weights of the rankers for users with histories of similar length. */
export interface HistoryLength {
  /** Positive events of users with such a history, whichever versions were judged on them. */
  judged: number;
  /** The least number of items that the user is known to like or dislike. */
  preferences_from: number;
  /** The largest; null: any. */
  preferences_to: number | null;
  /** The heaviest first; they sum to 1. */
  weights: Array<LengthWeight>;
}

/** The experts after so many ratings. */
export interface HistoryPoint {
  /** In the order of the settings. */
  experts: Array<HistoryExpert>;
  /** How many ratings were learned. */
  learned: number;
  /** The last event that was learned. */
  sequence: string;
}

/** The experiment that a list is part of. */
export interface InExperiment {
  /** The arm that the user is in. */
  arm: string;
  /** The experiment. */
  name: string;
}

/** A mean with its 95 % interval. */
export interface Interval {
  /** The upper bound. */
  high: number;
  /** The lower bound. */
  low: number;
  /** The mean. */
  mean: number;
}

/** An item's document; version 0: known from feedback alone. */
export interface Item {
  /** Not recommended before this moment. */
  available_from: string | null;
  /** Not recommended from this moment on. */
  available_until: string | null;
  /** Names of the groups that the item belongs to. */
  categories: Array<string>;
  /**
   * When the document was first written; null if there is no document, or if the time was not
   * recorded.
   */
  created: string | null;
  /** What was written as `extra`. */
  extra: Record<string, any>;
  /** Typed facts: numbers, strings, booleans, lists of strings. */
  features: Record<string, any>;
  /** A hidden item is never recommended. */
  hidden: boolean;
  /** Your own id of the item. */
  item: string;
  /** Raised by each change of the document; the `ETag` of an answer about one item. */
  version: number;
}

/** The document of an item. */
export interface ItemBody {
  /** Not recommended before this moment. */
  available_from?: string | number | null;
  /** Not recommended from this moment on. */
  available_until?: string | number | null;
  /** Names of the groups that the item belongs to. */
  categories?: Array<string>;
  /** Anything else that you keep with the item, as JSON: no list, ranker or filter reads it. */
  extra?: Record<string, any>;
  /** Typed facts: numbers, strings, booleans, lists of strings. */
  features?: Record<string, boolean | number | string | Array<string>>;
  /** A hidden item is never recommended. */
  hidden?: boolean;
}

/** One line of a bulk upload. */
export interface ItemLine {
  /** Not recommended before this moment. */
  available_from?: string | number | null;
  /** Not recommended from this moment on. */
  available_until?: string | number | null;
  /** Names of the groups that the item belongs to. */
  categories?: Array<string>;
  /** Anything else that you keep with the item, as JSON: no list, ranker or filter reads it. */
  extra?: Record<string, any>;
  /** Typed facts: numbers, strings, booleans, lists of strings. */
  features?: Record<string, boolean | number | string | Array<string>>;
  /** A hidden item is never recommended. */
  hidden?: boolean;
  /** Your own id of the item. */
  item: string;
}

/** A page of the items, the oldest first. */
export interface ItemPage {
  /** The entries of this page. */
  items: Array<Item>;
  /** Send it back as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
}

/** A JSON Merge Patch (RFC 7396) of an item: a value replaces the old one, null removes it. */
export interface ItemPatch {
  /** Not recommended before this moment. */
  available_from?: string | number | null;
  /** Not recommended from this moment on. */
  available_until?: string | number | null;
  /** Names of the groups that the item belongs to. */
  categories?: Array<string> | null;
  /** Anything else that you keep with the item, as JSON: no list, ranker or filter reads it. */
  extra?: Record<string, any> | null;
  /** Typed facts: numbers, strings, booleans, lists of strings. */
  features?: Record<string, boolean | number | string | Array<string> | null> | null;
  /** A hidden item is never recommended. */
  hidden?: boolean | null;
}

/** A training: ordered, under way or ended. */
export interface Job {
  /** Seconds that the search may take. */
  budget_s: number;
  /** When it was ordered. */
  created: string;
  /**
   * The decision of the gate: `outcome` (`promoted`, `refused`, `not_judged`), `reason`, and the
   * difference that it is based on. For a job without `model`: the best outcome of all recipes
   * (`not_chosen` if none was trained), and why no more recipes were trained.
   */
  decision: Record<string, any>;
  /** When it ended. */
  ended: string | null;
  /** Why it failed or was cancelled, and what to do. */
  error: string | null;
  /** Names the job in routes. */
  id: string;
  /** Quality of the new model, of the serving model and of popularity on held-out users; costs. */
  metrics: Record<string, any>;
  /** The recipe that was ordered. Null: every recipe that improves lists; `tried` says which. */
  model: string | null;
  /** Settings of the recipe that were ordered; the others are searched. */
  parameters: Record<string, any>;
  /** 0 to 1. */
  progress: number;
  /** Whether the model is promoted even if too few users can be held out. */
  promote_unjudged: boolean;
  /** In a running job without `model`: the recipe that is being trained. */
  recipe: string;
  /** The first 12 characters of `version`: they are enough wherever a version is asked for. */
  short_version: string | null;
  /**
   * The step of a running job: reading, searching, fitting, weighing, judging, refining,
   * publishing or promoting.
   */
  stage: string;
  /** When a trainer took it. */
  started: string | null;
  /** It only moves forward: `queued`, `running`, then one of the others. */
  status: "queued" | "running" | "succeeded" | "failed" | "cancelled";
  /** The recipes that a job without `model` has considered; empty for other jobs. */
  tried: Array<Tried>;
  /** The model that it published; null without `model`: see `tried`. */
  version: string | null;
  /** Who ordered it. */
  who: string;
  /** `order`, or the condition of the schedule that started it: `cron`, `events`, `drift`. */
  why: string;
}

/** A page of the trainings, the newest first. */
export interface JobPage {
  /** The entries of this page. */
  items: Array<Job>;
  /** Send it back as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
}

/** A key without its secret. */
export interface Key {
  /** When it was made. */
  created: string;
  /** When it stops working, or did; null: never. */
  expires: string | null;
  /** Names the key in routes and records; it is not a secret. */
  id: string;
  /** Who uses the key. */
  name: string;
  /** When it was revoked; null: it was not. */
  revoked: string | null;
  /** What the key may do. */
  role: "read" | "write" | "admin";
}

/** API keys, the oldest first. */
export interface KeyPage {
  /** The entries of this page. */
  items: Array<Key>;
  /** Send it back as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
}

/** The meaning of one kind of feedback for the rankers. */
export interface KindMeaning {
  /** The number that the log keeps for the kind. */
  code: number;
  /** Whether the item is left out of the user's lists afterwards. */
  hides: boolean;
  /** The value of `kind` in such feedback. */
  name: string;
  /** 1: the user wants the item; -1: does not; 0: neither. */
  sign: number;
  /** How much such an event counts; 0: it counts only for click-through and for new items. */
  weight: number;
}

/** The prediction for a row just before it was learned. */
export interface Learned {
  /** Where the central 80 % interval ends. */
  high: number;
  /** The number of the row, from 0. */
  index: number;
  /** Where the central 80 % interval begins. */
  low: number;
  /** The predicted rating. */
  rating: number;
}

/** The weight of one ranker for a length of history. */
export interface LengthWeight {
  /** Its strategy. */
  name: string;
  /** In the mixture, for histories of this length. */
  weight: number;
}

/** A neighbour in the graph of users. */
export interface Link {
  /** The neighbour. */
  user: string;
  /** How close the two are. */
  weight?: number;
}

/** The user whose events are taken over. */
export interface Merge {
  /** Ends with the merge: history, online row and document. */
  source: string;
}

/** The proof of a merge: its position in the order of events. */
export interface Merged {
  /** True: the user has the events. False (202): the merge is stored and will be learned soon. */
  learned: boolean;
  /** Why there may be nothing to take over. */
  reason: string | null;
  /** The place of the merge in the order of events. */
  sequence: string;
  /** The user whose events were moved, and who no longer exists. */
  source: string;
  /** When the merge was accepted. */
  timestamp: string;
  /** The user who has the events now. */
  user: string;
}

/** A trained model; it never changes. */
export interface Model {
  /** Whether it is the active model of its strategy, which serves. */
  active: boolean;
  /** Its size in the store. */
  bytes: number;
  /** When it was published. */
  created: string;
  /** The events up to which it was trained and compared with others. */
  cuts: Record<string, any>;
  /**
   * The decision of the gate: `outcome` (`promoted`, `refused`, `not_judged`), `reason`, and the
   * difference that it is based on.
   */
  decision: Record<string, any>;
  /** The training that made it, see `/v1/jobs/{job}`. */
  job: string | null;
  /** Quality of the model, of the model that served and of popularity on held-out users; costs. */
  metrics: Record<string, any>;
  /** The recipe. */
  model: string;
  /** The settings that it was trained with. */
  parameters: Record<string, any>;
  /** Whether it stays active until it is unpinned. */
  pinned: boolean;
  /** The first 12 characters of `version`: they are enough wherever a version is asked for. */
  short_version: string | null;
  /** The family of the recipe: lists ask for it as `model`. */
  strategy: "fbgd" | "ocmf" | "exmlds" | "ordinal" | "sequence" | "neighbours" | "content" | "here";
  /** The name of the strategy for people. */
  title: string;
  /** The last events that it was trained on. */
  trained_through: string;
  /** A digest of everything in the model; its first 12 characters name it too. */
  version: string;
}

/** A page of the models, the newest first. */
export interface Models {
  /** Strategy: version. */
  active: Record<string, string>;
  /** The models of this page. */
  items: Array<Model>;
  /** Send it back as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
  /** Strategy: version. */
  pinned: Record<string, string>;
  /** What the answering process has loaded. */
  served: Array<ServedModel>;
}

/** A group of users, and how their lists are made. */
export interface NewArm {
  /** The name of the arm. */
  name: string;
  /** The parameters of the arm; usually the first arm has none. */
  parameters?: ArmParameters;
  /** Its share of all users; users beyond the sum of the shares are in no arm. */
  share: number;
}

/** An experiment to begin. */
export interface NewExperiment {
  /** The arms; the others are compared with the first. */
  arms: Array<NewArm>;
  /** When the experiment ends by itself; null: never. */
  guardrail?: NewGuardrail | null;
  /** A name of small letters, digits and `-`. */
  name: string;
}

/** What ends the experiment by itself. */
export interface NewGuardrail {
  /** The kind of event whose number for each impression is watched. */
  kind?: string;
  /**
   * The share of events that may be lost: 0.05 ends the experiment when the rate of an arm is
   * surely more than 5 % lower than that of the first arm.
   */
  most_loss?: number;
}

/** The items that are new now: items with few events and few impressions. */
export interface NewItemStats {
  /** Clicks on new items (events of the kind `click`). */
  clicked: number;
  /** How many new items there are. */
  items: number;
  /** Share of the positions in a list, after the first three, that new items get. */
  share: number;
  /** Impressions of new items (events of the kind `impression`). */
  shown: number;
}

/** A key to create. */
export interface NewKey {
  /** Days after which the key stops working; null: it lasts until it is revoked. */
  days?: number | null;
  /** A name for the user of the key; it appears in the list of keys. */
  name: string;
  /** What the key may do: `read`; `write`, feedback and documents too; `admin`, everything. */
  role: "read" | "write" | "admin";
}

/** A webhook to make. */
export interface NewWebhook {
  /** The types of events that it is told of; null: all. */
  events?: Array<"training.ended" | "model.promoted" | "model.rolled_back" | "model.pinned" | "model.unpinned" | "experiment.ended" | "alarm.opened" | "alarm.closed"> | null;
  /** A name for people. */
  name?: string;
  /** Where events are posted: an address by HTTPS, unless private addresses are allowed. */
  url: string;
}

/** The prediction of an ordinal model from features; `experts` is always empty. */
export interface OrdinalPrediction {
  /** The mean of the levels' ratings; `rating` is the same. */
  expected: number;
  /** The predictions of the single experts. */
  experts: Array<ExpertPart>;
  /** Where the central 80 % interval ends: one of ten ratings is higher. */
  high: number;
  /** The item. */
  item: string;
  /** The level of stars, counted from 1 for the lowest. */
  level: number;
  /** The probability of each level, the lowest level first. */
  level_probabilities: Array<number>;
  /** Where the central 80 % interval begins: one of ten ratings is lower. */
  low: number;
  /** The version of the model that predicts. */
  model_version: string;
  /** The predicted rating, on the scale of the namespace. */
  rating: number;
  /** Why the prediction is the same for all users or all items; null if it is for this pair. */
  reason: string | null;
  /** The last event that the answer reflects. */
  seen_through: string;
  /**
   * The first 12 characters of `model_version`. Click-through shows them, and every request
   * accepts them instead of the version. Null without a trained or online model.
   */
  short_version: string | null;
  /** The strategy that predicts. */
  strategy: "ordinal";
  /** The last event that the model has learned. */
  trained_through: string;
  /** The user. */
  user: string;
}

/** A user and an item. */
export interface Pair {
  /** Your own id of the item, known or not. */
  item: string;
  /** Your own id of the user, known or not. */
  user: string;
}

/** The pairs to predict. */
export interface Pairs {
  /** The model that predicts: `online`, or `ordinal`, which reads only documents. */
  model?: "online" | "ordinal" | null;
  /** The answer keeps their order. */
  pairs: Array<Pair>;
  /** The same as `model`. */
  strategy?: "online" | "ordinal" | null;
}

/** One partition's learner and log. */
export interface PartitionStats {
  /** Number of the newest event. */
  appended: number;
  /** Entries of the log that could not be learned; `hedgerow dead-letters` shows why. */
  dead_letters: number;
  /** Deletions that were learned. */
  deletions: number;
  /** Events that were dropped as repeats. */
  duplicates: number;
  /** Raised by each learner that takes over. */
  epoch: number;
  /** Raised by each rebuild. */
  generation: number;
  /** Events that wait to be learned. */
  lag_events: number;
  /** Milliseconds since the newest learned event was accepted; 0 if none waits. */
  lag_ms: number;
  /** Number of the newest event that is learned. */
  learned_through: number;
  /** The process that learns; null if there is none. */
  learner: string | null;
  /** Bytes of the events that wait to be learned. */
  log_bytes: number;
  /** About how many bytes each kind of key takes. */
  memory: Record<string, number>;
  /** Events of other kinds. */
  other_events: number;
  /** The number of the partition, from 0. */
  partition: number;
  /** Ratings that the experts have learned. */
  ratings: number;
  /** Old events that were removed from histories that had become too long. */
  trimmed_records: number;
}

/** A past event of the asker with an item: a `rating`, or a `kind` of feedback. */
export interface PastEvent {
  /** The item's id. */
  item: string;
  /** What happened, if it was not a rating: `view`, `click`, `purchase`, ... */
  kind?: string;
  /** On the scale of the namespace; not together with `kind`. */
  rating?: number;
}

/** How many events and items a store has. */
export interface Positions {
  /** Items with a number. */
  items: number;
  /** The newest event of each partition. */
  sequences: Array<number>;
}

/** The prediction of the online model. */
export interface Prediction {
  /** The predictions of the single experts. */
  experts: Array<ExpertPart>;
  /** Where the central 80 % interval ends: one of ten ratings is higher. */
  high: number;
  /** The item. */
  item: string;
  /** Where the central 80 % interval begins: one of ten ratings is lower. */
  low: number;
  /** The version of the model that predicts. */
  model_version: string;
  /** The predicted rating, on the scale of the namespace. */
  rating: number;
  /** The last event that the answer reflects. */
  seen_through: string;
  /**
   * The first 12 characters of `model_version`. Click-through shows them, and every request
   * accepts them instead of the version. Null without a trained or online model.
   */
  short_version: string | null;
  /** The strategy that predicts. */
  strategy: "online";
  /** The last event that the model has learned. */
  trained_through: string;
  /** The user. */
  user: string;
}

/** In the order of the pairs. */
export interface Predictions {
  /** One for each pair. */
  predictions: Array<Prediction | OrdinalPrediction>;
}

/** What went wrong and what to do (RFC 9457). */
export interface Problem {
  /** For a write of many rows: how many rows are stored. */
  accepted?: number;
  /** The error code, for programs. */
  code: "backlogged" | "conflict" | "cursor_expired" | "forbidden" | "foreign_origin" | "future_timestamp" | "headers_too_large" | "idempotency_key_reused" | "internal" | "invalid_cursor" | "invalid_document" | "invalid_event" | "invalid_filter" | "invalid_id" | "invalid_request" | "invalid_schedule" | "invalid_sequence" | "invalid_training" | "invalid_webhook" | "item_limit" | "line_too_long" | "malformed_body" | "malformed_json" | "malformed_request" | "method_not_allowed" | "model_pinned" | "no_earlier_version" | "not_found" | "not_ready" | "nothing_accepted" | "out_of_scale" | "overloaded" | "rate_limited" | "request_line_too_long" | "sequence_not_reached" | "store_rolled_back" | "store_unavailable" | "too_large" | "too_many_connections" | "too_slow" | "unauthorised" | "unknown_kind" | "unsupported_media_type" | "untrusted_host" | "upgrade_required" | "version_conflict";
  /** The explanation for people: what is wrong and what to do. */
  detail: string;
  /** Each fault of a request with the path of its field. */
  errors?: Array<Record<string, any>>;
  /** Lines of the body, empty ones included. */
  lines?: number;
  /** With `not_ready`: what the process waits for. */
  missing?: Array<string>;
  /** For a write of many rows: the rows that are not stored. */
  rejected?: Array<Record<string, any>>;
  /** How many rows are not stored. */
  rejected_total?: number;
  /** Names the request in the log of the service. */
  request_id: string;
  /** Seconds to wait; only where a retry helps. */
  retry_after?: number;
  /** The place of the stored rows in the order of events. */
  sequence?: string;
  /** The status of the answer. */
  status: number;
  /** The words of the status. */
  title: string;
  /** A page here that says what the code means and what to do. */
  type: string;
  /** For a write of many rows: stored rows in which something has no effect. */
  warnings?: Array<Record<string, any>>;
  /** How many rows have warnings. */
  warnings_total?: number;
}

/** The arm to promote. */
export interface Promotion {
  /** Its parameters will hold for all users. */
  arm: string;
}

/** Candidates to put in order. */
export interface RankBody {
  /** Share of the online model in the score, 0 to 1. */
  blend?: number;
  /** The items to put in order. */
  candidates: Array<string>;
  /** Only items of this category. */
  category?: string | null;
  /** Where the list is shown: `{"device": "phone"}`. Once a model of `here` is active, the list depends on this context. The `rec_id` contains the context, so that feedback to the list is counted for it. */
  context?: Record<string, string>;
  /** `next_cursor` of the page before, with all other parameters unchanged. */
  cursor?: string | null;
  /** 0: the best items; towards 1: items that differ from each other. Above 0 `offset` and `k` are at most 1000 together. */
  diversity?: number;
  /** Ids of items to leave out. */
  exclude?: Array<string>;
  /** Leave out items that the user has rated, bought, ... */
  exclude_seen?: boolean;
  /** Add which past items make up the score, and how much (`fbgd`, `ocmf`, `next`, `sequence`, `neighbours`, `content`). */
  explain?: boolean;
  /** As in a user's document; together with `user`, they replace the stored features. */
  features?: Record<string, any> | null;
  /** What to add of each item: `categories` or names of features. */
  fields?: Array<string>;
  /** Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`. */
  filter?: string | null;
  /** Past events of an anonymous asker, oldest first; not together with `user`. */
  history?: Array<PastEvent> | null;
  /** Maximum number of items, by default all. With `diversity` or `max_per_category` `offset` and `k` are at most 1000 together, or else there are at most 1000 `candidates`. */
  k?: number;
  /** Maximum number of items of one category in an answer. With it `offset` and `k` are at most 1000 together. */
  max_per_category?: number | null;
  /** Answer only once this `sequence` is learned: read your own writes. */
  min_sequence?: string | null;
  /** The strategy that ranks; by default the best. */
  model?: "content" | "exmlds" | "fbgd" | "here" | "latest" | "mixture" | "neighbours" | "next" | "ocmf" | "online" | "ordinal" | "popular" | "sequence" | "trending" | null;
  /** Items to skip; not together with `cursor`; with `diversity` or `max_per_category` `offset` and `k` are at most 1000 together. */
  offset?: number;
  /** The user's id. */
  user?: string | null;
}

/** The quality of one ranker; each positive is judged before it is learned. */
export interface Ranker {
  /** What it does, in one sentence for people. */
  about: string;
  /**
   * Positive events with which this version was judged; do not compare rankers with different
   * numbers.
   */
  judged: number;
  /** The version that was judged; the name of the strategy if it has no models. */
  model_version: string;
  /**
   * Mean of 1 / rank of the item that the user took, among all items not seen before (0 beyond
   * rank 100), over about the last 10 000 judgements; null before the first judgement.
   */
  mrr: number | null;
  /** Its strategy. */
  name: string;
  /** The mean ndcg@10 of its lists; null before the first judgement. */
  ndcg_at_10: number | null;
  /**
   * The first 12 characters of `model_version`. Click-through shows them, and every request
   * accepts them instead of the version. Null without a trained or online model.
   */
  short_version: string | null;
  /** Its name for people. */
  title: string;
  /** In the mixture, by all judgements; the weights sum to 1. */
  weight: number;
}

/** The rankers of the mixture, the one with the largest weight first. */
export interface Rankers {
  /** The ways to make mixed slates, the one with the largest weight first. */
  arms: Array<Arm>;
  /**
   * The weights for slates by length of history; lengths without weights of their own use the
   * weights of all judgements.
   */
  by_length: Array<HistoryLength>;
  /** Number of positive events that any ranker was judged on. */
  judged: number;
  /** The combined lists; null until something was judged. */
  mixture: Ranker | null;
  /**
   * Positive events that arrived too fast to judge rankers with them, as of at most two seconds
   * ago.
   */
  passed_over: number;
  /** The heaviest first. */
  rankers: Array<Ranker>;
  /** Why there are no figures; null once something was judged. */
  reason: string | null;
  /** The last events that were judged. */
  seen_through: string;
  /**
   * The stack; null until enough positive events were judged, or a training gave it first
   * weights.
   */
  stack: Stack | null;
}

/** A figure with an interval that you may look at as often as you like. */
export interface Rate {
  /** The upper end. */
  high: number;
  /** The lower end of the 95 % interval. */
  low: number;
  /** The figure. */
  value: number;
}

/** The meaning of a rating for the rankers; the experts learn it too. */
export interface RatingMeaning {
  /** Whether a rated item is left out of the user's lists afterwards. */
  hides: boolean;
  /** The highest rating that says that a user does not want the item. */
  negative_to: number;
  /** The lowest rating that says that a user wants the item. */
  positive_from: number;
  /** How much a rating counts. */
  weight: number;
}

/** The process can serve; the other fields say what else works. */
export interface Ready {
  /** Whether feedback and documents are stored; if not, writes get 503. */
  accepting: boolean;
  /** Whether an acknowledged event survives a power cut. */
  durable: boolean;
  /** Whether every partition has a learner; without one, feedback is stored but not learned. */
  learning: boolean;
  /** The namespace that the process serves. */
  namespace: string;
  /** Lists are made: models, catalogue and popular items are in memory. If not, this is a 503. */
  serving: boolean;
  /**
   * Seconds since the store last answered, if it does not answer now; answers from memory may be
   * as old as this.
   */
  stale_s: number | null;
  /** The process can serve. */
  status: "ready";
  /** Whether a trainer takes jobs; without one, they wait. */
  training: boolean;
  /** What is wrong, and what to do. */
  warning: string | null;
}

/** The reason for a change of the active model; it is kept with the caller and the time. */
export interface Reason {
  /** For those who read `GET /v1/models/changes` later. */
  why?: string;
}

/** The proof of a deletion: its position in the order of events. */
export interface Receipt {
  /** What was deleted: all events of a user and an item, an item, or a user. */
  deleted: "rating" | "item" | "user";
  /**
   * For a user: `GET /v1/erasures/{erasure}` says when all traces are removed, also from links of
   * other users and from the disk. Null for a rating or an item.
   */
  erasure: string | null;
  /** The item; null for a user. */
  item: string | null;
  /**
   * True: the deleted data no longer counts in any history or list. The items' rows and the
   * trained models keep what they learned from the events until a rebuild and a retraining. False
   * (202): the deletion is stored and will be learned soon.
   */
  learned: boolean;
  /** The place of the deletion in the order of events. */
  sequence: string;
  /** When the deletion was accepted. */
  timestamp: string;
  /** The user; null for an item. */
  user: string | null;
}

/** Items for a `user`, or for somebody with this `history`, these `features` or both. */
export interface RecommendationBody {
  /** Share of the online model in the score, 0 to 1. */
  blend?: number;
  /** The only items to choose from. */
  candidates?: Array<string> | null;
  /** Only items of this category. */
  category?: string | null;
  /** Where the list is shown: `{"device": "phone"}`. Once a model of `here` is active, the list depends on this context. The `rec_id` contains the context, so that feedback to the list is counted for it. */
  context?: Record<string, string>;
  /** `next_cursor` of the page before, with all other parameters unchanged. */
  cursor?: string | null;
  /** 0: the best items; towards 1: items that differ from each other. Above 0 `offset` and `k` are at most 1000 together. */
  diversity?: number;
  /** Ids of items to leave out. */
  exclude?: Array<string>;
  /** Leave out items that the user has rated, bought, ... */
  exclude_seen?: boolean;
  /** Add which past items make up the score, and how much (`fbgd`, `ocmf`, `next`, `sequence`, `neighbours`, `content`). */
  explain?: boolean;
  /** As in a user's document; together with `user`, they replace the stored features. */
  features?: Record<string, any> | null;
  /** What to add of each item: `categories` or names of features. */
  fields?: Array<string>;
  /** Only items for which this filter is true: `year >= 2020 and not tags has 'slow'`. */
  filter?: string | null;
  /** Past events of an anonymous asker, oldest first; not together with `user`. */
  history?: Array<PastEvent> | null;
  /** Maximum number of items; with `diversity` or `max_per_category` `offset` and `k` are at most 1000 together. */
  k?: number;
  /** Maximum number of items of one category in an answer. With it `offset` and `k` are at most 1000 together. */
  max_per_category?: number | null;
  /** Answer only once this `sequence` is learned: read your own writes. */
  min_sequence?: string | null;
  /** The strategy that ranks; by default the best. */
  model?: "content" | "exmlds" | "fbgd" | "here" | "latest" | "mixture" | "neighbours" | "next" | "ocmf" | "online" | "ordinal" | "popular" | "sequence" | "trending" | null;
  /** Items to skip; not together with `cursor`; with `diversity` or `max_per_category` `offset` and `k` are at most 1000 together. */
  offset?: number;
  /** The user's id. */
  user?: string | null;
}

/** A row that was not accepted, and why. */
export interface Rejected {
  /** The error code, for programs. */
  code: string;
  /** The explanation for people: what is wrong and what to do. */
  detail: string;
  /** The number of the row, from 0. */
  index: number;
}

/** A line that was not accepted; ``line`` counts from 1, as editors do. */
export interface RejectedLine {
  /** The error code, for programs. */
  code: string;
  /** The explanation for people: what is wrong and what to do. */
  detail: string;
  /** The number of the row, from 0. */
  index: number;
  /** The number of the line, from 1, as editors count. */
  line: number;
}

/** Something that is not removed yet. */
export interface Remains {
  /** When or how it is removed. */
  until: string;
  /**
   * `log`: the deletion waits to be learned. `store`: links of other users, the change feed and
   * dead letters. `disk`: the server's append-only file. `models`: what models learned from the
   * events; they contain no id and no vector of the user. `documents`, `dead_letters`: unreadable
   * data that may name the user. `event_ids`: digests of the events' ids.
   */
  where: "log" | "store" | "disk" | "models" | "documents" | "dead_letters" | "event_ids" | "backups";
}

/** Traces of the user in other data. */
export interface RemovedTraces {
  /** Events in log entries that could not be learned. */
  events: number;
  /** Documents of others that linked to the user, or to others deleted at the same time. */
  links: number;
}

/** What to train. */
export interface Retrain {
  /**
   * Seconds that the search of the other settings may take, for all recipes together; by default
   * those of the settings.
   */
  budget_s?: number | null;
  /** `fbgd`, `ocmf-lr-wsq`, `ocmf-sq-wsq`, `ocmf-sq-sq`, `exmlds`, `ordinal`, `sequence`, `neighbours`, `content` or `here`; null trains all that are worth it. */
  model?: string | null;
  /**
   * Settings of the recipe that you choose; the others are searched. Without `model` they are
   * those of `fbgd`.
   */
  parameters?: Record<string, any>;
  /** Promote the model even if it cannot be tested, because no user likes two items. */
  promote_unjudged?: boolean;
}

/** What to roll back. */
export interface RollBack {
  /** Needed when models of several strategies are active. */
  strategy?: "fbgd" | "ocmf" | "exmlds" | "ordinal" | "sequence" | "neighbours" | "content" | "here" | null;
  /** For those who read `GET /v1/models/changes` later. */
  why?: string;
}

/** A time when the store was found to have lost something that it had acknowledged. */
export interface RollbackStats {
  /** When it was found. */
  at: string;
  /** The era of the store that began with it, from 1. */
  era: number;
  /** The last events and items that it still had. */
  found: Positions;
  /** The last events and items that it was known to have acknowledged. */
  known: Positions;
}

/** When to retrain automatically: any condition starts a job, and each may be left out. */
export interface ScheduleBody {
  /** New events of the log, impressions included, since the last successful training began. */
  after_events?: number | null;
  /** Seconds that the search may take; by default those of the settings. */
  budget_s?: number | null;
  /** Five fields, in UTC: `0 4 * * *` is every day at four. */
  cron?: string | null;
  /**
   * Ratio of the recent online error to the usual one: 1.1 is ten percent more. One drift starts
   * one job.
   */
  drift?: number | null;
  /** `fbgd`, `ocmf-lr-wsq`, `ocmf-sq-wsq`, `ocmf-sq-sq`, `exmlds`, `ordinal`, `sequence`, `neighbours`, `content` or `here`; null trains all that are worth it. */
  model?: string | null;
  /** Settings of the recipe that you choose; the others are searched. */
  parameters?: Record<string, any>;
  /** Promote models even if too few users can be held out: for small communities. */
  promote_unjudged?: boolean;
}

/** The model that the answering process serves for a strategy. */
export interface ServedModel {
  /**
   * Why the active version does not serve here, and what to do; the version before it goes on
   * serving.
   */
  fault: string | null;
  /** The first 12 characters of `version`: they are enough wherever a version is asked for. */
  short_version: string | null;
  /** The strategy. */
  strategy: string;
  /** Null: no version could be loaded. */
  version: string | null;
}

/** One setting of the service. */
export interface Setting {
  /** What it means. */
  about: string;
  /** Its value by default. */
  default: string | null;
  /** Whether value and default differ. */
  is_changed: boolean;
  /** Its name; in a table, the name of the table, a dot and its own name. */
  name: string;
  /** Its value in the process that answers; lists and tables are JSON; passwords are masked. */
  value: string | null;
}

/** Every setting of the service. */
export interface SettingsInEffect {
  /** In the order of the reference. */
  settings: Array<Setting>;
}

/** Something that is wrong, and what to do about it. */
export interface ShownAlarm {
  /** The partition or strategy that it is about; null: the whole service. */
  about: string | null;
  /** What it is, for programs. */
  code: string;
  /** What it means, and what to do. */
  detail: string;
  /**
   * The call that mends it, if one does: `POST /v1/retrain`, or `POST /v1/models/rollback` with
   * the strategy of `about`.
   */
  mend: "retrain" | "roll_back" | null;
  /**
   * `error`: something does not work; `warning`: something will not, or may be lost; `info`:
   * something could be better.
   */
  severity: "error" | "warning" | "info";
  /** What it is, for people. */
  title: string;
}

/** The weight of a standardised signal in the stack. */
export interface SignalWeight {
  /** Added for each standard deviation of the logarithm of the length. */
  by_length: number;
  /** Added for histories of fewer than 7 preferences, times log(8 / (1 + preferences)). */
  short: number;
  /** The ranker, or `history`, and what it says about an item. */
  signal: string;
  /** For a history of average length. */
  weight: number;
}

/** A user and the cosine of the two vectors. */
export interface SimilarUser {
  /** The cosine of the two vectors. */
  score: number;
  /** The similar user. */
  user: string;
}

/** The most similar first. */
export interface SimilarUsers {
  /** The version of the model whose vectors were compared; null without one. */
  model_version: string | null;
  /** Why there are none. */
  reason: string | null;
  /** The last event that the answer reflects. */
  seen_through: string;
  /** The first 12 characters of the version, as click-through shows them; null without a model. */
  short_version: string | null;
  /** The strategy of the model. */
  strategy: "content" | "exmlds" | "fbgd" | "here" | "latest" | "mixture" | "neighbours" | "next" | "ocmf" | "online" | "ordinal" | "popular" | "sequence" | "trending" | null;
  /** The last events that the model was trained on. */
  trained_through: string | null;
  /** The user that was asked for. */
  user: string;
  /** The most similar first. */
  users: Array<SimilarUser>;
}

/** Items in order, and the models that ranked them. */
export interface Slate {
  /** With `blend`, if possible: `model_version` then stands for both models and the share. */
  blend: Blend | null;
  /** The running experiment, if the user and the request take part in it; otherwise null. */
  experiment?: InExperiment | null;
  /** The best first. */
  items: Array<SlateItem>;
  /** The version of the models that made the list; the name of the strategy if it has none. */
  model_version: string;
  /** Version of each trained model that ranked, by strategy. */
  models: Record<string, string>;
  /** Send it back as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
  /** Why the answer is not what was asked for, or not personal; otherwise null. */
  reason: string | null;
  /** The id of the slate: send it with the feedback that the slate brings. */
  rec_id: string;
  /** How many items `filter` left out. */
  removed: number;
  /**
   * What scores are. `probability`: that the user takes this item next, among all items that were
   * considered; `stars`: the predicted rating; `count`: the number of events, with weights;
   * `likeness`: how well an item fits, without a fixed scale; `days`: since 1970; `rank_sum`: a sum
   * over the lists of several rankers.
   */
  score_kind: "count" | "days" | "likeness" | "probability" | "rank_sum" | "stars";
  /** The last event that the list reflects. */
  seen_through: string;
  /**
   * The first 12 characters of the version, as in `rec_id` and click-through; null without a
   * model.
   */
  short_version: string | null;
  /** The strategy that made the list. */
  strategy: "content" | "exmlds" | "fbgd" | "here" | "latest" | "mixture" | "neighbours" | "next" | "ocmf" | "online" | "ordinal" | "popular" | "sequence" | "trending";
  /** The name of the strategy for people. */
  title: string;
  /** The last events that its models were trained on. */
  trained_through: string;
  /** The user; null if the request named none. */
  user: string | null;
  /** What in the request had no effect: unknown items, names of features that no item has. */
  warnings: Array<SlateWarning>;
}

/** One item, the best first; `score_kind` of the answer says what scores are. */
export interface SlateItem {
  /** With `explain`: the past items that contribute most to the score, the largest first. */
  because?: Array<Because>;
  /** With `fields`: the fields asked for, null where the item has none. */
  fields?: Record<string, any>;
  /** The item's id. */
  item: string;
  /**
   * With `explain`, if scores are probabilities: what each ranker adds to the logarithm of the
   * item's probability, compared with the average candidate.
   */
  parts?: Record<string, number>;
  /** The number that orders the list, unless variety or exploration move an item. */
  score: number;
  /**
   * The ranker that adds most to its score. `explore`: the item is new and got its position by
   * exploration, and its score says how well it fits the user (0: as well as other new items).
   */
  strategy: "content" | "exmlds" | "explore" | "fbgd" | "here" | "latest" | "mixture" | "neighbours" | "next" | "ocmf" | "online" | "ordinal" | "popular" | "sequence" | "trending";
}

/** Click-through of the slates of one model. */
export interface SlateResponses {
  /** Clicks for each impression; null before the first impression. */
  click_through: number | null;
  /** Events of the kind `click`. */
  clicks: number;
  /** Number of events that named a slate, by kind of feedback, including `rating`. */
  events: Record<string, number>;
  /** Events of the kind `impression`. */
  impressions: number;
  /** The first 12 digits of the version; null for slates without a model. */
  model_version: string | null;
  /** The strategy that made the slates. */
  strategy: string;
}

/** Something in the request that had no effect. */
export interface SlateWarning {
  /** `unknown_items` or `unknown_fields`. */
  code: string;
  /** What had no effect and what to send, for people. */
  detail: string;
  /** The part of the request: `candidates`, `exclude`, `history` or `fields`. */
  field: string;
  /** How many of its entries. */
  n: number;
}

/** The weights by which rankers are combined, see docs/explanation/stack.md. */
export interface Stack {
  /** The largest first. */
  added: Array<StackPart>;
  /** Number of positive events that it was fitted to. */
  events: number;
  /** The partition that learned it: the one that has judged most. */
  partition: number;
  /** The heaviest first. */
  weights: Array<SignalWeight>;
}

/** What a ranker adds to the stack. */
export interface StackPart {
  /** The ranker, or `history`. */
  name: string;
  /**
   * How much lower ndcg@10 is without the ranker, on the newest quarter of the positive events
   * that the stack learned.
   */
  ndcg_at_10: number;
}

/** Statistics of the service. */
export interface Stats {
  /** When the namespace was made. */
  created: string;
  /** Whether an acknowledged event survives a power cut. */
  durable: boolean;
  /** Ids of items that are known, from documents or feedback. */
  items: number;
  /** The meaning of each kind of feedback. */
  kinds: Array<KindMeaning>;
  /** About how many bytes each kind of key takes, in all partitions. */
  memory: Record<string, number>;
  /** The version of the online model. */
  model_version: string;
  /** The namespace that the process serves. */
  namespace: string;
  /** The items that are new now. */
  new_items: NewItemStats;
  /** Each partition's learner and log. */
  partitions: Array<PartitionStats>;
  /** The meaning of a rating. */
  rating: RatingMeaning;
  /** When the store was found to have lost something, the newest 20, the newest first. */
  rollbacks: Array<RollbackStats>;
  /** The scale of ratings, `lowest:highest`. */
  scale: string;
  /** The last events that are learned. */
  seen_through: string;
  /** The server that stores everything, and its version. */
  store: string;
  /** What is wrong, and what to do. */
  warning: string | null;
}

/** A group of items that the same people like. */
export interface Topic {
  /** Up to 20 of them, the most typical first. */
  items: Array<TopicItem>;
  /** Items of the topic that may be shown; each item belongs to the topic that it fits best. */
  n_items: number;
  /** Terms that are typical of the topic; `topic 3`, for example, if there are no such terms. */
  name: string;
  /** Its share of all that people took; the shares of all topics sum to 1. */
  share: number;
  /** The terms of the name: categories first, then words of texts; may be empty. */
  terms: Array<string>;
  /** Its number, from 0, within this version of the model. */
  topic: number;
}

/** An item of a topic. */
export interface TopicItem {
  /** The item. */
  item: string;
  /** How typical the item is of the topic, 0 to 1; smaller for an item with little feedback. */
  strength: number;
}

/** The topics of the catalogue. */
export interface Topics {
  /** The version of the model that they are made of; null without one. */
  model_version: string | null;
  /** Why there are none; otherwise null. */
  reason: string | null;
  /**
   * The first 12 characters of `model_version`. Click-through shows them, and every request
   * accepts them instead of the version. Null without a trained or online model.
   */
  short_version: string | null;
  /** The strategy of the model. */
  strategy: "fbgd" | "ocmf" | "exmlds" | "ordinal" | "sequence" | "neighbours" | "content" | "here" | null;
  /** The topic that most people like comes first; empty without a model. */
  topics: Array<Topic>;
  /** The last events that the model was trained on. */
  trained_through: string | null;
}

/** One recipe in a training that names none. */
export interface Tried {
  /** The ndcg@10 that it adds to the stack of `popular`, `next` and the recipes chosen before. */
  added: Added | null;
  /** Whether it improves the lists of the others, so that it is trained. */
  chosen: boolean;
  /** The decision of the gate; empty unless a model was trained. */
  decision: Record<string, any>;
  /** As `metrics` of a job of this recipe alone. */
  metrics: Record<string, any>;
  /** The recipe. */
  model: string;
  /** ndcg@10 of its own lists for the items that held-out users took next; null: not measured. */
  ndcg10: number | null;
  /** Whether its model only places new items, and takes no part in mixtures. */
  only_places?: boolean;
  /** Wall seconds that it took. */
  seconds: number;
  /**
   * Whether a model of this recipe served before: then it is trained again, unless another recipe
   * of its family is chosen.
   */
  serves: boolean;
  /** The first 12 characters of `version`: they are enough wherever a version is asked for. */
  short_version: string | null;
  /** Its family. */
  strategy: string;
  /** The model that it published. */
  version: string | null;
  /** Why it was chosen, was not chosen or could not be tried. */
  why: string;
}

/** The result of a stream, with the first 1 000 rejected lines and warnings. */
export interface Uploaded {
  /** Lines that are stored. */
  accepted: number;
  /** Lines of the body, empty ones included. */
  lines: number;
  /** The first 1 000 lines that are rejected, and why. */
  rejected: Array<RejectedLine>;
  /** How many lines are not stored. */
  rejected_total: number;
  /** The place of the rows in the order of events. */
  sequence: string;
  /** The first 1 000 lines that are stored although something in them has no effect. */
  warnings: Array<WarnedLine>;
  /** How many lines have warnings. */
  warnings_total: number;
}

/** A user's document; version 0: known from feedback alone. */
export interface User {
  /** What was written as `extra`. */
  extra: Record<string, any>;
  /** Typed facts: numbers, strings, booleans, lists of strings. */
  features: Record<string, any>;
  /** The user's neighbours: friends, household, colleagues. */
  links: Array<Link>;
  /** Your own id of the user. */
  user: string;
  /** Raised by each change of the document; the `ETag` of an answer about one user. */
  version: number;
}

/** The document of a user. */
export interface UserBody {
  /** Anything else that you keep with the user, as JSON: no list, ranker or filter reads it. */
  extra?: Record<string, any>;
  /** Typed facts: numbers, strings, booleans, lists of strings. */
  features?: Record<string, boolean | number | string | Array<string>>;
  /**
   * The user's neighbours: friends, household, colleagues. Only trainings with the parameter
   * `graph` use them; recommendations use history and features.
   */
  links?: Array<Link>;
}

/** Everything that is known about a user. */
export interface UserExport {
  /** What you said about the user. */
  document: ExportedDocument;
  /** All stored events, the oldest first, those of deleted items too. */
  events: Array<Event>;
  /** When this was read. */
  exported: string;
  /** The latest events of the kind `impression`: of all users the newest 10 000 are kept. */
  impressions: Array<Event>;
  /** Other users whose documents link to this one, and how strongly. */
  linked_by: Array<Link>;
  /** What the experts that predict ratings learned of the user; null: nothing. */
  row: Array<number> | null;
  /** Items whose events were dropped to shorten the history (`HEDGEROW_HISTORY_LIMIT`). */
  seen: Array<string>;
  /** The last event that the answer reflects. */
  seen_through: string;
  /** Topics that the user likes, according to the active model; the largest share first. */
  topics: Array<ExportedTopic>;
  /** The user. */
  user: string;
}

/** One line of a bulk upload. */
export interface UserLine {
  /** Anything else that you keep with the user, as JSON: no list, ranker or filter reads it. */
  extra?: Record<string, any>;
  /** Typed facts: numbers, strings, booleans, lists of strings. */
  features?: Record<string, boolean | number | string | Array<string>>;
  /**
   * The user's neighbours: friends, household, colleagues. Only trainings with the parameter
   * `graph` use them; recommendations use history and features.
   */
  links?: Array<Link>;
  /** Your own id of the user. */
  user: string;
}

/** A page of the users, ordered by the bytes of their ids. */
export interface UserPage {
  /** The entries of this page. */
  items: Array<User>;
  /** Send it back as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
}

/** A JSON Merge Patch (RFC 7396) of a user: a value replaces the old one, null removes it. */
export interface UserPatch {
  /** Anything else that you keep with the user, as JSON: no list, ranker or filter reads it. */
  extra?: Record<string, any> | null;
  /** Typed facts: numbers, strings, booleans, lists of strings. */
  features?: Record<string, boolean | number | string | Array<string> | null> | null;
  /**
   * The user's neighbours: friends, household, colleagues. Only trainings with the parameter
   * `graph` use them; recommendations use history and features.
   */
  links?: Array<Record<string, any>> | null;
}

/** A topic, and its share in what a user likes. */
export interface UserTopic {
  /** Up to five items of the user in it. */
  items: Array<string>;
  /** This share divided by the topic's share of all that people took. */
  lift: number;
  /** As in `GET /v1/topics`. */
  name: string;
  /** Its share of the user's positive feedback; the shares of all topics sum to 1. */
  share: number;
  /** As in `GET /v1/topics`. */
  terms: Array<string>;
  /** As in `GET /v1/topics`. */
  topic: number;
}

/** The topics of a user. */
export interface UserTopics {
  /** The version of the model that topics are made of; null without one. */
  model_version: string | null;
  /** Why there are none; otherwise null. */
  reason: string | null;
  /** The last event of the user that the answer reflects. */
  seen_through: string;
  /**
   * The first 12 characters of `model_version`. Click-through shows them, and every request
   * accepts them instead of the version. Null without a trained or online model.
   */
  short_version: string | null;
  /** The strategy of the model. */
  strategy: "fbgd" | "ocmf" | "exmlds" | "ordinal" | "sequence" | "neighbours" | "content" | "here" | null;
  /** Those with a share, the largest first. */
  topics: Array<UserTopic>;
  /** The last events that the model was trained on. */
  trained_through: string | null;
  /** The user. */
  user: string;
}

/** A row that was accepted although something in it has no effect. */
export interface Warned {
  /** `unreadable_rec_id` or `foreign_rec_id`. */
  code: string;
  /** What does not count and what to send, for people. */
  detail: string;
  /** The number of the row, from 0. */
  index: number;
}

/** A line that was accepted although something in it has no effect. */
export interface WarnedLine {
  /** `unreadable_rec_id` or `foreign_rec_id`. */
  code: string;
  /** What does not count and what to send, for people. */
  detail: string;
  /** The number of the row, from 0. */
  index: number;
  /** The number of the line, from 1, as editors count. */
  line: number;
}

/** A webhook without its secret. */
export interface Webhook {
  /** When it was made; it is told of what happens from then on. */
  created: string;
  /** Why nothing is sent any longer; null: it is in use. */
  disabled: string | null;
  /** The types of events that it is told of. */
  events: Array<string>;
  /** Names the webhook in routes and records. */
  id: string;
  /** A name for people. */
  name: string;
  /** Where events are posted. */
  url: string;
}

/** Webhooks, the oldest first. */
export interface WebhookPage {
  /** The entries of this page. */
  items: Array<WebhookState>;
  /** Send it back as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
}

/** A webhook, and how its latest deliveries went. */
export interface WebhookState {
  /** When it was made; it is told of what happens from then on. */
  created: string;
  /** Those of the latest 200 that the receiver has. */
  delivered: number;
  /** Why nothing is sent any longer; null: it is in use. */
  disabled: string | null;
  /** The types of events that it is told of. */
  events: Array<string>;
  /** Those of the latest 200 that it does not have, and will not be sent again. */
  given_up: number;
  /** Names the webhook in routes and records. */
  id: string;
  /** A name for people. */
  name: string;
  /** Where events are posted. */
  url: string;
  /** Deliveries that wait to be sent, or to be sent again. */
  waiting: number;
}

/** The result of a write; to read what you wrote, send `sequence` as `min_sequence`. */
export interface Written {
  /** Rows that are stored. */
  accepted: number;
  /** With `wait=learned`: what was predicted for each rating just before it was learned. */
  predictions?: Array<Learned>;
  /** The rows that are rejected, and why. */
  rejected: Array<Rejected>;
  /**
   * The numbers, from 0, of the rows whose ids (`event_id`, or from the idempotency key) the
   * service knew already. Each of these events counts once. With `wait=learned` all are listed.
   * Otherwise only recent ids are noticed, and the property is absent if there are none.
   */
  repeats?: Array<number>;
  /** The place of the rows in the order of events. */
  sequence: string;
  /**
   * Rows that are stored although something in them has no effect: a `rec_id` that names no list
   * of the user.
   */
  warnings: Array<Warned>;
}
