import { ApiError, HedgerowError, StreamFailed } from "./errors.js";
import { withId } from "./requests.js";

/** @import { Feedback, Rejected, Written } from "./types.js" */

/**
 * What became of the events of one request.
 * @typedef {object} Batch
 * @property {Feedback[]} acknowledged
 * @property {Array<{ event: Feedback, code: string, detail: string }>} refused
 * @property {string} sequence
 */

const MOST_REFUSALS = 1_000;

/**
 * Sends events in batches, in order, while the program goes on. `client.stream()` makes one; close
 * it, which waits until every event is acknowledged or refused.
 */
export class EventStream {
  /**
   * @param {(events: Feedback[], signal: AbortSignal) => Promise<Written>} send
   * @param {{ rows: number, ageMs: number, waiting: number, onBatch?: (batch: Batch) => void }} how
   */
  constructor(send, { rows, ageMs, waiting, onBatch }) {
    this.#send = send;
    this.#rows = rows;
    this.#ageMs = ageMs;
    this.#most = waiting;
    this.#onBatch = onBatch;
  }

  /**
   * What became of the events so far; `sequence` is the place of the last ones in the order: send it
   * as `min_sequence` to read them. `refused` has the first thousand that were refused.
   */
  receipt = {
    acknowledged: 0,
    refusedTotal: 0,
    /** @type {Batch["refused"]} */
    refused: [],
    sequence: "",
  };

  #send;
  #rows;
  #ageMs;
  #most;
  #onBatch;
  /** @type {Feedback[]} */
  #queue = [];
  /** @type {Feedback[]} */
  #underWay = [];
  #taken = 0;
  #settled = 0;
  /** Events up to which no batch waits to fill. */
  #urgent = 0;
  #closed = false;
  #isDue = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {unknown} */
  #failure;
  #abandoned = new AbortController();
  /** @type {Array<() => void>} */
  #waiters = [];

  /**
   * Take one event; the promise is kept once the queue has room for it.
   * @param {Feedback} event
   */
  async send(event) {
    await this.#until(() => this.#queue.length < this.#most);
    if (this.#closed) throw new HedgerowError("the stream is closed: open another one");
    this.#queue.push(withId(event));
    this.#taken += 1;
    this.#work();
  }

  /** Wait until every event so far is acknowledged or refused; returns the receipt. */
  async flush() {
    const until = (this.#urgent = this.#taken);
    this.#work();
    await this.#until(() => this.#settled >= until);
    return this.receipt;
  }

  /** Send what waits and end; returns the receipt. */
  async close() {
    this.#closed = true;
    return this.flush();
  }

  /** End at once and return the events that may not be stored, without waiting for any. */
  abandon() {
    const left = [...this.#underWay, ...this.#queue];
    this.#closed = true;
    this.#fail(new HedgerowError("the stream was abandoned"));
    this.#queue = [];
    this.#abandoned.abort();
    return left;
  }

  /**
   * Wait for a condition; StreamFailed if the stream can never fulfil it.
   * @param {() => boolean} condition
   */
  async #until(condition) {
    while (this.#failure === undefined && !condition()) {
      await new Promise((resolve) => this.#waiters.push(() => resolve(undefined)));
    }
    if (this.#failure !== undefined) {
      throw new StreamFailed(this.#failure, [...this.#underWay, ...this.#queue]);
    }
  }

  #tell() {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  /** @param {unknown} error */
  #fail(error) {
    this.#failure ??= error;
    clearTimeout(this.#timer);
    this.#tell();
  }

  /** Send a batch if one is due and none is under way, otherwise once the oldest event is due. */
  #work() {
    if (this.#underWay.length || !this.#queue.length || this.#failure !== undefined) return;
    const urgent = this.#closed || this.#isDue || this.#urgent > this.#settled;
    if (!urgent && this.#queue.length < this.#rows) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#isDue = true;
        this.#work();
      }, this.#ageMs);
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isDue = false;
    this.#underWay = this.#queue.splice(0, this.#rows);
    this.#tell();
    this.#settle(this.#underWay).then(
      () => this.#work(),
      (error) => this.#fail(error),
    );
  }

  /** @param {Feedback[]} events */
  async #settle(events) {
    const batch = settled(events, await this.#answer(events));
    this.#onBatch?.(batch);
    this.receipt.acknowledged += batch.acknowledged.length;
    this.receipt.refusedTotal += batch.refused.length;
    this.receipt.refused.push(...batch.refused.slice(0, MOST_REFUSALS - this.receipt.refused.length));
    this.receipt.sequence = latest(this.receipt.sequence, batch.sequence);
    this.#settled += events.length;
    this.#underWay = [];
    this.#tell();
  }

  /** @param {Feedback[]} events */
  async #answer(events) {
    try {
      return await this.#send(events, this.#abandoned.signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "nothing_accepted") throw error;
      return { rejected: /** @type {Rejected[]} */ (error.problem.rejected ?? []), sequence: "" };
    }
  }
}

/**
 * Return what became of the events of one request.
 * @param {Feedback[]} events
 * @param {{ rejected: Rejected[], sequence: string }} answer
 * @returns {Batch}
 */
function settled(events, { rejected, sequence }) {
  const indexes = new Set(rejected.map((row) => row.index));
  return {
    acknowledged: events.filter((_, index) => !indexes.has(index)),
    refused: rejected.map(({ index, code, detail }) => ({ event: events[index], code, detail })),
    sequence,
  };
}

/**
 * Return the sequence that stands for all events up to both: it names a place in each partition.
 * @param {string} one
 * @param {string} other
 */
export function latest(one, other) {
  /** @type {Map<number, number>} */
  const places = new Map();
  for (const part of `${one},${other}`.split(",").filter(Boolean)) {
    const [partition, place] = part.split(":").map(Number);
    places.set(partition, Math.max(place, places.get(partition) ?? 0));
  }
  const sorted = [...places].sort(([left], [right]) => left - right);
  return sorted.map(([partition, place]) => `${partition}:${place}`).join(",");
}
