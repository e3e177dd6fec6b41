package vopr

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
)

// setUp makes the first users, pairs and tokens. After a fault it makes again the ones that were lost. It runs in a
// coroutine.
func (w clients) setUp() {
	for _, code := range traded {
		body := fmt.Sprintf(`{"symbol":%q,"digits":%d}`, code, w.plan.digits[code])
		if a := w.call(nil, "GET", internal+"/assets/"+code, ""); !a.ok() {
			w.must(internal+"/assets", body, nil)
		}
	}
	for _, code := range []string{"AA_USDT", "BB_USDT", "AA_CC"} {
		if !slices.Contains(w.model.pairs, code) {
			w.must(internal+"/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":2,"digitsAmount":4}`, code), nil)
			w.model.pairs, w.model.paired[code] = append(w.model.pairs, code), w.answers
		}
	}
	for len(w.model.users) < 3 {
		w.newUser()
	}
	for len(w.model.tokens) < 2 {
		u := w.newUser() // one that has no cooldown
		var got struct {
			Worker struct{ AgentNftID json.Number }
		}
		symbol := w.symbol()
		w.must(internal+"/launchpad/tokens",
			fmt.Sprintf(`{"userId":%q,"name":"T","symbol":%q}`, u.ID, symbol), &got)
		t := &token{NFT: got.Worker.AgentNftID.String(), symbol: symbol, maker: u.ID}
		var pool poolAnswer
		w.must(internal+"/launchpad/tokens/"+t.NFT+"/liquidity",
			fmt.Sprintf(`{"userId":%q,"tokenAmount":1000,"quoteAmount":1000}`, u.ID), &pool)
		t.pool = pool.reserves()
		w.model.tokens = append(w.model.tokens, t)
		w.propose(t, func(fn func()) { fn() })
	}
}

// must sends a POST of the set-up.
func (w clients) must(target, body string, into any) {
	sent := w.answers
	a := w.call(nil, "POST", target, body)
	if w.answers++; a.ok() && isSynced("POST", target) {
		w.safe = max(w.safe, sent)
	}
	w.logf("POST %s %s -> %d %s", target, body, a.status, a.body)
	if into == nil {
		into = new(any)
	}
	if w.halted = a.status == 503 && len(w.starting) > 0; w.p.dead || w.halted {
		panic(killed{})
	}
	if err := a.into(into); err != nil {
		w.fail("set-up: POST %s %s: %v", target, body, err)
		panic(killed{})
	}
}

// newUser makes a user with a key and money.
func (w clients) newUser() *user {
	u := &user{}
	w.must(internal+"/users", `{"level":25}`, u)
	var k key
	w.must(internal+"/users/"+u.ID+"/apikeys", `{"name":"k"}`, &k)
	u.keys = append(u.keys, k)
	w.model.users = append(w.model.users, u)
	for _, c := range []string{"USDT", "AA", "BB", "NATIVE", "USBI"} {
		w.must(internal+"/users/"+u.ID+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":100000}`, c), nil)
		w.model.of(c).in += 100000
		u.of(c).add(big.NewInt(100000))
	}
	if cc := w.model.of("CC"); cc.in == 0 { // most further deposits would pass the bound of all deposits
		near := new(big.Int).Sub(maxBalance, big.NewInt(1+w.rnd.Int64N(200)))
		w.must(internal+"/users/"+u.ID+"/deposits", fmt.Sprintf(`{"currencyCode":"CC","amount":%s}`, near), nil)
		cc.in = low64(near)
		u.of("CC").add(near)
	}
	return u
}

// maxBalance is the bound of all deposits of a currency of 18 digits, in whole coins.
var maxBalance = new(big.Int).Exp(big.NewInt(10), big.NewInt(19), nil)

// low64 returns the lowest 64 bits of a total: sums of the model are modulo 2^64.
func low64(v *big.Int) int64 {
	return int64(new(big.Int).And(v, new(big.Int).SetUint64(math.MaxUint64)).Uint64()) //nolint:gosec // modulo 2^64
}

func (w clients) symbol() string {
	w.serial++
	n, s := w.serial, []byte("AAAAA")
	for i := range s {
		s[i] += byte(n % 26)
		n /= 26
	}
	return string(s)
}

// poolAnswer is a pool in an answer.
type poolAnswer struct {
	ReserveToken, ReserveQuote jsonText
	Pool                       *poolAnswer
}

func (p *poolAnswer) reserves() string {
	if p.Pool != nil {
		p = p.Pool
	}
	return string(p.ReserveToken + " " + p.ReserveQuote)
}

// moveMoney deposits or withdraws whole units.
func (w clients) moveMoney() {
	u, n := pick(w, w.model.users), 1+w.rnd.Int64N(1<<40)
	c := pick(w, []string{"USDT", "AA", "BB", "USDT", "AA", "CC", "NATIVE", "USBI"})
	in := w.rnd.IntN(3) > 0
	if c == "CC" {
		n = 1 + n%1000
	}
	if !in {
		n = 1 + w.rnd.Int64N(1000)
	}
	w.mix.Accounts++
	w.pay(u, c, n, in, func(answer) {})
}

// pay deposits or withdraws whole units.
func (w clients) pay(u *user, c string, n int64, in bool, done func(a answer)) {
	path := "/deposits"
	if !in {
		path = "/withdrawals"
	}
	m, commission := w.model.of(c), w.commission()
	w.ask("", nil, "POST", internal+"/users/"+u.ID+path, fmt.Sprintf(`{"currencyCode":%q,"amount":%d}`, c, n),
		func(a answer) {
			done(a)
			known, maybe, change := &m.in, &m.maybeIn, n
			if !in {
				known, maybe, change = &m.out, &m.mayb, -n-commission
				w.charged(c, commission, a)
			}
			own := u.of(c)
			switch {
			case a.unknown():
				*maybe = append(*maybe, n)
				own.maybe = append(own.maybe, change)
			case a.ok():
				*known += n
				own.add(big.NewInt(change))
			}
		})
}

// charged verifies the commission in the answer to a withdrawal: it is the one of the settings in force.
func (w clients) charged(currency string, commission int64, a answer) {
	var got struct{ Commission jsonText }
	if !a.ok() || !slices.Contains(traded, currency) {
		return
	}
	if err := a.into(&got); err != nil || string(got.Commission) != strconv.FormatInt(commission, 10) {
		w.fail("a withdrawal of %s costs %s, the settings say %d: %v", currency, got.Commission, commission, err)
	}
}

// changeAccount makes or deletes a key, changes a user, halts it, or sets its dead man's switch.
func (w clients) changeAccount() {
	u := pick(w, w.model.users)
	w.mix.Accounts++
	class := "user " + u.ID
	if w.busy[class] {
		return
	}
	target := internal + "/users/" + u.ID
	switch n := w.rnd.IntN(6); {
	case n == 5 && u.halt != halted && w.rnd.IntN(3) > 0: // more are lifted than halted
		w.changeRates()
	case n == 5:
		w.haltOrLift(u)
	case n == 4 && len(u.keys) > 0:
		w.setSwitch(u)
	case n == 0 || len(u.keys) == 0:
		w.ask(class, nil, "POST", target+"/apikeys", `{"name":"k"}`, func(a answer) {
			var k key
			if a.ok() && a.into(&k) == nil {
				u.keys = append(u.keys, k)
			}
		})
	case n == 1:
		k := u.keys[0]
		u.keys = u.keys[1:] // until the answer it is unknown whether the key exists
		w.ask(class, &k, "DELETE", "/api/apikeys/"+k.PublicKey, "", func(a answer) {
			if a.ok() {
				u.deleted = append(u.deleted, k)
			} else if a.refused() {
				u.keys = append(u.keys, k)
			}
		})
	default:
		w.changeRates()
	}
}

// changeRates gives a user other discounts.
func (w clients) changeRates() {
	u := pick(w, w.model.users)
	class := "user " + u.ID
	if w.busy[class] {
		return
	}
	w.ask(class, nil, "PATCH", internal+"/users/"+u.ID, fmt.Sprintf(
		`{"dealBidDiscountFraction":0.%d,"dealAskDiscountFraction":0.%d}`, 1+w.rnd.IntN(4), 1+w.rnd.IntN(4)),
		func(answer) {})
}

// useLaunchpad swaps, adds liquidity, transfers, boosts or spawns.
func (w clients) useLaunchpad() {
	t, u := pick(w, w.model.tokens), pick(w, w.model.users)
	w.mix.Launchpad++
	target, class := internal+"/launchpad/tokens/"+t.NFT, "pool "+t.NFT
	switch n := w.rnd.IntN(10); {
	case n == 0:
		w.spawn(u)
	case n == 1:
		w.ask("", nil, "POST", target+"/boosts", `{"tier":"short"}`, func(answer) {})
	case n == 2:
		w.ask("", nil, "POST", target+"/transfers", fmt.Sprintf(`{"fromUserId":%q,"toUserId":%q,"amount":%d}`,
			w.model.users[0].ID, u.ID, 1+w.rnd.IntN(5)), func(answer) {})
	case w.busy[class]:
	default:
		body, path := fmt.Sprintf(`{"userId":%q,"side":%q,"amountIn":%d}`, u.ID, pick(w, []string{
			"buy", "buy",
			"sell",
		}),
			1+w.rnd.IntN(20)), "/swaps"
		if n == 3 {
			body, path = fmt.Sprintf(`{"userId":%q,"tokenAmount":10,"quoteAmount":10}`, w.model.users[0].ID),
				"/liquidity"
		}
		w.ask(class, nil, "POST", target+path, body, func(a answer) {
			if a.unknown() {
				t.maybe = true
				return
			}
			var pool poolAnswer
			if a.ok() && a.into(&pool) == nil {
				t.pool = pool.reserves()
			}
		})
	}
}

func (w clients) spawn(u *user) {
	symbol := w.symbol()
	w.ask("spawn", nil, "POST", internal+"/launchpad/tokens",
		fmt.Sprintf(`{"userId":%q,"name":"T","symbol":%q}`, u.ID, symbol), func(a answer) {
			var got struct {
				Worker struct{ AgentNftID json.Number }
			}
			if !a.ok() {
				return
			}
			if err := a.into(&got); err != nil {
				w.fail("spawn: %v", err)
			}
			w.model.tokens = append(w.model.tokens, &token{
				NFT: got.Worker.AgentNftID.String(), symbol: symbol, maker: u.ID, pool: "0 0",
			})
		})
}

// useHive adds an action, a proposal or a vote.
func (w clients) useHive() {
	w.mix.Hive++
	t := pick(w, w.model.tokens)
	switch n := w.rnd.IntN(8); {
	case n == 0:
		w.propose(t, nil)
	case n < 4 && len(w.model.proposals) > 0:
		w.vote(pick(w, w.model.proposals))
	default:
		w.ask("", nil, "POST", internal+"/hive/actions", fmt.Sprintf(
			`{"sourceAgentId":%q,"targetTokenId":%s,"actionType":"observation",`+
				`"reasonCode":"r","actionPayload":{"n":%d}}`,
			pick(w, []string{"queen-1", "scout-1"}), t.NFT, w.rnd.IntN(1000)), func(a answer) {
			var e struct {
				EntryID       uint64
				PrevHash      string
				ActionPayload json.RawMessage
				SourceAgentID string
			}
			if !a.ok() {
				return
			}
			if err := a.into(&e); err != nil {
				w.fail("an action: %v", err)
			}
			w.entry(e.EntryID, e.SourceAgentID+string(e.ActionPayload))
		})
	}
}

// entry notes an entry of the hive's log, which no other one has the id of.
func (w clients) entry(id uint64, text string) {
	if had, ok := w.model.actions[id]; ok && had != text {
		w.fail("hive entry %d twice: %s and %s", id, had, text)
	}
	w.model.actions[id] = text
	w.model.lastEntry = max(w.model.lastEntry, id)
}

// proposalAnswer is a proposal in an answer.
type proposalAnswer struct {
	ProposalID, Status string
	ClosesAt           int64
}

// proposalOf returns the request of a proposal.
func proposalOf(t *token, capBps int, urgent bool) string {
	return fmt.Sprintf(`{"tokenId":%s,"topic":"slippage_cap","payload":{"slippageCapBps":%d},"proposer":"p",`+
		`"urgent":%t}`, t.NFT, capBps, urgent)
}

// proposed adds a proposal to the model.
func (w clients) proposed(t *token, got *proposalAnswer) *proposal {
	p := &proposal{id: got.ProposalID, token: t.NFT, closes: got.ClosesAt, votes: map[string]bool{}}
	w.model.proposals = append(w.model.proposals, p)
	return p
}

// propose opens a proposal. now, unless it is nil, sends it at once, from a coroutine.
func (w clients) propose(t *token, now func(func())) {
	body := proposalOf(t, 50+w.rnd.IntN(100), w.rnd.IntN(2) == 0)
	var got proposalAnswer
	if now != nil {
		w.must(internal+"/hive/proposals", body, &got)
		w.proposed(t, &got)
		return
	}
	w.ask("", nil, "POST", internal+"/hive/proposals", body, func(a answer) {
		if !a.ok() {
			return
		}
		if err := a.into(&got); err != nil {
			w.fail("a proposal: %v", err)
		}
		for _, p := range w.model.proposals {
			if p.id == got.ProposalID {
				w.fail("proposal id %s twice", p.id)
			}
		}
		w.proposed(t, &got)
	})
}

// vote votes with a key of a user.
func (w clients) vote(p *proposal) {
	u := pick(w, w.model.users)
	class := "vote " + p.id + u.ID
	if len(u.keys) == 0 || w.busy[class] {
		return
	}
	k := pick(w, u.keys)
	w.ask(class, &k, "POST", "/api/agents/workers/"+p.token+"/vote",
		fmt.Sprintf(`{"proposalId":%q,"vote":%q}`, p.id, pick(w, []string{"yes", "no", "abstain"})), func(a answer) {
			sure, voted := p.votes[u.ID]
			switch {
			case a.unknown():
				p.votes[u.ID] = sure
			case a.ok() && sure:
				w.fail("user %s voted twice on %s", u.ID, p.id)
			case a.ok():
				p.votes[u.ID] = true
			case a.code() == "ALREADY_VOTED" && !voted && !p.unsure:
				w.fail("user %s never voted on %s: %s", u.ID, p.id, a.body)
			case a.code() == "ALREADY_VOTED":
				p.votes[u.ID] = true
			case a.code() == "PROPOSAL_NOT_FOUND":
				w.fail("proposal %s is lost: %s", p.id, a.body)
			}
		})
}
