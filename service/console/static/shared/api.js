// The one place that asks the service. Errors carry what the service says to do about them.

const ROOT = new URL("../../v1/", import.meta.url);
const KEPT = "hedgerow.key";

export class ApiError extends Error {
  constructor(status, code, detail) {
    super(detail);
    Object.assign(this, { status, code });
  }
}

// The key lives as long as the tab, and nowhere else.
export const key = {
  get: () => sessionStorage.getItem(KEPT),
  set: (secret) => (secret ? sessionStorage.setItem(KEPT, secret) : sessionStorage.removeItem(KEPT)),
};

// Browsers take `.` and `..` out of a path, also where they are escaped.
export function segment(id) {
  if (id === "." || id === "..") throw new ApiError(400, "invalid_id", `A browser cannot ask for the id \`${id}\`: use \`curl --path-as-is\`, with %2E for each dot.`);
  return encodeURIComponent(id);
}

export const get = (path, params, signal) => ask("GET", path, { params, signal });
export const post = (path, body, params, signal) => ask("POST", path, { body, params, signal });
export const put = (path, body, params) => ask("PUT", path, { body, params });
export const patch = (path, body, version) =>
  ask("PATCH", path, { body, headers: version === undefined ? {} : { "if-match": `"${version}"` } });
export const del = (path, params) => ask("DELETE", path, { params });

async function ask(method, path, { params, body, signal, headers = {} }) {
  const answer = await send(method, path, { params, body, signal, headers });
  return answer.status === 204 ? null : answer.json().catch(lost);
}

async function send(method, path, { params = {}, body, signal, headers = {} }) {
  const url = new URL(path, ROOT);
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  const all = { ...headers };
  if (key.get()) all.authorization = `Bearer ${key.get()}`;
  if (body !== undefined) all["content-type"] = "application/json";
  const answer = await fetch(url, { method, headers: all, signal, body: body === undefined ? undefined : JSON.stringify(body) }).catch(lost);
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new ApiError(answer.status, problem.code ?? "unknown", problem.detail ?? answer.statusText);
}

// `fetch` says with a TypeError that the connection failed, at the start or on the way.
function lost(error) {
  if (!(error instanceof TypeError)) throw error;
  throw new ApiError(0, "unreachable", "The service does not answer. Is it still running? This page asks again by itself.");
}

// Readiness is an answer even when it is a 503: it says what is missing.
export async function readiness(signal) {
  try {
    return await get("../readyz", {}, signal);
  } catch (error) {
    if (error.code === "not_ready") return { status: "not_ready", warning: error.message };
    throw error;
  }
}

// EventSource cannot send a key, so the stream is read by hand.
export async function watch(path, onEvent, signal) {
  const answer = await send("GET", path, { signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch(lost);
    if (done) return;
    const events = (rest + value.replaceAll("\r", "")).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
      if (data.length) onEvent(JSON.parse(data.join("\n")));
    }
  }
}
