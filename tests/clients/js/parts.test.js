// The parts of the JavaScript client that need no service.
import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";
import { acceptTracked, ApiError, BrokenOff, Client, Unreachable } from "hedgerow-client";
import { Tries } from "../../../clients/js/src/retries.js";
import { latest } from "../../../clients/js/src/streams.js";

const RETRIES = { patienceMs: 60_000, firstPauseMs: 1_000, longestPauseMs: 4_000 };
const read = { method: "GET", path: "/v1/stats" };
const once = { method: "POST", path: "/v1/admin/keys", repeatable: false };
const tries = (request = read, chance = 1, now = () => 0) =>
  new Tries(request, RETRIES, { now, chance: () => chance });
const answered = (status, code, retry_after) => new ApiError("GET /", status, { code, retry_after });

test("pauses grow to a longest one, are partly random, and obey what is told", () => {
  const [latest, earliest] = [tries(read, 1), tries(read, 0)];
  const away = new Unreachable("away");
  assert.deepEqual([1, 2, 3, 4].map(() => latest.pauseAfter(away)), [1000, 2000, 4000, 4000]);
  assert.deepEqual([1, 2, 3, 4].map(() => earliest.pauseAfter(away)), [500, 1000, 2000, 2000]);
  assert.equal(tries(read, 0).pauseAfter(answered(429, "rate_limited", 7)), 7000);
  assert.equal(tries(read, 1).pauseAfter(answered(503, "backlogged", 8)), 10_000);
});

test("patience ends before a pause that would exceed it", () => {
  const times = [0, 50_000];
  assert.throws(() => tries(read, 1, () => times.shift()).pauseAfter(answered(429, "", 30)), ApiError);
});

test("what must not be done twice is repeated only if it was not done", () => {
  const safe = [new Unreachable("refused", { nothingWasSent: true }), answered(429), answered(503, "overloaded")];
  const unsafe = [new Unreachable("broke"), answered(503, "store_unavailable")];
  for (const failure of [...safe, ...unsafe]) assert.ok(tries(read).pauseAfter(failure) > 0);
  for (const failure of safe) assert.ok(tries(once).pauseAfter(failure) > 0);
  for (const failure of unsafe) assert.throws(() => tries(once).pauseAfter(failure), failure.constructor);
  for (const status of [400, 404, 500]) assert.throws(() => tries(read).pauseAfter(answered(status)));
});

test("a sequence stands for all partitions", () => {
  assert.equal(latest("0:7,1:3", "1:5"), "0:7,1:5");
  assert.equal(latest("", "0:1"), "0:1");
});

test("what a page sends gets the user of the session, and only what pages may send", () => {
  const rows = [
    { item: "a", kind: "click", rec_id: "r", user: "somebody else", rating: 5, event_id: "1" },
    { item: "b", kind: "purchase" },
    null,
  ];
  assert.deepEqual(acceptTracked(JSON.stringify({ events: rows }), { user: "ada" }), [
    { item: "a", kind: "click", rec_id: "r", event_id: "1", user: "ada" },
  ]);
  for (const body of ["", "null", "[]", '{"events": 7}', JSON.stringify({ events: Array(1001).fill(0) })]) {
    assert.throws(() => acceptTracked(body, { user: "ada" }), TypeError);
  }
});

test("lines that come no more are broken off after the time of one answer", async () => {
  const server = http.createServer((_, answer) => answer.write('{"user": "ada"}\n'));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stalled = new Client(`http://127.0.0.1:${server.address().port}`, { timeoutMs: 500 });
  const lines = stalled.recommendToMany({ users: ["ada", "grace"] });
  assert.deepEqual((await lines.next()).value, { user: "ada" });
  await assert.rejects(lines.next(), BrokenOff);
  server.closeAllConnections();
  server.close();
});
