// Items: the catalogue, searched, and one item: what is said of it, who likes it, what is like it.

import { get } from "../shared/api.js";
import { el, fill, icon } from "../shared/dom.js";
import { ago, count } from "../shared/format.js";
import { FIELDS, picture, remember, titleOf } from "../shared/names.js";
import { badge, button, card, choice, emptyState, errorState, loading, table } from "../shared/parts.js";
import { findItems } from "../shared/pickers.js";
import { showItem } from "./items/one.js";
import { editItem } from "./items/editing.js";

const PAGE = 50;

export function show(root, context) {
  return context.args[0] ? showItem(root, context.args[0], context) : showAll(root, context);
}

async function showAll(root, { signal, query }) {
  const input = el("input", { type: "search", value: query.get("q") ?? "", maxlength: 200, placeholder: "Words of a title, or an id", "aria-label": "Search items" });
  const kind = choice([["", "All categories"]], "");
  kind.setAttribute("aria-label", "Category");
  const list = el("div", null, loading());
  const says = el("p", { class: "quiet", role: "status" });
  let seeking = new AbortController();

  const run = async () => {
    seeking.abort();
    seeking = new AbortController();
    const here = AbortSignal.any([signal, seeking.signal]);
    const words = input.value.trim(), category = kind.value;
    const order = words ? "the best first" : category ? "the newest first, without hidden items" : "the oldest first";
    const rows = [];
    const more = async (cursor) => {
      const page = await read(words, category, cursor, here);
      rows.push(...page.items);
      fill(says, `${count(rows.length)} shown, ${order}`);
      fill(list, rows.length === 0 ? nothing(words || category) : itemTable(rows),
        page.next_cursor && el("div", { class: "actions" }, button("More", () => more(page.next_cursor))));
    };
    try {
      await more(null);
    } catch (error) {
      if (error.name !== "AbortError") fill(list, errorState(error, run));
    }
  };

  fill(root, el("div", { class: "page-head" }, el("h1", null, "Items"), el("div", { class: "actions" }, button("New item", () => editItem(null), { tone: "primary", writes: true }))),
    card(null, null, el("form", { class: "options", onsubmit: (event) => { event.preventDefault(); run(); } },
      el("div", { class: "picker" }, icon("search"), input), kind, el("button", { type: "submit", class: "button" }, "Search")), says, list));
  kind.addEventListener("change", run);
  input.addEventListener("search", run);
  get("categories", { limit: 200 }, signal).then(({ items }) => kind.append(...items.map((one) => el("option", { value: one.category }, `${one.category} (${count(one.items)})`))), () => {});
  await run();
}

async function read(words, category, cursor, signal) {
  if (words) {
    const page = await findItems(words, { limit: PAGE, cursor }, signal);
    return { ...page, items: page.items.filter((one) => !category || one.categories.includes(category)) };
  }
  if (category) return readCategory(category, cursor, signal);
  const page = await get("items", { limit: PAGE, cursor }, signal);
  remember(page.items);
  return page;
}

async function readCategory(category, cursor, signal) {
  const { items, next_cursor } = await get("latest", { category, k: PAGE, cursor, fields: FIELDS }, signal);
  remember(items);
  return { items: items.map(({ item, fields }) => ({ item, features: fields, categories: fields.categories ?? [] })), next_cursor };
}

function nothing(isSought) {
  if (isSought) return emptyState("Nothing is found", "Search for whole words of a title, or for an id.");
  return emptyState("The catalogue is empty", "Send items with POST /v1/items or `hedgerow import --items`. An item also becomes known by feedback on it.", button("New item", () => editItem(null), { writes: true, tone: "primary" }));
}

function itemTable(items) {
  return table([
    ["Item", ({ item, features, categories }) => el("span", { class: "named" }, picture(features, categories, item),
      el("span", null, el("a", { class: "title", href: `#/items/${encodeURIComponent(item)}` }, titleOf(features, item)), el("div", { class: "quiet" }, item)))],
    ["Categories", ({ categories }) => categories.map((one) => [badge(one), " "])],
    ["", ({ hidden, available_until: until }) => [hidden && badge("hidden", "warn"), until && new Date(until) < new Date() && badge("no longer available", "warn")]],
    ["Added", ({ created }) => (created ? ago(created) : created === null && "known from feedback"), "number"],
  ], items, { caption: "Items", onrow: ({ item }) => { location.hash = `#/items/${encodeURIComponent(item)}`; } });
}
