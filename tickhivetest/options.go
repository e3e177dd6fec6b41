package tickhivetest

import (
	"fmt"
	"strings"
	"time"
)

// Option changes how Start sets up an exchange.
type Option func(*setup)

// setup holds what the options say.
type setup struct {
	text      strings.Builder // TOML
	settings  []string        // KEY=VALUE, over text
	dir       string          // empty: a temporary one
	real      bool
	logs      bool
	recording *recordingFiles // nil: none
	flags     []string        // of the recording
}

// Pair is a pair to trade.
type Pair struct {
	Code         string // BASE_QUOTE, for example "ABC_USDT"
	PriceDigits  int    // fractional digits of prices
	AmountDigits int    // fractional digits of amounts
	Fee          string // rate for makers and takers; empty: 0.001
}

// Pairs sets the pairs of the exchange in place of the built-in ones, with currencies of 8 digits, and without limits
// of prices or of small orders.
func Pairs(pairs ...Pair) Option {
	return func(s *setup) {
		known := map[string]bool{}
		for _, p := range pairs {
			for currency := range strings.SplitSeq(p.Code, "_") {
				if !known[currency] {
					known[currency] = true
					fmt.Fprintf(&s.text, "\n[[assets]]\nsymbol = %q\n", currency)
				}
			}
		}
		for _, p := range pairs {
			fmt.Fprintf(&s.text, "\n[[pairs]]\ncode = %q\ndigits_price = %d\ndigits_amount = %d\n",
				p.Code, p.PriceDigits, p.AmountDigits)
			if p.Fee != "" {
				fmt.Fprintf(&s.text, "maker_fee = %q\ntaker_fee = %q\n", p.Fee, p.Fee)
			}
		}
	}
}

// Market runs the simulated market of the built-in pairs. Runs with the same seed, 0 or more, and the same orders at
// the same times are equal.
func Market(seed int64) Option {
	return func(s *setup) {
		s.settings = append(s.settings, "sim.enabled=on", fmt.Sprintf("sim.seed=%d", seed))
	}
}

// Set sets keys of the configuration, each as KEY=VALUE, for example "market.pairs=common". The contract lists them
// (docs/contract/commands.md).
func Set(settings ...string) Option {
	return func(s *setup) { s.settings = append(s.settings, settings...) }
}

// Dir stores the exchange in a directory, which outlives it. An exchange that was stored there before goes on where it
// stopped, with its users; X.User is then a new one.
func Dir(path string) Option { return func(s *setup) { s.dir = path } }

// RealClock shows the machine's time instead of a clock that Advance moves.
func RealClock() Option { return func(s *setup) { s.real = true } }

// Logs writes the log to t.Log as it comes, not only after a failure.
func Logs() Option { return func(s *setup) { s.logs = true } }

// Recording makes recorded market data the only market: files in a format that `tickhive replay` reads, such as
// "kraken" or "tardis". The clock starts with the first record, which Start feeds, and Advance feeds the records of the
// time that it passes. The pair, and its currencies, come from the files, or from the flag --pair of RecordingFlags. It
// excludes Pairs, Market and RealClock, and Kill and Restart, since a replay cannot go on in a stored exchange.
func Recording(format string, files ...string) Option {
	return func(s *setup) { s.recording = &recordingFiles{format, files} }
}

// RecordingFlags says how to read a Recording by flags of `tickhive replay`, each as --NAME=VALUE:
//
//	tickhivetest.RecordingFlags("--pair=BTC_USDT", "--skip-bad=1")
//
// It takes --pair, --digits, --from and --quotes, and what says how to read tables: --columns, --time-format,
// --timezone, --decimal, --price-scale, --amount, --contract-value, --side, --bar-volume, --venue and --skip-bad
// (docs/contract/commands.md). In a recording without a book a market order meets no other order, and a limit order
// trades at its own price; --quotes=5 keeps a bid and an ask of that amount around the last trade.
func RecordingFlags(flags ...string) Option {
	return func(s *setup) { s.flags = append(s.flags, flags...) }
}

// start is the time at which a virtual clock starts.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
