// Questions that need an answer before something is done.

import { el } from "./dom.js";
import { failed } from "./toasts.js";

// Resolves to what `work` returned, or undefined if the person thought better of it.
export function asked({ title, says, body = [], yes, tone = "primary", work }) {
  return new Promise((resolve) => {
    let outcome;
    const confirm = el("button", { type: "submit", class: `button ${tone}` }, yes);
    const form = el("form", {
      onsubmit: async (event) => {
        event.preventDefault();
        confirm.disabled = true;
        try {
          outcome = (await work(new FormData(form))) ?? true;
          dialog.close();
        } catch (error) {
          failed(error);
        } finally {
          confirm.disabled = false;
        }
      },
    },
    el("h2", { id: "dialog-title" }, title), says && el("p", null, says), body,
    el("div", { class: "actions end" },
      el("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Cancel"), confirm));
    const dialog = el("dialog", { "aria-labelledby": "dialog-title", onclose: () => { dialog.remove(); resolve(outcome); } }, form);
    document.body.append(dialog);
    dialog.showModal();
  });
}
