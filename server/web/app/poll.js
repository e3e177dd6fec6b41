// The launchpad and hive routes allow 60 requests a minute for each address. Two open tabs must
// stay below that together, so each tab sends at most 20 requests a minute through this queue
// and waits as long as a refusal demands.
import { ApiError, get } from './api.js';

const gapMs = 3000;
let last = 0;
let queue = Promise.resolve();

export function politely(path, params) {
  const next = queue.then(async () => {
    const wait = document.hidden ? 4 * gapMs : last + gapMs - performance.now();
    if (last && wait > 0) await new Promise((r) => { setTimeout(r, wait); });
    last = performance.now();
    try {
      return (await get(path, params)).body;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429) throw error;
      await new Promise((r) => { setTimeout(r, error.retryAfter * 1000); });
      return (await get(path, params)).body;
    }
  });
  queue = next.catch(() => {});
  return next;
}

// burst sends the first few requests of a page at once; the limit is 10 a second.
export async function burst(...calls) {
  last = performance.now() + gapMs * (calls.length - 1);
  return Promise.all(calls.map(([path, params]) => get(path, params).then((r) => r.body)));
}
