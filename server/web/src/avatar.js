// The pictures of the catalogue of avatars stand for tokens and agents: each name has always the same one.
import { el } from './dom.js';

const pictures = ['comb', 'comet', 'ember', 'leaf', 'orbit', 'prism', 'simple', 'tide'];

// face returns the picture of a name, without a text of its own: the name stands beside it.
export function face(name) {
  let sum = 0;
  for (const c of name) sum = (sum * 31 + c.charCodeAt(0)) >>> 0;
  return el('img', { class: 'face', src: `/api/users/avatars/${pictures[sum % pictures.length]}.svg`, alt: '', width: '20', height: '20', loading: 'lazy' });
}
