package machine_test

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/launchpad"
)

// whole is a state with something in each part, and the records that made it.
type whole struct {
	t     *testing.T
	state *machine.State
	log   [][]byte
}

func newWhole(t *testing.T) *whole {
	w := &whole{t: t, state: machine.New(smallParts())}
	w.command(engine.Command{
		Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: markettest.Instrument("AA_BB", 2, 2),
	})
	owner := launchpad.Address{0xaa}
	w.other(machine.OfLaunchpad(launchpad.Begin{Seed: 1}))
	w.other(machine.OfHive(hive.Begin{Seed: 1, GenesisNs: markettest.StartNs}))
	w.other(machine.OfLaunchpad(launchpad.Deposit{To: owner, Amount: launchpad.AmountOf(1000)}))
	w.other(machine.OfLaunchpad(launchpad.Spawn{Owner: owner, Name: "N", Symbol: "ABC"}))
	w.other(machine.OfHive(hive.Propose{
		TokenID: 10001, Topic: hive.SlippageCap, Payload: `{"slippageCapBps":70}`, Proposer: "p",
	}))
	w.deposit(5e10)
	w.command(engine.Command{Kind: engine.Place, Side: engine.Sell, Price: 100, Amount: 100})
	w.command(engine.Command{Kind: engine.Place, Side: engine.Buy, Price: 100, Amount: 30, Account: 1})
	return w
}

// command applies a command by its record.
func (w *whole) command(cmd engine.Command) {
	w.t.Helper()
	cmd.TimeNs, cmd.First = markettest.StartNs+int64(len(w.log)), true
	w.record(engine.AppendCommand(nil, &cmd))
}

func (w *whole) record(payload []byte) {
	w.t.Helper()
	w.log = append(w.log, payload)
	if err := w.state.Apply(&machine.Record{Pos: w.state.Pos + 1, Payload: payload}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *whole) other(rec *engine.ControlRecord) {
	w.t.Helper()
	w.command(engine.Command{Kind: engine.Other, Pair: engine.ControlPair, Control: rec})
}

func (w *whole) deposit(amount int64) {
	w.t.Helper()
	if w.state.Money.Shown().UserCount() == 0 {
		w.other(machine.OfAccounts(&accounts.Command{Kind: accounts.CreateUser}, nil))
	}
	w.other(machine.OfAccounts(&accounts.Command{
		Kind: accounts.Deposit, User: 1, Currency: "BB", Amount: fixed.FromI64(amount),
	}, nil))
}

// reread returns the state that a snapshot has, after change of its bytes.
func (w *whole) reread(change func(b []byte)) (*machine.State, error) {
	w.t.Helper()
	var body bytes.Buffer
	if err := w.state.Write(&body, nil); err != nil {
		w.t.Fatal(err)
	}
	change(body.Bytes())
	next := machine.New(smallParts())
	return next, next.Read(&body)
}

// A state has one digest, whether it comes from records, from a snapshot, or from a snapshot and records.
func TestOneStateHasOneDigest(t *testing.T) {
	w := newWhole(t)
	all := append([][]byte(nil), w.log...)
	for at := range len(all) + 1 {
		some := &whole{t: t, state: machine.New(smallParts())}
		for _, payload := range all[:at] {
			some.record(payload)
		}
		next, err := some.reread(func([]byte) {})
		if err != nil {
			t.Fatal(err)
		}
		some.state = next
		for _, payload := range all[at:] {
			some.record(payload)
		}
		if parts := some.state.Digest().Diff(w.state.Digest()); parts != "" {
			t.Errorf("snapshot behind record %d: %s differ", at, parts)
		}
	}
}

// One unit more, one vote, one token or one setting changes the value of its part alone.
func TestADigestSaysWhichPartDiffers(t *testing.T) {
	owner := launchpad.Address{0xaa}
	settings := machine.FirstSettings()
	settings.Hive.Queens++
	for want, change := range map[string]func(w *whole){
		"accounts": func(w *whole) { w.deposit(1) },
		"market": func(w *whole) {
			w.command(engine.Command{Kind: engine.Place, Side: engine.Sell, Price: 200, Amount: 1})
		},
		"launchpad": func(w *whole) {
			w.other(machine.OfLaunchpad(launchpad.Deposit{To: owner, Amount: launchpad.AmountOf(1)}))
		},
		"hive": func(w *whole) {
			w.other(machine.OfHive(hive.CastVote{
				TokenID: 10001, ProposalID: "prop-1", Checkpoint: w.checkpoint(), Vote: hive.Yes, User: [16]byte{1},
				Level: 20, Holdings: new(big.Int).Exp(big.NewInt(10), big.NewInt(20), nil),
			}))
		},
		"market ": func(w *whole) {
			w.command(engine.Command{
				Kind: engine.SetSettings, Pair: engine.ControlPair,
				Control: &engine.ControlRecord{Settings: settings.Append(nil)},
			})
		},
	} {
		w := newWhole(t)
		before := w.state.Digest()
		change(w)
		if got := w.state.Digest().Diff(before); got != strings.TrimSpace(want) {
			t.Errorf("%q differ, want %q", got, want)
		}
	}
}

// checkpoint returns the checkpoint of the proposal.
func (w *whole) checkpoint() uint64 {
	p, ok := w.state.Hive.View().Proposal("prop-1")
	if !ok {
		w.t.Fatal("there is no proposal")
	}
	return p.Checkpoint
}

// A snapshot whose parts do not have the sums that it was taken with is refused.
func TestASnapshotWithOtherSumsIsRefused(t *testing.T) {
	w := newWhole(t)
	for part, name := range map[machine.Part]string{
		machine.Accounts: "accounts", machine.Launchpad: "launchpad", machine.Hive: "hive",
	} {
		_, err := w.reread(func(b []byte) {
			at := b[len(b)-3-8*int(machine.Parts):] // before the end, which has three bytes
			v := binary.LittleEndian.Uint64(at[8*part:])
			binary.LittleEndian.PutUint64(at[8*part:], v+1)
		})
		if err == nil || !strings.Contains(err.Error(), "the sums of "+name+" differ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := w.reread(func(b []byte) {
		end := b[len(b)-3-8*int(machine.Parts)-3:] // the digest becomes a part without a name
		end[0] = 9
	})
	if err == nil || !strings.Contains(err.Error(), "no digest") {
		t.Errorf("without a digest: %v", err)
	}
}
