// Short messages at the edge of the page; a screen reader speaks them.

import { el, icon } from "./dom.js";

const place = el("div", { class: "toasts", role: "status", "aria-live": "polite" });
document.body.append(place);

export function said(text) {
  show(text, "good", "ok", 4000);
}

export function failed(error) {
  show(error.message, "bad", "warn", 9000);
}

function show(text, tone, iconName, ms) {
  const toast = el("div", { class: `toast ${tone}` }, icon(iconName), el("span", null, text),
    el("button", { type: "button", class: "button plain", "aria-label": "Dismiss", onclick: () => toast.remove() }, icon("close")));
  place.append(toast);
  setTimeout(() => toast.remove(), ms);
}
