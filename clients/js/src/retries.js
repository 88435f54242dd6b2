import { ApiError, Unreachable } from "./errors.js";

/**
 * How long a request is repeated after a broken connection, a 429 or a 503. Pauses grow
 * exponentially and are partly random; an answer that says how long to wait is obeyed.
 * @typedef {object} Retries
 * @property {number} patienceMs 0 never repeats
 * @property {number} firstPauseMs
 * @property {number} longestPauseMs
 */

/** @type {Retries} */
export const RETRIES = { patienceMs: 60_000, firstPauseMs: 100, longestPauseMs: 5_000 };

/** Codes of a 503 that the service gives before it begins with a request. */
const NOTHING_WAS_DONE = new Set(["not_ready", "overloaded", "too_many_connections"]);

/** The tries of one request. */
export class Tries {
  /**
   * @param {import("./requests.js").Request} request
   * @param {Retries} retries
   * @param {{ now?: () => number, chance?: () => number }} [world]
   */
  constructor(request, retries, { now = Date.now, chance = Math.random } = {}) {
    this.request = request;
    this.retries = retries;
    this.now = now;
    this.chance = chance;
    this.end = now() + retries.patienceMs;
    this.nextMs = retries.firstPauseMs;
  }

  /**
   * Return the milliseconds to wait before the next try; throw the failure if there is none.
   * @param {unknown} failure
   */
  pauseAfter(failure) {
    let pauseMs = this.nextMs * (0.5 + 0.5 * this.chance());
    this.nextMs = Math.min(2 * this.nextMs, this.retries.longestPauseMs);
    const toldMs = failure instanceof ApiError ? failure.retryAfterMs : undefined;
    // never sooner than told, and not all at the same moment
    if (toldMs !== undefined) pauseMs = Math.max(pauseMs, toldMs * (1 + 0.25 * this.chance()));
    if (!this.mayRepeat(failure) || this.now() + pauseMs > this.end) throw failure;
    return pauseMs;
  }

  /** @param {unknown} failure */
  mayRepeat(failure) {
    const repeatable = this.request.repeatable ?? true;
    if (failure instanceof Unreachable) return repeatable || failure.nothingWasSent;
    if (!(failure instanceof ApiError)) return false;
    if (failure.status === 429) return true;
    return failure.status === 503 && (repeatable || NOTHING_WAS_DONE.has(failure.code));
  }
}
