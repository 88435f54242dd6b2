/**
 * For web pages: notes impressions and clicks, and sends them to an address of your own site, which
 * hands them to the service (`acceptTracked`). A page holds no API key.
 */

import { newId } from "./requests.js";

/**
 * @typedef {object} Tracked
 * @property {string} item
 * @property {string} kind such as `impression` or `click`
 * @property {string} [rec_id] of the list that showed the item
 * @property {Record<string, string>} [context]
 * @property {string} [event_id]
 * @property {number} [timestamp]
 */

/** A beacon may hold 64 KiB, together with others that are under way. */
const MOST_BYTES = 32_768;

/**
 * Return a tracker, whose events leave in batches: once there are `rows`, or the first is `ageMs`
 * old, or the page is hidden or left. What could not be sent is sent again later; each event carries
 * an id, so it counts once. At most `most` events are kept while your site does not answer.
 * @param {string | URL} address of your own site
 * @param {{ rows?: number, ageMs?: number, most?: number }} [options]
 */
export function createTracker(address, { rows = 20, ageMs = 2_000, most = 1_000 } = {}) {
  /** @type {Tracked[]} */
  let waiting = [];
  /** @type {Tracked[]} */
  let underWay = [];
  let pauseMs = ageMs;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  async function send() {
    clearTimeout(timer);
    timer = undefined;
    if (underWay.length || !waiting.length) return;
    underWay = waiting.splice(0, fitting(waiting));
    const delivered = await post(address, underWay);
    if (!delivered) waiting = [...underWay, ...waiting].slice(-most);
    underWay = [];
    // growing pauses while the site does not answer
    pauseMs = delivered ? ageMs : Math.min(2 * Math.max(pauseMs, 500), 60_000);
    wait();
  }

  function wait() {
    if (waiting.length >= rows && pauseMs === ageMs) void send();
    else if (waiting.length) timer ??= setTimeout(send, pauseMs);
  }

  /** Hand everything to the browser, which sends it even if the page goes away. */
  function leave() {
    // an answer to what is under way may never reach this page: a repeat does no harm
    let left = [...underWay, ...waiting];
    while (left.length) {
      const n = fitting(left);
      const body = new Blob([packed(left.slice(0, n))], { type: "application/json" });
      if (!navigator.sendBeacon(address, body)) break;
      left = left.slice(n);
    }
    // what the browser did not take waits: the page may come back
    waiting = left.filter((event) => !underWay.includes(event));
  }

  globalThis.addEventListener("pagehide", leave);
  globalThis.document.addEventListener("visibilitychange", () => {
    if (globalThis.document.visibilityState === "hidden") leave();
  });

  return {
    /**
     * Note one event; returns at once.
     * @param {Tracked} event
     */
    track(event) {
      waiting.push({ event_id: newId(), timestamp: Date.now(), ...event });
      waiting = waiting.slice(-most);
      wait();
    },
    /** Send what waits now, without waiting for more. */
    flush: send,
  };
}

/** @param {Tracked[]} events */
function packed(events) {
  return JSON.stringify({ events });
}

/**
 * Return how many of the first events fit into one request: one at least.
 * @param {Tracked[]} events
 */
function fitting(events) {
  const encoder = new TextEncoder();
  let bytes = 0;
  const end = events.findIndex((event) => {
    bytes += encoder.encode(JSON.stringify(event)).length + 1;
    return bytes > MOST_BYTES;
  });
  return end < 0 ? events.length : Math.max(1, end);
}

/**
 * Send events; returns whether there is no reason to send them again.
 * @param {string | URL} address
 * @param {Tracked[]} events
 */
async function post(address, events) {
  try {
    const headers = { "content-type": "application/json" };
    const body = packed(events);
    const answer = await fetch(address, { method: "POST", headers, body, keepalive: true });
    // another 4xx would refuse them again
    return answer.status < 500 && answer.status !== 429 && answer.status !== 408;
  } catch {
    return false;
  }
}
