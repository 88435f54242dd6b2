// Keys: with which one this tab asks, all keys of the service, and what operators did.

import { access, findAccess } from "../shared/access.js";
import { del, get, key, post } from "../shared/api.js";
import { asked } from "../shared/dialogs.js";
import { el, fill } from "../shared/dom.js";
import { ago, moment } from "../shared/format.js";
import { badge, button, card, choice, emptyState, errorState, field, loading, table } from "../shared/parts.js";
import { said } from "../shared/toasts.js";

const SAYS = {
  unknown: ["warn", "The service does not answer, so it is not known what you may do. This page asks again by itself."],
  open: ["good", "The service listens only on this machine and has no keys, so you may do everything."],
  admin: ["good", "You may do everything."],
  read: ["info", "You may read. To rate, edit and train here, enter an admin key."],
  none: ["warn", "The service asks for a key. Make one with `hedgerow keys create`, and enter its secret below."],
};

export async function show(root, { signal }) {
  const all = el("div", { class: "stack" });
  const own = el("div");
  const draw = async () => {
    fill(own, ownKey(draw));
    fill(all, access.level === "admin" ? await everyKey(signal, draw) : null);
  };
  fill(root, el("div", { class: "page-head" }, el("h1", null, "Keys")), own, all);
  await draw();
}

function mayDo() {
  if (!access.isSure) return "unknown";
  return access.level === "admin" && !key.get() ? "open" : access.level;
}

function ownKey(draw) {
  const input = el("input", { type: "password", autocomplete: "off", spellcheck: "false", placeholder: "hr_…" });
  const [tone, says] = SAYS[mayDo()];
  const use = async (secret, done) => {
    key.set(secret);
    await findAccess();
    said(done);
    await draw();
  };
  return card("Your key", { says: "The browser keeps the key until you close this tab, and sends it only to this service." },
    el("p", { class: `notice ${tone}` }, says),
    el("form", { class: "key-form", onsubmit: async (event) => { event.preventDefault(); if (input.value.trim()) await use(input.value.trim(), "This key is used from now on"); } },
      field("API key", input), el("button", { type: "submit", class: "button primary" }, "Use this key"),
      key.get() && button("Forget it", () => use(null, "The browser has forgotten the key"))));
}

async function everyKey(signal, draw) {
  const keys = el("div", null, loading());
  const acts = el("div", null, loading());
  const load = async () => {
    try {
      const [{ items }, audit] = await Promise.all([get("admin/keys", {}, signal), get("audit", { limit: 20 }, signal)]);
      fill(keys, keyTable(items, draw));
      fill(acts, actTable(audit.items));
    } catch (error) {
      if (error.name !== "AbortError") fill(keys, errorState(error, load));
    }
  };
  load();
  return [card("Keys of the service", { says: "Secrets are shown only once; the service stores only their hashes.", actions: button("Make a key", () => make(draw), { tone: "primary", writes: true }) }, keys),
    card("What operators did", { says: "The newest first" }, acts)];
}

function keyTable(items, draw) {
  if (items.length === 0) return emptyState("There are no keys", "Every program on this machine may use the service. Once you make the first key, which must be an admin key, every request needs a key.");
  return table([
    ["Name", (one) => [el("strong", null, one.name), el("div", { class: "quiet" }, one.id)]], ["Role", (one) => badge(one.role, one.role === "admin" ? "accent" : "plain")],
    ["Made", (one) => el("span", { title: moment(one.created) }, ago(one.created)), "short"], ["Ends", (one) => (one.expires ? moment(one.expires) : "never"), "short"],
    ["", (one) => (one.revoked ? badge("revoked", "bad") : button("Revoke", () => revoke(one, draw), { tone: "danger", writes: true, label: `Revoke ${one.name}` })), "number"],
  ], items, { caption: "Keys" });
}

async function make(draw) {
  const name = el("input", { type: "text", required: true, maxlength: 100, placeholder: "backend" });
  const role = choice([["read", "read"], ["write", "write: also feedback and documents"], ["admin", "admin: also models, trainings and keys"]], access.level === "admin" && !key.get() ? "admin" : "write");
  const days = el("input", { type: "number", min: 1, max: 36_500, placeholder: "never" });
  const made = await asked({
    title: "Make a key", yes: "Make", says: key.get() ? null : "The first key must be an admin key that does not expire. After that, every request needs a key. This tab uses the new key.",
    body: [field("Name", name), field("Role", role), field("Days until it expires", days)],
    work: () => post("admin/keys", { name: name.value, role: role.value, ...(days.value && { days: Number(days.value) }) }),
  });
  if (!made) return;
  if (!key.get() && made.role === "admin") key.set(made.secret);
  const secret = el("input", { type: "text", readonly: true, value: made.secret, onfocus: (event) => event.target.select() });
  await asked({ title: `The secret of ${made.name}`, says: "Copy it now: it is shown only once.", yes: "I have copied it", body: field("Secret", secret), work: async () => true });
  await findAccess();
  await draw();
}

async function revoke(one, draw) {
  const done = await asked({ title: `Revoke ${one.name}?`, says: "Requests with this key are refused from now on.", yes: "Revoke", tone: "danger", work: () => del(`admin/keys/${one.id}`) });
  if (done) { said("The key is revoked"); await draw(); }
}

function actTable(items) {
  if (items.length === 0) return emptyState("Nothing was done yet", "Trainings, promotions, keys and deletions will be listed here.");
  return table([["Act", (one) => one.act], ["About", (one) => el("span", { class: "quiet" }, Object.entries(one.about).map(([name, value]) => `${name} ${value}`).join(", "))],
    ["Who", (one) => one.who, "short"], ["Result", (one) => badge(one.result, one.result === "done" ? "good" : "warn"), "short"], ["When", (one) => ago(one.time), "number"]], items, { caption: "What operators did" });
}
