package audit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/wire"
)

// Held returns what the open orders of a core hold, in 10^-18, by the balance that holds it. Orders of the built-in
// account hold nothing.
func Held(core *engine.Core) (map[Balance]*big.Int, error) {
	all := map[Balance]*big.Int{}
	for p := range core.EndPair() {
		in, ok := core.Pair(p)
		if !ok {
			continue
		}
		book, err := read(core, in)
		orders := book.orders
		if err != nil {
			return nil, fmt.Errorf("the encoded book of %s: %w", in.Code, err)
		}
		if n := core.OpenOrders(p); len(orders) != n {
			return nil, fmt.Errorf("the encoded book of %s has %d open orders, the core %d", in.Code, len(orders), n)
		}
		for i := range orders {
			o := &orders[i]
			if o.unpaid {
				o.money = book.cost(o)
			}
			if o.account == 0 {
				continue
			}
			at, digits := Balance{uint32(o.account), in.Base}, in.DigitsAmount
			if o.side == buy {
				at.Currency, digits = in.Quote, in.DigitsPrice+in.DigitsAmount
			}
			held := new(big.Int).Mul(o.holds(), ten(scale-digits))
			if l := book.list(o.n); l == nil || o.n == l.n && l.kind != oco {
				add(all, at, held)
			} else if l.account, l.at = o.account, at; l.most.Cmp(held) < 0 { // two orders hold the larger need
				l.most = held
			}
		}
		for i := range book.lists {
			if l := &book.lists[i]; l.account != 0 {
				add(all, l.at, l.most)
				add(all, Balance{uint32(l.account), in.Base}, new(big.Int).Mul(l.brought, ten(scale-in.BaseDigits)))
			}
		}
	}
	return all, nil
}

func add(all map[Balance]*big.Int, at Balance, v *big.Int) {
	if v.Sign() == 0 {
		return
	}
	if all[at] == nil {
		all[at] = new(big.Int)
	}
	all[at].Add(all[at], v)
}

// openList is an open order list as the encoded book has it.
type openList struct {
	n, kind uint64
	brought *big.Int // units of the base that are held for its pending orders

	account uint64 // of an order that does not work; 0: none, or the built-in account
	at      Balance
	most    *big.Int // the largest need of these orders
}

// list returns the list of an order, nil: it is of none.
func (d *decoder) list(n uint64) *openList {
	for i := range d.lists {
		if l := &d.lists[i]; n >= l.n && n < l.n+orders(l.kind) {
			return l
		}
	}
	return nil
}

// orders returns the number of orders of a kind of list.
func orders(kind uint64) uint64 {
	if kind == otoco || kind == opoco {
		return 3
	}
	return 2
}

// openOrder is an open order as the encoded book has it.
type openOrder struct {
	n       uint64
	account uint64
	side    uint64
	price   uint64 // its limit; of a market order that waits for a price, the one at which it holds money
	lots    *big.Int
	money   *big.Int // of a market buy that has been accepted with an amount of money; else nil

	resting       bool // in a level; display is 0 unless it is an iceberg
	shown, hidden uint64
	display       uint64
	mode          uint64 // self-trade mode
	unpaid        bool   // a market buy by amount that is being matched: it holds what it will still pay
}

// The numbers of the encoding.
const (
	buy         = 0
	quote       = 1 << 1
	markIceberg = 1 << 3

	none, cancelMaker, decrement = 0, 2, 4

	oco, otoco, opoco = 1, 3, 5 // kinds of lists
	pending           = 2       // where a list has an order
	pends, due        = 1, 2    // states of a waiting order that its list keeps back
)

// holds returns what the order holds: lots of a sell, price x lots of a buy, unless it has an amount of money.
func (o *openOrder) holds() *big.Int {
	switch {
	case o.side != buy:
		return o.lots
	case o.money != nil:
		return o.money
	}
	return new(big.Int).Mul(new(big.Int).SetUint64(o.price), o.lots)
}

// Cost returns what a market buy of an account would pay for an amount at the asks of a pair, in product units.
func Cost(core *engine.Core, p engine.PairID, a engine.AccountID, mode engine.SelfTrade, lots int64) (*big.Int, error) {
	in, ok := core.Pair(p)
	if !ok {
		return nil, fmt.Errorf("there is no pair %d", p)
	}
	book, err := read(core, in)
	return book.cost(&openOrder{account: uint64(a), mode: uint64(mode), lots: big.NewInt(lots)}), err
}

// cost plays a market buy against a copy of the asks, lot by lot of each queue, and returns what it pays. Orders of its
// own account act as its self-trade mode says.
func (d *decoder) cost(t *openOrder) *big.Int {
	paid, left := new(big.Int), t.lots.Uint64()
	for from := 0; from < len(d.orders); {
		o := d.orders[from]
		to := from
		for to < len(d.orders) && d.orders[to].price == o.price && d.orders[to].resting && d.orders[to].side != buy {
			to++
		}
		queue := slices.Clone(d.orders[from:to])
		for len(queue) > 0 && left > 0 {
			o, queue = queue[0], queue[1:]
			if o.account == t.account && t.mode != none {
				switch t.mode {
				case cancelMaker:
				case decrement:
					left -= min(left, o.shown+o.hidden)
				default:
					return paid
				}
				continue
			}
			q := min(left, o.shown)
			left -= q
			paid.Add(paid, new(big.Int).Mul(whole(q), whole(o.price)))
			if o.shown == q && o.hidden > 0 {
				o.shown = min(o.display, o.hidden)
				o.hidden -= o.shown
				queue = append(queue, o)
			}
		}
		from = max(to, from+1)
	}
	return paid
}

// read decodes the book of a pair: the orders of the book, waiting and reached stops, and an order that an unfinished
// command has accepted.
func read(core *engine.Core, in *engine.Instrument) (*decoder, error) {
	d := &decoder{data: core.EncodePair(nil, in.ID)}
	d.skip(1) // format
	d.data = d.data[min(len(wire.Append(nil, func(c *wire.Coder) { in.Walk(c, engine.MaxPairs-1, 100) })),
		len(d.data)):]
	d.skip(7) // time of creation, seq, newest order, trade and prevented match, last price, oldest open order
	if d.number() == 1 {
		d.unfinished()
	}
	for side := range uint64(2) {
		for range d.number() {
			price := d.number()
			for range d.number() {
				d.resting(d.number(), side, price)
			}
		}
	}
	for range 2 { // of a rise, of a fall
		for range d.number() {
			d.stop(d.number())
		}
	}
	d.trails()
	for range d.number() {
		l := openList{n: d.number(), kind: d.number(), most: new(big.Int)}
		d.byte() // cause
		l.brought = d.u128()
		d.lists = append(d.lists, l)
		for i := range orders(l.kind) {
			if d.number() == pending {
				d.stop(l.n + i)
			}
		}
	}
	return d, d.err
}

// decoder reads the encoding that engine/state.go describes.
type decoder struct {
	data   []byte
	orders []openOrder
	lists  []openList
	err    error
}

func (d *decoder) byte() {
	if len(d.data) == 0 {
		d.err = errors.New("it ends early")
		return
	}
	d.data = d.data[1:]
}

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.err, d.data = errors.New("it ends early"), nil
		return 0
	}
	d.data = d.data[n:]
	return v
}

func (d *decoder) skip(numbers int) {
	for range numbers {
		d.number()
	}
}

// u128 reads a number of 128 bits.
func (d *decoder) u128() *big.Int {
	v := new(big.Int).SetUint64(d.number())
	return v.Add(v.Lsh(v, 64), new(big.Int).SetUint64(d.number()))
}

func whole(v uint64) *big.Int { return new(big.Int).SetUint64(v) }

// resting reads an order of a level.
func (d *decoder) resting(n, side, price uint64) {
	o := openOrder{n: n, account: d.number(), side: side, price: price, resting: true}
	bits := d.number()
	d.skip(1) // total
	o.shown = d.number()
	d.skip(3) // rates
	if bits&markIceberg != 0 {
		o.display = d.number()
		o.hidden = d.number()
	}
	o.lots = new(big.Int).Add(whole(o.shown), whole(o.hidden))
	d.orders = append(d.orders, o)
}

// stop reads an order that waits, or that was reached and is not triggered. One that its list keeps back holds nothing.
func (d *decoder) stop(n uint64) {
	o := openOrder{n: n, account: d.number(), side: d.number()}
	d.skip(2) // bits, stop price
	o.price = d.number()
	if hold := d.number(); hold != 0 {
		o.price = hold
	}
	d.skip(1) // trail
	o.lots = whole(d.number())
	d.skip(1) // display
	money := d.u128()
	d.skip(2) // type, time in force
	if flags := d.number(); flags&quote != 0 {
		o.money = money
	}
	if state := d.number(); state == pends || state == due {
		o.lots, o.money = new(big.Int), nil
	}
	d.skip(3) // rates
	d.orders = append(d.orders, o)
}

// unfinished reads the command that goes on in a later record.
func (d *decoder) unfinished() {
	if d.number() == 1 { // a record: its order has not been accepted
		n := d.number()
		d.data = d.data[min(n, uint64(len(d.data))):]
		d.skip(2)
	}
	if d.number() == 1 {
		d.taker()
	}
	d.skip(8) // walk over the other side: need, cost, lots, price, order, hidden lots; wave
	for range d.number() {
		d.skip(1) // wave
		d.stop(d.number())
	}
}

// taker reads an order that is being matched.
func (d *decoder) taker() {
	o := openOrder{n: d.number(), account: d.number()}
	d.skip(3) // has a client id, is of a list; amendments
	due := d.number() == 1
	o.side = d.number()
	atMarket := d.number() == 1
	d.skip(2) // type, time in force
	o.mode = d.number()
	flags := d.number()
	o.price = d.number()
	o.lots = whole(d.number())
	filled := d.number()
	d.skip(3) // display, was, found
	stop, hold := d.number(), d.number()
	capped := d.number() == 1
	money, sells := d.u128(), d.number()
	d.skip(3) // rates
	switch {
	case due: // it is released when its cost is known
		o.lots, o.money = new(big.Int), new(big.Int)
	case atMarket && o.side != buy && flags&quote != 0:
		o.lots = whole(sells - min(sells, filled))
	case !atMarket || o.side != buy:
	case capped:
		o.money = money
	case stop != 0: // a reached stop is triggered when its cost is known
		o.price = hold
	default:
		o.unpaid = true
	}
	d.orders = append(d.orders, o)
}

// trails reads the orders that trail and track, those of buys and those of sells.
func (d *decoder) trails() {
	for range 2 {
		for range d.number() {
			d.skip(1) // extreme
			for range d.number() {
				d.stop(d.number())
			}
		}
	}
}
