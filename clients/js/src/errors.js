/** Base of all errors of the client; the message says what is wrong and what to do. */
export class HedgerowError extends Error {
  /**
   * @param {string} message
   * @param {ErrorOptions} [options]
   */
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The service gave no answer: it is away, or the connection broke. */
export class Unreachable extends HedgerowError {
  /**
   * @param {string} message
   * @param {{ cause?: unknown, nothingWasSent?: boolean }} [options]
   */
  constructor(message, { cause, nothingWasSent = false } = {}) {
    super(message, { cause });
    /** Whether the connection was never made, so that the request cannot have been done. */
    this.nothingWasSent = nothingWasSent;
  }
}

/** The connection broke in the middle of an answer that has lines: ask again for the rest. */
export class BrokenOff extends Unreachable {}

/** Something did not happen before the deadline of the caller. */
export class NotInTime extends HedgerowError {}

/**
 * A stream cannot go on; `cause` says why. `unacknowledged` holds the events that may not be stored.
 * They have their ids: send them again, with another stream, and each counts once.
 */
export class StreamFailed extends HedgerowError {
  /**
   * @param {unknown} cause
   * @param {Array<import("./types.js").Feedback>} unacknowledged
   */
  constructor(cause, unacknowledged) {
    const n = unacknowledged.length;
    super(`the stream failed; ${n} events are not acknowledged: ${cause}`, { cause });
    this.unacknowledged = unacknowledged;
  }
}

/** The service answered with an error; `code` is stable, programs may depend on it. */
export class ApiError extends HedgerowError {
  /**
   * @param {string} what
   * @param {number} status
   * @param {Partial<import("./types.js").Problem>} problem
   */
  constructor(what, status, problem) {
    const advice = status === 401 ? " Give `key` a valid API key." : "";
    const request = problem.request_id ? ` (request ${problem.request_id})` : "";
    super(`${what}: ${status} ${problem.code ?? ""}: ${problem.detail ?? ""}${advice}${request}`);
    this.status = status;
    this.code = problem.code ?? "";
    /** The explanation for people: what is wrong and what to do. */
    this.detail = problem.detail ?? "";
    /** Names the request in the log of the service. */
    this.requestId = problem.request_id ?? "";
    /** @type {number | undefined} */
    this.retryAfterMs = problem.retry_after === undefined ? undefined : problem.retry_after * 1000;
    /** The whole answer; `rejected` has the rows of a write that were not accepted. */
    this.problem = problem;
  }
}
