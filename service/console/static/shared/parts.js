// The pieces that pages are made of: cards, badges, tables, buttons, and empty and error states.

import { access } from "./access.js";
import { el, fill, icon } from "./dom.js";
import { failed } from "./toasts.js";

export function card(title, options, ...children) {
  const { says, actions, wide, id } = options ?? {};
  const head = title && el("header", { class: "card-head" },
    el("div", null, el("h2", null, title), says && el("p", { class: "quiet" }, says)),
    actions && el("div", { class: "actions" }, actions));
  return el("section", { class: `card${wide ? " wide" : ""}`, id }, head, children);
}

export function badge(text, tone = "plain") {
  return el("span", { class: `badge ${tone}` }, text);
}

export function figure(label, value, note, tone) {
  return el("div", { class: `figure ${tone ?? ""}` },
    el("div", { class: "figure-label" }, label), el("div", { class: "figure-value" }, value),
    el("div", { class: "figure-note" }, note ?? " "));
}

// A button that is busy while its work runs, and shows what went wrong.
export function button(text, work, options) {
  const { tone = "", iconName, writes = false, title, label } = options ?? {};
  const locked = writes && !access.canWrite;
  const node = el("button", {
    type: "button", class: `button ${tone}`, "aria-label": label, disabled: locked,
    title: locked ? "Reading only: this needs an admin key (Keys)" : title,
    onclick: async () => {
      node.disabled = true;
      node.setAttribute("aria-busy", "true");
      try {
        await work();
      } catch (error) {
        if (error.name !== "AbortError") failed(error);
      } finally {
        node.disabled = false;
        node.removeAttribute("aria-busy");
      }
    },
  }, iconName && icon(iconName), text);
  return node;
}

export function link(text, hash, options) {
  return el("a", { href: hash, class: options?.class, title: options?.title }, text);
}

export function emptyState(title, says, ...actions) {
  return el("div", { class: "state" }, el("p", { class: "state-title" }, title),
    says && el("p", null, says), actions.length > 0 && el("div", { class: "actions" }, actions));
}

export function errorState(error, again, { text, iconName } = { text: "Try again", iconName: "refresh" }) {
  const isClosed = error.status === 401 || error.status === 403;
  const title = isClosed ? "This needs an API key" : "This could not be read";
  const next = isClosed ? link("Enter a key", "#/keys", { class: "button" }) : again && button(text, again, { iconName });
  return el("div", { class: "state error", role: "alert" },
    el("p", { class: "state-title" }, icon("warn"), title), el("p", null, error.message), next && el("div", { class: "actions" }, next));
}

export function loading(says = "Loading") {
  return el("div", { class: "state loading", role: "status" }, el("span", { class: "spinner", "aria-hidden": "true" }), says);
}

// Columns are [head, cell(row), class]; on a phone each row becomes a small card.
export function table(columns, rows, options) {
  const { caption, onrow } = options ?? {};
  return el("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { class: onrow ? "clickable" : "" },
      el("caption", { class: "unseen" }, caption),
      el("thead", null, el("tr", null, columns.map(([head, , kind]) => (head ? el("th", { scope: "col", class: kind }, head) : el("td", { class: kind }))))),
      el("tbody", null, rows.map((row) => el("tr", { onclick: onrow && ((event) => !event.target.closest("a,button") && onrow(row)) },
        columns.map(([head, cell, kind]) => el("td", { class: kind, "data-head": head }, cell(row))))))));
}

// A box that shows what a promise brings; later calls replace what is there only when they succeed.
export function live(read, show, signal) {
  const box = el("div", { class: "live" }, loading());
  let shown = false;
  box.refresh = async () => {
    try {
      const data = await read();
      if (signal?.aborted) return;
      fill(box, show(data));
      shown = true;
    } catch (error) {
      if (error.name === "AbortError" || signal?.aborted) return;
      if (!shown || error.status === 401 || error.status === 403) fill(box, errorState(error, box.refresh));
    }
  };
  box.refresh();
  return box;
}

export function field(label, input, says) {
  const id = (input.id ||= `field-${++fields}`);
  if (says) input.setAttribute("aria-describedby", `${id}-says`);
  return el("div", { class: "field" }, el("label", { for: id }, label), input, says && el("p", { class: "quiet", id: `${id}-says` }, says));
}
let fields = 0;

export function choice(options, chosen, onchange) {
  return el("select", { onchange: (event) => onchange?.(event.target.value) },
    options.map(([value, text]) => el("option", { value, selected: value === chosen }, text)));
}

export function bar(share, tone = "") {
  const width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return el("span", { class: "bar", "aria-hidden": "true" }, el("span", { class: `bar-fill ${tone}`, style: { width } }));
}
