// The demo account of the market page: one click makes a user with money and a key, and signs in. The user of any key gets
// more money by another.
import { answer, el, notice, stored } from './dom.js';
import { internal } from './operator.js';
import { savesKey } from './users.js';

const made = 'demo'; // in the session storage: the newest demo account of this tab

export function demo(place, { account, ticket, toast, publicKey }) {
  if (!ticket) return; // there are no pairs yet
  const say = el('p', { class: 'notice bad', role: 'alert', hidden: true });
  const trade = el('button', { type: 'button', class: 'main demo', 'data-demo': '', onclick: () => run(trade, say, async () => {
    const key = await internal('POST', '/demo-accounts');
    await account.signIn(key.publicKey, key.privateKey);
    sessionStorage.setItem(made, JSON.stringify({ ...key, funds: undefined }));
    toast('demo', 'good', 'Demo account', `Signed in with money in ${key.funds.length} currencies. The key ends with this tab.`);
  }) }, 'Trade with a demo account');
  ticket.keys.querySelector('h2').after(trade, el('p', { class: 'dim' }, 'A new user with money in every currency. One click, nothing to copy.'), say,
    el('p', { class: 'or' }, el('span', {}, 'or with a key of your own')));
  const more = el('button', { type: 'button', class: 'quiet', 'data-funds': '', onclick: () => run(more, null, async () => {
    const { funds } = await internal('POST', '/demo-accounts/funds', { publicKey: publicKey() });
    toast('funds', 'good', 'Funds added', `Money in ${funds.length} currencies, as a new demo account has.`);
  }) }, 'Add funds');
  ticket.order.querySelector('[data-forget]').before(more);
  ticket.onForget = async () => {
    const key = stored(made, null, sessionStorage);
    if (key?.publicKey === publicKey() && !await savesKey('Forget the key of this demo account?', 'This tab alone has it. Without the file, or a copy, nobody reaches the account and its money again.', key,
      answer('', 'Keep it'), answer('forget', 'Forget it', { class: 'sell' }))) return;
    sessionStorage.removeItem(made);
    account.forget();
  };

  // run carries out one action of a button at a time.
  async function run(button, at, act) {
    button.disabled = true;
    if (at) notice(at, '');
    try { await act(); } catch (error) {
      if (at && error.status !== undefined) notice(at, error.message, true); else if (!at) toast('funds', 'bad', 'No funds were added', error.message);
    } finally { button.disabled = false; }
  }
}
