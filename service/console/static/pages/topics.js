// Topics: what the same people like, the most liked first.

import { get } from "../shared/api.js";
import { el, fill } from "../shared/dom.js";
import { percent, plural } from "../shared/format.js";
import { itemName } from "../shared/names.js";
import { badge, bar, card, emptyState, link, live } from "../shared/parts.js";

const SHOWN = 8;

export async function show(root, { signal }) {
  fill(root, el("div", { class: "page-head" }, el("div", null, el("h1", null, "Topics"),
    el("p", { class: "quiet" }, "Groups of items that the same people like. They are found with a trained model, and named after the documents of their items."))),
  live(() => get("topics", {}, signal), shown, signal));
}

function shown({ topics, reason, strategy, short_version: version }) {
  if (topics.length === 0) return card(null, null, emptyState("There are no topics yet", reason, link("Models", "#/models", { class: "button primary" })));
  return [el("p", { class: "quiet" }, `Made from the model ${strategy} `, badge(version ?? "")),
    el("div", { class: "grid" }, topics.map((topic) => card(topic.name, { says: `${percent(topic.share)} of what people took · ${plural(topic.n_items, "item")}` },
      bar(topic.share / topics[0].share),
      el("ul", { class: "topic-items" }, topic.items.slice(0, SHOWN).map(({ item, strength }) => el("li", null,
        el("a", { class: "title", href: `#/items/${encodeURIComponent(item)}` }, itemName(item)), el("span", { class: "quiet" }, percent(strength, 0))))))))];
}
