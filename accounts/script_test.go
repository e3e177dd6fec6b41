package accounts_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// A script in testdata/*.txt says what users do, one line per command in an `exchange` block. The
// expected text below it has the order's events and every balance that changed: the accounts are the
// money of the engine, as in the program. Behind each line, what accounts hold is compared with their open orders. A
// line:
//
//	commission CURRENCY PERCENT [min=AMOUNT] · levels PERCENT... · staking PERCENT... · bonus PERCENT
//	asset CURRENCY DIGITS · pair CODE [price=DIGITS] [amount=DIGITS] [maker=PERCENT] [taker=PERCENT]
//	user NAME [unlimited] · set NAME PROPERTY... · link NAME PERCENT · invite NAME by NAME [link=N]
//	deposit|withdraw NAME AMOUNT CURRENCY · profit NAME AMOUNT CURRENCY [stake] · halt|lift NAME
//	buy|sell NAME AMOUNT PAIR @ PRICE|market [WORD...] · buy|sell NAME for QUOTE PAIR market [WORD...]
//	cancel ID · replace ID [amount=N] [price=P]
//	balance NAME CURRENCY · total CURRENCY · accruals NAME · restart
//
// A WORD is ioc, fok, expire, post-only, show=AMOUNT, stop=P or stp=MODE. The user `exchange` is the built-in account.
// Without maker and taker a pair has no fees. An asset has 8 digits, or as many as its first pair needs if that is
// more.
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
	t     *testing.T
	out   strings.Builder
	opts  accounts.Settings
	s     *accounts.State
	core  *engine.Core
	now   int64
	pos   uint64
	names []string // by account

	shown map[balance]string // as last printed
	told  map[balance]bool   // changes of the current line
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
		names: []string{"exchange"}, shown: map[balance]string{}, told: map[balance]bool{},
	}
	x.attach(accounts.New(x.opts))
	return x
}

func (x *exchange) attach(s *accounts.State) {
	x.s = s
	x.core.SetFunds(s)
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
	if err := cmp.Or(x.s.Check(), holdsDiffer(x.core, x.s)); err != nil {
		x.t.Fatalf("%s: %v", line, err)
	}
}

// changes prints the balances that changed. The listener must have been told of each.
func (x *exchange) changes() {
	x.t.Helper()
	for n := range x.names {
		for _, b := range x.s.View().Rows(uint32(n)) {
			at, now := balance{uint32(n), b.CurrencyCode}, show(b)
			if now == cmp.Or(x.shown[at], nothing) {
				continue
			}
			if !x.told[at] {
				x.t.Fatalf("%s of %s changed to %q without a notification", at.currency, x.names[at.account], now)
			}
			x.shown[at] = now
			x.printf("%s %s: %s", x.names[at.account], at.currency, now)
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
