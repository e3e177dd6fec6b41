// Requests to the REST API. They ask for decimals as text, so that the page shows the server's
// digits. The key pair is only in the memory of this module.
import { hex, hmacSha256, sha256, utf8 } from './sha256.js';

let keys = null;
let skewMs = 0;

export const hasKeys = () => keys !== null;
export function setKeys(publicKey, privateKey) { keys = publicKey && privateKey ? { publicKey, privateKey } : null; }

export class ApiError extends Error {
  constructor(status, body, headers) {
    super(body.message ?? `HTTP ${status}`);
    this.status = status;
    this.code = body.code;
    this.field = body.field;
    this.retryAfter = Number(headers.get('Retry-After') ?? 0);
  }
}

async function answer(response) {
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, body, response.headers);
  return { body, headers: response.headers };
}

const patience = 15000; // ms; without it, a connection that broke while the computer slept keeps a request for minutes

// get reads the current document: the browser revalidates its cached copy.
export async function get(path, params = {}) {
  const query = new URLSearchParams({ ...params, decimals: 'string' });
  return answer(await fetch(`${path}?${query}`, { cache: 'no-cache', signal: AbortSignal.timeout(patience) }));
}

// syncClock reads the exchange's time, which may be virtual, and stores the difference.
export async function syncClock() {
  const { body } = await get('/api/time');
  skewMs = body.serverTime - Date.now();
}

export const now = () => Date.now() + skewMs;

export function credentials(method, target, body = '') {
  const timestamp = String(now());
  const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
  const text = [timestamp, nonce, method, target, hex(sha256(utf8(body)))].join('\n');
  const signature = hex(hmacSha256(utf8(keys.privateKey), utf8(text)));
  return { publicKey: keys.publicKey, timestamp, nonce, signature };
}

export async function signed(method, target, payload) {
  const body = payload === undefined ? '' : JSON.stringify(payload);
  const c = credentials(method, target, body);
  const headers = {
    'API-PublicKey': c.publicKey, 'API-Timestamp': c.timestamp, 'API-Nonce': c.nonce, 'API-Signature': c.signature,
  };
  if (body) headers['Content-Type'] = 'application/json';
  return answer(await fetch(target, { method, headers, body: body || undefined }));
}
