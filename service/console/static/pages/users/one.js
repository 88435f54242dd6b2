// One user: document, history, list, topics and similar users; export, merge and deletion.

import { del, get, post, segment } from "../../shared/api.js";
import { asked } from "../../shared/dialogs.js";
import { el, fill } from "../../shared/dom.js";
import { ago, count, decimal, percent } from "../../shared/format.js";
import { FIELDS, itemName, picture, remember, titleOf } from "../../shared/names.js";
import { badge, bar, button, card, emptyState, field, link, live, table } from "../../shared/parts.js";
import { said } from "../../shared/toasts.js";

const EVENTS = 100;
const LIST = 10;

export async function showUser(root, id, { signal }) {
  const path = `users/${segment(id)}`;
  const area = (where, params, show) => live(() => get(`${path}${where}`, params, signal), show, signal);
  fill(root,
    el("div", { class: "page-head" }, el("div", null, link("← Users", "#/users"), el("h1", null, id)), actions(id, path)),
    card("Document", { says: "Features and links of the user" }, area("", {}, document)),
    el("div", { class: "grid" },
      card("Their list", { actions: link("Try as this user", `#/try?user=${encodeURIComponent(id)}`, { class: "button" }) }, area("/recommendations", { k: LIST, fields: FIELDS, explain: true }, list)),
      card("History", { says: "Events that were learned, the newest first" }, area("/ratings", { limit: EVENTS }, history)),
      card("Topics", { says: "Topics of the items that the user took" }, area("/topics", {}, topics)),
      card("Similar users", { says: "Users with a similar history" }, area("/similar", { k: LIST }, similar))));
}

function actions(id, path) {
  return el("div", { class: "actions" },
    button("Export", () => download(id, path), { writes: true, title: "Everything that is known about this user" }),
    button("Merge", () => merge(id, path), { writes: true }),
    button("Delete", () => erase(id, path), { writes: true, tone: "danger" }));
}

function document({ features, links, version }) {
  const rows = [...Object.entries(features).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]),
    links.length > 0 && ["links", links.map(({ user }) => user).join(", ")], ["version", version === 0 ? "0: known from feedback alone" : String(version)]].filter(Boolean);
  return el("dl", { class: "facts" }, rows.map(([name, value]) => [el("dt", null, name), el("dd", null, value)]));
}

function list(slate) {
  remember(slate.items);
  if (slate.items.length === 0) return emptyState("The list is empty", slate.reason);
  return [el("p", { class: "quiet" }, badge(slate.title, "accent"), slate.reason && ` ${slate.reason}`), table([
    ["Item", ({ item, fields }) => el("span", { class: "named" }, picture(fields, fields.categories, item), el("a", { class: "title", href: `#/items/${encodeURIComponent(item)}` }, titleOf(fields, item)))],
    ["Score", ({ score }) => (slate.score_kind === "probability" ? percent(score) : decimal(score, 2)), "number"]], slate.items, { caption: "Their list" })];
}

function history({ items, next_cursor: more }) {
  if (items.length === 0) return emptyState("No history", "No event of this user was learned, or all were deleted.");
  return [el("ul", { class: "events long", tabindex: 0, "aria-label": "Events" }, items.map(({ item, kind, rating, timestamp }) => el("li", null, el("span", { class: "title" }, itemName(item)),
    el("span", { class: "quiet" }, rating === null ? kind : `★ ${rating}`), el("span", { class: "quiet" }, ago(timestamp))))), more && el("p", { class: "quiet" }, `The newest ${count(items.length)}; Export gives all.`)];
}

function topics({ topics: all, reason }) {
  if (all.length === 0) return emptyState("No topics", reason);
  return all.map((topic) => el("div", { class: "made-row" }, el("span", null, topic.name), bar(topic.share), el("span", { class: "quiet" }, percent(topic.share, 0))));
}

function similar({ users, reason }) {
  if (users.length === 0) return emptyState("Nobody is found", reason);
  return table([["User", ({ user }) => link(user, `#/users/${encodeURIComponent(user)}`)], ["Likeness", ({ score }) => decimal(score, 3), "number"]], users, { caption: "Similar users" });
}

async function download(id, path) {
  const data = await get(`${path}/export`);
  const url = URL.createObjectURL(new Blob([JSON.stringify(data, null, 2)], { type: "application/json" }));
  el("a", { href: url, download: `${id.replace(/[^\w.-]/g, "_")}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

async function merge(id, path) {
  const source = el("input", { type: "text", required: true, maxlength: 256 });
  const done = await asked({ title: `Merge somebody into ${id}`, says: "The events of the other user become events of this user; the other user then no longer exists. This cannot be undone.", yes: "Merge", tone: "danger",
    body: field("The other user", source), work: () => post(`${path}/merge`, { source: source.value }) });
  if (done) { said("The users are merged"); location.reload(); }
}

async function erase(id, path) {
  const done = await asked({ title: `Delete ${id}?`, says: "This deletes the document, the history, and what the experts learned about this user. It cannot be undone.", yes: "Delete", tone: "danger", work: () => del(path) });
  if (done) { said("The user is deleted"); location.hash = "#/users"; }
}
