import { ApiError, BrokenOff, NotInTime, Unreachable } from "./errors.js";
import { Operations } from "./operations.js";
import { noAnswer, path, queryOf, refusal, withId } from "./requests.js";
import { RETRIES, Tries } from "./retries.js";
import { EventStream } from "./streams.js";

/** @import { Request } from "./requests.js" */
/** @import { Retries } from "./retries.js" */
/** @import { BatchBody, FailedSlate, Feedback, Job, Ready, Slate, Written } from "./types.js" */

const UNFINISHED = new Set(["queued", "running"]);

/**
 * Client of one running service, with a method for each of its operations. Requests are sent again
 * after a broken connection, a 429 and a 503, as `retries` says; each event carries an id, so that
 * it counts once however often it was sent.
 */
export class Client extends Operations {
  /**
   * @param {string} url
   * @param {object} [options]
   * @param {string} [options.key] an API key; never put one into a web page
   * @param {number} [options.timeoutMs] for one try
   * @param {Partial<Retries>} [options.retries]
   * @param {string} [options.program] the name under which the service remembers event ids, if
   *   there is no key
   */
  constructor(url, { key, timeoutMs = 30_000, retries = {}, program = "hedgerow-client" } = {}) {
    super();
    this.url = url.replace(/\/+$/, "");
    this.retries = { ...RETRIES, ...retries };
    this.#timeoutMs = timeoutMs;
    this.#headers = { "user-agent": program, ...(key ? { authorization: `Bearer ${key}` } : {}) };
  }

  #timeoutMs;
  /** @type {Record<string, string>} */
  #headers;

  /**
   * Send one event, or up to 10 000; they are stored once this returns. Rows that cannot be accepted
   * are in `rejected`. With `wait: "learned"` (at most 100 rows) the answer has what was predicted.
   * @param {Feedback | Feedback[]} events
   * @param {{ wait?: "learned" }} [options]
   * @returns {Promise<Written>}
   */
  send(events, { wait } = {}) {
    return this.#sendRows(Array.isArray(events) ? events.map(withId) : withId(events), { wait });
  }

  /**
   * Return a stream for any number of events, which sends them in batches. A batch leaves once it
   * has `rows` events, or its first one is `ageMs` old. `waiting` events may wait; then the promise
   * of `send` waits. `patienceMs`: for how long a batch is sent again while the service is away.
   * @param {object} [options]
   * @param {number} [options.rows]
   * @param {number} [options.ageMs]
   * @param {number} [options.waiting]
   * @param {number} [options.patienceMs]
   * @param {(batch: import("./streams.js").Batch) => void} [options.onBatch]
   */
  stream({ rows = 500, ageMs = 500, waiting = 10_000, patienceMs, onBatch } = {}) {
    const retries = { ...this.retries, ...(patienceMs === undefined ? {} : { patienceMs }) };
    /**
     * @param {Feedback[]} events
     * @param {AbortSignal} signal
     */
    const send = (events, signal) => this.#sendRows(events, {}, retries, signal);
    return new EventStream(send, { rows, ageMs, waiting, onBatch });
  }

  /**
   * Go over the lists of up to 1 000 users, in their order; one with `error` has no list.
   * @param {BatchBody} body
   * @returns {AsyncGenerator<Slate | FailedSlate, void, void>}
   */
  async *recommendToMany(body) {
    const request = { method: "POST", path: "/v1/recommendations/batch", body };
    for await (const line of this.#lines(request)) yield JSON.parse(line);
  }

  /**
   * Yield a training as it is now, then with each change, until it has ended.
   * @param {string} job
   * @returns {AsyncGenerator<Job, void, void>}
   */
  async *watchJob(job) {
    const request = { method: "GET", path: path("/v1/jobs/{job}/events", { job }) };
    for (let ended = false; !ended; ) {
      try {
        for await (const line of this.#lines(request)) {
          if (!line.startsWith("data:")) continue;
          const seen = JSON.parse(line.slice("data:".length));
          ended = !UNFINISHED.has(seen.status);
          yield seen;
        }
      } catch (error) {
        // the lines end early where the server stops or the connection breaks: ask again
        if (!(error instanceof BrokenOff)) throw error;
      }
    }
  }

  /**
   * Wait until everything up to `sequence` is learned; NotInTime after the deadline.
   * @param {string} sequence
   * @param {{ deadlineMs?: number }} [options]
   */
  async waitUntilLearned(sequence, { deadlineMs = 300_000 } = {}) {
    const where = "/v1/users/nobody/predictions/nothing";
    await this.#waitFor({ method: "GET", path: where, query: { min_sequence: sequence } }, deadlineMs);
  }

  /**
   * Wait until the service is ready and return what it says; NotInTime after the deadline.
   * @param {{ deadlineMs?: number }} [options]
   * @returns {Promise<Ready>}
   */
  waitUntilReady({ deadlineMs = 120_000 } = {}) {
    return this.#waitFor({ method: "GET", path: "/readyz" }, deadlineMs);
  }

  /**
   * Send a request, again where that helps, and return the JSON of its answer.
   * @param {Request} request
   * @param {Retries} [retries]
   * @param {AbortSignal} [signal] ends the wait for another try
   * @returns {Promise<any>}
   * @override
   */
  call(request, retries = this.retries, signal) {
    const once = async () => {
      const [answer, limit] = await this.#sent(request);
      try {
        return await answer.json();
      } catch (error) {
        throw noAnswer(request, this.url, error);
      } finally {
        limit.end();
      }
    };
    return this.#again(request, retries, once, signal);
  }

  /**
   * Go over the rows of all pages, beginning with this request's.
   * @param {Request} request
   * @returns {AsyncGenerator<any, void, void>}
   * @override
   */
  async *iterate(request) {
    for (let cursor; cursor !== null; ) {
      const query = { ...request.query, cursor };
      const page = await this.call({ ...request, query });
      yield* page.items;
      cursor = page.next_cursor;
    }
  }

  /**
   * @param {Feedback | Feedback[]} body
   * @param {Record<string, any>} query
   * @param {Retries} [retries]
   * @param {AbortSignal} [signal]
   * @returns {Promise<Written>}
   */
  #sendRows(body, query, retries, signal) {
    return this.call({ method: "POST", path: "/v1/events", query, body }, retries, signal);
  }

  /**
   * @param {Request} request
   * @param {number} deadlineMs
   */
  async #waitFor(request, deadlineMs) {
    try {
      return await this.call(request, { ...this.retries, patienceMs: deadlineMs });
    } catch (error) {
      const isAway = error instanceof ApiError && error.status === 503;
      if (!isAway && !(error instanceof Unreachable)) throw error;
      throw new NotInTime(`not after ${deadlineMs} ms: ${error.message}`, { cause: error });
    }
  }

  /**
   * Yield the lines of an answer; a connection that breaks in between throws BrokenOff.
   * @param {Request} request
   * @returns {AsyncGenerator<string, void, void>}
   */
  async *#lines(request) {
    const [answer, limit] = await this.#again(request, this.retries, () => this.#sent(request));
    const decoder = new TextDecoder();
    const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
    try {
      for (let rest = ""; ; ) {
        // each read has the whole time; what the caller does in between takes none of it
        limit.begin();
        const { done, value } = await reader.read();
        limit.end();
        const lines = (rest + decoder.decode(value, { stream: !done })).split("\n");
        rest = lines.pop() ?? "";
        yield* lines.filter(Boolean);
        if (done) break;
      }
    } catch (error) {
      throw new BrokenOff(noAnswer(request, this.url, error).message, { cause: error });
    } finally {
      limit.end();
      await reader.cancel().catch(() => undefined);
    }
  }

  /**
   * @template T
   * @param {Request} request
   * @param {Retries} retries
   * @param {() => Promise<T>} once
   * @param {AbortSignal} [signal]
   * @returns {Promise<T>}
   */
  async #again(request, retries, once, signal) {
    const tries = new Tries(request, retries);
    for (;;) {
      try {
        return await once();
      } catch (error) {
        await pause(tries.pauseAfter(error), signal);
        if (signal?.aborted) throw error;
      }
    }
  }

  /**
   * Send once; returns the answer, and the time limit, which is to end once its body is read.
   * @param {Request} request
   * @returns {Promise<[Response, Limit]>}
   */
  async #sent(request) {
    const limit = new Limit(this.#timeoutMs);
    limit.begin();
    try {
      const answer = await this.#fetched(request, limit.signal);
      if (!answer.ok) throw await refusal(request, answer);
      return [answer, limit];
    } catch (error) {
      limit.end();
      throw error instanceof ApiError ? error : noAnswer(request, this.url, error);
    }
  }

  /**
   * @param {Request} request
   * @param {AbortSignal} signal
   */
  #fetched(request, signal) {
    const given = Object.entries(request.headers ?? {}).filter(([, value]) => value !== undefined);
    /** @type {Record<string, any>} */
    const headers = { ...this.#headers, ...Object.fromEntries(given) };
    const body = request.body == null ? undefined : JSON.stringify(request.body);
    if (body !== undefined) headers["content-type"] = "application/json";
    const where = `${this.url}${request.path}${queryOf(request)}`;
    return fetch(where, { method: request.method, headers, body, signal });
  }
}

/** A time limit, which gives its signal when it is over; it can begin anew. */
class Limit {
  /** @param {number} timeoutMs */
  constructor(timeoutMs) {
    this.#timeoutMs = timeoutMs;
  }

  #timeoutMs;
  #controller = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  get signal() {
    return this.#controller.signal;
  }

  begin() {
    this.end();
    const late = new Error(`no answer within ${this.#timeoutMs} ms`);
    this.#timer = setTimeout(() => this.#controller.abort(late), this.#timeoutMs);
  }

  end() {
    clearTimeout(this.#timer);
  }
}

/**
 * Wait, until the signal is given at most.
 * @param {number} pauseMs
 * @param {AbortSignal} [signal]
 */
async function pause(pauseMs, signal) {
  if (signal?.aborted) return;
  await new Promise((resolve) => {
    const timer = setTimeout(resolve, pauseMs);
    const end = () => {
      clearTimeout(timer);
      resolve(undefined);
    };
    signal?.addEventListener("abort", end, { once: true });
  });
}
