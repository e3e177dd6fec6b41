// What currencies are worth in another one, by the last prices of the pairs: directly, the other way around, or over a third
// currency.
import { portion, product } from './dom.js';

const digits = 18;

export class Worth {
  // figures holds the rows of /api/summary by pair; the owner updates it.
  constructor(codes, figures) {
    this.figures = figures;
    this.next = new Map(); // currency -> currencies with which it has a pair
    const link = (a, b) => { if (!this.next.has(a)) this.next.set(a, new Set()); this.next.get(a).add(b); };
    for (const code of codes) { const [base, quote] = code.split('_'); link(base, quote); link(quote, base); }
    const count = new Map();
    for (const code of codes) { const quote = code.split('_')[1]; count.set(quote, (count.get(quote) ?? 0) + 1); }
    this.quotes = [...count].sort((a, b) => b[1] - a[1]).map(([quote]) => quote); // the commonest first
  }

  // rate returns what one unit is worth by a pair of the two, undefined without a trade. pairs collects the pair.
  rate(from, to, pairs) {
    for (const [code, turn] of [[`${from}_${to}`, (p) => p], [`${to}_${from}`, (p) => portion('1', 100, p, digits)]]) {
      const price = this.figures.get(code)?.last_price;
      if (+price > 0) { pairs?.add(code); return turn(price); }
    }
    return undefined;
  }

  // of returns what one unit of a currency is worth in another, undefined where no pairs lead there.
  of(from, to, pairs) {
    if (from === to) return '1';
    const direct = this.rate(from, to, pairs);
    if (direct) return direct;
    for (const over of this.quotes) {
      if (over === from || over === to || !this.next.get(from)?.has(over)) continue;
      const found = new Set(), first = this.rate(from, over, found), second = first && this.rate(over, to, found);
      if (second) { found.forEach((code) => pairs?.add(code)); return product(first, second, digits); }
    }
    return undefined;
  }
}
