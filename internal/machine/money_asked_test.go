package machine_test

import (
	"fmt"
	"math/big"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/machine/audit"
)

// asked is what a command may need of an account's money. The test computes it from the book before the command.
type asked struct {
	account engine.AccountID
	in      *engine.Instrument // in force
	need    *big.Int           // 10^-18 of what the order spends; nil: unknown
	quote   *big.Int           // of a market buy by amount: what it costs, in product units; else nil
	free    *big.Int           // before the record
	side    engine.Side
	replace bool
}

// ask notes what a command will need, and what its account has before each of its records.
func (m *moneyScript) ask(cmd *engine.Command) {
	switch cmd.Kind {
	case engine.Place:
		if cmd.Side == engine.Sell && cmd.Flags&engine.FlagQuote != 0 { // what it sells is found in the book
			delete(m.asked, cmd.Pair)
			return
		}
		in, _ := m.state.Core.Pair(cmd.Pair)
		a := &asked{account: cmd.Account, in: in, side: cmd.Side}
		a.need, a.quote = m.needOf(in, cmd)
		m.asked[cmd.Pair] = a
	case engine.Replace:
		delete(m.asked, cmd.Pair)
		o, open := m.state.Core.Order(cmd.Order)
		if in, _ := m.state.Core.Pair(cmd.Pair); open && o.List == 0 {
			m.asked[cmd.Pair] = &asked{
				account: o.Account, in: in, side: o.Side, replace: true, need: moreOf(in, cmd, &o),
			}
		}
	case engine.Continue:
	default: // the command asks for no money
		delete(m.asked, cmd.Pair)
	}
	if a := m.asked[cmd.Pair]; a != nil {
		a.free = m.free(a.account, map[engine.Side]string{engine.Buy: a.in.Quote, engine.Sell: a.in.Base}[a.side])
	}
}

// needOf returns what a new order holds, and for a market buy by amount its cost in product units.
func (m *moneyScript) needOf(in *engine.Instrument, cmd *engine.Command) (need, quote *big.Int) {
	switch {
	case cmd.Side == engine.Sell:
		return new(big.Int).Mul(big.NewInt(cmd.Amount), power(fixed.Scale-in.DigitsAmount)), nil
	case cmd.Flags&engine.FlagQuote != 0:
		need = bigOf(cmd.Quote)
	case cmd.Type == engine.Market:
		cost, err := audit.Cost(m.state.Core, cmd.Pair, cmd.Account, cmd.STP, cmd.Amount)
		if err != nil {
			panic(err)
		}
		need, quote = cost, new(big.Int).Set(cost)
	case cmd.Type == engine.StopMarket:
		need = new(big.Int).Mul(big.NewInt(cmd.Stop), big.NewInt(cmd.Amount))
	default:
		need = new(big.Int).Mul(big.NewInt(cmd.Price), big.NewInt(cmd.Amount))
	}
	return need.Mul(need, power(fixed.Scale-in.DigitsTotal())), quote
}

// moreOf returns what a replace needs beyond what its order holds.
func moreOf(in *engine.Instrument, cmd *engine.Command, o *engine.OrderState) *big.Int {
	was, lots := o.Price, o.Open
	if o.Waiting && o.Type.AtMarket() {
		was = o.Stop
	}
	price := was
	if cmd.Flags&engine.FlagHasPrice != 0 {
		price = cmd.Price
	}
	if cmd.Flags&engine.FlagHasAmount != 0 {
		lots = cmd.Amount - (o.Total - o.Open)
	}
	if o.Side == engine.Sell {
		return new(big.Int).Mul(big.NewInt(lots-o.Open), power(fixed.Scale-in.DigitsAmount))
	}
	more := new(big.Int).Mul(big.NewInt(price), big.NewInt(lots))
	more.Sub(more, new(big.Int).Mul(big.NewInt(was), big.NewInt(o.Open)))
	return more.Mul(more, power(fixed.Scale-in.DigitsTotal()))
}

// judge verifies the decision about the money of the command under way: an order is accepted if and only if its account
// can pay it and is not halted.
func (m *moneyScript) judge(e *engine.Event) error {
	a := m.asked[e.Pair]
	if a == nil {
		return nil
	}
	covered := m.unlimited(a.account) || a.need.Cmp(a.free) <= 0 || a.need.Sign() <= 0
	where := fmt.Sprintf("account %d has %s, and needs %s, for %+v", a.account, a.free, a.need, *e)
	switch e.Kind {
	case engine.EventRejected:
		if e.Reason == engine.InsufficientFunds && covered || e.Reason == engine.AccountHalted &&
			!m.halted[uint32(a.account)] {
			return fmt.Errorf("refused: %s", where)
		}
		if e.Reason == engine.InsufficientFunds && a.quote != nil {
			m.mix["market buys refused"]++
		}
		if e.Reason == engine.InsufficientFunds && a.replace {
			m.mix["replaces refused"]++
		}
		delete(m.asked, e.Pair)
	case engine.EventAccepted, engine.EventReplaced:
		if !covered || m.halted[uint32(a.account)] {
			return fmt.Errorf("accepted: %s", where)
		}
		if e.Kind == engine.EventAccepted {
			if err := m.judgeTerms(a, e); err != nil {
				return err
			}
		}
		delete(m.asked, e.Pair)
	default: // an effect of the command
	}
	return nil
}

// judgeTerms verifies what an accepted order holds and which rates it has.
func (m *moneyScript) judgeTerms(a *asked, e *engine.Event) error {
	discount := m.discounts[e.Account][e.Side]
	if m.noFees[e.Account] {
		discount = engine.RateOne
	}
	maker, taker := a.in.MakerFee, a.in.TakerFee
	if e.Account == 0 {
		maker, taker = 0, 0
	}
	if e.TakerFee != taker || e.MakerFee != maker || e.TakerDiscount != discount {
		return fmt.Errorf("the rates are those of %+v, the discount is %d: %+v", *a.in, discount, *e)
	}
	if a.quote == nil || a.account == 0 {
		return nil
	}
	if bigOf(e.Quote).Cmp(a.quote) != 0 {
		return fmt.Errorf("a market buy costs %s, and holds %s: %+v", a.quote, bigOf(e.Quote), *e)
	}
	if left := new(big.Int).Sub(a.free, a.need); left.Mul(left, big.NewInt(50)).Cmp(a.free) < 0 {
		m.mix["market buys at the edge"]++
	}
	return nil
}
