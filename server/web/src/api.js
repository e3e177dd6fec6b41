// Requests to the REST API. They ask for decimals as text, so that the page shows the server's
// digits. The key pair is in this tab's session storage: it survives a reload and ends with the tab.
import { replayed, stored } from './dom.js';
import { hex, hmacSha256, sha256, utf8 } from './sha256.js';

const place = 'key'; // in sessionStorage
const pattern = /^[A-Za-z0-9]+$/;
let keys = kept();
let skewMs = 0;

function kept() {
  const k = stored(place, null, sessionStorage);
  return k && pattern.test(k.publicKey) && pattern.test(k.privateKey) ? k : null;
}

export const hasKeys = () => keys !== null;
export const publicKey = () => keys?.publicKey;

export function forgetKeys() {
  keys = null;
  sessionStorage.removeItem(place);
}

// useKeys checks a key pair with a signed request and keeps it if the exchange accepts it. It
// returns whether the key may trade.
export async function useKeys(publicKey, privateKey) {
  const before = keys;
  keys = { publicKey, privateKey };
  try {
    await syncClock();
    const { body } = await signed('GET', '/api/apikeys');
    sessionStorage.setItem(place, JSON.stringify(keys));
    return body.find((k) => k.publicKey === publicKey)?.canTrade ?? true;
  } catch (error) {
    keys = before;
    throw error;
  }
}

// checkKeys checks the stored key pair after a reload, and forgets one that the exchange refuses.
export async function checkKeys() {
  try {
    const { body } = await signed('GET', '/api/apikeys');
    return body.find((k) => k.publicKey === keys.publicKey)?.canTrade ?? true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401 && error.field !== 'API-Timestamp') forgetKeys();
    throw error;
  }
}

export class ApiError extends Error {
  constructor(status, body, headers) {
    super(body.message ?? `HTTP ${status}`);
    this.status = status;
    this.code = body.code;
    this.field = body.field;
    this.retryAfter = Number(headers.get('Retry-After') ?? 0);
  }
}

// answer reads an answer to its end: one that breaks off, or is no JSON, is an error, except as the text of an error.
async function answer(response, as = 'json') {
  const { headers } = response, text = await response.text();
  if (response.ok) return { body: as === 'text' ? text : JSON.parse(text || '{}'), headers };
  let body = {};
  try { body = JSON.parse(text); } catch { /* a page of a proxy */ }
  throw new ApiError(response.status, body, headers);
}

const patience = 15000; // ms; without it, a connection that broke while the computer slept keeps a request for minutes

// get reads the current document: the browser revalidates its cached copy.
export async function get(path, params = {}) {
  const query = new URLSearchParams({ decimals: 'string', ...params });
  return answer(await fetch(`${path}?${query}`, { cache: 'no-cache', signal: AbortSignal.timeout(patience) }));
}

// syncClock reads the exchange's time, which may be virtual, and stores the difference.
export async function syncClock() {
  const { body } = await get('/api/time');
  skewMs = body.serverTime - Date.now();
  syncedAt = performance.now();
}

// The clock of the exchange may stop, jump, or differ from the computer's after a sleep, and a request must be dated less
// than a second ahead of it. The clock of a replay may run a thousand times as fast, so it is asked each time.
const syncMs = replayed ? 0 : 500;
let syncedAt = -Infinity;

export const longestWindow = 60000; // ms by which a request may be late
export const now = () => Date.now() + skewMs;

export function credentials(method, target, body = '') {
  const timestamp = String(now());
  const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
  const text = [timestamp, nonce, method, target, hex(sha256(utf8(body)))].join('\n');
  const signature = hex(hmacSha256(utf8(keys.privateKey), utf8(text)));
  return { publicKey: keys.publicKey, timestamp, nonce, signature };
}

// The exchange refuses a request that is dated ahead of its clock, and for a second after a start any. It has not carried
// out what it refuses then, so signed waits as long as the answer says, reads the exchange's time, and sends the request
// once more, signed anew.
const startSeconds = 2;

// as is how to read the answer: 'json' or 'text'.
export async function signed(method, target, payload, as) {
  try { return await signedOnce(method, target, payload, as); } catch (error) {
    if (error.status !== 401 || error.field !== 'API-Timestamp' || error.retryAfter > startSeconds) throw error;
    await new Promise((r) => { setTimeout(r, error.retryAfter * 1000); });
    await syncClock();
    return signedOnce(method, target, payload, as);
  }
}

async function signedOnce(method, target, payload, as) {
  if (performance.now() - syncedAt > syncMs) await syncClock();
  const body = payload === undefined ? '' : JSON.stringify(payload);
  const c = credentials(method, target, body);
  const headers = {
    'API-PublicKey': c.publicKey, 'API-Timestamp': c.timestamp, 'API-Nonce': c.nonce, 'API-Signature': c.signature,
  };
  if (body) headers['Content-Type'] = 'application/json';
  if (method === 'GET' || replayed) headers['API-RecvWindow'] = longestWindow; // a busy machine sends late; only changes must not be late
  return answer(await fetch(target, { method, headers, body: body || undefined, signal: AbortSignal.timeout(patience) }), as);
}
