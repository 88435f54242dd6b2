// The document of an item in a form, and the few ways to change it.

import { del, patch, put, segment } from "../../shared/api.js";
import { asked } from "../../shared/dialogs.js";
import { el } from "../../shared/dom.js";
import { field } from "../../shared/parts.js";
import { said } from "../../shared/toasts.js";

// `item` is the document to change; null asks for a new one.
export async function editItem(item) {
  const id = el("input", { type: "text", required: true, maxlength: 256, value: item?.item ?? "", readonly: item !== null });
  const categories = el("input", { type: "text", value: (item?.categories ?? []).join(", "), placeholder: "film, drama" });
  const features = el("textarea", { rows: 9, spellcheck: "false", value: JSON.stringify(item?.features ?? { title: "" }, null, 2) });
  const [from, until] = ["available_from", "available_until"].map((name) => el("input", { type: "text", value: item?.[name] ?? "", placeholder: "2026-11-01T00:00:00Z, or empty" }));
  const done = await asked({
    title: item ? "Edit the item" : "New item", yes: "Save",
    body: [field("Id", id), field("Categories", categories, "Separated by commas"), field("Features", features, "JSON: numbers, texts, true or false, lists of texts"),
      el("div", { class: "fields" }, field("Available from", from), field("Available until", until))],
    work: () => save(item, id.value, {
      categories: categories.value.split(",").map((one) => one.trim()).filter(Boolean), features: parsed(features.value),
      available_from: from.value || null, available_until: until.value || null,
    }),
  });
  if (done) said("The item is saved; lists will use it in a moment");
  if (done && !item) location.hash = `#/items/${encodeURIComponent(id.value)}`;
  return done;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The features are not JSON: ${error.message}`);
  }
}

// A patch with the version that was read: nobody's change in between is lost. What was taken out is null.
function save(item, id, document) {
  if (!item) return put(`items/${segment(id)}`, Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null)));
  const gone = Object.keys(item.features).filter((name) => !(name in document.features));
  return patch(`items/${segment(id)}`, { ...document, features: { ...document.features, ...Object.fromEntries(gone.map((name) => [name, null])) } }, item.version);
}

export async function setHidden(item, hidden) {
  await patch(`items/${segment(item.item)}`, { hidden }, item.version);
  said(hidden ? "No list shows the item any more" : "Lists may show the item again");
}

export async function deleteItem(item) {
  const done = await asked({
    title: "Delete this item?", yes: "Delete", tone: "danger",
    says: "This deletes its document, what was learned about it, and its events in every history. It cannot be undone. To keep the item out of lists only, hide it.",
    work: () => del(`items/${segment(item.item)}`),
  });
  if (done) { said("The item is deleted"); location.hash = "#/items"; }
}
