package exchange_test

import (
	"errors"
	"math/big"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/launchpad"
)

// atOnce runs calls at once while readers read the views, and returns the errors.
func atOnce(n int, call func(i int) error, read func()) []error {
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				read()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	results := make([]error, n)
	for i := range results {
		writers.Go(func() { results[i] = call(i) })
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	return results
}

// wonOf returns the number of calls without an error; the others must be refused with a code.
func wonOf(t *testing.T, results []error, code refuse.Code) (won int) {
	t.Helper()
	for _, err := range results {
		var rej *refuse.Refusal
		switch {
		case err == nil:
			won++
		case !errors.As(err, &rej) || rej.Code != code:
			t.Errorf("%v", err)
		}
	}
	return won
}

func launchAddress(i int) launchpad.Address { return launchpad.Address{0xaa, byte(i)} }

// One of fifty spawns of a symbol gets it, the fee is taken once; readers never see half a spawn.
func TestFiftyParallelSpawnsOfOneSymbol(t *testing.T) {
	x := exchangetest.Start(t, exchangetest.Options(t.TempDir()))
	a := x.Agents()
	for i := range 50 {
		deposit := launchpad.Deposit{To: launchAddress(i), Amount: launchpad.AmountOf(100)}
		if _, err := a.DoLaunchpad(deposit); err != nil {
			t.Fatal(err)
		}
	}
	results := atOnce(50, func(i int) error {
		_, err := a.DoLaunchpad(launchpad.Spawn{Owner: launchAddress(i), Name: "N", Symbol: "SAME"})
		return err
	}, func() {
		v, _ := a.Views()
		l := v.Tokens(exchangetest.StartNs, launchpad.ListQuery{Page: 1, PageSize: 10})
		fees := v.Totals()[launchpad.NATIVE].Fees
		if int(l.TotalItems) != v.Len() || fees != launchpad.AmountOf(uint64(100*v.Len())) {
			t.Errorf("%d listed, %d tokens, fees %s", l.TotalItems, v.Len(), fees)
		}
	})
	won := wonOf(t, results, refuse.SymbolTaken)
	v, _ := a.Views()
	if fees := v.Totals()[launchpad.NATIVE].Fees; won != 1 || fees != launchpad.AmountOf(100) {
		t.Errorf("%d won, fees %s", won, fees)
	}
}

// One of fifty votes of a user counts; readers see tally, log and posting lists of one instant.
func TestFiftyParallelVotesOfOneUser(t *testing.T) {
	x := exchangetest.Start(t, exchangetest.Options(t.TempDir()))
	a := x.Agents()
	for _, cmd := range []launchpad.Command{
		launchpad.Deposit{To: launchAddress(1), Amount: launchpad.AmountOf(100)},
		launchpad.Spawn{Owner: launchAddress(1), Name: "N", Symbol: "ABC"},
	} {
		if _, err := a.DoLaunchpad(cmd); err != nil {
			t.Fatal(err)
		}
	}
	res, err := a.DoHive(hive.Propose{
		TokenID: 10001, Topic: hive.SlippageCap, Payload: `{"slippageCapBps":70}`, Proposer: "p",
	})
	if err != nil {
		t.Fatal(err)
	}
	id, token, cast := res.Proposal.ID(), uint64(10001), hive.VoteCast
	results := atOnce(200, func(i int) error {
		who := byte(1) // the first fifty are one user
		if i >= 50 {
			who = byte(i)
		}
		_, err := a.DoHive(hive.CastVote{
			TokenID: token, ProposalID: id, Checkpoint: res.Proposal.Checkpoint, Vote: hive.Yes,
			User: [16]byte{who}, Level: 20,
			Holdings: new(big.Int).Exp(big.NewInt(10), big.NewInt(18), nil),
		})
		return err
	}, func() {
		_, v := a.Views()
		l := v.Log(hive.LogQuery{Page: hive.Page{Page: 1, PageSize: 100}, Type: &cast, TokenID: &token})
		p, _ := v.Proposal(id)
		if w := p.Tally.Weights[hive.Yes]; w != 100*l.TotalItems || int64(v.Entries()) != 1+l.TotalItems {
			t.Errorf("%d votes logged of %d entries, tally %d", l.TotalItems, v.Entries(), w)
		}
	})
	won := wonOf(t, results[:50], refuse.AlreadyVoted)
	_, v := a.Views()
	if p, _ := v.Proposal(id); won != 1 || p.Tally.Weights[hive.Yes] != 151_00 {
		t.Errorf("%d won, tally %d", won, p.Tally.Weights[hive.Yes])
	}
}

// A spawn that an injected fault refuses is recorded, and its caller gets the refusal.
func TestARecordedRefusalIsAnError(t *testing.T) {
	x := exchangetest.Start(t, exchangetest.Options(t.TempDir()))
	a := x.Agents()
	for _, cmd := range []launchpad.Command{
		launchpad.Deposit{To: launchAddress(1), Amount: launchpad.AmountOf(100)}, launchpad.InjectFault{Count: 1},
	} {
		if _, err := a.DoLaunchpad(cmd); err != nil {
			t.Fatal(err)
		}
	}
	spawn := launchpad.Spawn{Owner: launchAddress(1), Name: "N", Symbol: "ABC"}
	_, err := a.DoLaunchpad(spawn)
	wonOf(t, []error{err}, refuse.SpawnerFailed)
	if res, err := a.DoLaunchpad(spawn); err != nil || res.Token == nil {
		t.Fatal(err)
	}
}
