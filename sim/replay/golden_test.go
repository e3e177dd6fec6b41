package replay

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// The commands, books, checks and notes of small recordings. A case of testdata/golden has the files of a recording,
// each behind "-- NAME --", and what play returns for them; go test -run TestGolden -rewrite updates it. Options are
// those of a replay; with newline the last file ends with one, and without it no file does.
func TestGolden(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			defer func() {
				if t.Failed() {
					t.Log(d.Pos)
				}
			}()
			var o Options
			ending := ""
			for _, arg := range d.CmdArgs {
				value := strings.Join(arg.Vals, ",")
				switch arg.Key {
				case "format":
					o.Format = value
				case "from":
					o.From = value
				case "digits":
					o.Digits = value
				case "exchange":
					o.ExchangeTime = true
				case "passive":
					o.Passive = true
				case "newline":
					ending = "\n"
				default:
					d.Fatalf(t, "an unknown option %s", arg.Key)
				}
			}
			files := strings.Split("\n"+d.Input+ending, "\n-- ")
			for _, part := range files[1:] {
				name, text, _ := strings.Cut(part, " --\n")
				o.Files = append(o.Files, file(t, name, text))
			}
			return squeeze(play(t, o))
		})
	})
}

// Options of one format are refused with another one.
func TestOptionsOfOtherFormats(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Format: "trades", Files: []string{"x"}, Passive: true})
	if err == nil || !strings.Contains(err.Error(), "passive is an option of lobster") {
		t.Errorf("passive trades: %v", err)
	}
	_, err = New(Options{Format: "trades", Files: []string{file(t, "x", "1700000000,1,1\n")}, ExchangeTime: true})
	if err == nil || !strings.Contains(err.Error(), "option of binance and tardis") {
		t.Error(err)
	}
}
