package replay

import (
	"tickhive/engine"
	"tickhive/engine/sequencer"
)

// printBatch is the number of trades that one batch makes, unless the records are due at their times. The loop applies a batch as a whole, so no order of another
// account comes between its trades.
const printBatch = 512

// prints makes trades that leave nothing in the book: a maker and a taker for each, at its price and time.
//
// It sends the trades in batches, because the way through the loop costs more than the commands. While orders of other
// accounts rest in the book, each trade has its own batch: a taker may then fill them first, and the remainder of the
// maker is canceled before the next trade.
type prints struct {
	*orderEntry
	size   int // of a batch, in trades
	alone  int // number of trades that still have their own batch
	trades sequencer.Batch

	made      engine.OrderID   // maker of the trade whose events are collected
	remainder []engine.OrderID // makers that a taker has not filled
	within    int              // trades with other accounts in batches of several trades
}

func newPrints(e *orderEntry, size int) *prints {
	p := &prints{orderEntry: e, size: size}
	p.trades = sequencer.Batch{Stamped: true, Collect: p.collectTrade}
	return p
}

// add makes one trade at the time of the record, now or with the next flush.
func (p *prints) add(side engine.Side, price, amount int64) error {
	if len(p.trades.Commands) == 0 && p.size > 1 && p.alone == 0 {
		open, err := p.entry.OpenOrders(p.pair)
		if err != nil {
			return failedEntry(err)
		}
		if open > 0 {
			p.alone = printBatch
		}
	}
	maker := engine.Command{
		Kind: engine.Place, TimeNs: p.now, Pair: p.pair, Side: side.Opposite(), Type: engine.Limit, Account: p.maker,
		Price: price, Amount: amount,
	}
	taker := maker
	taker.Side, taker.TIF, taker.Account = side, engine.IOC, p.taker
	p.trades.Commands = append(p.trades.Commands, maker, taker)
	if p.alone > 0 || len(p.trades.Commands) >= 2*p.size {
		p.alone = max(0, p.alone-1)
		return p.flush()
	}
	return nil
}

// flush makes the trades that wait, and cancels what is left of their makers.
func (p *prints) flush() error {
	n := len(p.trades.Commands)
	if n == 0 {
		return nil
	}
	err := p.submit(&p.trades)
	p.trades.Commands = p.trades.Commands[:0]
	if err != nil || len(p.remainder) == 0 {
		return err
	}
	if n > 2 {
		p.within += len(p.remainder)
	}
	for _, id := range p.remainder {
		p.cancel(id)
	}
	p.remainder = p.remainder[:0]
	_, err = p.send()
	return err
}

// collectTrade counts the events of one command, and notes the maker of which the taker leaves something.
func (p *prints) collectTrade(i int, cmd *engine.Command, events []engine.Event) {
	for k := range events {
		ev := &events[k]
		switch ev.Kind {
		case engine.EventRejected:
			p.reject(cmd, ev)
		case engine.EventAccepted:
			p.report.Placed++
			if i&1 == 0 {
				p.made = ev.Order
			}
		case engine.EventTrade:
			p.report.Trades++
			if ev.Maker == p.made && ev.MakerOpen == 0 {
				p.made = 0
			}
		default: // the orders end with their trade, or are canceled
		}
	}
	if i&1 == 1 && p.made != 0 {
		p.remainder = append(p.remainder, p.made)
		p.made = 0
	}
}
