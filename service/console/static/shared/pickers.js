// Finding people and items.

import { get, segment } from "./api.js";
import { el, fill, icon } from "./dom.js";
import { remember } from "./names.js";

const PAGE = 1000;

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

// A page of the items with all words in their texts, or the one item whose id was typed.
export async function findItems(words, { limit, cursor }, signal) {
  const page = await get("items", { q: words, limit, cursor }, signal);
  if (page.items.length === 0 && !cursor) page.items = await named(words.trim(), signal);
  remember(page.items);
  return page;
}

async function named(id, signal) {
  try {
    return [await get(`items/${segment(id)}`, {}, signal)];
  } catch (error) {
    if (error.status === 404) return [];
    throw error;
  }
}
