// Try it: be somebody, rate items, and see the lists change at once, with the reasons.

import { get, post, segment } from "../shared/api.js";
import { el, fill } from "../shared/dom.js";
import { FIELDS, MODELS } from "../shared/names.js";
import { button, choice, errorState, field, loading } from "../shared/parts.js";
import { inventedUser, randomUser, userPicker } from "../shared/pickers.js";
import { said } from "../shared/toasts.js";
import { historyCard } from "./try/history.js";
import { rateCard } from "./try/rating.js";
import { slateCard } from "./try/slate.js";

const KEPT = "hedgerow.try";
const CHOICES = [["", "Best for this user"], ...MODELS];
const LENGTHS = [["5", "5 items"], ["10", "10 items"], ["20", "20 items"]];

export async function show(root, { query, signal }) {
  const user = query.get("user") ?? sessionStorage.getItem(KEPT);
  const head = el("div", { class: "page-head" }, el("div", null, el("h1", null, "Try it"),
    el("p", { class: "quiet" }, "Act as a user, rate a few items, and watch the list change with every rating.")));
  if (!user) return fill(root, head, firstChoice(signal));
  sessionStorage.setItem(KEPT, user);
  fill(root, head, loading());
  let stats;
  try {
    stats = await get("stats", {}, signal);
  } catch (error) {
    return fill(root, head, errorState(error, () => show(root, { query, signal })));
  }
  const trial = new Trial(user, stats.scale, signal);
  fill(root, head, whoBar(user, signal), trial.element);
  return trial.refresh();
}

const go = (user) => { location.hash = `#/try?user=${encodeURIComponent(user)}`; };

const invent = () => button("Invent a user", () => go(inventedUser()), { tone: "primary", iconName: "users" });

const anybody = (signal) => button("Someone at random", async () => {
  const user = await randomUser(signal);
  if (user) go(user);
  else said("Nobody is known yet: invent a user");
}, { iconName: "refresh" });

function firstChoice(signal) {
  return el("section", { class: "card hero" }, el("h2", null, "Who are you?"),
    el("p", null, "An invented user has no history: rate three items, and see how the list changes. You can also choose a user whom the service knows."),
    el("div", { class: "actions" }, invent(), anybody(signal)), userPicker({ label: "User", onpick: go, signal }));
}

function whoBar(user, signal) {
  return el("div", { class: "who" }, el("span", { class: "avatar", "aria-hidden": "true" }, [...user][0].toUpperCase()),
    el("div", { class: "who-name" }, el("span", { class: "quiet" }, "You are"), el("strong", { id: "who" }, user)),
    userPicker({ label: "Another user", onpick: go, signal }), anybody(signal), invent());
}

// One person's session: what was rated, and one or two lists.
class Trial {
  constructor(user, scale, signal) {
    Object.assign(this, { user, scale, signal, sequence: null, lists: [""], k: "10", diversity: "0", ratings: new Map() });
    this.slates = el("div", { class: "slates" });
    this.history = historyCard(this);
    this.rating = rateCard(this);
    this.element = el("div", { class: "trial" }, el("div", { class: "trial-left" }, this.rating.element, this.history.element),
      el("div", { class: "trial-right" }, this.options(), this.slates));
    this.drawSlates();
  }

  options() {
    const second = button("Two models side by side", () => {
      this.lists = this.lists.length === 1 ? [this.lists[0], "popular"] : [this.lists[0]];
      second.setAttribute("aria-pressed", String(this.lists.length === 2));
      this.drawSlates();
      return this.refreshLists();
    });
    second.setAttribute("aria-pressed", "false");
    const set = (name) => (value) => { this[name] = value; this.refreshLists(); };
    return el("div", { class: "options" }, field("Length", choice(LENGTHS, this.k, set("k"))),
      field("Variety", choice([["0", "none"], ["0.3", "some"], ["0.7", "much"]], this.diversity, set("diversity"))), second);
  }

  drawSlates() {
    this.drawn = this.lists.map((model, ix) => slateCard(this, model, CHOICES, (chosen) => { this.lists[ix] = chosen; }));
    fill(this.slates, this.drawn.map((one) => one.element));
    this.slates.classList.toggle("two", this.drawn.length === 2);
  }

  // The service answers once the event is learned; the lists are then asked for with that event in them.
  async rate(item, rating) {
    const before = this.ratings.get(item);
    this.ratings.set(item, rating);
    try {
      const answer = await post("events", { user: this.user, item, rating }, { wait: "learned" });
      this.sequence = answer.sequence;
      const guess = answer.predictions?.[0];
      said(guess ? `Learned. The predicted rating was ${guess.rating.toFixed(1)} (${guess.low.toFixed(1)} to ${guess.high.toFixed(1)})` : "Learned");
    } catch (error) {
      if (before === undefined) this.ratings.delete(item);
      else this.ratings.set(item, before);
      throw error;
    }
    await this.refresh();
  }

  async refresh() {
    await this.history.refresh();
    await Promise.all([this.refreshLists(), this.rating.refresh()]);
  }

  refreshLists() {
    return Promise.all(this.drawn.map((one) => one.refresh()));
  }

  // What each list is asked for; `model` is the choice of that list.
  asked(model) {
    const { user, k, diversity, sequence } = this;
    return get(`users/${segment(user)}/recommendations`, {
      k, model, explain: true, fields: FIELDS, diversity: diversity === "0" ? null : diversity, min_sequence: sequence,
    }, this.signal);
  }
}
