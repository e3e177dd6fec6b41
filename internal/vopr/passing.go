package vopr

import (
	"fmt"
	"slices"
	"strconv"
)

// passing is a pair that is added, in which the built-in account trades, and which is delisted for good. The next one
// has another code.
type passing struct {
	code   string
	state  passingState
	maybe  passingState // a change of unknown outcome may make it that at the next start; 0: none
	tick   int          // world.answers at the last answer about the pair
	orders []uint64     // acknowledged orders
	ticks  []int        // world.answers at these
}

// passingState is what is known of a passing pair.
type passingState uint8

const (
	unsurePair passingState = iota // a change has an unknown outcome, or may be lost
	missingPair
	listedPair
	delistedPair
)

// maxPassing bounds the passing pairs of a run.
const maxPassing = 8

// passPair takes the newest passing pair one step further: it adds it, places an order in it, or delists it.
func (w clients) passPair() {
	if w.busy["config"] {
		return
	}
	all := &w.model.passing
	if n := len(*all); n == 0 || (*all)[n-1].state == delistedPair && n < maxPassing {
		*all = append(*all, &passing{
			code:  "D" + strconv.Itoa(w.rnd.IntN(1000)*maxPassing+n) + "_CC",
			state: missingPair,
		})
	}
	p := (*all)[len(*all)-1]
	w.mix.Market++
	switch {
	case p.state == missingPair:
		w.changePassing(p, "POST", "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":2,"digitsAmount":4}`, p.code),
			listedPair)
	case p.state == listedPair && w.rnd.IntN(3) > 0:
		w.ask("config", nil, "POST", internal+"/orders", fmt.Sprintf(
			`{"currencyPairCode":%q,"side":%q,"type":"limit","price":%d,"amount":1}`, p.code,
			pick(w, []string{"buy", "sell"}), 1+w.rnd.IntN(3)), func(a answer) {
			var got orderAnswer
			if a.into(&got) == nil && got.Status != "Rejected" {
				p.orders, p.ticks = append(p.orders, got.OrderID), append(p.ticks, w.answers)
			}
		})
	case p.state == listedPair || p.state == delistedPair: // a repeat changes nothing
		w.changePassing(p, "DELETE", "/pairs/"+p.code, "", delistedPair)
	default:
		w.ask("config", nil, "GET", internal+"/pairs/"+p.code, "", func(a answer) { checker(w).checkPassing(p, a) })
	}
}

// changePassing sends a change of a passing pair.
func (w clients) changePassing(p *passing, method, target, body string, next passingState) {
	was := p.state
	p.state = unsurePair
	w.ask("config", nil, method, internal+target, body, func(a answer) {
		switch {
		case a.ok():
			p.state, p.maybe, p.tick = next, unsurePair, w.answers
			w.checkLists(p)
			if next == delistedPair && was != next {
				w.mix.Delisted++
			}
		case a.refused() && a.status != 409: // 409: an earlier change of unknown outcome was carried out
			p.state = was
		case !a.refused():
			p.maybe = next
		}
	})
}

// checkPassings verifies the passing pairs after a restart.
func (w checker) checkPassings() {
	w.model.passing = slices.DeleteFunc(w.model.passing, func(p *passing) bool {
		w.checkPassing(p, w.call(nil, "GET", internal+"/pairs/"+p.code, ""))
		p.maybe = unsurePair
		return p.state == missingPair
	})
	for _, p := range w.model.passing {
		clients(w).checkLists(p)
		if w.gone() { // ids may be given out again
			p.orders, p.ticks = nil, nil
		}
		for i, id := range p.orders {
			w.checkPassingOrder(p, id, p.ticks[i])
		}
	}
}

// checkPassing compares a passing pair with the answer to a request for it. A delisting that was cut leaves a pair that
// takes cancels alone.
func (w checker) checkPassing(p *passing, a answer) {
	var got struct{ State string }
	is := missingPair
	switch {
	case a.status == 404:
	case a.into(&got) != nil:
		return // the process ended, or does not answer
	case got.State == "delisted":
		is = delistedPair
	default:
		is = listedPair
	}
	switch {
	case p.state == unsurePair, p.state == is, p.maybe == is:
	case p.state == listedPair && is == delistedPair || p.state == missingPair:
		w.fail("the pair %s is %q, which no request asked for", p.code, got.State)
	default:
		w.lost(p.tick, "pair %s: %d %s", p.code, a.status, a.body)
	}
	p.state = is
}

// checkPassingOrder verifies that an acknowledged order of a delisted pair is there and is canceled.
func (w checker) checkPassingOrder(p *passing, id uint64, tick int) {
	if p.state != delistedPair {
		return
	}
	a := w.call(nil, "GET", internal+"/orders/"+strconv.FormatUint(id, 10), "")
	var got struct{ Status, EndReason, CurrencyPairCode string }
	switch {
	case a.status == 404:
		w.lost(tick, "order %d of %s", id, p.code)
	case a.into(&got) != nil: // the process ended
	case got.CurrencyPairCode != p.code || got.Status == "Created" || got.Status == "PartiallyCompleted":
		w.fail("order %d of the delisted pair %s: %s", id, p.code, a.body)
	}
}

// checkLists verifies that the reads of a pair are as its state says: one that is delisted is unknown.
func (w clients) checkLists(p *passing) {
	want := map[passingState]int{missingPair: 404, listedPair: 200, delistedPair: 404}[p.state]
	a := w.call(nil, "GET", "/api/tickers?currencyPairCode="+p.code, "")
	if answered := a.status == 200 || a.status == 404; answered && want != 0 && a.status != want {
		w.fail("the ticker of %s: %d %s, want %d", p.code, a.status, a.body, want)
	}
}
