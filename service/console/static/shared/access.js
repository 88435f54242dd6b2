// What the caller may do. Without an admin key the console only reads.

import { get } from "./api.js";

export const access = {
  level: "none", // none, read or admin
  isSure: false, // not while the service is away, starts or is busy
  get canWrite() {
    return this.level === "admin";
  },
};

const listeners = new Set();
export const onAccess = (listener) => listeners.add(listener);

export async function findAccess() {
  const level = await found();
  access.isSure = level !== null;
  access.level = level ?? access.level;
  for (const listener of listeners) listener();
}

async function found() {
  try {
    await get("admin/keys", {});
    return "admin";
  } catch (error) {
    if (error.status === 403) return "read";
    if (error.status === 401) return "none";
    return null;
  }
}
