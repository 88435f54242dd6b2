// Items: the catalogue, searched, and one item: what is said of it, who likes it, what is like it.

import { get } from "../shared/api.js";
import { el, fill, icon } from "../shared/dom.js";
import { ago, count } from "../shared/format.js";
import { picture, remember, titleOf } from "../shared/names.js";
import { badge, button, card, choice, emptyState, errorState, loading, table } from "../shared/parts.js";
import { search } from "../shared/pickers.js";
import { showItem } from "./items/one.js";
import { editItem } from "./items/editing.js";

const PAGE = 50;
const MOST_SHOWN = 200;

export function show(root, context) {
  return context.args[0] ? showItem(root, context.args[0], context) : showAll(root, context);
}

async function showAll(root, { signal, query }) {
  const input = el("input", { type: "search", value: query.get("q") ?? "", placeholder: "Title, id or category", "aria-label": "Search items" });
  const kind = choice([["", "All categories"]], "");
  kind.setAttribute("aria-label", "Category");
  const list = el("div", null, loading());
  const says = el("p", { class: "quiet", role: "status" });
  let seeking = new AbortController();

  const run = async () => {
    seeking.abort();
    seeking = new AbortController();
    const here = AbortSignal.any([signal, seeking.signal]);
    try {
      await (input.value.trim() || kind.value ? find(`${input.value} `, kind.value, here) : browse(here));
    } catch (error) {
      if (error.name !== "AbortError") fill(list, errorState(error, run));
    }
  };
  const find = async (words, category, here) => {
    const found = [];
    fill(list, loading("Searching"));
    for await (const { read, found: some, isCut } of search(words, here)) {
      found.push(...some.filter((item) => !category || item.categories.includes(category)));
      fill(says, `${count(found.length)} found in ${count(read)} items${isCut ? "; there are more that were not searched: an exact id opens at once" : ""}`);
      fill(list, found.length ? itemTable(found.slice(0, MOST_SHOWN)) : loading("Searching"));
    }
    if (found.length === 0) fill(list, emptyState("Nothing is found", "Search for a part of a title, an id or a category.", exact(input.value.trim())));
  };
  const browse = async (here) => {
    const rows = [];
    const more = async (cursor) => {
      const page = await get("items", { limit: PAGE, cursor }, here);
      remember(page.items);
      rows.push(...page.items);
      fill(says, `${count(rows.length)} shown, the oldest first`);
      fill(list, rows.length === 0 ? emptyState("The catalogue is empty", "Send items with POST /v1/items or `hedgerow import --items`. Feedback alone makes items known too.", button("New item", () => editItem(null), { writes: true, tone: "primary" })) : itemTable(rows),
        page.next_cursor && el("div", { class: "actions" }, button("More", () => more(page.next_cursor))));
    };
    await more(null);
  };
  const exact = (id) => id && el("a", { class: "button", href: `#/items/${encodeURIComponent(id)}` }, `Open the item ${id}`);

  fill(root, el("div", { class: "page-head" }, el("h1", null, "Items"), el("div", { class: "actions" }, button("New item", () => editItem(null), { tone: "primary", writes: true }))),
    card(null, null, el("form", { class: "options", onsubmit: (event) => { event.preventDefault(); run(); } },
      el("div", { class: "picker" }, icon("search"), input), kind, el("button", { type: "submit", class: "button" }, "Search")), says, list));
  kind.addEventListener("change", run);
  input.addEventListener("search", run);
  get("categories", { limit: 200 }, signal).then(({ items }) => kind.append(...items.map((one) => el("option", { value: one.category }, `${one.category} (${count(one.items)})`))), () => {});
  await run();
}

function itemTable(items) {
  return table([
    ["Item", ({ item, features, categories }) => el("span", { class: "named" }, picture(features, categories, item),
      el("span", null, el("a", { class: "title", href: `#/items/${encodeURIComponent(item)}` }, titleOf(features, item)), el("div", { class: "quiet" }, item)))],
    ["Categories", ({ categories }) => categories.map((one) => [badge(one), " "])],
    ["", ({ hidden, available_until: until }) => [hidden && badge("hidden", "warn"), until && new Date(until) < new Date() && badge("no longer available", "warn")]],
    ["Added", ({ created }) => (created ? ago(created) : "known from feedback"), "number"],
  ], items, { caption: "Items", onrow: ({ item }) => { location.hash = `#/items/${encodeURIComponent(item)}`; } });
}
