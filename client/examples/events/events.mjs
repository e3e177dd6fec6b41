// Prints the events of one market from a stream of a replica (docs/contract/events.md), from the oldest one on.
//
//   npm install @nats-io/transport-node @nats-io/jetstream
//   node client/examples/events/events.mjs nats://127.0.0.1:4222 EPOCH BTC_USDT 10 data/stream.nk
//
// EPOCH is of /api/status. The last file may be left out for a server without credentials.
import { readFileSync } from "node:fs";
import { connect, nkeyAuthenticator } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";

const [server, epoch, pair, count, nkey] = process.argv.slice(2);
if (!(count > 0)) {
  console.error("usage: events.mjs nats://HOST:PORT EPOCH PAIR COUNT [FILE], with the EPOCH of /api/status and the " +
    "credentials in FILE");
  process.exit(1);
}
const authenticator = nkey && nkeyAuthenticator(readFileSync(nkey)); // the file with the seed
const nc = await connect({ servers: server, authenticator });
const consumer = await jetstream(nc).consumers.get(`TICKHIVE_${epoch}_EVENTS`, {
  filter_subjects: [`tickhive.${epoch}.ev.${pair}.*`],
});
const seen = new Set(); // an event can come twice: its id tells
for await (const m of await consumer.consume()) {
  const id = m.headers.get("Nats-Msg-Id");
  if (seen.has(id)) continue;
  seen.add(id);
  const event = m.json();
  console.log(id, event.type, event.seq, event.price ?? "", event.amount ?? "");
  if (seen.size === Number(count)) break;
}
await nc.close();
