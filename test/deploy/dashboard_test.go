package deploy

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

var metricName = regexp.MustCompile(`\b(tickhive|go|process)_[a-z0-9_]+`)

// dashboard holds the parts of the Grafana dashboard that tests read.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	raw, err := os.ReadFile(harness.SourceTree + "/server/web/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestEveryPanelOfTheDashboardHasData exercises every part of the program and checks that each
// series of the dashboard has data, and that the metric of each alert exists.
func TestEveryPanelOfTheDashboardHasData(t *testing.T) {
	t.Parallel()
	dashboard := readDashboard(t)
	in := harness.StartEmpty(t)
	in.Pair("BTC_USDT")
	in.Limit("BTC_USDT", "buy", "100", "1")
	in.Limit("BTC_USDT", "sell", "100", "1")
	in.Limit("BTC_USDT", "sell", "-1", "1")
	in.Do("GET", in.Public+"/api/tickers?currencyPairCode=nonsense", "")
	in.Do("GET", in.Internal+"/snapshot?fresh=true", "") // one has a time
	series := "\n" + in.Do("GET", in.Root+"/metrics", "").Body
	at := harness.StreamAddress(t)
	writer := harness.Start(t, "--data-dir", t.TempDir(), "--pairs", "none", "--sim", "off", "--quiet", "--journal",
		"embedded",
		"--ack", "quorum", "--set", "stream.listen="+at)
	writer.Pair("BTC_USDT")
	for _, node := range []*harness.Instance{writer, harness.StartReplica(t, at)} {
		series += node.Do("GET", node.Root+"/metrics", "").Body
	}
	if len(dashboard.Panels) < 15 {
		t.Errorf("only %d panels", len(dashboard.Panels))
	}
	rules, err := os.ReadFile("../../deploy/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	exprs := regexp.MustCompile(`(?m)^ +expr: (.*)$`).FindAllSubmatch(rules, -1)
	if len(exprs) < 10 {
		t.Errorf("only %d alerts", len(exprs))
	}
	for _, e := range exprs {
		for _, name := range metricName.FindAllString(string(e[1]), -1) {
			if !strings.Contains(series, "\n# TYPE "+strings.TrimSuffix(name, "_bucket")+" ") {
				t.Errorf("alert on %s: there is no such metric", e[1])
			}
		}
	}
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("%s: nothing is asked for", p.Title)
		}
		for _, target := range p.Targets {
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				if !strings.Contains(series, "\n"+name+"{") && !strings.Contains(series, "\n"+name+" ") {
					t.Errorf("%s: no series %s", p.Title, name)
				}
			}
		}
	}
}
