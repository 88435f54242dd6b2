// Users: find one, and see what is known of somebody, what they get and what they are made of.

import { get } from "../shared/api.js";
import { el, fill } from "../shared/dom.js";
import { count } from "../shared/format.js";
import { button, card, emptyState, live, link, table } from "../shared/parts.js";
import { randomUser, userPicker } from "../shared/pickers.js";
import { said } from "../shared/toasts.js";
import { showUser } from "./users/one.js";

const PAGE = 50;
const FEATURES = 4;

export function show(root, context) {
  return context.args[0] ? showUser(root, context.args[0], context) : showAll(root, context);
}

const go = (user) => { location.hash = `#/users/${encodeURIComponent(user)}`; };

async function showAll(root, { signal }) {
  const rows = [];
  const read = async (cursor) => {
    const page = await get("users", { limit: PAGE, cursor }, signal);
    rows.push(...page.items);
    return page.next_cursor;
  };
  const shown = (next) => (rows.length === 0 ? emptyState("Nobody is known yet", "A user becomes known with the first feedback. Features are optional.", link("Try it", "#/try", { class: "button primary" }))
    : [userTable(rows), next && el("div", { class: "actions" }, button("More", async () => fill(list, shown(await read(next)))))]);
  const list = live(() => read(null), shown, signal);
  fill(root, el("div", { class: "page-head" }, el("h1", null, "Users")),
    card(null, null, el("div", { class: "options" }, userPicker({ label: "User", onpick: go, signal }), button("Someone at random", async () => {
      const user = await randomUser(signal);
      if (user) go(user);
      else said("Nobody is known yet");
    }, { iconName: "refresh" })), list));
}

function userTable(rows) {
  return table([
    ["User", ({ user }) => link(user, `#/users/${encodeURIComponent(user)}`, { class: "title" })],
    ["Features", ({ features }) => el("span", { class: "quiet" }, Object.entries(features).slice(0, FEATURES).map(([name, value]) => `${name}: ${value}`).join(" · ") || "none"), "short"],
    ["Links", ({ links }) => count(links.length), "number"],
  ], rows, { caption: "Users", onrow: ({ user }) => go(user) });
}
