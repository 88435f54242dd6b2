// One list for the person who tries: what moved, why each item is there, and who speaks for it.

import { post } from "../../shared/api.js";
import { el, fill, icon } from "../../shared/dom.js";
import { decimal, percent, signed } from "../../shared/format.js";
import { itemName, picture, remember, titleOf } from "../../shared/names.js";
import { badge, choice, emptyState, errorState, loading } from "../../shared/parts.js";
import { predicted, ratingInput } from "../../shared/stars.js";
import { failed } from "../../shared/toasts.js";

const PARTS = 4;
const REASONS = 3;

export function slateCard(trial, model, models, onmodel) {
  let chosen = model, places = null;
  const about = el("p", { class: "slate-about quiet" });
  const list = el("ol", { class: "slate" }, loading());
  const refresh = async () => {
    try {
      const slate = await trial.asked(chosen);
      remember(slate.items);
      const guesses = await guessed(trial, slate.items);
      if (trial.signal.aborted) return;
      fill(about, badge(slate.title, "accent"), ` ${KINDS[slate.score_kind] ?? slate.score_kind}`, slate.reason && el("span", { class: "slate-reason" }, slate.reason));
      fill(list, slate.items.length === 0 ? emptyState("The list is empty", slate.reason ?? "Send items and events first.")
        : slate.items.map((one, ix) => slateRow(trial, one, ix, { places, slate, guess: guesses.get(one.item) })));
      places = new Map(slate.items.map((one, ix) => [one.item, ix]));
    } catch (error) {
      if (error.name !== "AbortError") fill(list, errorState(error, refresh));
    }
  };
  const select = choice(models, chosen, (value) => { chosen = value; places = null; onmodel(value); refresh(); });
  select.setAttribute("aria-label", "Model of this list");
  const element = el("section", { class: "card slate-card" }, el("header", { class: "card-head" }, el("h2", null, "The list"), select), about, list);
  return { element, refresh };
}

const KINDS = {
  probability: "a score is the probability that you take this item next",
  stars: "scores are predicted ratings",
  likeness: "scores say how similar items are",
};

async function guessed(trial, items) {
  if (items.length === 0) return new Map();
  const pairs = items.map(({ item }) => ({ user: trial.user, item }));
  const { predictions } = await post("predictions", { pairs }, { min_sequence: trial.sequence }, trial.signal);
  return new Map(predictions.map((one) => [one.item, one]));
}

function slateRow(trial, one, ix, { places, slate, guess }) {
  const { item, fields } = one;
  const title = titleOf(fields, item);
  return el("li", { class: "slate-row", "data-item": item }, el("span", { class: "place" }, ix + 1, moved(places, item, ix)),
    picture(fields, fields?.categories, item),
    el("div", { class: "slate-text" },
      el("a", { class: "title", href: `#/items/${encodeURIComponent(item)}`, title: item }, title),
      el("span", { class: "quiet" }, [...(fields?.categories ?? [])].join(" · "), one.strategy !== slate.strategy && [" ", badge(one.strategy)]),
      reasons(one), parts(one)),
    el("div", { class: "slate-end" }, el("span", { class: "score", title: "Score" }, score(one.score, slate.score_kind)),
      guess && predicted(guess, trial.scale),
      ratingInput(trial.scale, title, trial.ratings.get(item) ?? null, (rating) => trial.rate(item, rating).catch(failed))));
}

const score = (x, kind) => (kind === "probability" ? percent(x) : decimal(x, kind === "stars" ? 2 : 3));

function moved(places, item, ix) {
  if (!places) return null;
  const before = places.get(item);
  if (before === undefined) return el("span", { class: "moved new" }, "new");
  if (before === ix) return null;
  const isUp = before > ix;
  return el("span", { class: `moved ${isUp ? "up" : "down"}` }, icon(isUp ? "up" : "down"), el("span", { class: "unseen" }, isUp ? "up by " : "down by "), Math.abs(before - ix));
}

function reasons({ because }) {
  if (!because?.length) return null;
  return el("span", { class: "because" }, "because of ", because.slice(0, REASONS).map(({ item }, ix) => [ix > 0 && ", ", itemName(item)]));
}

function parts(one) {
  const rows = Object.entries(one.parts ?? {}).sort(([, a], [, b]) => Math.abs(b) - Math.abs(a)).slice(0, PARTS);
  if (rows.length === 0) return null;
  const most = Math.max(...rows.map(([, part]) => Math.abs(part)), 0.5);
  return el("span", { class: "parts" }, rows.map(([name, part]) => el("span", { class: "part", title: `${name} makes this item ${Math.exp(part).toFixed(1)} times as likely as the average candidate` },
    el("span", { class: "part-name" }, name), el("span", { class: "part-track", "aria-hidden": "true" }, el("span", { class: `part-fill ${part < 0 ? "minus" : "plus"}`, style: { width: `${(100 * Math.abs(part)) / most}%` } })),
    el("span", { class: "part-value" }, signed(part)))));
}
