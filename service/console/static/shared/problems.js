// What is wrong, in the order of how much it matters, with what to do and the one call that mends it.

import { post } from "./api.js";
import { count, duration, plural } from "./format.js";

const LAG_MS = 5000;
const DRIFT = 1.15;
const ENOUGH_EVENTS = 100;
const RECENT_MS = 7 * 24 * 3_600_000;

const retrain = { text: "Train now", call: () => post("retrain", {}), done: "A training has been ordered", then: "#/models" };
const rollBack = (strategy) => ({
  text: "Roll back", call: () => post("models/rollback", { strategy, why: "could not be loaded" }), done: "The previous model serves again",
});

export function problemsOf({ ready, stats, models, jobs, schedule }) {
  return [
    ...ofHealth(ready), ...stats.partitions.flatMap(ofPartition), ...models.served.filter((one) => one.fault).map(ofFault),
    ...ofRollbacks(stats), ...ofTrainings(models, jobs.items, schedule, ready),
  ];
}

function ofHealth(ready) {
  const found = [];
  if (ready.status !== "ready") return [problem("bad", "The service is not ready", ready.warning)];
  if (!ready.accepting) found.push(problem("bad", "Events are refused", ready.warning ?? "The store does not answer, or takes no writes. Start it again, or make room on its disk. `hedgerow doctor` says more."));
  if (!ready.learning && ready.accepting) found.push(problem("bad", "Nothing is learned", ready.warning ?? "Start `hedgerow learner`, or `hedgerow serve`, which runs all roles."));
  if (!ready.training && ready.accepting) found.push(problem("warn", "No trainer runs", "Ordered trainings wait. Start `hedgerow trainer`, or `hedgerow serve` with the setting `trainer` on."));
  if (ready.stale_s !== null) found.push(problem("warn", "Answers come from memory", `The store last answered ${duration(1000 * ready.stale_s)} ago.`));
  if (!ready.durable) found.push(problem("warn", "A crash may lose events", ready.warning ?? "The store does not sync every write to disk: see the setting `durability`."));
  return found;
}

function ofPartition(one) {
  const found = [];
  if (one.lag_ms > LAG_MS) found.push(problem("warn", `Learning is ${duration(one.lag_ms)} behind`, `${plural(one.lag_events, "event")} wait in partition ${one.partition}. If this number grows, use a faster machine, or create the namespace with more partitions.`));
  if (one.dead_letters > 0) found.push(problem("warn", `${plural(one.dead_letters, "entry", "entries")} could not be learned`, "`hedgerow dead-letters` shows why, and can replay or discard them."));
  return found;
}

function ofFault(one) {
  return problem("bad", `A model of ${one.strategy} could not be loaded`, `${one.fault} The previous model goes on serving.`, rollBack(one.strategy));
}

// The newest comes first; what was found long ago can no longer be mended.
function ofRollbacks({ rollbacks }) {
  return rollbacks.slice(0, 1).filter(({ at }) => Date.now() - new Date(at) < RECENT_MS).map(({ at }) => problem("warn", "The store has lost events", `Found ${new Date(at).toLocaleString("en-GB")}. Clients should send again what came after the last event that was kept (/v1/stats, \`rollbacks\`).`));
}

function ofTrainings({ active }, jobs, schedule, ready) {
  const isBusy = jobs.some((job) => job.status === "queued" || job.status === "running");
  if (isBusy || !ready.training) return [];
  const last = jobs.find((job) => job.status === "failed" || job.status === "succeeded");
  if (last?.status === "failed") return [problem("warn", "The last training failed", last.error, retrain)];
  if (Object.keys(active).length === 0) {
    return schedule.new_events < ENOUGH_EVENTS ? [] : [problem("info", "No trained model serves yet", `There are ${count(schedule.new_events)} events to learn from. A training would make the lists better.`, retrain)];
  }
  if (schedule.drift_now > DRIFT) return [problem("info", "Tastes have moved", `The recent error is ${schedule.drift_now.toFixed(2)} times the usual one. A training may help.`, retrain)];
  return [];
}

const problem = (tone, title, says, mend) => ({ tone, title, says, mend });
