// Experiments: two ways to make lists side by side, with real users; which one they take more of.

import { del, get, post, segment } from "../shared/api.js";
import { asked } from "../shared/dialogs.js";
import { el, fill, svg } from "../shared/dom.js";
import { ago, count, moment, percent } from "../shared/format.js";
import { MODELS } from "../shared/names.js";
import { badge, button, card, choice, emptyState, errorState, field, loading, table } from "../shared/parts.js";
import { said } from "../shared/toasts.js";

const EVERY_MS = 5000;
const TONES = { running: "info", stopped: "plain", promoted: "good" };

export async function show(root, { signal, every }) {
  const body = el("div", { class: "stack" }, loading());
  const refresh = async () => {
    try {
      const { items: found } = await get("experiments", {}, signal);
      if (!body.contains(document.activeElement)) fill(body, found.length === 0 ? nothingYet() : found.map((one) => shown(one, refresh)));
    } catch (error) {
      if (error.name !== "AbortError") fill(body, errorState(error, refresh));
    }
  };
  fill(root, el("div", { class: "page-head" }, el("div", null, el("h1", null, "Experiments"),
    el("p", { class: "quiet" }, "Some users get lists made in another way. What users take from their lists shows which way is better.")),
    el("div", { class: "actions" }, button("Begin an experiment", () => begin(refresh), { tone: "primary", writes: true }))), body);
  await refresh();
  every(EVERY_MS, refresh);
}

const nothingYet = () => card(null, null, emptyState("No experiment yet", "Begin one to see, for example, whether users click more often on more varied lists. Only one experiment runs at a time."));

function shown(one, refresh) {
  const acts = [
    one.state === "running" && button("Stop", () => act("Stopped", post(`experiments/${segment(one.name)}/stop`, {}), refresh), { writes: true, label: `Stop ${one.name}` }),
    one.state !== "promoted" && button("Promote an arm", () => promote(one, refresh), { writes: true, label: `Promote an arm of ${one.name}` }),
    button("Delete", () => remove(one, refresh), { tone: "danger", writes: true, label: `Delete ${one.name}` }),
  ];
  return card(one.name, { says: history(one), actions: acts },
    el("p", null, badge(one.state, TONES[one.state]), one.promoted && [" ", badge(`${one.promoted} is used for everybody`, "good")],
      one.guardrail && el("span", { class: "quiet" }, ` ends by itself if ${one.guardrail.kind}s certainly fall${one.guardrail.most_loss ? ` by more than ${percent(one.guardrail.most_loss, 0)}` : ""}`)),
    one.reason && el("p", { class: "notice info" }, one.reason),
    armTable(one));
}

function history({ created, ended, ended_by, why }) {
  return ended ? `${moment(created)} to ${moment(ended)}; ended by ${ended_by}: ${why}` : `Since ${moment(created)} (${ago(created)})`;
}

function armTable({ arms }) {
  const kinds = [...new Set(arms.flatMap((arm) => Object.keys(arm.rates)))];
  return table([
    ["Arm", (arm) => [el("strong", null, arm.name), el("div", { class: "quiet" }, differs(arm.parameters))]],
    ["Users", (arm) => percent(arm.share, 0), "number"],
    ["Impressions", (arm) => count(arm.impressions), "number"],
    ...kinds.map((kind) => [`${kind}s for each impression`, (arm) => rateOf(arm, kind), "number"]),
    ...kinds.map((kind) => [`${kind}s, compared with ${arms[0].name}`, (arm) => (arm === arms[0] ? "–" : lift(arm.lifts[kind]))]),
  ], arms, { caption: "Arms" });
}

const differs = (parameters) => Object.entries(parameters).map(([name, value]) => `${name} ${value}`).join(", ") || "as before";

function rateOf(arm, kind) {
  return arm.rates[kind] ? percent(arm.rates[kind].value) : arm.impressions ? `${count(arm.events[kind])} so far` : "–";
}

const change = (x) => `${x < 0 ? "−" : "+"}${percent(Math.abs(x), 0)}`;

// The interval as a line, the value as a dot, and no difference as an upright stroke.
function lift(found) {
  if (!found) return el("span", { class: "quiet" }, "too few to say");
  const most = Math.max(0.1, Math.abs(found.low), Math.abs(found.high));
  const x = (value) => 60 + 56 * (value / most);
  const tone = found.low > 0 ? "good" : found.high < 0 ? "bad" : "open";
  const verdict = { good: "certainly more", bad: "certainly fewer", open: "may be chance" }[tone];
  return [el("span", { class: "lift-says" }, `${change(found.value)} (${change(found.low)} to ${change(found.high)}): ${verdict}`),
    svg("svg", { viewBox: "0 0 120 14", class: `lift ${tone}`, "aria-hidden": "true" },
      svg("line", { class: "none", x1: 60, x2: 60, y1: 1, y2: 13 }), svg("line", { x1: x(found.low), x2: x(found.high), y1: 7, y2: 7 }), svg("circle", { cx: x(found.value), cy: 7, r: 3 }))];
}

async function begin(refresh) {
  const name = el("input", { type: "text", required: true, maxlength: 48, pattern: "[a-z0-9][a-z0-9\\-]*", placeholder: "more-variety" });
  const share = el("input", { type: "number", min: 1, max: 50, step: 1, value: "50", required: true });
  const model = choice([["", "as before"], ...MODELS], "");
  const diversity = el("input", { type: "number", min: 0, max: 1, step: 0.05, placeholder: "as before" });
  const most = el("input", { type: "number", min: 1, max: 1000, step: 1, placeholder: "as before" });
  const guard = el("input", { type: "checkbox", checked: true });
  const done = await asked({
    title: "Begin an experiment", yes: "Begin", says: "The new arm is compared with the arm “as-before”.",
    body: [field("Name", name), field("Per cent of the users in each arm", share), field("Model", model), field("Diversity, 0 to 1", diversity),
      field("Most items of one category", most), el("label", { class: "check" }, guard, " End the experiment by itself if clicks certainly fall")],
    work: () => post("experiments", {
      name: name.value,
      arms: [{ name: "as-before", share: Number(share.value) / 100 }, { name: "changed", share: Number(share.value) / 100, parameters: {
        ...(model.value && { model: model.value }), ...(diversity.value && { diversity: Number(diversity.value) }), ...(most.value && { max_per_category: Number(most.value) }) } }],
      ...(guard.checked && { guardrail: { kind: "click" } }),
    }),
  });
  if (done) await act("The experiment runs", Promise.resolve(), refresh);
}

async function promote(one, refresh) {
  const arm = choice(one.arms.map(({ name }) => [name, name]), one.arms.at(-1).name);
  const done = await asked({ title: `Promote an arm of ${one.name}`, says: "Its parameters will be used for all users. A running experiment ends.", yes: "Promote", body: field("Arm", arm),
    work: () => post(`experiments/${segment(one.name)}/promote`, { arm: arm.value }) });
  if (done) await act("The arm is used for everybody", Promise.resolve(), refresh);
}

async function remove(one, refresh) {
  const done = await asked({ title: `Delete ${one.name}?`, says: one.state === "stopped" ? "Its figures will be lost." : "Lists will be made as before, and its figures will be lost.", yes: "Delete", tone: "danger",
    work: () => del(`experiments/${segment(one.name)}`) });
  if (done) await act("The experiment is deleted", Promise.resolve(), refresh);
}

async function act(says, work, refresh) {
  await work;
  said(says);
  document.activeElement?.blur();
  await refresh();
}
