// What the caller may do. Without an admin key the console only reads.

import { get, key } from "./api.js";

export const access = {
  level: "none", // none, read or admin
  get canWrite() {
    return this.level === "admin";
  },
};

const listeners = new Set();
export const onAccess = (listener) => listeners.add(listener);

export async function findAccess() {
  access.level = await found();
  for (const listener of listeners) listener();
}

async function found() {
  try {
    await get("admin/keys", {});
    return "admin";
  } catch (error) {
    if (error.status === 403) return "read";
    if (error.status === 401) return "none";
    // the service is away or starting: the pages themselves say so
    return key.get() ? "read" : "none";
  }
}
