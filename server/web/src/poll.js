// The launchpad and hive routes allow 60 requests a minute and 10 a second for each address. All
// tabs of a browser share one count. Clicks may use nearly all of it, polls what is left over.
import { ApiError, get } from './api.js';
import { stored } from './dom.js';

const minute = 60000, second = 1500; // ms; requests that were late on their way come closer together than they were sent
const perMinute = 56, perSecond = 8; // a little below the limit, for requests on their way
const pollShare = 24; // polls stop here, so that eight clicks of four requests are left
const place = 'requests';
let turn = 0; // counts the clicks: an older one that still waits is dropped

const recent = () => stored(place, []).filter((at) => at > Date.now() - minute && at <= Date.now());

// take counts n requests and returns 0, or returns how many ms are left until they are allowed.
function take(n, most) {
  const sent = recent(), now = Date.now();
  if (sent.length + n > most) return sent[Math.min(sent.length - 1, sent.length + n - most - 1)] + minute - now;
  const lastSecond = sent.filter((at) => at > now - second);
  if (lastSecond.length + n > perSecond) return lastSecond[0] + second - now;
  spend(n);
  return 0;
}

// spend counts n requests that are sent in any case: swaps, votes, and what a swap needs to know.
export function spend(n) { localStorage.setItem(place, JSON.stringify(recent().concat(Array(n).fill(Date.now())))); }

const send = (calls) => Promise.all(calls.map(([path, params]) => get(path, params).then((r) => r.body)));

// click sends the requests of a click at once, or when the limit allows them again; onWait then
// receives the seconds left. It returns undefined if the user has clicked something else meanwhile.
export async function click(calls, onWait) {
  const mine = ++turn;
  for (;;) {
    let wait = take(calls.length, perMinute);
    if (wait <= 0) {
      try { return await send(calls); } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 429) throw error;
        wait = Math.max(1, error.retryAfter) * 1000;
      }
    }
    for (const until = Date.now() + wait; Date.now() < until;) {
      onWait(Math.ceil((until - Date.now()) / 1000));
      await new Promise((r) => { setTimeout(r, Math.min(250, until - Date.now() + 1)); });
      if (mine !== turn) return undefined;
    }
  }
}

// poll sends requests that can wait, and returns undefined when the limit leaves no room for them.
export async function poll(...calls) {
  if (document.hidden || take(calls.length, pollShare) > 0) return undefined;
  return send(calls);
}
