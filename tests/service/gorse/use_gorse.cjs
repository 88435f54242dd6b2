// A program for Gorse by its client for JavaScript: every call that the client has.
const assert = require("node:assert/strict");
const { Gorse, GorseException } = require("gorsejs");

const AT = "2026-11-01T12:00:00Z";

async function main(endpoint) {
  const client = new Gorse({ endpoint, secret: "any" });
  const done = 1;

  const user = { UserId: "ada", Labels: ["a", "b"], Comment: "first" };
  assert.deepEqual(await client.insertUser(user), done);
  assert.deepEqual(await client.getUser("ada"), user);
  assert.deepEqual(await client.updateUser("ada", { Comment: "changed" }), done);
  assert.equal((await client.getUser("ada")).Comment, "changed");
  assert.deepEqual(await client.insertUsers([{ UserId: "bob" }, user]), 2);
  assert.deepEqual((await client.getUsers()).Users.map((one) => one.UserId), ["ada", "bob"]);

  const item = {
    ItemId: "heat", IsHidden: false, Categories: ["crime"], Timestamp: AT, Labels: ["x"],
    Comment: "Heat",
  };
  const other = { ...item, ItemId: "up", Timestamp: "2026-11-02T12:00:00Z", Comment: "Up" };
  assert.deepEqual(await client.upsertItem(item), done);
  assert.deepEqual(await client.getItem("heat"), item);
  assert.deepEqual(await client.upsertItems([item, other]), 2);
  assert.deepEqual(await client.updateItem("heat", { Comment: "Heat (1995)" }), done);
  assert.deepEqual(await client.insertItemCategory("heat", "film"), done);
  assert.deepEqual((await client.getItem("heat")).Categories, ["crime", "film"]);
  assert.deepEqual(await client.deleteItemCategory("heat", "film"), done);
  assert.deepEqual((await client.getItems()).Items.map((one) => one.ItemId), ["heat", "up"]);

  const star = { FeedbackType: "star", UserId: "ada", ItemId: "heat", Timestamp: AT };
  assert.deepEqual(await client.insertFeedbacks([star]), done);
  assert.deepEqual(await client.upsertFeedbacks([{ ...star, FeedbackType: "read" }]), done);
  const pair = { userId: "ada", itemId: "heat" };
  assert.equal((await client.getFeedback({ type: "star", ...pair })).Timestamp, AT);
  assert.equal((await client.getFeedbacks()).Feedback.length, 2);
  assert.equal((await client.getFeedbacks("read")).Feedback.length, 1);
  assert.equal((await client.getItemFeedback("heat")).length, 2);
  assert.equal((await client.getItemFeedbackByType("heat", "star")).length, 1);
  assert.equal((await client.getUserFeedback("ada")).length, 2);
  assert.equal((await client.getUserFeedbackByType("ada", "star")).length, 1);
  assert.deepEqual(await client.deleteFeedback({ type: "read", ...pair }), { RowAffected: 1 });
  assert.equal((await client.getUserFeedback("ada")).length, 1);

  assert.deepEqual(await client.getRecommend({ userId: "ada" }), ["up"]);
  assert.deepEqual(await client.getRecommend({ userId: "ada", category: "none" }), []);
  // the list of the latest items follows the catalogue
  const newest = async () => (await client.getLatest({ category: "crime" })).map((one) => one.Id);
  while ((await newest())[0] !== "up");
  assert.deepEqual(await newest(), ["up", "heat"]);
  const popular = await client.getPopular({ category: "crime" });
  assert.deepEqual(popular.map((one) => one.Id).sort(), ["heat", "up"]);
  const session = await client.getSessionRecommend([star]);
  assert.deepEqual(session.map((one) => one.Id), ["up"]);
  assert.ok(Array.isArray(await client.getItemNeighbors({ itemId: "heat" })));
  assert.ok(Array.isArray(await client.getUserNeighbors({ userId: "ada" })));

  assert.deepEqual(await client.deleteItem("heat"), done);
  assert.deepEqual(await client.deleteUser("ada"), done);
  await assert.rejects(client.getUser("ada"), (error) => {
    assert.ok(error instanceof GorseException);
    assert.deepEqual([error.code, error.message], [404, "user ada not found"]);
    return true;
  });
}

main(process.argv[2]);
