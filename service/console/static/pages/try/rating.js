// The items to rate: popular ones, some at random, or what a search finds.

import { get } from "../../shared/api.js";
import { el, fill, icon } from "../../shared/dom.js";
import { FIELDS, picture, remember, titleOf } from "../../shared/names.js";
import { button, card, emptyState, errorState, loading } from "../../shared/parts.js";
import { findItems } from "../../shared/pickers.js";
import { ratingInput } from "../../shared/stars.js";
import { failed } from "../../shared/toasts.js";

const SHOWN = 6;

export function rateCard(trial) {
  const list = el("ul", { class: "rate-list" });
  const input = el("input", { type: "search", maxlength: 200, placeholder: "Words of a title, or an id", "aria-label": "Find items to rate" });
  const find = el("form", { class: "picker", onsubmit: (event) => { event.preventDefault(); fetchItems(); } }, icon("search"), input);
  let shown = [], offset = 0;

  const fetchItems = async () => {
    fill(list, loading());
    try {
      shown = input.value.trim() ? (await findItems(input.value, { limit: 2 * SHOWN }, trial.signal)).items : await offered(trial, offset);
      draw();
    } catch (error) {
      if (error.name !== "AbortError") fill(list, errorState(error, fetchItems));
    }
  };
  const draw = () => {
    if (shown.length === 0) {
      fill(list, emptyState("There is nothing to rate here", input.value ? "Search for something else." : "Send items with POST /v1/items or `hedgerow import --items`; an item also becomes known by feedback on it."));
      return;
    }
    fill(list, shown.map((one) => rateRow(trial, one)));
  };
  const others = button("Others", () => { input.value = ""; offset += SHOWN; return fetchItems(); }, { iconName: "refresh" });
  input.addEventListener("search", fetchItems);
  const element = card("Rate items", { says: "Each rating is learned within milliseconds.", actions: others }, find, list);
  let isFirst = true;
  return {
    element,
    // what is shown stays while somebody rates; only the first time there is something to fetch
    refresh: () => (isFirst ? ((isFirst = false), fetchItems()) : undefined),
  };
}

function rateRow(trial, { item, features, categories }) {
  const title = titleOf(features, item);
  const row = el("li", { class: "rate-row", "data-item": item }, picture(features, categories, item),
    el("div", { class: "rate-text" }, el("span", { class: "title", title: item }, title), el("span", { class: "quiet" }, (categories ?? []).join(" · "))),
    ratingInput(trial.scale, title, trial.ratings.get(item) ?? null, async (rating) => {
      row.setAttribute("aria-busy", "true");
      await trial.rate(item, rating).catch(failed);
      row.removeAttribute("aria-busy");
    }));
  return row;
}

async function offered(trial, offset) {
  const slate = await get("popular", { k: SHOWN, offset, fields: FIELDS, user: trial.user }, trial.signal);
  remember(slate.items);
  if (slate.items.length) return slate.items.map(({ item, fields }) => ({ item, features: fields, categories: fields.categories }));
  const { items } = await get("items", { limit: SHOWN }, trial.signal);
  remember(items);
  return items;
}
