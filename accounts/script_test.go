package accounts_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/fixed"
)

// A script in testdata/*.txt says what users do, one line per command in an `exchange` block. The
// expected text below it has the order's events and every balance that changed: an exchange's
// accounts and its engine run together, as in the program. A line:
//
//	commission CURRENCY PERCENT [min=AMOUNT] · levels PERCENT... · staking PERCENT... · bonus PERCENT
//	pair CODE [price=DIGITS] [amount=DIGITS] [maker=PERCENT] [taker=PERCENT]
//	user NAME [unlimited] · set NAME PROPERTY... · link NAME PERCENT · invite NAME by NAME [link=N]
//	deposit|withdraw NAME AMOUNT CURRENCY · profit NAME AMOUNT CURRENCY [stake]
//	buy|sell NAME AMOUNT PAIR @ PRICE|market [WORD...] · buy NAME for QUOTE PAIR market [WORD...]
//	reserve, then an order: it holds its money, and waits for send (to the engine) or release
//	cancel ID · replace ID [amount=N] [price=P]
//	balance NAME CURRENCY · total CURRENCY · accruals NAME · counts · restart
//
// A WORD is ioc, fok, post-only, stop=P or stp=MODE. The user `exchange` is the built-in account.
// Without maker and taker a pair has no fees.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd != "exchange" {
					t.Fatalf("%s: unknown block %q", d.Pos, d.Cmd)
				}
				x := newExchange(t)
				for line := range strings.Lines(d.Input) {
					x.line(strings.TrimSpace(line))
				}
				x.restart()
				return x.out.String()
			})
		})
	}
}

// exchange holds the accounts and the engine of one script.
type exchange struct {
	t       *testing.T
	out     strings.Builder
	opts    accounts.Settings
	s       *accounts.State
	core    *engine.Core
	now     int64
	pos     uint64
	names   []string  // by account
	waiting []waiting // orders that were reserved

	orders map[engine.OrderID]engine.PairID

	shown map[balance]string // as last printed
	was   map[balance]string // what the accounts have shown before the line
	told  map[balance]bool   // changes of the current line
}

// waiting is an order that has its reservation and is not sent to the engine.
type waiting struct {
	cmd  engine.Command
	held accounts.Reservation
}

type balance struct {
	account  uint32
	currency string
}

func newExchange(t *testing.T) *exchange {
	x := &exchange{
		t: t, opts: accounts.Settings{
			Referral: accounts.DefaultConfig(),
		},
		core: engine.NewCore(engine.Options{}), now: 1_767_225_600_000_000_000,
		names: []string{"exchange"}, orders: map[engine.OrderID]engine.PairID{}, shown: map[balance]string{},
		was: map[balance]string{}, told: map[balance]bool{},
	}
	x.attach(accounts.New(x.opts))
	return x
}

func (x *exchange) attach(s *accounts.State) {
	x.s = s
	s.View().Listen(x)
}

// BalanceChanged implements accounts.Listener.
func (x *exchange) BalanceChanged(account uint32, currency string) {
	x.told[balance{account, currency}] = true
}

// Transferred implements accounts.Listener.
func (x *exchange) Transferred(uint32, string, fixed.I128) {}

// KeyDeleted implements accounts.Listener.
func (x *exchange) KeyDeleted(uint64) {}

// restart continues with the state that a snapshot gives.
func (x *exchange) restart() {
	x.t.Helper()
	b := x.s.AppendSnapshot(nil)
	s, err := accounts.DecodeSnapshot(b)
	if err != nil || string(s.AppendSnapshot(nil)) != string(b) {
		x.t.Fatalf("the snapshot does not come back: %v", err)
	}
	x.attach(s)
}

func (x *exchange) printf(format string, args ...any) { fmt.Fprintf(&x.out, "  "+format+"\n", args...) }

// line carries out a line, prints its effects and checks the state.
func (x *exchange) line(line string) {
	x.t.Helper()
	fmt.Fprintf(&x.out, "> %s\n", line)
	clear(x.told)
	x.now++
	f := strings.Fields(line)
	switch f[0] {
	case "buy", "sell":
		x.order(f)
	case "reserve":
		cmd := x.place(f[1:])
		if r, ok := x.reserve(&cmd); ok {
			x.waiting = append(x.waiting, waiting{cmd, r})
		}
	case "send", "release":
		if len(x.waiting) == 0 {
			x.t.Fatalf("%s: no order waits", f[0])
		}
		if f[0] == "send" {
			x.send(x.waiting[0])
		} else {
			x.s.Release(x.waiting[0].held)
		}
		x.waiting = x.waiting[1:]
	case "cancel":
		x.apply(&engine.Command{Kind: engine.Cancel, Order: x.id(f[1]), Flags: engine.FlagAllAccount})
	case "replace":
		x.replace(f)
	default:
		if !x.account(f) {
			x.look(f)
		}
	}
	x.changes()
	if err := x.s.Check(); err != nil {
		x.t.Fatalf("%s: %v", line, err)
	}
}

// changes prints the balances that changed, with what reservations hold of them. The listener must have been told of
// every balance that is shown with another value.
func (x *exchange) changes() {
	x.t.Helper()
	var all []balance
	for n := range x.names {
		for _, b := range x.s.View().Rows(uint32(n)) {
			at := balance{uint32(n), b.CurrencyCode}
			if now := show(b); now != cmp.Or(x.was[at], nothing) && !x.told[at] {
				x.t.Fatalf("%s of %s changed to %q without a notification", at.currency, x.names[at.account], now)
			}
			x.was[at] = show(b)
			all = append(all, at)
		}
	}
	for _, at := range all {
		if text := show(x.s.Usable(at.account, at.currency)); text != cmp.Or(x.shown[at], nothing) {
			x.shown[at] = text
			x.printf("%s %s: %s", x.names[at.account], at.currency, text)
		}
	}
}

const nothing = "free 0 held 0"

func show(b accounts.BalanceView) string { return "free " + sum(b.Free) + " held " + sum(b.Held) }

func sum(v fixed.I192) string {
	return strings.TrimSuffix(string(fixed.AppendShortest192(nil, v, fixed.Scale)), ".0")
}

func (x *exchange) dec(s string) fixed.I128 {
	x.t.Helper()
	v, err := fixed.Parse(s)
	if err != nil {
		x.t.Fatalf("%q: %v", s, err)
	}
	return v
}

// rate parses a percentage.
func (x *exchange) rate(s string) uint32 {
	x.t.Helper()
	v, _, _ := fixed.Units(x.dec(strings.TrimSuffix(s, "%")), 6)
	return uint32(v)
}

func (x *exchange) id(s string) engine.OrderID {
	v, _, _ := fixed.Units(x.dec(s), 0)
	return engine.OrderID(v)
}

func (x *exchange) number(name string) uint32 {
	x.t.Helper()
	n := slices.Index(x.names, name)
	if n < 0 {
		x.t.Fatalf("there is no user %q", name)
	}
	return uint32(n)
}

// options splits the words after a command's fixed ones: key=value, or a word alone.
func options(f []string) map[string]string {
	m := map[string]string{}
	for _, w := range f {
		key, value, _ := strings.Cut(w, "=")
		m[key] = value
	}
	return m
}
