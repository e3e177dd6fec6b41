package vopr

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-json"

	"github.com/tickhive/tickhive/accounts/auth"
)

// checker compares a recovered exchange with the model.
type checker struct{ *world }

// losses says what the end of a life permits a start to have lost, with a new epoch: always the end of the log.
type losses struct {
	unsynced bool // what was answered and not synced, as the policy has it
	any      bool // what was synced, too: a sync lied, or files are not as they were written
}

// lost notes that something is missing that was answered at a tick (world.answers). For what is answered when it is
// synced, that is the tick at which the present process was verified: before it, its record may not have been synced.
func (w checker) lost(tick int, format string, args ...any) {
	switch {
	case w.epochs && (w.may.any || w.may.unsynced && tick > w.safe):
		w.logf("lost, with a new epoch: "+format, args...)
	case w.stale:
		w.mix.Limits++
		w.logf("lost with an earlier file: "+format, args...)
	default:
		w.fail("lost: "+format, args...)
	}
}

// gone reports whether records may be lost, so that numbers are given out again.
func (w checker) gone() bool { return w.epochs || w.stale }

// verify compares a recovered exchange with the model. It runs in a coroutine.
func (w checker) verify() {
	if w.model.epoch == "" {
		w.compared = true
		w.readStatus()
		return
	}
	w.unknown = w.mix.Unknown
	was := w.model.epoch
	w.readStatus()
	if w.epochs = w.model.epoch != was; w.epochs {
		w.mix.Epochs++
	}
	w.checkReplay()
	if w.same() {
		w.checkTickerSeqs()
		if w.sums != nil {
			w.checkSums()
		}
	}
	if w.gone() {
		w.model.forgetEpoch()
	}
	// The program cannot know this loss, so it began no epoch that makes the readers start over.
	if w.gone() && !w.epochs {
		for _, r := range w.streams.all {
			r.epoch, r.since = "", ""
		}
	}
	w.checkMarket()
	w.checkPassings()
	w.checkTapes()
	w.checkMoney()
	w.checkUsers()
	w.checkQuotes() // by keys that are not lost
	w.checkAgents()
	w.stale = false
	w.answers++
	w.verified = w.answers
}

// same reports whether the log is as long as at the end of the last life, and so has the same records.
func (w checker) same() bool { return w.last != 0 && w.x.Loop().Position() == w.last && !w.gone() }

// checkTickerSeqs verifies that the X-Seq of tickers is the same as before the restart, in the same state.
func (w checker) checkTickerSeqs() {
	for pair, seq := range w.tickers {
		if a := w.call(nil, "GET", "/api/tickers?currencyPairCode="+pair, ""); a.ok() && a.seq != seq {
			w.fail("the ticker of %s has the X-Seq %s, it was %s in the same state before the restart", pair, a.seq,
				seq)
		}
	}
}

// checkSums verifies that the totals are the same as before the restart, in the same state.
func (w checker) checkSums() {
	w.mix.Sums++
	now := w.totals()
	for c, was := range w.sums {
		if now[c] != was {
			w.fail("the totals of %s are %s, they were %s in the same state before the restart", c, now[c], was)
		}
	}
}

// checkUsers verifies users and keys.
func (w checker) checkUsers() {
	w.model.users = slices.DeleteFunc(w.model.users, func(u *user) bool {
		u.lost = u.lost || w.gone()
		a := w.call(nil, "GET", internal+"/users/"+u.ID, "")
		if !a.ok() {
			w.lost(w.verified, "user %s: %d %s", u.ID, a.status, a.body)
			return true
		}
		w.checkHalt(u, a)
		if w.stepped {
			return false
		}
		folded := false
		u.keys = slices.DeleteFunc(u.keys, func(k key) bool {
			a := w.call(&k, "GET", "/api/wallets/balances", "")
			if a.ok() {
				if totals := w.checkWallet(u, a); totals != nil && !folded {
					folded = true
					w.checkPurses(u, &k, totals)
				}
			} else {
				w.lost(w.verified, "key %s of user %s: %d %s", k.PublicKey, u.ID, a.status, a.body)
			}
			return !a.ok()
		})
		u.deleted = slices.DeleteFunc(u.deleted, func(k key) bool {
			a := w.call(&k, "GET", "/api/wallets/balances", "")
			if a.ok() {
				w.lost(w.verified, "the deletion of key %s of user %s", k.PublicKey, u.ID)
			}
			return a.ok()
		})
		return false
	})
}

// checkWallet verifies the balances of a user: free and held money add up, and each is within its bounds. It returns
// the totals, nil after a failure.
func (w checker) checkWallet(u *user, a answer) map[string]*big.Int {
	var wallet struct {
		Balances []struct {
			CurrencyCode      string
			Free, Held, Total json.Number
		}
	}
	if err := a.into(&wallet); err != nil {
		w.fail("the balances of user %s: %v", u.ID, err)
		return nil
	}
	totals := map[string]*big.Int{}
	for _, b := range wallet.Balances {
		free, _ := new(big.Rat).SetString(b.Free.String())
		held, _ := new(big.Rat).SetString(b.Held.String())
		total, _ := new(big.Rat).SetString(b.Total.String())
		if free == nil || held == nil || total == nil || new(big.Rat).Add(free, held).Cmp(total) != 0 ||
			free.Sign() < 0 || held.Sign() < 0 || !w.whole(b.CurrencyCode, b.Free) || !w.whole(b.CurrencyCode, b.Held) {
			w.fail("user %s has the balance %+v", u.ID, b)
			return nil
		}
		totals[b.CurrencyCode] = exact(b.Total.String())
	}
	return totals
}

// whole reports whether an amount of a currency that the pairs trade has no more digits than the currency.
func (w checker) whole(currency string, n json.Number) bool {
	digits, known := w.plan.digits[currency]
	_, fraction, _ := strings.Cut(shortest(n.String()), ".")
	return !known || len(fraction) <= digits
}

func (w checker) readStatus() {
	var s struct {
		Epoch     string
		Incidents []json.RawMessage
	}
	if err := w.call(nil, "GET", "/api/status", "").into(&s); err != nil {
		w.fail("status: %v", err)
	}
	fresh := slices.DeleteFunc(s.Incidents, func(in json.RawMessage) bool { return w.model.incidents[string(in)] })
	if !w.plan.virtual {
		w.machine.pass((auth.AheadMs + 1) * int64(time.Millisecond)) // no earlier timestamp is accepted after a start
	}
	w.mix.Incidents += len(fresh)
	w.model.epoch = s.Epoch
	for _, in := range fresh {
		w.model.incidents[string(in)] = true
	}
}

// checkMarket verifies books and orders.
func (w checker) checkMarket() {
	w.model.reached = nil
	seen := true
	for _, pair := range slices.Clone(w.model.pairs) {
		a := w.call(nil, "GET", "/api/orderbook?currencyPairCode="+pair+"&aliases=false", "")
		if !a.ok() {
			w.lost(w.model.paired[pair], "pair %s: %d %s", pair, a.status, a.body)
			w.model.pairs = slices.DeleteFunc(w.model.pairs, func(p string) bool { return p == pair })
			continue
		}
		clients(w).seen(pair, a)
		seen = w.resting(pair) && seen
	}
	if seen { // of the orders of unknown outcome only a stop that waits may still come into a book
		w.model.maybe = slices.DeleteFunc(w.model.maybe, func(o *order) bool { return !o.stop })
	}
	if w.gone() { // its ids may be given out again
		all := w.model.ids
		w.model.ids = nil
		for _, id := range all {
			if w.checkOrder(w.model.orders[id]) {
				w.model.ids = append(w.model.ids, id)
			} else {
				delete(w.model.orders, id)
			}
		}
		return
	}
	n := len(w.model.ids)
	for i := range min(n, 40) {
		at := n - 1 - i
		if i >= 20 {
			at = w.rnd.IntN(n)
		}
		w.checkOrder(w.model.orders[w.model.ids[at]])
	}
}

// checkOrder verifies that an acknowledged order is there.
func (w checker) checkOrder(o *order) bool {
	var got orderAnswer
	if err := w.call(nil, "GET", internal+"/orders/"+strconv.FormatUint(o.id, 10), "").into(&got); err != nil {
		w.lost(o.tick, "order %+v: %v", *o, err)
		return false
	}
	if got.Side != o.side || got.CurrencyPairCode != o.pair || got.ClientOrderID != o.client && !o.found ||
		o.price != "" && string(got.Price) != o.price || !o.waitsAs(&got) || !got.withinQuote() {
		w.fail("order %+v is %+v", *o, got)
	}
	w.noteReached(&got)
	return true
}

// resting verifies that each order of a book was acknowledged or has an unknown outcome. It returns false when the book
// cannot be read.
func (w checker) resting(pair string) bool {
	type level struct {
		Price  jsonText
		Orders []struct {
			OrderID   uint64
			AccountID string
		}
	}
	var book struct {
		Seq        uint64
		Bids, Asks []level
	}
	a := w.call(nil, "GET", internal+"/book/"+pair+"?depth=0", "")
	if a.status == 503 && w.x.Loop().Shown() < w.x.Loop().Position() {
		return false // it has what a failed sync keeps from readers
	}
	if err := a.into(&book); err != nil {
		w.fail("the book of %s: %v", pair, err)
		return false
	}
	if shown := max(w.model.shown[pair], w.model.bookSeq[pair]); book.Seq < shown {
		w.fail("%s is at seq %d, and seq %d was shown in this epoch", pair, book.Seq, shown)
	}
	for i, side := range [][]level{book.Bids, book.Asks} {
		for _, l := range side {
			for _, r := range l.Orders {
				account := r.AccountID
				if account == "00000000-0000-0000-0000-000000000000" {
					account = ""
				}
				o := &order{
					id: r.OrderID, pair: pair, side: []string{"buy", "sell"}[i], account: account,
					price: string(l.Price), found: true, tick: w.answers,
				}
				if w.model.orders[o.id] != nil {
					continue
				}
				if !w.model.expects(o) {
					w.fail("order %d rests at %s in %s, and no request of account %q was acknowledged for it",
						o.id, l.Price,
						pair, account)
					return true
				}
				o.price = "" // a change of unknown outcome may follow
				w.model.orders[o.id] = o
				w.model.ids = append(w.model.ids, o.id)
			}
		}
	}
	return true
}

// checkClose verifies the status of a proposal: those that closed while no process ran are closed before clients are
// admitted, and no other one is.
func (w checker) checkClose(p *proposal, status string) {
	switch {
	case w.stepped || len(w.starting) > 0: // by which clock it closed is not known, or its record was refused
	case status == "active" && p.closes*1e9 <= w.startedNs:
		w.fail("proposal %s is active, and it closed at %d, before the start", p.id, p.closes)
	case status != "active" && p.closes*1e9 > w.clock.NowNs():
		w.fail("proposal %s is %s, and it closes at %d", p.id, status, p.closes)
	case status != "active":
		w.mix.Closed++
	}
}

// checkMoney verifies the totals.
func (w checker) checkMoney() {
	var totals []struct {
		CurrencyCode                           string
		Free, Held, Fees, Deposited, Withdrawn json.Number
	}
	if err := w.call(nil, "GET", internal+"/totals", "").into(&totals); err != nil {
		w.fail("totals: %v", err)
		return
	}
	codes := map[string]bool{}
	for _, t := range totals {
		codes[t.CurrencyCode] = true
		m := w.model.of(t.CurrencyCode)
		for _, c := range []struct {
			what  string
			known *int64
			maybe *[]int64
			text  json.Number
		}{{"deposited", &m.in, &m.maybeIn, t.Deposited}, {"withdrawn", &m.out, &m.mayb, t.Withdrawn}} {
			had := fmt.Sprintf("%d and maybe %v", *c.known, *c.maybe)
			whole, ok := new(big.Int).SetString(shortest(c.text.String()), 10)
			total := int64(0)
			if ok {
				total = low64(whole)
			}
			if !ok || !sums(c.known, c.maybe, total) {
				w.lost(w.verified, "%s %s: %s, the answers said %s", t.CurrencyCode, c.what, c.text, had)
				*c.known, *c.maybe = total, nil
			}
		}
	}
	for _, c := range []string{"AA", "BB", "CC", "USDT"} {
		if m := w.model.of(c); !codes[c] && m.in != 0 {
			w.lost(w.verified, "all %s: the answers said %d", c, m.in)
			*m = money{}
		}
	}
	if err := w.x.Accounts().Check(); err != nil {
		w.fail("the accounts do not add up: %v", err)
	}
}

// checkAgents verifies launchpad and hive. It runs in a coroutine.
func (w checker) checkAgents() {
	w.model.tokens = slices.DeleteFunc(w.model.tokens, func(t *token) bool {
		var pool poolAnswer
		a := w.call(nil, "GET", "/api/launchpad/tokens/"+t.NFT+"/pool", "")
		if err := a.into(&pool); err != nil {
			w.lost(w.verified, "token %s %s: %v", t.NFT, t.symbol, err)
			return true
		}
		if got := pool.reserves(); got != t.pool {
			if !t.maybe {
				w.lost(w.verified, "the pool of token %s has %s, the last answer said %s", t.NFT, got, t.pool)
			}
			t.pool = got
		}
		t.maybe = false
		return false
	})
	w.model.proposals = slices.DeleteFunc(w.model.proposals, func(p *proposal) bool {
		a := w.call(nil, "GET", "/api/agents/proposals/"+p.id, "")
		var got proposalAnswer
		if err := a.into(&got); err != nil {
			w.lost(w.verified, "proposal %s: %v", p.id, err)
			return true
		}
		if w.gone() { // another one may have its id
			p.closes = got.ClosesAt
		}
		w.checkClose(p, got.Status)
		return false
	})
	if w.stale || w.epochs && w.may.any { // votes may be lost, and entries may have the ids of lost ones
		for _, p := range w.model.proposals {
			p.votes, p.unsure = map[string]bool{}, true
		}
		clear(w.model.actions)
		return
	}
	var list struct {
		Items []struct {
			EntryID       uint64
			SourceAgentID string
			ActionPayload json.RawMessage
		}
	}
	a := w.call(nil, "GET", "/api/agents/action-logs?actionType=observation&pageSize=100", "")
	if err := a.into(&list); err != nil {
		w.fail("the action log: %v", err)
		return
	}
	seen := map[uint64]bool{}
	for _, e := range list.Items {
		seen[e.EntryID] = true
		clients(w).entry(e.EntryID, e.SourceAgentID+string(e.ActionPayload))
	}
	for id := range w.model.actions {
		if len(list.Items) > 0 && id >= list.Items[len(list.Items)-1].EntryID && !seen[id] || len(list.Items) == 0 {
			w.lost(w.verified, "entry %d of the hive's log", id)
		}
	}
}
