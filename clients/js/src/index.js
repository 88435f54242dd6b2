export { Client } from "./client.js";
export * from "./errors.js";
export { EventStream } from "./streams.js";
export { acceptTracked } from "./tracked.js";
/** @typedef {import("./retries.js").Retries} Retries */
/** @typedef {import("./streams.js").Batch} Batch */
