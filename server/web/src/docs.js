// Makes the examples of the documentation fit the server that shows them, and copyable.
import { copies, el } from './dom.js';
import './theme.js';

const example = '127.0.0.1:8080';

for (const pre of document.querySelectorAll('pre')) {
  const code = pre.querySelector('code') ?? pre;
  for (const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT); walk.nextNode();) {
    const node = walk.currentNode;
    if (node.data.includes(example)) node.data = node.data.replaceAll(`http://${example}`, location.origin).replaceAll(`ws://${example}`, location.origin.replace('http', 'ws')).replaceAll(example, location.host);
  }
  pre.tabIndex = 0;
  const bar = el('div', { class: 'codebar' }, pre.classList.contains('run') ? el('span', {}, 'runs') : '');
  bar.append(copies(code));
  pre.before(bar);
}
