// Stream N events to a service while its api is killed: arguments URL, N, users, rows.
// Writes how many are acknowledged, and for a number on stdin may go on up to this event.
import readline from "node:readline";
import { Client } from "hedgerow-client";

const [url, n, users, rows] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const client = new Client(url);
const onBatch = () => console.log(stream.receipt.acknowledged);
// a busy machine takes its time to start a process again
const stream = client.stream({ rows, patienceMs: 600_000, onBatch });
let number = 0;
for await (const line of readline.createInterface({ input: process.stdin })) {
  for (; number < Number(line); number++) {
    await stream.send({ user: `u${number % users}`, item: `i${Math.floor(number / users)}`, kind: "view" });
  }
  if (number === n) break;
}
const receipt = await stream.close();
console.log(JSON.stringify(receipt));
process.exit(0);
