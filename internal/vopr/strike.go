package vopr

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// strike lets a fault of the disk hit a record of one part, and verifies what follows: a full disk or a failed write
// refuses a change, and the exchange goes on; a failed sync stops every part at once, and readers read on.
func (w *world) strike(l *life) {
	if l.strike == 0 || !w.quiet() || !w.pays() {
		return
	}
	disk := w.disk
	were := disk.Injected(l.strike)
	disk.Disarm() // a further fault would stop what one alone does not
	disk.Inject(vfstest.Injection{
		Class: l.strike, Path: "d/engine/*.wal", After: l.strikeAfter, Count: 1, Seed: uint64(l.strikeAfter),
	})
	w.only = l.struck
	for n := 0; n < 40 && disk.Injected(l.strike) == were && w.work(1); n++ {
		if !w.quiet() {
			break
		}
	}
	w.only = machine.Market
	if w.p.dead || w.failure != nil || disk.Injected(l.strike) == were {
		disk.Disarm()
		return
	}
	w.mix.Aimed[l.struck]++
	w.logf("%s in a record of the %s", l.strike, l.struck)
	if l.strike == vfstest.SyncError || l.strike == vfstest.SyncErrorOld {
		w.stopped()
		return
	}
	disk.Disarm()
	for range 200 {
		w.machine.pass(int64(100 * time.Millisecond))
		turns := 0
		if w.run(func() bool { turns++; return turns > 60 }); w.p.dead || w.failure != nil || w.pays() {
			return
		}
	}
	w.fail("the exchange takes no changes after a %s", l.strike)
}

// pays deposits money. It reports whether that was answered.
func (w *world) pays() (paid bool) {
	clients{w}.pay(w.model.users[0], "USDT", 1, true, func(a answer) { paid = a.ok() })
	w.mix.Accounts++
	return w.quiet() && paid
}

// stopped verifies that no part takes a change after a failed sync, and that readers read on.
func (w *world) stopped() {
	w.quiet()
	u, t := w.model.users[0], w.model.tokens[0]
	changes := [][2]string{
		{"/users/" + u.ID + "/deposits", `{"currencyCode":"USDT","amount":1}`},
		{"/orders", `{"currencyPairCode":"AA_USDT","side":"buy","type":"limit","price":1,"amount":1}`},
		{"/launchpad/tokens/" + t.NFT + "/swaps", fmt.Sprintf(`{"userId":%q,"side":"buy","amountIn":1}`, u.ID)},
		{"/hive/actions", fmt.Sprintf(`{"sourceAgentId":"queen-1","targetTokenId":%s,"actionType":"observation",`+
			`"reasonCode":"r","actionPayload":{"n":1}}`, t.NFT)},
	}
	for _, c := range changes {
		w.ask("", nil, "POST", internal+c[0], c[1], func(a answer) {
			if a.status != 503 {
				w.fail("POST %s after a failed sync: %d %s", c[0], a.status, a.body)
			}
		})
		if !w.quiet() {
			return
		}
	}
	for _, target := range []string{
		"/api/status", "/api/launchpad/tokens/" + t.NFT + "/pool", internal + "/users/" + u.ID,
		"/api/orderbook?currencyPairCode=AA_USDT",
	} {
		if a := w.call(nil, "GET", target, ""); !a.ok() {
			w.fail("GET %s after a failed sync: %d %s", target, a.status, a.body)
		}
	}
	w.mix.Stopped++
}

// refuse verifies that a refused command changes nothing, whether it is a record or not.
func (w *world) refuse() {
	if w.failure == nil && !w.p.dead && w.quiet() {
		w.await("refused commands", checker{w}.checkRefused)
	}
}

func (w checker) checkRefused() {
	u, t := w.model.users[0], w.model.tokens[0]
	users, token := internal+"/users/"+u.ID, internal+"/launchpad/tokens/"+t.NFT
	const much = "99999999999999999999"
	changes := [][2]string{
		{users + "/withdrawals", `{"currencyCode":"AA","amount":` + much + `}`},
		{users + "/withdrawals", `{"currencyCode":"NATIVE","amount":` + much + `}`},
		{users + "/deposits", `{"currencyCode":"CC","amount":` + much + `}`},
		{token + "/swaps", fmt.Sprintf(`{"userId":%q,"side":"sell","amountIn":100000000}`, u.ID)},
		{token + "/transfers", fmt.Sprintf(`{"fromUserId":%q,"toUserId":%q,"amount":100000000}`, u.ID, u.ID)},
		{internal + "/launchpad/tokens", fmt.Sprintf(`{"userId":%q,"name":"T","symbol":%q}`, u.ID, t.symbol)},
		{internal + "/hive/actions", `{"sourceAgentId":"queen-9","targetTokenId":1,"actionType":"observation",` +
			`"reasonCode":"r","actionPayload":{"n":1}}`},
		{internal + "/hive/proposals", `{"tokenId":999999,"topic":"slippage_cap",` +
			`"payload":{"slippageCapBps":60},"proposer":"p"}`},
	}
	for _, c := range changes {
		w.refused(nil, c[0], c[1])
	}
	for _, p := range w.model.proposals {
		if p.votes[u.ID] && len(u.keys) > 0 {
			w.refused(&u.keys[0], "/api/agents/workers/"+p.token+"/vote",
				fmt.Sprintf(`{"proposalId":%q,"vote":"no"}`, p.id))
			return
		}
	}
}

// refused sends a command that is refused, and compares the parts beside the market before and after it.
func (w checker) refused(k *key, target, body string) {
	state, loop := w.x.State(), w.x.Loop()
	due := func() bool { // by time alone
		at, fires := state.NextNs(), state.Money.NextSwitch(0)
		return at != 0 && at <= w.clock.NowNs() || fires != 0 && fires <= w.clock.NowNs()
	}
	parts := func() [3][]byte {
		return [3][]byte{
			state.Money.AppendSnapshot(nil), state.Ledger.AppendSnapshot(nil), state.Hive.AppendSnapshot(nil),
		}
	}
	was, before, pos := due(), parts(), loop.Position()
	next, fires := state.NextNs(), state.Money.NextSwitch(0)
	a := w.call(k, "POST", target, body)
	if w.p.dead || w.failure != nil || a.unknown() || a.status == 503 {
		return
	}
	w.logf("POST %s %s -> %d %s", target, body, a.status, a.body)
	if w.answers++; a.ok() || a.status >= 500 && !strings.Contains(string(a.body), "SPAWNER_FAILED") {
		w.fail("POST %s %s is not refused: %d %s", target, body, a.status, a.body)
		return
	}
	if was || due() || next != state.NextNs() || fires != state.Money.NextSwitch(0) {
		return
	}
	for i, part := range parts() {
		if !bytes.Equal(part, before[i]) {
			w.fail("POST %s %s is refused (%s) and changes the %s", target, body, a.body, machine.Part(i+1))
		}
	}
	if loop.Position() != pos {
		w.mix.Still++
	}
}
