// The types that openapi-typescript makes of both documents, with openapi-fetch and its default options, against
// a running exchange; EXCHANGE has the line that `tickhive serve --ephemeral` prints.
import { createHash, createHmac, randomUUID } from 'node:crypto';
import createClient from 'openapi-fetch';
import type { paths as Operator } from './operator.js';
import type { components, paths as Public } from './public.js';

const at = JSON.parse(process.env.EXCHANGE ?? '') as { public: string; internal: string; publicKey: string; privateKey: string };
const exact = '0.123456789012345678'; // more digits than a number keeps

const x = createClient<Public>({ baseUrl: at.public });
x.use({
  async onRequest({ request }) {
    const url = new URL(request.url), hash = createHash('sha256').update(await request.clone().text()).digest('hex');
    const time = String(Date.now()), nonce = randomUUID();
    const text = [time, nonce, request.method, url.pathname + url.search, hash].join('\n');
    request.headers.set('API-PublicKey', at.publicKey);
    request.headers.set('API-Timestamp', time);
    request.headers.set('API-Nonce', nonce);
    request.headers.set('API-Signature', createHmac('sha256', at.privateKey).update(text).digest('hex'));
    return request;
  },
});
const operator = createClient<Operator>({ baseUrl: at.internal });

// got returns the answer, or throws the error.
function got<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

// digits takes a decimal with all its digits. A number has lost some already.
function digits(decimal: components['schemas']['NullableDecimal']): string {
  if (typeof decimal !== 'string') throw new Error(`${decimal} is a number`);
  return decimal;
}

got(await operator.POST('/internal/v1/pairs', { body: { code: 'EXACT_FINE', digitsPrice: 0, digitsAmount: 18 } }));
const orderId = got(await x.POST('/api/orders', { body: { currencyPairCode: 'EXACT_FINE', side: 'buy', amount: exact, price: 7 } }));
const order = got(await x.GET('/api/orders/{orderId}', { params: { path: { orderId }, query: { decimals: 'string' } } }));
if (digits(order.amount) !== exact) throw new Error(`the order has the amount ${order.amount}`);

const spawned = got(await x.POST('/api/launchpad/spawn', { body: { name: 'Generated', symbol: 'GENR' } }));
console.log(digits(order.amount), spawned.token.symbol);
