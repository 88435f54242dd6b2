// One training, live: its stages as they pass, what was tried, and how it was decided.

import { del, get, watch } from "../../shared/api.js";
import { el, fill } from "../../shared/dom.js";
import { ago, decimal, percent, signed } from "../../shared/format.js";
import { badge, bar, button, errorState, loading, table } from "../../shared/parts.js";

const STAGES = ["reading", "searching", "fitting", "weighing", "judging", "refining", "publishing", "promoting"];
const TONES = { succeeded: "good", failed: "bad", cancelled: "plain", running: "info", queued: "info" };
const AGAIN_MS = 1000;
const PASSING = [0, 429, 502, 503, 504];

export function jobCard(id, signal, onend) {
  const box = el("section", { class: "card job", "aria-label": `Training ${id}`, "data-job": id }, loading());
  const close = new AbortController();
  signal.addEventListener("abort", () => close.abort());
  const dismiss = () => { close.abort(); box.remove(); };
  follow(id, (job) => fill(box, shown(job, dismiss)), close.signal).then(onend, (error) => {
    if (error.name !== "AbortError") fill(box, errorState(error, dismiss, { text: "Close", iconName: "close" }));
  });
  return box;
}

// The stream ends early where the server stops; then the job is asked for again. One that waits has
// no stream: a browser opens only six connections to a host.
async function follow(id, onjob, signal) {
  let last = null;
  const note = (job) => onjob((last = job));
  for (;;) {
    try {
      note(await get(`jobs/${id}`, {}, signal));
      if (last.status === "running") await watch(`jobs/${id}/events`, note, signal);
    } catch (error) {
      if (!PASSING.includes(error.status)) throw error;
    }
    if (last && hasEnded(last)) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

const hasEnded = (job) => !["queued", "running"].includes(job.status);

function shown(job, dismiss) {
  const ended = hasEnded(job);
  return [
    el("header", { class: "card-head" },
      el("div", null, el("h2", null, `Training of ${job.model ?? "all useful recipes"} `, badge(job.status, TONES[job.status])),
        el("p", { class: "quiet" }, `Ordered ${ago(job.created)} by ${job.who}, ${job.budget_s} s for the search`)),
      ended ? button("Close", dismiss, {}) : button("Cancel", () => del(`jobs/${job.id}`), { tone: "danger", writes: true })),
    !ended && [el("div", { class: "progress-line", role: "progressbar", "aria-label": "Progress", "aria-valuenow": Math.round(100 * job.progress), "aria-valuemin": 0, "aria-valuemax": 100 }, bar(job.progress), el("b", null, percent(job.progress, 0))),
      stages(job)],
    job.error && el("p", { class: "notice bad" }, job.error),
    job.decision.reason && el("p", { class: "notice" }, el("span", null, el("strong", null, job.decision.outcome.replace("_", " ")), ` – ${job.decision.reason}`)),
    job.tried.length > 0 && tried(job.tried),
    ended && figures(job),
  ];
}

function stages(job) {
  const at = STAGES.indexOf(job.stage);
  return el("ol", { class: "stages" }, STAGES.map((name, ix) => el("li", { class: ix < at ? "done" : ix === at ? "now" : "", "aria-current": ix === at && "step" }, name)),
    job.recipe && el("li", { class: "recipe" }, `at ${job.recipe}`));
}

function tried(rows) {
  return table([
    ["Recipe", (one) => one.model],
    ["Lists get", (one) => (one.chosen ? badge(one.only_places ? "places only" : "better", "good") : badge("no better"))],
    ["Adds to ndcg@10", (one) => (one.added ? `${signed(one.added.mean, 4)} (${signed(one.added.low, 4)} to ${signed(one.added.high, 4)})` : "–"), "number"],
    ["Alone", (one) => decimal(one.ndcg10, 3), "number"],
    ["Seconds", (one) => decimal(one.seconds, 1), "number"],
    ["Why", (one) => el("span", { class: "quiet" }, one.why)],
  ], rows, { caption: "Recipes that were tried" });
}

function figures({ metrics, decision }) {
  const rows = [["New model", metrics], ["Rival", metrics.rival], ["Popular items", metrics.popular], ["Popular and next", metrics.counted]]
    .map(([name, of]) => [name, typeof of === "number" ? of : of?.["ndcg@10"]]).filter(([, ndcg]) => Number.isFinite(ndcg));
  if (rows.length === 0 && !decision.difference) return null;
  return el("div", { class: "job-figures" }, rows.map(([name, ndcg]) => el("span", { class: "quiet" }, `${name} `, el("b", null, decimal(ndcg, 4)))), rows.length > 0 && el("span", { class: "quiet" }, "ndcg@10 on held-out users"));
}
