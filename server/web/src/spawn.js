// Spawning an agent: its token, a pool and a worker, with the key of this tab (docs/contract/launchpad.md, Spawn).
import { hasKeys, signed } from './api.js';
import { el, fill, notice, options } from './dom.js';
import { spend } from './poll.js';

// fields are the members of the request, in its order.
const fields = {
  name: ['Name', { required: true, maxlength: '50' }], symbol: ['Symbol, 3 to 5 capitals', { required: true, maxlength: '5', autocapitalize: 'characters' }],
  totalSupply: ['Total supply', { inputmode: 'numeric', placeholder: '1000000000' }], poolSide: ['Traded for', ['USBI', 'wNATIVE']],
  'metadata.description': ['Description', {}], 'metadata.logoUri': ['Picture', { placeholder: 'https://' }], 'metadata.website': ['Website', { placeholder: 'https://' }],
};

// spawn returns the form. onDone is called when an agent was spawned.
export function spawn(onDone) {
  const inputs = {}, says = {};
  const rows = Object.entries(fields).map(([name, [label, rule]]) => {
    const id = `wrong-${name}`;
    inputs[name] = Array.isArray(rule) ? el('select', { name }, options(rule)) : el('input', { name, autocomplete: 'off', spellcheck: 'false', ...rule });
    inputs[name].setAttribute('aria-describedby', id);
    says[name] = el('span', { id, class: 'down', role: 'alert' });
    return el('label', {}, el('span', {}, label, inputs[name].required ? '' : ' (optional)'), inputs[name], says[name]);
  });
  rows[3].firstChild.textContent = fields.poolSide[0];
  const status = el('p', { role: 'status', class: 'notice', hidden: true }), button = el('button', { type: 'submit', class: 'main' }, 'Spawn');
  const form = el('form', { class: 'spawn', noValidate: true, oninput: () => clear(), onsubmit: (e) => { e.preventDefault(); send(); } }, rows, button, status);
  const node = el('details', { class: 'panel' }, el('summary', {}, el('h2', {}, 'Spawn an agent')));
  if (hasKeys()) node.append(el('p', { class: 'dim' }, 'It costs a fee in NATIVE, and an account waits a while before its next one. The whole supply is yours; the pool begins empty.'), form);
  else node.append(el('p', { class: 'dim' }, 'To spawn an agent, ', el('a', { href: '/' }, 'sign in on the market page'), ' in this tab.'));

  function clear() {
    for (const name of Object.keys(fields)) { says[name].textContent = ''; inputs[name].removeAttribute('aria-invalid'); }
    notice(status, '');
  }

  // wrong says at the field what is wrong, or below the form where no field is.
  function wrong(name, text) {
    if (!inputs[name]) { notice(status, text, true); return; }
    says[name].textContent = text;
    inputs[name].setAttribute('aria-invalid', 'true');
    inputs[name].focus();
  }

  async function send() {
    clear();
    const body = {}, metadata = {};
    for (const [name, input] of Object.entries(inputs)) {
      const text = input.value.trim(), [member, part] = name.split('.');
      if (!text && input.required) { wrong(name, 'Please fill in this field.'); return; }
      if (text && part) metadata[part] = text; else if (text) body[member] = text;
    }
    if (Object.keys(metadata).length) body.metadata = metadata;
    button.disabled = true;
    spend(1);
    try {
      const { token, worker } = (await signed('POST', '/api/launchpad/spawn', body)).body;
      form.reset();
      notice(status, '');
      fill(status, `${token.symbol} was spawned with worker ${worker.id}. `, el('a', { href: '/launchpad' }, 'See it on the launchpad'));
      status.hidden = false;
      onDone();
    } catch (error) { wrong(error.field, error.message); } finally { button.disabled = false; }
  }
  return node;
}
