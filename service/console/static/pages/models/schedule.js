// What starts a training by itself, and how near it is.

import { del, get, put } from "../../shared/api.js";
import { asked } from "../../shared/dialogs.js";
import { el } from "../../shared/dom.js";
import { ago, count, decimal } from "../../shared/format.js";
import { button, card, field, live } from "../../shared/parts.js";
import { said } from "../../shared/toasts.js";

export function scheduleCard(signal) {
  const box = live(() => get("retrain/schedule", {}, signal), (now) => shown(now, () => box.refresh()), signal);
  return card("Schedule", { says: "What starts a training by itself" }, box);
}

function shown(now, refresh) {
  const rows = [
    ["Set by", now.of_settings ? "the settings of the service" : `${now.who}, ${ago(now.changed)}`],
    ["At times (cron, UTC)", now.cron ?? "–"],
    ["After new events", now.after_events === null ? "when there are enough of them" : `${count(now.after_events)}`],
    ["New events now", count(now.new_events)],
    ["When the error rises", now.drift === null ? "–" : `from ${decimal(now.drift)} times the usual error`],
    ["Recent error", `${decimal(now.drift_now)} times the usual error`],
    ["Last training", now.last_began ? ago(now.last_began) : "–"],
    ["Not before", now.at_once || !now.not_before || new Date(now.not_before) < new Date() ? "any time" : new Date(now.not_before).toLocaleTimeString("en-GB")],
  ];
  return [el("dl", { class: "facts" }, rows.map(([name, value]) => [el("dt", null, name), el("dd", null, value)])),
    el("div", { class: "actions" }, button("Change", () => change(now, refresh), { writes: true }),
      !now.of_settings && button("Back to the settings", async () => { await del("retrain/schedule"); said("The settings decide again"); await refresh(); }, { writes: true }))];
}

async function change(now, refresh) {
  const cron = el("input", { type: "text", value: now.cron ?? "", placeholder: "0 4 * * *" });
  const events = el("input", { type: "number", min: 1, value: now.after_events ?? "", placeholder: "100000" });
  const drift = el("input", { type: "number", min: 1.01, step: 0.01, value: now.drift ?? "", placeholder: "1.10" });
  const done = await asked({
    title: "Schedule", says: "A training starts when the first of these conditions is met. If all fields are empty, no training starts by itself.", yes: "Set",
    body: [field("At times (cron, UTC)", cron, "0 4 * * * is every day at four"), field("After this many new events", events), field("When the error is this many times the usual error", drift)],
    work: () => put("retrain/schedule", { ...(cron.value && { cron: cron.value }), ...(events.value && { after_events: Number(events.value) }), ...(drift.value && { drift: Number(drift.value) }) }, { if_version: now.version }),
  });
  if (done) { said("The schedule is set"); await refresh(); }
}
