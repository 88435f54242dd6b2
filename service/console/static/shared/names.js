// What items and users are called and look like, by the features that the settings name; and models.

import { get, segment } from "./api.js";
import { el } from "./dom.js";

const meta = (name) => document.querySelector(`meta[name="${name}"]`).content;
export const TITLE = meta("title-feature");
export const PICTURE = meta("picture-feature");
// What may rank, what of it is trained, and what compares items: names and titles, as a choice lists them.
const models = JSON.parse(meta("models"));
const choices = (some) => some.map(({ name, title }) => [name, `${title} (${name})`]);
export const MODELS = choices(models);
export const TRAINED = choices(models.filter((one) => one.is_trained));
export const COMPARING = choices(models.filter((one) => one.compares_items));
export const FIELDS = `${TITLE},${PICTURE},categories`;

const TONES = 6;
const known = new Map();

export const titleOf = (features, id) => String(features?.[TITLE] ?? id);

export function remember(items) {
  for (const { item, features, fields } of items) {
    const said = features ?? fields;
    if (said) known.set(item, titleOf(said, item));
  }
}

// The title of an item that an answer names by id alone; ids that nobody described stay ids.
export function itemName(id) {
  const node = el("span", { class: "name", title: id }, known.get(id) ?? id);
  if (!known.has(id)) {
    known.set(id, id);
    pending.set(id, readTitle(id).catch(() => {}));
  }
  pending.get(id)?.then(() => { node.textContent = known.get(id); });
  return node;
}
const pending = new Map();

async function readTitle(id) {
  const { features } = await get(`items/${segment(id)}`);
  known.set(id, titleOf(features, id));
}

// A picture of our own host, or the first letters on a tile whose colour the category chooses.
export function picture(features, categories, id) {
  const source = features?.[PICTURE];
  if (typeof source === "string" && isOurs(source)) {
    return el("img", { class: "tile", src: source, alt: "", loading: "lazy", width: 44, height: 44 });
  }
  const letters = titleOf(features, id).split(/\s+/).filter((word) => !/^(the|a|an|of)$/i.test(word)).slice(0, 2).map((word) => [...word][0]);
  return el("span", { class: `tile tone${hash(categories?.[0] ?? id) % TONES}`, "aria-hidden": "true" }, letters.join("").toUpperCase());
}

function isOurs(source) {
  return source.startsWith("data:image/") || (URL.canParse(source, location.href) && new URL(source, location.href).origin === location.origin);
}

function hash(text) {
  return [...text].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) >>> 0, 7);
}
