// How the service is doing, what is wrong, and what to do about it.

import { access } from "../shared/access.js";
import { get, post, readiness } from "../shared/api.js";
import { barList, Kept, lineChart } from "../shared/charts.js";
import { el, fill, icon } from "../shared/dom.js";
import { ago, bytes, count, decimal, duration, percent, plural } from "../shared/format.js";
import { badge, button, card, emptyState, errorState, figure, link, loading, table } from "../shared/parts.js";
import { problemsOf } from "../shared/problems.js";
import { said } from "../shared/toasts.js";

const EVERY_MS = 2000;
// the page may be left and come back to: its lines go on
const ingest = new Kept();
const lag = new Kept();
let last = null;

export async function show(root, { signal, every }) {
  const head = el("div", { class: "page-head" }, el("h1", null, "Overview"));
  const body = el("div", null, loading());
  fill(root, head, body);
  const areas = {};
  const refresh = async () => {
    try {
      const now = await read(signal);
      note(now.stats);
      if (!areas.problems) fill(body, layout(areas));
      for (const [name, draw] of Object.entries(DRAW)) {
        if (!isInUse(areas[name])) fill(areas[name], draw(now, refresh));
      }
    } catch (error) {
      if (error.name !== "AbortError") {
        fill(body, errorState(error, refresh));
        areas.problems = null;
      }
    }
  };
  await refresh();
  every(EVERY_MS, refresh);
}

// What somebody points at or has the focus in is not taken from under them.
const isInUse = (area) => area.contains(document.activeElement) || area.querySelector(".chart:hover") !== null;

async function read(signal) {
  const paths = { stats: "stats", models: "models", alarms: "alarms", schedule: "retrain/schedule", clicks: "stats/click-through", history: "experts/history" };
  const params = { models: { limit: 20 }, history: { limit: 300 } };
  const names = Object.keys(paths);
  const [ready, ...answers] = await Promise.all([readiness(signal), ...names.map((name) => get(paths[name], params[name], signal))]);
  return { ready, ...Object.fromEntries(names.map((name, ix) => [name, answers[ix]])) };
}

function note(stats) {
  const now = Date.now();
  const events = sum(stats, "appended");
  if (last && now > last.now) ingest.add(now, { "events a second": Math.max(0, (1000 * (events - last.events)) / (now - last.now)) });
  lag.add(now, { "lag in ms": Math.max(...stats.partitions.map((one) => one.lag_ms)) });
  last = { now, events };
}

const sum = (stats, name) => stats.partitions.reduce((all, one) => all + one[name], 0);

function layout(areas) {
  const area = (name, tag = "div", props = null) => (areas[name] = el(tag, props));
  return [
    area("problems"),
    area("figures", "div", { class: "figures" }),
    el("div", { class: "grid" },
      card("Ingest", { says: "Events a second since you opened this page" }, area("ingest")),
      card("Lag", { says: "Milliseconds from the arrival of an event until it is learned" }, area("lag")),
      card("Errors of the online model", { says: "Mean error of the best expert over the last 1\u00a0000 ratings, in stars", actions: link("Experts", "#/experts", { class: "button" }) }, area("error")),
      card("Impressions and clicks", { says: "For lists whose rec_id came back with feedback" }, area("clicks")),
      card("Freshness", { says: "What the serving models know", actions: link("Models", "#/models", { class: "button" }) }, area("fresh")),
      card("Memory by family", { says: "About how much memory each kind of data takes in the store" }, area("memory"))),
  ];
}

const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");
const width = ({ scale }) => scale.split(":").reduce((low, high) => high - low);

const DRAW = {
  problems(now, refresh) {
    const found = problemsOf(now);
    if (found.length === 0) return el("p", { class: "notice good" }, icon("ok"), "No problems found.");
    return el("ul", { class: "problems", "aria-label": "Problems found" }, found.map((one) => el("li", { class: `notice ${one.tone}` }, icon("warn"),
      el("div", null, el("strong", null, one.title), el("p", null, one.says)), one.mend && mendButton(one.mend, refresh))));
  },

  figures({ stats, models, ready }) {
    const newest = models.items[0]?.created;
    const rate = ingest.series()[0]?.points.at(-1)?.[1];
    const behind = sum(stats, "lag_events");
    return [
      figure("Events", count(sum(stats, "appended")), rate === undefined ? "measuring" : `${decimal(rate, 1)} a second`),
      figure("Waiting to be learned", count(behind), behind ? duration(Math.max(...stats.partitions.map((one) => one.lag_ms))) : "all is learned", behind > 1000 ? "warn" : ""),
      figure("Items", count(stats.items), `${count(stats.new_items.items)} of them new`),
      figure("Models that serve", count(Object.keys(models.active).length), newest ? `the newest made ${ago(newest)}` : "not trained yet"),
      figure("Store", bytes(total(stats.memory)), `${stats.store}${ready.durable ? "" : ", not durable"}`),
    ];
  },

  ingest: () => lineChart(ingest.series(), { label: "Events a second", formatX: clock, formatY: (y) => decimal(y, y < 10 ? 1 : 0), from: 0, area: true, height: 180 }),
  lag: () => lineChart(lag.series(), { label: "Lag in milliseconds", formatX: clock, formatY: (y) => decimal(y, 0), from: 0, area: true, height: 180 }),

  error({ history, stats }) {
    const points = history.points.map((one) => [one.learned, width(stats) * Math.min(...one.experts.map((expert) => expert.recent_loss))]);
    if (points.length === 0) return emptyState("No rating has been learned yet", "Send one, or rate something yourself.", link("Try it", "#/try", { class: "button" }));
    return lineChart([{ name: "best expert", points, colour: 1 }], { label: "Error in stars", formatX: (x) => `${count(Math.round(x))} ratings`, height: 180 });
  },

  clicks({ clicks }) {
    if (clicks.slates.length === 0) return emptyState("Nothing has been shown yet", "Send an impression for each item that you show, with the rec_id of its list, and a click for each click.");
    const rows = [...clicks.slates].sort((a, b) => b.impressions - a.impressions).slice(0, 6);
    return table([["Strategy", (row) => [row.strategy, " ", row.model_version && badge(row.model_version.slice(0, 8))]], ["Shown", (row) => count(row.impressions), "number"],
      ["Clicks", (row) => count(row.clicks), "number"], ["Rate", (row) => percent(row.click_through), "number"]], rows, { caption: "Impressions and clicks by strategy" });
  },

  fresh({ models, schedule }) {
    const serving = models.items.filter((model) => model.active);
    if (serving.length === 0) return emptyState("No trained model serves yet", "Until then the service makes lists from predicted ratings, from which item often follows which, and from popular items.", mendButton({ text: "Train now", call: () => post("retrain", {}), done: "A training has been ordered", then: "#/models" }));
    return [el("p", { class: "quiet" }, `${plural(schedule.new_events, "event")} came since the last training. Every event changes predicted ratings and histories at once.`),
      table([["Model", (model) => model.title], ["Version", (model) => badge(model.short_version)], ["Trained", (model) => ago(model.created), "number"]], serving, { caption: "Models that serve" })];
  },

  memory({ stats }) {
    const rows = Object.entries(stats.memory).filter(([, n]) => n > 0).sort(([, a], [, b]) => b - a).slice(0, 10);
    return barList(rows.map(([name, value]) => ({ name: name.replaceAll("_", " "), value, text: bytes(value) })), { label: "Memory by family" });
  },
};

const total = (memory) => Object.values(memory).reduce((all, one) => all + one, 0);

function mendButton(mend, refresh) {
  return button(mend.text, async () => {
    await mend.call();
    said(mend.done);
    if (mend.then) location.hash = mend.then;
    else {
      document.activeElement?.blur(); // what has the focus is not drawn anew
      await refresh?.();
    }
  }, { tone: access.canWrite ? "primary" : "", writes: true });
}
