/** For your server: what pages have tracked, as events that the service takes. */

/** @import { Feedback } from "./types.js" */

const FIELDS = ["item", "kind", "rec_id", "event_id", "timestamp", "context"];
const MOST_ROWS = 1_000;

/**
 * Return the events in a body that `createTracker` has sent, for `client.send`. A page can send
 * anything, so you say who the user is, from your session, and which kinds pages may send. Rows of
 * other kinds, and fields that pages do not send, are left out. A body that is no such thing is a
 * TypeError: answer 400.
 * @param {string} body
 * @param {{ user: string, kinds?: string[] }} options
 * @returns {Feedback[]}
 */
export function acceptTracked(body, { user, kinds = ["impression", "click", "view"] }) {
  const rows = rowsOf(body);
  if (!Array.isArray(rows) || rows.length > MOST_ROWS) {
    throw new TypeError(`the body must be {"events": [...]} with at most ${MOST_ROWS} rows`);
  }
  return rows
    .filter((row) => row !== null && typeof row === "object" && kinds.includes(row.kind))
    .map((row) => {
      const known = FIELDS.filter((field) => row[field] !== undefined);
      return { ...Object.fromEntries(known.map((field) => [field, row[field]])), user };
    })
    .map((row) => /** @type {Feedback} */ (row));
}

/** @param {string} body */
function rowsOf(body) {
  try {
    return JSON.parse(body)?.events;
  } catch {
    return undefined;
  }
}
