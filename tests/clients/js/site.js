// A shop: pages that track what is seen and clicked, and the address that takes it. Arguments: URL of
// the service, folder of the client's sources. Writes its own address.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { acceptTracked, Client } from "hedgerow-client";

const [url, sources] = process.argv.slice(2);
const client = new Client(url);
let refusals = 1;

// nothing but leaving the page can send these: the batch would leave in an hour
const LEFT = `<script type="module">
  import { createTracker } from "/src/track.js";
  const tracker = createTracker("/track", { ageMs: 3_600_000 });
  for (let n = 0; n < 7; n++) tracker.track({ item: "left-" + n, kind: "click" });
  location.href = "/stayed";
</script>`;
// the first try is refused: what was noted is sent again
const STAYED = `<script type="module">
  import { createTracker } from "/src/track.js";
  const tracker = createTracker("/unsteady", { rows: 3, ageMs: 50 });
  for (let n = 0; n < 5; n++) tracker.track({ item: "stayed-" + n, kind: "impression" });
</script>`;

const server = createServer(async (request, response) => {
  if (request.url === "/") return page(response, LEFT);
  if (request.url === "/stayed") return page(response, STAYED);
  if (request.url.startsWith("/src/")) {
    response.writeHead(200, { "content-type": "text/javascript" });
    return response.end(await readFile(join(sources, request.url.slice("/src/".length))));
  }
  if (!["/track", "/unsteady"].includes(request.url)) return response.writeHead(404).end();
  const body = await text(request);
  if (request.url === "/unsteady" && refusals-- > 0) return response.writeHead(503).end();
  await client.send(acceptTracked(body, { user: "visitor" }));
  response.writeHead(204).end();
});

function page(response, script) {
  response.writeHead(200, { "content-type": "text/html" });
  response.end(`<!doctype html><title>shop</title>${script}`);
}

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
