import { ApiError, Unreachable } from "./errors.js";

/**
 * One request, which may be sent more than once.
 * @typedef {object} Request
 * @property {string} method
 * @property {string} path
 * @property {Record<string, any>} [query] undefined stands for a parameter that is not sent
 * @property {Record<string, string | undefined>} [headers]
 * @property {unknown} [body]
 * @property {boolean} [repeatable] whether sending it again after a lost answer changes nothing
 */

const NEVER_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/**
 * Return a path with ids in it, whatever characters they hold.
 * @param {string} template
 * @param {Record<string, string>} ids
 */
export function path(template, ids) {
  return template.replace(/\{(\w+)\}/g, (_, name) => {
    const id = ids[name];
    if (id === "." || id === "..") {
      // every URL parser takes it for a step, even percent-encoded
      throw new TypeError(`fetch cannot send the id "${id}" in a path: use a route with a body`);
    }
    return encodeURIComponent(id);
  });
}

/**
 * Return the query of a URL.
 * @param {Request} request
 */
export function queryOf({ query = {}, headers = {} }) {
  const names = new Set(Object.keys(headers).map((name) => name.replaceAll("-", "_")));
  const given = Object.entries(query).filter(([name, value]) => value != null && !names.has(name));
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `?${text}` : "";
}

/**
 * Return the error that an answer stands for.
 * @param {Request} request
 * @param {Response} answer
 */
export async function refusal(request, answer) {
  const text = await answer.text();
  /** @type {any} */
  let problem;
  try {
    problem = JSON.parse(text);
  } catch {
    problem = null;
  }
  if (problem === null || typeof problem !== "object") {
    // not the service itself: a proxy, or a wrong address
    problem = { detail: text.slice(0, 200) };
  }
  problem.request_id ??= answer.headers.get("x-request-id") ?? "";
  const told = answer.headers.get("retry-after") ?? "";
  if (/^\d+$/.test(told)) problem.retry_after ??= Number(told);
  return new ApiError(`${request.method} ${request.path}`, answer.status, problem);
}

/**
 * Return the error that stands for a failure of the connection.
 * @param {Request} request
 * @param {string} url
 * @param {any} error
 */
export function noAnswer(request, url, error) {
  const why = error?.cause?.message || error?.message || String(error);
  const what = `${request.method} ${request.path}: no answer from ${url} (${why})`;
  const nothingWasSent = NEVER_SENT.has(error?.cause?.code);
  return new Unreachable(`${what}; is the service running at this address?`, {
    cause: error,
    nothingWasSent,
  });
}

/** Return a new id: 32 random hexadecimal digits, in every browser and in node. */
export function newId() {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Return an event that has an id: a repeat of it counts once.
 * @param {import("./types.js").Feedback} event
 * @returns {import("./types.js").Feedback}
 */
export function withId(event) {
  return event.event_id === undefined ? { ...event, event_id: newId() } : event;
}
