// The internal API, which the exchange serves to its own page with a console (docs/contract/internal.md#console). A
// console with a token asks for it once and keeps it in this tab's session storage.
import { answer, ask, el, notice } from './dom.js';

const place = 'internal-token', patience = 30000; // ms
const asks = document.documentElement.dataset.console === 'token';

class Refused extends Error {
  constructor(status, body) {
    super(body.message ?? `HTTP ${status}`);
    this.status = status;
    this.code = body.code;
    this.field = body.field;
  }
}

let asking = null; // the question for the token while it is open

// tokenOf asks for the token. It resolves to null when the reader closes the question.
function tokenOf(problem) {
  const input = el('input', { type: 'password', name: 'token', autocomplete: 'off', required: true });
  asking ??= ask('token', 'Token of the internal API', el('p', {}, problem || 'What only an operator may do needs the token. It stays in this tab until you close it.'),
    el('p', {}, el('label', {}, el('span', { class: 'unseen' }, 'Token'), input)),
    answer('use', 'Use this token', { class: 'main' }), answer('', 'Close', { formNoValidate: true })).then((use) => { asking = null; return use ? input.value.trim() : null; });
  return asking;
}

// request sends a request to the internal API and returns the body and the headers of its answer. path begins behind
// /internal/v1. quiet requests ask for no token: they fail instead.
export async function request(method, path, payload, quiet = false) {
  for (let problem = ''; ;) {
    let token = sessionStorage.getItem(place);
    if (asks && !token) {
      token = quiet ? null : await tokenOf(problem);
      if (!token) throw new Refused(401, { code: 'UNAUTHORIZED', message: 'This needs the token of the internal API.' });
    }
    const response = await fetch(`/internal/v1${path}`, {
      method, cache: 'no-store', signal: AbortSignal.timeout(patience), headers: asks ? { Authorization: `Bearer ${token}` } : {},
      body: payload === undefined ? undefined : JSON.stringify(payload),
    });
    const body = await response.json().catch(() => ({}));
    if (response.ok) {
      if (asks) sessionStorage.setItem(place, token);
      return { body, headers: response.headers };
    }
    if (!asks || response.status !== 401) throw new Refused(response.status, body);
    sessionStorage.removeItem(place);
    problem = 'The exchange refuses this token.';
  }
}

// internal is request without the headers.
export const internal = async (...args) => (await request(...args)).body;

// actions returns a place that says what has come of an action, and the function that carries one out: work returns the
// text, nothing when there is nothing to say.
export function actions() {
  const said = el('p', { class: 'notice', role: 'status', hidden: true });
  return { said, act: async (work) => {
    try {
      const text = await work();
      if (text) notice(said, text);
    } catch (error) { notice(said, error.message, true); }
  } };
}
