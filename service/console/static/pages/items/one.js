// One item: its document, what is like it, and who would like it.

import { get, post, segment } from "../../shared/api.js";
import { el, fill } from "../../shared/dom.js";
import { count, decimal, moment } from "../../shared/format.js";
import { COMPARING, FIELDS, picture, remember, titleOf } from "../../shared/names.js";
import { badge, button, card, choice, emptyState, live, link, table } from "../../shared/parts.js";
import { deleteItem, editItem, setHidden } from "./editing.js";

const NEIGHBOURS = 12;
const PEOPLE = 20;

export async function showItem(root, id, { signal }) {
  const box = live(() => get(`items/${segment(id)}`, {}, signal), (item) => shown(item, () => box.refresh()), signal);
  fill(root, el("div", { class: "page-head" }, el("div", null, link("← Items", "#/items"), el("h1", { id: "item-title" }, id))), box,
    el("div", { class: "grid" }, neighbours(id, signal), audience(id, signal)));
}

function shown(item, refresh) {
  remember([item]);
  document.getElementById("item-title").textContent = titleOf(item.features, item.item);
  const act = (work) => async () => { if ((await work()) !== undefined) await refresh(); };
  return el("section", { class: "card" },
    el("div", { class: "card-head" }, el("div", { class: "named" }, picture(item.features, item.categories, item.item),
      el("div", null, el("strong", null, item.item), el("div", null, item.categories.map((one) => [badge(one), " "]), item.hidden && badge("hidden", "warn")))),
    el("div", { class: "actions" }, button("Edit", act(() => editItem(item)), { writes: true }),
      button(item.hidden ? "Show again" : "Hide", act(() => setHidden(item, !item.hidden).then(() => true)), { writes: true, iconName: "hide" }),
      button("Delete", () => deleteItem(item), { writes: true, tone: "danger" }))),
    facts(item));
}

function facts(item) {
  const rows = [...Object.entries(item.features).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]),
    ["available", `${item.available_from ? moment(item.available_from) : "always"} until ${item.available_until ? moment(item.available_until) : "ever"}`],
    ["version", item.version === 0 ? "0: known from feedback alone" : String(item.version)], ["added", item.created ? moment(item.created) : "–"]];
  return el("dl", { class: "facts" }, rows.map(([name, value]) => [el("dt", null, name), el("dd", null, value)]));
}

function neighbours(id, signal) {
  let model = "";
  const box = live(() => get(`items/${segment(id)}/similar`, { k: NEIGHBOURS, fields: FIELDS, model }, signal), (slate) => {
    remember(slate.items);
    if (slate.items.length === 0) return emptyState("No similar items yet", slate.reason ?? "Similar items are known after the first events.");
    return [el("p", { class: "quiet" }, badge(slate.title, "accent"), slate.reason && ` ${slate.reason}`), table([
      ["Item", ({ item, fields }) => el("span", { class: "named" }, picture(fields, fields.categories, item), el("a", { class: "title", href: `#/items/${encodeURIComponent(item)}` }, titleOf(fields, item)))],
      ["Likeness", ({ score }) => decimal(score, 3), "number"]], slate.items, { caption: "Neighbours" })];
  }, signal);
  const select = choice([["", "Best for this item"], ...COMPARING], "", (to) => { model = to; box.refresh(); });
  select.setAttribute("aria-label", "Model of the neighbours");
  return card("Neighbours", { says: "Items that are liked by the people who like this item", actions: select }, box);
}

function audience(id, signal) {
  const box = el("div", null, emptyState("Who would like it?", "Users are compared by their features. This needs a trained `exmlds` model.", button("Find out", async () => {
    const found = await post("items/audience", { item: id, k: PEOPLE }, {}, signal);
    fill(box, found.users.length === 0 ? emptyState("Nobody is found", found.reason) : [
      el("p", { class: "quiet" }, `${count(found.considered)} users compared, by the ${found.known_by} of the item`), table([
        ["User", ({ user }) => link(user, `#/users/${encodeURIComponent(user)}`)], ["Because of", ({ because }) => el("span", { class: "quiet" }, because.map(({ feature }) => feature).join(", "))],
        ["Score", ({ score }) => decimal(score, 3), "number"]], found.users, { caption: "Audience" })]);
  }, { iconName: "users" })));
  return card("Audience", { says: "The users who would like this item" }, box);
}
