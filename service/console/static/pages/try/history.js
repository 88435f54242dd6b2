// What the person did so far, and what they are made of.

import { del, get, segment } from "../../shared/api.js";
import { el, fill } from "../../shared/dom.js";
import { ago, count, percent } from "../../shared/format.js";
import { itemName } from "../../shared/names.js";
import { bar, button, card, emptyState, errorState, loading } from "../../shared/parts.js";

const SHOWN = 8;

export function historyCard(trial) {
  const events = el("div", null, loading());
  const topics = el("div");
  const path = `users/${segment(trial.user)}`;
  const refresh = async () => {
    try {
      const { items, next_cursor: more } = await get(`${path}/ratings`, { limit: 50 }, trial.signal);
      for (const one of [...items].reverse()) if (one.rating !== null) trial.ratings.set(one.item, one.rating);
      fill(events, shownEvents(items, more));
      fill(topics, shownTopics(await get(`${path}/topics`, {}, trial.signal)));
    } catch (error) {
      if (error.name !== "AbortError") fill(events, errorState(error, refresh));
    }
  };
  const shownEvents = (items, more) => {
    if (items.length === 0) return emptyState("No history yet", "So the list shows what most people like. Rate something.");
    const row = ({ item, kind, rating, timestamp }) => el("li", null, el("span", { class: "title" }, itemName(item)),
      el("span", { class: "quiet" }, rating === null ? kind : `★ ${rating}`), el("span", { class: "quiet" }, ago(timestamp)),
      button(null, async () => {
        const done = await del(`${path}/ratings/${segment(item)}`);
        trial.ratings.delete(item);
        trial.sequence = done.sequence;
        await trial.refresh();
      }, { iconName: "close", tone: "plain", writes: true, label: "Take back", title: "Take back" }));
    return [el("ul", { class: "events" }, items.slice(0, SHOWN).map(row)),
      items.length > SHOWN && el("p", { class: "quiet" }, `and ${count(items.length - SHOWN)}${more ? " or more" : ""} earlier ones`)];
  };
  return { element: el("div", { class: "trial-history" }, card("Your history", null, events, topics)), refresh };
}

function shownTopics({ topics }) {
  if (!topics.length) return null;
  return el("div", { class: "made-of" }, el("h3", null, "Topics in your history"), topics.slice(0, 4).map((topic) => el("div", { class: "made-row" },
    el("span", null, topic.name), bar(topic.share), el("span", { class: "quiet" }, percent(topic.share, 0)))));
}
