// Settings in effect: what each is, where it differs from its default, and what it means.

import { get } from "../shared/api.js";
import { el, fill, icon } from "../shared/dom.js";
import { PICTURE, TITLE } from "../shared/names.js";
import { badge, card, emptyState, live, table } from "../shared/parts.js";

export async function show(root, { signal }) {
  const input = el("input", { type: "search", placeholder: "Name or meaning", "aria-label": "Search settings" });
  const changed = el("input", { type: "checkbox" });
  const list = el("div");
  let all = [];
  const draw = () => fill(list, shown(all, input.value.toLowerCase(), changed.checked));
  input.addEventListener("input", draw);
  changed.addEventListener("change", draw);
  fill(root, el("div", { class: "page-head" }, el("div", null, el("h1", null, "Settings"),
    el("p", { class: "quiet" }, "These are the values in this process. Set them with flags, with HEDGEROW_* variables or in hedgerow.toml before you start the service."))),
  card("This console", null, el("p", { class: "quiet" }, "Names come from the feature ", el("code", null, TITLE), ", pictures from the feature ", el("code", null, PICTURE),
    " (console_title and console_picture). Pictures are loaded only from this host.")),
  card(null, null, el("div", { class: "options" }, el("div", { class: "picker" }, icon("search"), input), el("label", { class: "check" }, changed, "Only changed settings")),
    live(() => get("settings", {}, signal), ({ settings }) => { all = settings; draw(); return list; }, signal)));
}

function shown(all, words, onlyChanged) {
  const rows = all.filter((one) => (!onlyChanged || one.is_changed) && `${one.name} ${one.about}`.toLowerCase().includes(words));
  if (rows.length === 0) return emptyState("No such setting", "Search for a part of a name or of its meaning.");
  return table([
    ["Setting", (one) => [el("code", { class: "setting" }, one.name), one.is_changed && [" ", badge("changed", "info")], el("div", { class: "quiet" }, one.about)]],
    ["Value", (one) => el("code", null, one.value ?? "none"), "short"],
    ["Default", (one) => el("code", { class: "quiet" }, one.default ?? "none"), "short"],
  ], rows, { caption: "Settings in effect" });
}
