// The panels of the market page: where each one stands, and the handles by which their sizes change. style.css places
// them by their names and has the sizes that they begin with.
import { el, stored } from './dom.js';

// The sizes that a handle changes, each a variable of style.css: the panel that has the size, the axis, the side of the
// handle on which the panel is, and the limits in px. What a handle gives a panel it takes from the chart.
const sizes = {
  pairs: { panel: 'pairs', axis: 'x', side: -1, least: 200, most: 520, label: 'Width of the pairs' },
  book: { panel: 'book', axis: 'x', side: 1, least: 190, most: 560, label: 'Width of the order book' },
  ticket: { panel: 'ticket', axis: 'x', side: 1, least: 230, most: 560, label: 'Width of the ticket' },
  lower: { panel: 'orders', axis: 'y', side: 1, least: 110, most: 900, label: 'Height of the lists' },
};
const chartLeast = { x: 420, y: 300 }; // px, as in style.css
const step = 16; // px for a press of an arrow key
const keys = { x: { ArrowLeft: -1, ArrowRight: 1 }, y: { ArrowUp: -1, ArrowDown: 1 } };
const place = 'panels';

export class Panels {
  // panels holds the panels by their names; head is above them, foot below.
  constructor(head, panels, foot) {
    Object.assign(this, { panels, kept: stored(place, {}) });
    this.node = el('div', { class: 'market' }, head, Object.values(panels), foot);
    this.again = el('button', { type: 'button', 'data-reset': '', title: 'Give each panel its first size', onclick: () => this.reset() }, 'Reset layout');
    for (const [name, size] of Object.entries(sizes)) {
      panels[size.panel].after(this.handle(name, size));
      if (!(this.kept[name] >= size.least && this.kept[name] <= size.most)) delete this.kept[name];
      this.show(name);
    }
  }

  // handle returns the handle of a size. It moves by the pointer and by the arrow keys; a double click or Enter gives the
  // panel its first size again.
  handle(name, { panel, axis, side, least, most, label }) {
    const length = (of) => this.panels[of].getBoundingClientRect()[axis === 'x' ? 'width' : 'height'];
    const now = () => length(panel), at = (e) => (axis === 'x' ? e.clientX : e.clientY);
    const to = (px) => this.keep(name, Math.round(Math.max(least, Math.min(px, most, now() + length('chart') - chartLeast[axis]))));
    let from = null; // where a drag began, and the size then
    const release = () => { from = null; };
    const node = el('div', { class: `handle ${name}-size`, role: 'separator', tabindex: '0', 'aria-label': label, 'data-size': name,
      'aria-orientation': axis === 'x' ? 'vertical' : 'horizontal', 'aria-valuemin': String(least), 'aria-valuemax': String(most),
      title: `${label}: drag it, or use the arrow keys. A double click resets it.`,
      onpointerdown: (e) => { if (e.button) return; from = [at(e), now()]; node.setPointerCapture(e.pointerId); node.focus(); e.preventDefault(); },
      onpointermove: (e) => { if (from) to(from[1] - (at(e) - from[0]) * side); }, onpointerup: release, onpointercancel: release,
      ondblclick: () => this.keep(name),
      onkeydown: (e) => {
        const by = keys[axis][e.key];
        if (by) to(now() - by * side * step);
        else if (e.key === 'Home') to(least); else if (e.key === 'End') to(most); else if (e.key === 'Enter') this.keep(name); else return;
        e.preventDefault();
      } });
    new ResizeObserver(() => node.setAttribute('aria-valuenow', String(Math.round(now())))).observe(this.panels[panel]);
    return node;
  }

  // keep gives a panel a size, or without one its first size, and remembers it.
  keep(name, px) {
    if (px === undefined) delete this.kept[name]; else this.kept[name] = px;
    localStorage.setItem(place, JSON.stringify(this.kept));
    this.show(name);
  }

  show(name) {
    this.node.style.setProperty(`--${name}`, this.kept[name] === undefined ? '' : `${this.kept[name]}px`);
    this.again.hidden = !Object.keys(this.kept).length;
  }

  // reset gives each panel its first size.
  reset() { for (const name of Object.keys(sizes)) this.keep(name); }
}
