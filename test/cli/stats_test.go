package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/sim/stats/realism"

	"github.com/tickhive/tickhive/test/harness"
)

func TestRealismComparesTheLargestPairs(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	code, out, errs := harness.Run(t, "stats", "--realism", "--hours", "1")
	for _, want := range []string{"BTC_USDT: ", "ETH_USDT: ", "SOL_USDT: ", "spread, ticks", " of 11 topics\n"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Fatalf("no %q: exit code %d, %s\n%s", want, code, errs, out)
		}
	}
	code, out, errs = harness.Run(t, "stats", "--realism", "--hours", "1", "--pairs", "LTC_USDT", "--json",
		"--min-inside", "16")
	var r realism.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 4 || len(r.Pairs) != 1 ||
		len(r.Pairs[0].Rows) < 11 || r.Pairs[0].Rows[0].Key != "spread" {
		t.Errorf("exit code %d, %v, %s\n%s", code, err, errs, out)
	}
	for _, bad := range []string{
		"--json", "--min-inside 3", "--realism --pairs XX_YY", "--realism --hours 0", "--realism --min-inside -1",
		"--realism --min-inside 17",
		"--realism --recorded none.csv", "--realism --set market.pairs=none",
	} {
		if code, out, errs := harness.Run(t, append([]string{"stats"}, strings.Fields(bad)...)...); code != 2 ||
			out != "" {
			t.Errorf("%s: exit code %d, %s %s", bad, code, errs, out)
		}
	}
}
