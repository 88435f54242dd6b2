// Rankers: who makes lists, with what weight, and how well each predicted what users took next.

import { get } from "../shared/api.js";
import { barList, Kept, lineChart } from "../shared/charts.js";
import { el, fill } from "../shared/dom.js";
import { count, decimal, percent, signed } from "../shared/format.js";
import { badge, card, emptyState, errorState, loading, table } from "../shared/parts.js";

const EVERY_MS = 3000;
// the service tells the weights of now; the lines are what this tab has seen
const weights = new Kept();
const gains = new Kept();
const quality = new Kept();

export async function show(root, { signal, every }) {
  const body = el("div", { class: "stack" }, loading());
  fill(root, el("div", { class: "page-head" }, el("div", null, el("h1", null, "Rankers"),
    el("p", { class: "quiet" }, "Just before the service learns an event, every ranker makes a list for the user of the event. A ranker gets more weight if the item that the user took is near the top of its list."))), body);
  const refresh = async () => {
    try {
      const now = await get("rankers", {}, signal);
      note(now);
      if (!body.contains(document.activeElement) && !body.querySelector(".chart:hover")) fill(body, now.judged === 0 && !now.stack ? nothingYet(now) : shown(now));
    } catch (error) {
      if (error.name !== "AbortError") fill(body, errorState(error, refresh));
    }
  };
  await refresh();
  every(EVERY_MS, refresh);
}

function note(now) {
  const at = Date.now();
  const by = (rows, of) => Object.fromEntries(rows.map((one) => [one.name, of(one)]).filter(([, value]) => Number.isFinite(value)));
  weights.add(at, by(now.arms, (one) => one.weight));
  quality.add(at, by([...now.rankers, ...(now.mixture ? [now.mixture] : [])], (one) => one.ndcg_at_10 ?? NaN));
  if (now.stack) gains.add(at, by(now.stack.added, (one) => one.ndcg_at_10));
}

const nothingYet = ({ reason }) => card(null, null, emptyState("Nothing was judged yet", reason ?? "Rankers are judged with events that say what a user wanted."));

const signals = (stack) => stack.weights.map(({ signal, weight }) => ({ name: signal, value: weight }));

const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");

function shown(now) {
  return [
    card("Rankers", { says: `${count(now.judged)} events judged${now.passed_over ? `, ${count(now.passed_over)} came too fast to be used` : ""}` }, rankerTable(now)),
    el("div", { class: "grid" }, now.stack && [stackCard(now.stack), gainCard(now.stack)],
      card("Ways to make a list", { says: "The stack, the fusion of lists and each ranker alone compete. These are their present weights" }, armTable(now.arms)),
      card("Weights of the ways to make a list", { says: "Since you opened this page" }, lineChart(top(weights), { label: "Weights", formatX: clock, from: 0 })),
      card("ndcg@10", { says: "Measured just before each event was learned, over about the last 10\u00a0000 events" }, lineChart(top(quality), { label: "ndcg@10", formatX: clock, formatY: (y) => decimal(y, 3) }))),
  ];
}

const top = (kept) => kept.series().sort((a, b) => b.points.at(-1)[1] - a.points.at(-1)[1]).slice(0, 6);

function rankerTable({ rankers, mixture }) {
  return table([
    ["Ranker", (one) => [el("strong", null, one.title), el("div", { class: "quiet" }, one.about)]],
    ["Weight", (one) => percent(one.weight), "number"], ["ndcg@10", (one) => decimal(one.ndcg_at_10, 3), "number"],
    ["mrr", (one) => decimal(one.mrr, 3), "number"], ["Judged", (one) => count(one.judged), "number"],
    ["Version", (one) => one.short_version && badge(one.short_version)],
  ], mixture ? [mixture, ...rankers] : rankers, { caption: "Rankers" });
}

function armTable(arms) {
  return table([["Way", (one) => one.name], ["Weight", (one) => percent(one.weight), "number"], ["ndcg@10", (one) => decimal(one.ndcg_at_10, 3), "number"],
    ["Lead of the served lists", (one) => (one.served_lead ? `${signed(one.served_lead.mean, 3)} (${signed(one.served_lead.low, 3)} to ${signed(one.served_lead.high, 3)})` : "–"), "number"]], arms, { caption: "Ways to make a list" });
}

function gainCard({ added, events }) {
  const says = `How much ndcg@10 each ranker adds to the stack, which has learned ${count(events)} events`;
  if (added.length === 0) return card("Gains", { says }, emptyState("Not measured yet", "The stack measures gains as people take items."));
  return card("Gains", { says }, barList(added.map((one) => ({ name: one.name, value: one.ndcg_at_10, text: signed(one.ndcg_at_10, 4) })), { label: "Gains" }),
    lineChart(top(gains), { label: "Gains", formatX: clock, formatY: (y) => decimal(y, 4) }));
}

function stackCard(stack) {
  const rows = signals(stack).sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, 16);
  return card("The stack", { says: "The learned weight of each signal. A signal is what a ranker, or the user's history, says about an item" },
    barList(rows.map(({ name, value }) => ({ name, value, text: signed(value) })), { label: "Weights of the stack" }));
}
