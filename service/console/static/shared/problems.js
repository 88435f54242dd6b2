// What is wrong, as the service says it, with a button for the one call that mends it.

import { post } from "./api.js";

const TONES = { error: "bad", warning: "warn", info: "info" };
const MENDS = {
  retrain: () => ({ text: "Train now", call: () => post("retrain", {}), done: "A training has been ordered", then: "#/models" }),
  roll_back: (strategy) => ({
    text: "Roll back", call: () => post("models/rollback", { strategy, why: "could not be loaded" }), done: "The previous model serves again",
  }),
};

export function problemsOf({ ready, alarms }) {
  const starting = ready.status === "ready" ? [] : [{ tone: "bad", title: "The service is not ready", says: ready.warning }];
  return [...starting, ...alarms.items.map(ofAlarm)];
}

const ofAlarm = ({ severity, title, detail, about, mend }) => ({ tone: TONES[severity], title, says: detail, mend: MENDS[mend]?.(about) });
