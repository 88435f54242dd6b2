// Uses the generated TypeScript types, with node's fetch, against a running service: URL as argument.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./hedgerow.js";

type Feedback = components["schemas"]["Feedback"];

const client = createClient<paths>({ baseUrl: process.argv[2] });

let sequence = "";
for (const [user, items] of Object.entries({ ada: "ab", grace: "abc", mary: "bcd" })) {
  const body: Feedback[] = [...items].map((item) => ({ user, item, rating: 5 }));
  const { data, error } = await client.POST("/v1/ratings", {
    params: { query: { wait: "learned" } },
    body,
  });
  assert.ok(data, JSON.stringify(error));
  assert.equal(data.accepted, body.length);
  sequence = data.sequence;
}

const listed = await client.GET("/v1/items", { params: { query: { limit: 2 } } });
assert.deepEqual(listed.data?.items.map((one) => one.item), ["a", "b"]);

const asked = { params: { path: { user: "ada" }, query: { k: 2, min_sequence: sequence } } };
const slate = await client.GET("/v1/users/{user}/recommendations", asked);
assert.deepEqual(new Set(slate.data?.items.map((one) => one.item)), new Set(["c", "d"]));

const wrong: Feedback = { user: "ada", item: "a", rating: 11 };
const refused = await client.POST("/v1/ratings", { body: wrong });
assert.equal(refused.error?.code, "out_of_scale");
