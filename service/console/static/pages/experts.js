// Experts: the online models that predict ratings; their weights, losses and regret over time.

import { get } from "../shared/api.js";
import { barList, Kept, lineChart } from "../shared/charts.js";
import { el, fill } from "../shared/dom.js";
import { count, decimal, percent, signed } from "../shared/format.js";
import { badge, card, choice, emptyState, errorState, field, link, loading, table } from "../shared/parts.js";

const EVERY_MS = 3000;
const POINTS = 400;
const regrets = new Map();

export async function show(root, { signal, every, query }) {
  const partition = query.get("partition") ?? "0";
  const body = el("div", { class: "stack" }, loading());
  const which = el("div");
  fill(root, el("div", { class: "page-head" }, el("div", null, el("h1", null, "Experts"),
    el("p", { class: "quiet" }, "Experts are small models that predict each rating before they learn it. The service learns from their errors how much each expert counts.")), which), body);
  get("stats", {}, signal).then(({ partitions }) => partitions.length > 1 && fill(which, field("Partition",
    choice(partitions.map((one) => [String(one.partition), String(one.partition)]), partition, (to) => { location.hash = `#/experts?partition=${to}`; }))), () => {});
  const refresh = async () => {
    try {
      const [now, history] = await Promise.all([get("experts", { partition }, signal), get("experts/history", { partition, limit: POINTS }, signal)]);
      if (!body.contains(document.activeElement) && !body.querySelector(".chart:hover")) fill(body, shown(now, history.points, kept(partition, now)));
    } catch (error) {
      if (error.name !== "AbortError") fill(body, errorState(error, refresh));
    }
  };
  await refresh();
  every(EVERY_MS, refresh);
}

// The service tells the regret of now; the line is what this tab has seen of it.
function kept(partition, { experts }) {
  if (!regrets.has(partition)) regrets.set(partition, new Kept());
  const lines = regrets.get(partition);
  const most = Math.max(...experts.map((one) => one.updates));
  if (most > 0) lines.add(most, Object.fromEntries(experts.map((one) => [one.name, one.regret_to_best])));
  return lines.series();
}

const over = (points, what) => (points[0]?.experts ?? []).map(({ name }) => ({
  name, points: points.map((point) => [point.learned, point.experts.find((one) => one.name === name)?.[what]]).filter(([, y]) => Number.isFinite(y)),
}));

function shown({ experts, aggregator }, points, regret) {
  if (experts.every((one) => one.updates === 0)) {
    return card(null, null, emptyState("No rating has been learned yet", "Experts learn only from ratings. Send some ratings, or rate something yourself.", link("Try it", "#/try", { class: "button primary" })));
  }
  const x = (n) => `${count(Math.round(n))} ratings`;
  return [
    card("Now", { says: `Combined by “${aggregator}”. A loss is the error divided by the width of the scale.` }, table([
      ["Expert", (one) => [el("strong", null, one.name), one.c !== null && [" ", badge(`c ${one.c}`)]]],
      ["Contributes", (one) => signed(one.part), "number"], ["Weight", (one) => percent(one.weight), "number"], ["Recent loss", (one) => decimal(one.recent_loss, 3), "number"],
      ["Regret to the best", (one) => decimal(one.regret_to_best, 1), "number"], ["Learned", (one) => count(one.updates), "number"],
    ], experts, { caption: "Experts" })),
    el("div", { class: "grid" },
      card("Contributions", { says: "How much each expert counts in predictions; the sum is 1" }, barList(experts.map((one) => ({ name: one.name, value: one.part, text: signed(one.part) })), { label: "Contributions" })),
      card("Losses", { says: "Mean loss of about the last 1\u00a0000 ratings" }, lineChart(over(points, "recent_loss"), { label: "Recent losses", formatX: x, formatY: (y) => decimal(y, 3) })),
      card("Weights", { says: "How good each expert is by itself; the sum is 1" }, lineChart(over(points, "weight"), { label: "Weights", formatX: x })),
      card("Contributions over time", { says: "How much each expert counted in predictions" }, lineChart(over(points, "part"), { label: "Contributions", formatX: x })),
      card("Regret", { says: "Loss of each expert minus that of the best expert, since you opened this page", wide: true }, lineChart(regret, { label: "Regret", formatX: x, formatY: (y) => decimal(y, 0), wide: true }))),
  ];
}
