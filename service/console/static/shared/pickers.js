// Finding people and items.

import { get } from "./api.js";
import { el, fill, icon } from "./dom.js";
import { remember, TITLE } from "./names.js";

const PAGE = 1000;
const MOST_READ = 20_000;

// A box in which an id can be typed; what the service already knows is offered.
export function userPicker({ label, value, onpick, signal }) {
  const list = el("datalist", { id: "known-users" });
  const input = el("input", { type: "text", list: "known-users", value: value ?? "", placeholder: "Id of a user", autocomplete: "off", spellcheck: "false", "aria-label": label, maxlength: 256 });
  get("users", { limit: 200 }, signal).then(({ items }) => fill(list, items.map(({ user }) => el("option", { value: user }))), () => {});
  return el("form", { class: "picker", onsubmit: (event) => { event.preventDefault(); if (input.value.trim()) onpick(input.value.trim()); } },
    icon("search"), input, list, el("button", { type: "submit", class: "button" }, "Show"));
}

export async function randomUser(signal) {
  const { items } = await get("users", { limit: PAGE }, signal);
  return items.length ? items[Math.floor(Math.random() * items.length)].user : null;
}

export const inventedUser = () => `guest-${crypto.getRandomValues(new Uint32Array(1))[0].toString(36)}`;

// Yields the items whose id, title or category has the words, as pages of the catalogue are read.
export async function* search(words, signal) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  let cursor = null, n = 0;
  do {
    const page = await get("items", { limit: PAGE, cursor }, signal);
    n += page.items.length;
    remember(page.items);
    yield { read: n, found: page.items.filter((item) => has(item, wanted)) };
    cursor = page.next_cursor;
  } while (cursor && n < MOST_READ);
  if (cursor) yield { read: n, found: [], isCut: true };
}

function has({ item, features, categories }, wanted) {
  const text = [item, features[TITLE] ?? "", ...categories].join(" ").toLowerCase();
  return wanted.every((word) => text.includes(word));
}
