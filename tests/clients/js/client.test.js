// The JavaScript client against a running service, whose address is in HEDGEROW_URL.
import assert from "node:assert/strict";
import net from "node:net";
import { test } from "node:test";
import { ApiError, Client, NotInTime, StreamFailed, Unreachable } from "hedgerow-client";

const url = process.env.HEDGEROW_URL;
const client = new Client(url);

const views = (user, n) => Array.from({ length: n }, (_, i) => ({ user, item: `i${i}`, kind: "view" }));

async function listed(rows) {
  const all = [];
  for await (const row of rows) all.push(row);
  return all;
}

async function sentOf(rows) {
  let sequence = "";
  ({ sequence } = await client.send(rows));
  await client.waitUntilLearned(sequence);
}

/** A server that forwards to the service and loses the answers for which `loses` is true. */
async function losing(loses) {
  const state = { lost: 0 };
  const { hostname, port } = new URL(url);
  const server = net.createServer((from) => {
    const to = net.connect(Number(port), hostname);
    let isLost = false;
    from.on("data", (data) => {
      isLost ||= loses(data.toString(), state);
      to.write(data);
    });
    to.on("data", (data) => {
      if (!isLost) return from.write(data);
      state.lost += 1;
      from.destroy();
      to.destroy();
    });
    for (const [one, other] of [[from, to], [to, from]]) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, state, close: () => server.close() };
}

test("what was sent is recommended", async () => {
  const rows = Object.entries({ ada: "ab", grace: "abc" }).flatMap(([user, items]) =>
    [...items].map((item) => ({ user, item, rating: 5 })),
  );
  const written = await client.send(rows, { wait: "learned" });
  assert.equal(written.accepted, 5);
  const slate = await client.recommend("ada", { k: 1, min_sequence: written.sequence });
  assert.deepEqual(slate.items.map((one) => one.item), ["c"]);
  const [ada, nobody] = await listed(client.recommendToMany({ users: ["ada", ""] }));
  assert.equal(ada.items[0].item, "c");
  assert.equal(nobody.error.code, "invalid_id");
});

test("an id may hold any character but be no step of a path", async () => {
  for (const item of ["AC/DC", "a b+c%2F?#", "naïve", "{item}", "..."]) {
    await client.writeItem(item, { categories: ["odd"] });
    assert.deepEqual((await client.getItem(item)).categories, ["odd"]);
    assert.equal((await client.changeItem(item, { hidden: true }, { if_match: "1" })).version, 2);
  }
  assert.throws(() => client.getItem(".."), /cannot send the id/);
});

test("an iterator goes over all pages", async () => {
  await sentOf(views("reader", 12));
  const items = (await listed(client.iterateHistory("reader", { limit: 5 }))).map((row) => row.item);
  assert.deepEqual(items, views("reader", 12).map((row) => row.item).reverse());
});

test("an error says what is wrong", async () => {
  await assert.rejects(client.getItem("nothing"), (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.status, error.code], [404, "not_found"]);
    assert.ok(error.message.includes(error.requestId) && error.requestId);
    return true;
  });
  await assert.rejects(client.writeItem("a", {}, { if_match: "7" }), { code: "version_conflict" });
});

test("events whose answers were lost count once, and a key is not made twice", async () => {
  const before = (await client.getStats()).partitions[0];
  const events = await losing((text, { lost }) => lost < 2 && text.includes("/v1/events"));
  const { sequence } = await new Client(events.url).send(views("lost", 3));
  await client.waitUntilLearned(sequence);
  const after = (await client.getStats()).partitions[0];
  assert.equal(events.state.lost, 2);
  assert.equal(after.other_events - before.other_events, 3);
  assert.equal(after.duplicates - before.duplicates, 6);
  events.close();
  const keys = await losing((text, { lost }) => lost < 1 && text.includes("/v1/retrain/schedule"));
  const schedule = { if_version: 99 };
  await assert.rejects(new Client(keys.url).setSchedule({}, schedule), Unreachable);
  assert.equal(keys.state.lost, 1);
  keys.close();
});

test("where nobody listens the error says so once patience is over", async () => {
  const away = new Client("http://127.0.0.1:1", { retries: { patienceMs: 200 } });
  await assert.rejects(away.getStats(), /is the service running at this address/);
  await assert.rejects(away.waitUntilReady({ deadlineMs: 100 }), NotInTime);
});

test("a stream keeps the order, and tells what is stored and what is refused", async () => {
  const told = [];
  const stream = client.stream({ rows: 10, onBatch: (batch) => told.push(batch) });
  for (const event of views("streamer", 95)) await stream.send(event);
  await stream.send({ user: "streamer", item: "bad", rating: 99 });
  const receipt = await stream.close();
  assert.deepEqual([receipt.acknowledged, receipt.refusedTotal], [95, 1]);
  assert.deepEqual(receipt.refused.map((one) => [one.event.item, one.code]), [["bad", "out_of_scale"]]);
  assert.equal(Math.max(...told.map((batch) => batch.acknowledged.length)), 10);
  await client.waitUntilLearned(receipt.sequence);
  const newest = await listed(client.iterateHistory("streamer"));
  assert.deepEqual(newest.map((row) => row.item), views("streamer", 95).map((row) => row.item).reverse());
  await assert.rejects(stream.send(views("streamer", 1)[0]), /closed/);
});

test("a batch leaves by itself once it is old enough", async () => {
  let left;
  const isTold = new Promise((resolve) => (left = resolve));
  const stream = client.stream({ ageMs: 20, onBatch: left });
  await stream.send(views("old", 1)[0]);
  assert.equal((await isTold).acknowledged.length, 1);
  await stream.close();
});

test("a stream that cannot go on gives back what is not acknowledged", async () => {
  const proxy = await losing((text) => text.includes('"i30"'));
  const stream = new Client(proxy.url).stream({ rows: 10, waiting: 20, patienceMs: 300 });
  const failed = await (async () => {
    for (const event of views("failing", 50)) await stream.send(event);
    await stream.close();
  })().catch((error) => error);
  assert.ok(failed instanceof StreamFailed);
  assert.equal(failed.unacknowledged[0].item, "i30");
  proxy.close();
  const before = (await client.getStats()).partitions[0];
  const again = client.stream();
  for (const event of failed.unacknowledged) await again.send(event);
  const receipt = await again.close();
  await client.waitUntilLearned(receipt.sequence);
  const after = (await client.getStats()).partitions[0];
  assert.ok(after.duplicates > before.duplicates);
  assert.equal((await listed(client.iterateHistory("failing"))).length, 30 + failed.unacknowledged.length);
});

test("a full queue holds the sender back", async () => {
  const away = new Client("http://127.0.0.1:1");
  const stream = away.stream({ rows: 1, waiting: 2 });
  for (const event of views("held", 3)) await stream.send(event);
  let isTaken = false;
  const fourth = stream.send(views("held", 4)[3]).then(() => (isTaken = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isTaken, false);
  assert.deepEqual(stream.abandon().map((event) => event.item), ["i0", "i1", "i2"]);
  await assert.rejects(fourth, StreamFailed);
});
