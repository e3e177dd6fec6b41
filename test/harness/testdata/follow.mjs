// Prints the events of a private stream, one in a line, from the oldest fill on.
import { TickHive } from '../../../client/js/tickhive.mjs';

const { BASE, PUBLIC: publicKey, PRIVATE: privateKey } = process.env;
const x = new TickHive({ base: BASE.split(' '), publicKey, privateKey, retry: [1, 1] });
for await (const { type, channel, fill, order, missed, complete } of x.privateStream({ from: {} })) {
  console.log(JSON.stringify({ type, channel, fill, order, missed, complete }));
}
