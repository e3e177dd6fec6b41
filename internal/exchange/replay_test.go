package exchange_test

import (
	"errors"
	"io"
	"math/big"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/seal"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/launchpad"
)

// replayed applies the journal of a directory to a state without any configuration. Unless settings is set, it leaves
// the records of settings out.
func replayed(t *testing.T, dir string, settings bool) *machine.State {
	t.Helper()
	log := exchange.EngineLog(filepath.Join(dir, "engine"))
	skips := machine.Skips{}
	state := machine.New(machine.Options{Skips: skips, Secrets: &seal.Key{}})
	rd, err := wal.OpenReader(log.FS, log.Dir, log.Options, 1)
	for err == nil {
		var rec wal.Record
		if rec, err = rd.Next(); err != nil {
			break
		}
		var cmd engine.Command
		err = engine.DecodeCommand(rec.Payload, &cmd)
		if cmd.Kind == engine.SetSettings && !settings {
			skips[rec.Seq] = true
		}
		next := keeper.Record(&rec)
		err = errors.Join(err, state.Apply(&next))
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if err := rd.Close(); err != nil {
		t.Fatal(err)
	}
	return state
}

// configured lets the settings decide: more orders than one account may have and than are kept, a withdrawal, a profit
// of an invited user, two spawns of one address, and a proposal with one vote that closes.
type configured struct {
	t               *testing.T
	x               *exchangetest.Rig
	inviter, friend uint32
	rounds          byte
}

func (c *configured) do(cmd accounts.Command) accounts.Result {
	c.t.Helper()
	res, err := c.x.DoAccounts(cmd)
	if err != nil {
		c.t.Fatal(err)
	}
	return res
}

func (c *configured) ledger(cmd launchpad.Command) launchpad.Result {
	c.t.Helper()
	res, err := c.x.Agents().DoLaunchpad(cmd)
	if err != nil {
		c.t.Fatal(err)
	}
	return res
}

func (c *configured) advance(d time.Duration) {
	c.t.Helper()
	if err := c.x.AdvanceTo(c.x.Clock.NowNs() + int64(d)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *configured) round(cooldown time.Duration) (passed bool) {
	c.t.Helper()
	if c.rounds++; c.rounds == 1 {
		c.x.Pair("BTC_USDT")
		inviter := c.do(accounts.Command{Kind: accounts.CreateUser}).User
		c.inviter, c.friend = inviter.Number, c.do(accounts.Command{Kind: accounts.CreateUser}).User.Number
		c.do(accounts.Command{Kind: accounts.SetInviter, User: c.friend, Code: inviter.InviteCode})
	}
	money := accounts.Command{Kind: accounts.Deposit, User: c.friend, Currency: "USDT", Amount: units(100)}
	c.do(money)
	money.Kind, money.Amount = accounts.Withdraw, units(10)
	c.do(money)
	money.Kind, money.Profit = accounts.AddProfit, accrual.CurrencyListing
	c.do(money)
	var orders sequencer.Batch
	for i := range int64(40) {
		orders.Commands = append(orders.Commands, engine.Command{
			Kind: engine.Place, Price: 100 + i, Amount: 1, Account: engine.AccountID(c.friend),
		})
	}
	orders.Commands = append(orders.Commands, engine.Command{Kind: engine.CancelAll})
	if err := c.x.Submit(&orders); err != nil {
		c.t.Fatal(err)
	}
	owner := launchAddress(int(c.rounds))
	c.ledger(launchpad.Deposit{To: owner, Amount: launchpad.AmountOf(1000)})
	token := c.ledger(launchpad.Spawn{Owner: owner, Name: "N", Symbol: "AA" + string(rune('A'+c.rounds))}).Token
	c.advance(cooldown)
	c.ledger(launchpad.Spawn{Owner: owner, Name: "N", Symbol: "BB" + string(rune('A'+c.rounds))})
	nft := token.AgentNFT()
	res, err := c.x.Agents().DoHive(hive.Propose{
		TokenID: nft, Topic: hive.SlippageCap, Payload: `{"slippageCapBps":70}`, Proposer: "p",
	})
	if err != nil {
		c.t.Fatal(err)
	}
	id := res.Proposal.ID()
	if _, err = c.x.Agents().DoHive(vote(nft, &res.Proposal, 1)); err != nil {
		c.t.Fatal(err)
	}
	c.advance(8 * 24 * time.Hour)
	_, v := c.x.Agents().Views()
	p, _ := v.Proposal(id)
	return p.Status == hive.ProposalPassed
}

// vote returns a vote of a user for a proposal.
func vote(nft uint64, p *hive.ProposalInfo, user byte) hive.CastVote {
	return hive.CastVote{
		TokenID: nft, ProposalID: p.ID(), Checkpoint: p.Checkpoint, Vote: hive.Yes, User: [16]byte{user}, Level: 20,
		Owned: 1, Holdings: new(big.Int).Exp(big.NewInt(10), big.NewInt(20), nil),
	}
}

func units(n uint64) fixed.I128 { return fixed.Mul64(n, fixed.Pow10[18]).ToI128() }

// A replay reads no configuration. The records that were made under three configurations, one after the other, lead a
// state without any to the same hash, after each of them; and each part has decided by the settings in the records.
func TestAReplayUnderAnotherConfigurationGivesTheSame(t *testing.T) {
	const percent = accounts.RateOne / 100
	c := &configured{t: t}
	o := exchangetest.Options(t.TempDir())
	o.Journal.Keep = exchange.KeepAll
	for i, quorum := range []int64{1, 1_000_000_00, 2} {
		n := uint32(i) + 3
		cooldown := time.Duration(n) * time.Hour
		o.Engine.AccountOrders, o.Market.ClosedOrders = 5*int(n), 3*int(n)
		o.Accounts.Withdrawal = accounts.CommissionRule{Percent: n * percent}
		o.Accounts.Referral.Levels = []uint32{n * percent}
		o.Launchpad.Fee, o.Launchpad.CooldownNs = launchpad.AmountOf(uint64(n)), int64(cooldown)
		o.Hive.QuorumCents = quorum
		c.x = exchangetest.Start(t, o)
		if passed := c.round(cooldown); passed != (quorum < 1000) {
			t.Errorf("round %d: passed %t by a quorum of %d", i, passed, quorum)
		}
		want, err := c.x.OwnHash()
		if err != nil {
			t.Fatal(err)
		}
		o.Dir = c.x.Kill()
		c.x.Stop()
		if got := replayed(t, o.Dir, true).Hash(); !reflect.DeepEqual(got, want) {
			t.Errorf("round %d: a replay has %+v\nthe writer %+v", i, got, want)
		}
	}
	whole, plain := replayed(t, o.Dir, true), replayed(t, o.Dir, false)
	plain.Set(whole.Settings) // what is left is what was decided
	for part, hash := range plain.Hash().Others {
		if part != int(machine.Market) && hash == whole.Hash().Others[part] {
			t.Errorf("nothing in %s has depended on the settings", machine.Part(part))
		}
	}
}
