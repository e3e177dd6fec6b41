package replay

import (
	"tickhive/engine"
	"tickhive/engine/sequencer"
)

// printBatch is the number of trades that one batch makes, unless the records are due at their times.
const printBatch = 512

// prints makes trades that leave nothing in the book: a maker and a taker for each, at its price and time.
//
// It sends the trades in batches, because the way through the loop costs more than the commands, and fills one batch
// while the loop works on the other. The loop applies a batch as a whole, so no order of another account comes between
// its trades. While such orders rest in the book, each trade has its own batch: a taker may fill them first, and the
// remainder of the maker is canceled before the next trade.
type prints struct {
	*orderEntry
	size    int // of a batch, in trades
	waiting *sequencer.Batch
	sent    *sequencer.Batch // the loop works on it, if it has commands

	// Owner: the loop's goroutine while a batch is sent, otherwise the goroutine of Run.
	made      engine.OrderID   // maker of the trade whose events are collected
	remainder []engine.OrderID // makers that a taker has not filled

	within int // trades with other accounts in batches of several trades
}

func newPrints(e *orderEntry, size int) *prints {
	p := &prints{orderEntry: e, size: size}
	p.waiting = &sequencer.Batch{Stamped: true, Collect: p.collectTrade}
	p.sent = &sequencer.Batch{Stamped: true, Collect: p.collectTrade}
	return p
}

// add makes one trade at the time of the record, with a batch or with flush.
func (p *prints) add(side engine.Side, price, amount int64) error {
	maker := engine.Command{
		Kind: engine.Place, TimeNs: p.now, Pair: p.pair, Side: side.Opposite(), Type: engine.Limit, Account: p.maker,
		Price: price, Amount: amount,
	}
	taker := maker
	taker.Side, taker.TIF, taker.Account = side, engine.IOC, p.taker
	p.waiting.Commands = append(p.waiting.Commands, maker, taker)
	if len(p.waiting.Commands) < 2*p.size {
		return nil
	}
	return p.begin()
}

// flush makes the trades that wait.
func (p *prints) flush() error {
	if err := p.begin(); err != nil {
		return err
	}
	return p.await()
}

// begin sends the waiting trades after the end of the batch before.
func (p *prints) begin() error {
	if err := p.await(); err != nil || len(p.waiting.Commands) == 0 {
		return err
	}
	open := 0
	if p.size > 1 {
		var err error
		if open, err = p.entry.OpenOrders(p.pair); err != nil {
			return failedEntry(err)
		}
	}
	if p.size == 1 || open > 0 {
		return p.oneByOne()
	}
	if err := p.offer(p.waiting); err != nil {
		return err
	}
	p.waiting, p.sent = p.sent, p.waiting
	return nil
}

// await returns the outcome of the batch that was sent.
func (p *prints) await() error {
	n := len(p.sent.Commands)
	if n == 0 {
		return nil
	}
	at := p.sent.Commands[n-1].TimeNs
	err := p.sent.Wait()
	p.sent.Commands = p.sent.Commands[:0]
	if err != nil {
		return failedEntry(err)
	}
	if n > 2 {
		p.within += len(p.remainder)
	}
	return p.cancelRemainders(at)
}

// oneByOne makes the waiting trades in batches of one.
func (p *prints) oneByOne() error {
	all := p.waiting.Commands
	defer func() { p.waiting.Commands = all[:0] }()
	for i := 0; i < len(all); i += 2 {
		p.waiting.Commands = all[i : i+2]
		if err := p.submit(p.waiting); err != nil {
			return err
		}
		if err := p.cancelRemainders(all[i].TimeNs); err != nil {
			return err
		}
	}
	return nil
}

// cancelRemainders cancels what takers have left of makers. at is the time of the newest trade that is made; later ones
// may wait.
func (p *prints) cancelRemainders(at int64) error {
	if len(p.remainder) == 0 {
		return nil
	}
	for _, id := range p.remainder {
		p.cancel(id)
	}
	p.remainder = p.remainder[:0]
	now := p.now
	p.now = at
	_, err := p.send()
	p.now = now
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
