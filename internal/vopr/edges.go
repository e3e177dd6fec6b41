package vopr

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// edge is a rule about a moment. A life takes the exchange to the last nanosecond before it and to its first one: the
// clock stands there while every component does what is due.
type edge uint8

const (
	switchEdge      edge = iota // a dead man's switch fires
	haltedPairEdge              // it fires, and a halted pair takes no cancels
	keyEdge                     // a key expires
	boostEdge                   // a boost ends
	proposalEdge                // a proposal closes
	windowEdge                  // a trade leaves the 24 h window
	haltEdge                    // an account is halted, and the halt is lifted
	edges           = int(haltEdge) + 1
	settleTurns     = 400 // in which each component takes more than ten steps
	settleAttempts  = 20
	switchTimeoutMs = 60_000
)

// stand takes the clock to a time that has not passed, unless it is 0, and lets the components do what is due. The
// caller lets it go on by clearing standing.
func (w clients) stand(ns int64) {
	if ns != 0 {
		if now := w.clock.NowNs(); now > ns {
			w.fail("the clock is at %d, and should be at %d", now, ns)
			panic(killed{})
		}
		w.machine.pass(ns - w.clock.NowNs())
	}
	w.standing = true
	for range settleTurns {
		w.p.pause()
	}
}

// soon waits, while the clock stands, until a condition holds.
func (w clients) soon(what string, holds func() bool) {
	for range settleAttempts {
		if holds() {
			return
		}
		w.stand(0)
	}
	w.fail("at %d: %s", w.clock.NowNs(), what)
}

// stamped sends a request at this moment and waits for its answer, for which time may have to pass.
func (w clients) stamped(k *key, method, target, body string) (a answer) {
	ended := false
	w.p.begin(method+" "+target, func() {
		a = w.call(k, method, target, body)
		ended = true
	})
	w.stand(0)
	for w.standing = false; !ended; {
		w.p.pause()
	}
	w.logf("%s %s %s -> %d %s", method, target, body, a.status, a.body)
	return a
}

// meet takes the exchange to an edge. What it needs may be missing: then it does nothing.
func (w clients) meet(e edge) {
	able := slices.DeleteFunc(slices.Clone(w.model.users), func(u *user) bool {
		return len(u.keys) == 0 || u.halt != trading
	})
	var s struct{ Status string }
	if w.stepped || len(able) == 0 || len(w.inflight) > 0 ||
		w.call(nil, "GET", "/api/status", "").into(&s) != nil || s.Status == "degraded" { // a sync may have failed
		return
	}
	defer func() { w.standing = false }()
	met := map[edge]func(u *user) bool{
		switchEdge:     func(u *user) bool { return w.meetSwitch(u, false) },
		haltedPairEdge: func(u *user) bool { return w.meetSwitch(u, true) },
		keyEdge:        w.meetExpiry,
		boostEdge:      func(*user) bool { return w.meetBoost() },
		proposalEdge:   func(*user) bool { return w.meetClose() },
		windowEdge:     func(*user) bool { return w.meetWindow() },
		haltEdge:       w.meetHalt,
	}[e](pick(w, able))
	if met && w.failure == nil {
		w.mix.Edges[e]++
	}
}

// rest places an order of a user that no other one meets. ok is false when it is refused.
func (w clients) rest(u *user, pair string) (id uint64, a answer) {
	quote := pair[strings.Index(pair, "_")+1:]
	w.must(internal+"/users/"+u.ID+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":100}`, quote), nil)
	w.model.of(quote).in += 100
	u.of(quote).add(big.NewInt(100))
	o := &order{pair: pair, side: "buy", account: u.ID, price: "50", amount: "0.5"}
	a = w.stamped(&u.keys[0], "POST", "/api/orders",
		fmt.Sprintf(`{"currencyPairCode":%q,"side":"buy","price":50,"amount":0.5}`, pair))
	if a.ok() {
		o.id, _ = strconv.ParseUint(strings.Trim(string(a.body), `"`), 10, 64)
		if err := w.acknowledged(o); err != nil {
			w.fail("%v", err)
		}
	}
	return o.id, a
}

// open reports whether an order is open.
func (w clients) open(id uint64) bool {
	var got orderAnswer
	if err := w.call(nil, "GET", internal+"/orders/"+strconv.FormatUint(id, 10), "").into(&got); err != nil {
		w.fail("order %d: %v", id, err)
	}
	return got.Status == "Created" || got.Status == "PartiallyCompleted"
}

// meetSwitch sets the dead man's switch of a user: its order is open before the time, and not at it, or, in a halted
// pair, as soon as the pair takes cancels. An order behind it stays.
func (w clients) meetSwitch(u *user, halted bool) bool {
	const pair = "AA_USDT"
	before, a := w.rest(u, pair)
	if !a.ok() {
		return false
	}
	state := func(s string) {
		if a := w.stamped(nil, "PATCH", internal+"/pairs/"+pair, `{"state":"`+s+`"}`); !a.ok() {
			w.fail("%s of %s: %d %s", s, pair, a.status, a.body)
		}
	}
	if halted {
		state("halted")
	}
	w.stand((w.clock.NowNs()/1e6 + 1) * 1e6)
	fires := w.clock.NowNs() + switchTimeoutMs*1e6
	var got struct{ FiresAt time.Time }
	a = w.stamped(&u.keys[0], "POST", "/api/orders/cancel-all-after", fmt.Sprintf(`{"timeoutMs":%d}`, switchTimeoutMs))
	if err := a.into(&got); err != nil || got.FiresAt.UnixNano() != fires {
		w.fail("a switch that fires at %d: %s: %v", fires, a.body, err)
		return false
	}
	u.firesMs = fires / 1e6
	w.stand(fires - 1)
	if !w.open(before) {
		w.fail("order %d of user %s is canceled a nanosecond before its switch fires", before, u.ID)
	}
	w.stand(fires)
	if halted {
		if !w.open(before) {
			w.fail("order %d of the halted pair %s is canceled", before, pair)
		}
		state("online")
	}
	w.soon(fmt.Sprintf("order %d of user %s is open, and its switch has fired", before, u.ID),
		func() bool { return !w.open(before) })
	behind, a := w.rest(u, pair)
	if !a.ok() {
		w.fail("an order behind a switch: %d %s", a.status, a.body)
		return false
	}
	w.stand(w.clock.NowNs() + int64(time.Second))
	if !w.open(behind) {
		w.fail("order %d of user %s came behind its switch, and is canceled", behind, u.ID)
	}
	return true
}

// meetExpiry makes a key that ends: it counts before the time alone.
func (w clients) meetExpiry(u *user) bool {
	ends := time.Unix(w.clock.NowNs()/1e9+10, 0).UTC()
	var k key
	w.must(internal+"/users/"+u.ID+"/apikeys", fmt.Sprintf(`{"name":"ends","expiresAt":%q}`, ends.Format(time.RFC3339)),
		&k)
	for _, at := range []struct {
		ns     int64
		status int
	}{{ends.UnixNano() - 1, 200}, {ends.UnixNano(), 401}} {
		w.stand(at.ns)
		if a := w.call(&k, "GET", "/api/wallets/balances", ""); a.status != at.status {
			w.fail("at %d a key that ends at %d: %d %s", at.ns, ends.UnixNano(), a.status, a.body)
		}
	}
	return true
}

// meetBoost buys a boost: the token is boosted before its end alone.
func (w clients) meetBoost() bool {
	t := pick(w, w.model.tokens)
	w.must(internal+"/launchpad/tokens/"+t.NFT+"/boosts", `{"tier":"short"}`, nil)
	boost := func() (active bool, endsNs int64) {
		var got struct {
			Boost struct {
				Active    bool
				ExpiresAt int64
			}
		}
		if err := w.call(nil, "GET", "/api/launchpad/tokens/"+t.NFT, "").into(&got); err != nil {
			w.fail("token %s: %v", t.NFT, err)
		}
		return got.Boost.Active, got.Boost.ExpiresAt * 1e9
	}
	active, ends := boost()
	if !active || ends > w.clock.NowNs()+int64(24*time.Hour) { // others bought many
		return false
	}
	w.stand(ends - 1)
	w.soon(fmt.Sprintf("the boost of token %s is over a nanosecond before its end", t.NFT), func() bool {
		active, _ := boost()
		return active
	})
	w.stand(ends)
	w.soon(fmt.Sprintf("the boost of token %s goes on at its end", t.NFT), func() bool {
		active, _ := boost()
		return !active
	})
	return true
}

// meetClose opens a proposal: the vote of the token's maker counts before its close, and none at it.
func (w clients) meetClose() bool {
	t := pick(w, w.model.tokens)
	u := w.userOf(t.maker)
	if u == nil || len(u.keys) == 0 {
		return false
	}
	var p proposalAnswer
	w.must(internal+"/hive/proposals", proposalOf(t, 70, true), &p)
	w.proposed(t, &p).votes[u.ID] = true
	status := func() string {
		var got proposalAnswer
		if err := w.call(nil, "GET", "/api/agents/proposals/"+p.ProposalID, "").into(&got); err != nil {
			w.fail("proposal %s: %v", p.ProposalID, err)
		}
		return got.Status
	}
	vote := func() answer {
		return w.stamped(&u.keys[0], "POST", "/api/agents/workers/"+t.NFT+"/vote",
			fmt.Sprintf(`{"proposalId":%q,"vote":"yes"}`, p.ProposalID))
	}
	closes := p.ClosesAt * 1e9
	w.stand(closes - 1)
	if is := status(); is != "active" {
		w.fail("proposal %s is %s a nanosecond before it closes", p.ProposalID, is)
	}
	if a := vote(); !a.ok() {
		w.fail("a vote a nanosecond before proposal %s closes: %d %s", p.ProposalID, a.status, a.body)
	}
	if w.clock.NowNs() < closes {
		w.stand(closes)
	}
	w.soon(fmt.Sprintf("proposal %s is active at its close", p.ProposalID), func() bool { return status() != "active" })
	if a := vote(); a.code() != "PROPOSAL_CLOSED" {
		w.fail("a vote when proposal %s closes: %d %s", p.ProposalID, a.status, a.body)
	}
	return true
}

// meetWindow waits until the newest trade of a pair leaves the window of 24 hours: the last nanosecond of its second
// still counts.
func (w clients) meetWindow() bool {
	const pair = "AA_USDT"
	w.tapes().read(pair)
	tape := w.model.tapes[pair]
	if len(tape) == 0 {
		return false
	}
	leaves := (tape[len(tape)-1].atNs/1e9 + 86_400) * 1e9
	if leaves <= w.clock.NowNs() {
		return false
	}
	for _, at := range []int64{leaves - 1, leaves} {
		w.stand(at)
		has, want := "", foldWindow(tape, at/1e9)
		for range settleAttempts {
			var got struct {
				Price, Price24hAgo, Volume24h jsonText
			}
			if err := w.call(nil, "GET", "/api/tickers?currencyPairCode="+pair, "").into(&got); err != nil {
				w.fail("the ticker of %s: %v", pair, err)
			}
			if has = fmt.Sprint(got.Price, " ", got.Price24hAgo, " ", got.Volume24h); has == want {
				break
			}
			w.stand(0)
		}
		if has != want {
			w.fail("at %d the window of %s has price, price before and volume %s, its trades give %s", at, pair, has,
				want)
		}
	}
	return true
}

// meetHalt halts a user: none of its orders is open behind the answer, and it places none until the halt is lifted.
func (w clients) meetHalt(u *user) bool {
	const pair = "BB_USDT"
	before, a := w.rest(u, pair)
	if !a.ok() {
		return false
	}
	target := internal + "/users/" + u.ID + "/halt"
	if a := w.stamped(nil, "POST", target, ""); !a.ok() || w.open(before) {
		w.fail("order %d of user %s behind its halt: %d %s", before, u.ID, a.status, a.body)
	}
	if _, a := w.rest(u, pair); a.code() != "ACCOUNT_HALTED" {
		w.fail("an order of the halted user %s: %d %s", u.ID, a.status, a.body)
	}
	if a := w.stamped(nil, "DELETE", target, ""); !a.ok() {
		w.fail("the end of the halt of user %s: %d %s", u.ID, a.status, a.body)
	}
	if _, a := w.rest(u, pair); !a.ok() {
		w.fail("an order of user %s behind its halt: %d %s", u.ID, a.status, a.body)
	}
	u.halts += 2
	return true
}
