// Models: what serves, how it was judged, and the trainings that make the next one.

import { del, get, post, put } from "../shared/api.js";
import { asked } from "../shared/dialogs.js";
import { el, fill } from "../shared/dom.js";
import { ago, bytes, decimal, moment, signed } from "../shared/format.js";
import { TRAINED } from "../shared/names.js";
import { badge, button, card, choice, emptyState, errorState, field, loading, table } from "../shared/parts.js";
import { said } from "../shared/toasts.js";
import { jobCard } from "./models/job.js";
import { scheduleCard } from "./models/schedule.js";

const EVERY_MS = 4000;
const TONES = { promoted: "good", refused: "warn", not_judged: "info", not_chosen: "plain" };

export async function show(root, { signal, every, args }) {
  const jobArea = el("div", { class: "stack" });
  const serving = el("div", null, loading());
  const versions = el("div", null, loading());
  const jobs = el("div", null, loading());
  const changes = el("div", null, loading());
  const watched = new Map();

  const watchJob = (id) => {
    if (watched.get(id)?.isConnected) return;
    watched.set(id, jobCard(id, signal, () => refresh().catch(() => {})));
    jobArea.prepend(watched.get(id));
  };
  const order = button("Train now", () => orderTraining(watchJob), { tone: "primary", writes: true });
  fill(root,
    el("div", { class: "page-head" }, el("div", null, el("h1", null, "Models"), el("p", { class: "quiet" }, "Which models serve, how they were tested, and the trainings that make the next ones.")),
      el("div", { class: "actions" }, order)),
    jobArea, card("Serving", { says: "One version of each strategy serves. Several strategies together make a list." }, serving),
    card("Versions", { says: "Each training makes a new version; a test, the gate, decides whether it serves." }, versions),
    el("div", { class: "grid" }, card("Trainings", { says: "The latest trainings, the newest first" }, jobs), scheduleCard(signal)),
    card("Changes of what serves", { says: "Who, when and why" }, changes));

  async function refresh() {
    const [models, list, changed] = await Promise.all([get("models", { limit: 50 }, signal), get("jobs", { limit: 8 }, signal), get("models/changes", { limit: 8 }, signal)]);
    for (const job of list.items) if (job.status === "running" && !watched.has(job.id)) watchJob(job.id);
    draw(serving, () => shownServing(models, refresh));
    draw(versions, () => shownVersions(models, refresh));
    draw(jobs, () => shownJobs(list.items, watchJob));
    draw(changes, () => shownChanges(changed.items));
  }
  if (args[0] === "jobs" && args[1]) watchJob(args[1]);
  await refresh().catch((error) => { if (error.name !== "AbortError") fill(serving, errorState(error, refresh)); });
  every(EVERY_MS, refresh);
}

function draw(area, make) {
  if (!area.contains(document.activeElement)) fill(area, make());
}

async function orderTraining(watchJob) {
  const model = choice([["", "All that make lists better (recommended)"], ...TRAINED], "");
  const budget = el("input", { type: "number", min: 0, max: 3600, step: 1, placeholder: "as in the settings" });
  const unjudged = el("input", { type: "checkbox", name: "unjudged" });
  const job = await asked({
    title: "Train now", yes: "Train",
    says: "The training begins as soon as a trainer is free. The present model serves until the new one has been tested.",
    body: [field("Model", model), field("Seconds for the search of settings", budget),
      el("label", { class: "check" }, unjudged, " Let the new model serve even if too few users can judge it")],
    work: () => post("retrain", { ...(model.value && { model: model.value }), ...(budget.value && { budget_s: Number(budget.value) }), ...(unjudged.checked && { promote_unjudged: true }) }),
  });
  if (job) watchJob(job.id);
}

function shownServing({ active, items, served, pinned }, refresh) {
  const strategies = Object.keys(active).sort();
  if (strategies.length === 0) return emptyState("No trained model serves yet", "The service makes lists from predicted ratings, from which item often follows which, and from popular items. A training begins by itself once there are enough events. The button above starts one now.");
  return table([
    ["Strategy", (one) => one.title ?? one.strategy],
    ["Version", (one) => [badge(one.short, "accent"), one.pinned && [" ", badge("pinned", "info")], one.fault && [" ", badge("could not be loaded", "bad")]]],
    ["Trained", (one) => ago(one.created), "short"],
    ["ndcg@10", (one) => decimal(one.metrics?.["ndcg@10"], 3), "number"],
    ["", (one) => el("div", { class: "actions end-actions" },
      one.pinned ? button("Unpin", () => change("Unpinned", del(`models/${one.version}/pin`, { why: "console" }), refresh), { writes: true, label: `Unpin ${one.strategy}` })
        : button("Pin", () => withReason("Pin this version", `No training replaces ${one.short} of ${one.strategy} until you unpin it.`, "Pin", (why) => put(`models/${one.version}/pin`, { why }), refresh), { writes: true, label: `Pin ${one.strategy}` }),
      button("Roll back", () => withReason("Roll back", `The previous version of ${one.strategy} serves again. Roll back again to go back further.`, "Roll back", (why) => post("models/rollback", { strategy: one.strategy, why }), refresh), { writes: true, label: `Roll back ${one.strategy}` })), "number"],
  ], strategies.map((strategy) => {
    const version = active[strategy];
    const model = items.find((one) => one.version === version);
    const fault = served.find((one) => one.strategy === strategy)?.fault;
    return { strategy, version, short: version.slice(0, 12), pinned: strategy in pinned, fault, ...(model && { title: model.title, created: model.created, metrics: model.metrics }) };
  }), { caption: "Models that serve" });
}

function shownVersions({ items }, refresh) {
  if (items.length === 0) return emptyState("No version yet", "The first training makes one.");
  return table([
    ["Model", (one) => [el("strong", null, one.title), el("div", { class: "quiet" }, one.short_version)]],
    ["Gate", (one) => [badge(one.decision.outcome ?? "unknown", TONES[one.decision.outcome]), el("div", { class: "quiet" }, one.decision.reason ?? "", lead(one.decision))]],
    ["Trained", (one) => el("span", { title: moment(one.created) }, ago(one.created)), "number"],
    ["ndcg@10", (one) => decimal(one.metrics["ndcg@10"], 3), "number"],
    ["Size", (one) => bytes(one.bytes), "number"],
    ["", (one) => (one.active ? badge("serves", "good")
      : button("Promote", () => withReason("Let this version serve", `${one.short_version} becomes the model of ${one.strategy}, whatever the gate decided.`, "Promote", (why) => post(`models/${one.version}/promote`, { why }), refresh), { writes: true, label: `Promote ${one.short_version}` })), "number"],
  ], items, { caption: "Versions of models" });
}

function lead({ difference }) {
  if (!difference) return null;
  return ` · ${signed(difference.mean, 4)} (${signed(difference.low, 4)} to ${signed(difference.high, 4)})`;
}

function shownJobs(items, watchJob) {
  if (items.length === 0) return emptyState("No training yet", "Start one with the button above.");
  return table([
    ["Training", (job) => [job.model ?? "all useful recipes", el("div", { class: "quiet" }, `${job.why} by ${job.who}`)]],
    ["State", (job) => [badge(job.status, JOB_TONES[job.status]), job.decision.outcome && [" ", badge(job.decision.outcome, TONES[job.decision.outcome])]]],
    ["When", (job) => ago(job.created), "short"],
    ["", (job) => button("Look", () => watchJob(job.id), { label: `Look at training ${job.id}` }), "number"],
  ], items, { caption: "Trainings" });
}

const JOB_TONES = { succeeded: "good", failed: "bad", running: "info", queued: "info", cancelled: "plain" };

function shownChanges(items) {
  if (items.length === 0) return emptyState("Nothing has changed yet");
  return table([["What", (one) => [badge(one.action.replace("_", " ")), " ", one.strategy]], ["Version", (one) => one.short_version], ["Who", (one) => one.who, "short"], ["Why", (one) => one.why || "–", "short"], ["When", (one) => ago(one.at), "number"]],
    items, { caption: "Changes of what serves" });
}

async function withReason(title, says, yes, work, refresh) {
  const why = el("input", { type: "text", maxlength: 200, placeholder: "for those who read the changes later" });
  const done = await asked({ title, says, yes, body: field("Why", why), work: () => work(why.value) });
  if (done) await change(`${yes}: done`, Promise.resolve(), refresh);
}

async function change(says, work, refresh) {
  await work;
  said(says);
  document.activeElement?.blur();
  await refresh();
}
