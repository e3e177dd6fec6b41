package deploy

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// prometheus is a running Prometheus that scrapes an instance each second and has the rules of deploy/alerts.yml.
type prometheus struct {
	*harness.Instance
	base string
}

// startPrometheus starts a Prometheus that scrapes the nodes, and returns once it serves queries.
func startPrometheus(t *testing.T, nodes ...*harness.Instance) *prometheus {
	t.Helper()
	for _, name := range []string{"prometheus", "promtool"} {
		harness.NeedTool(t, name)
	}
	rules, err := filepath.Abs(harness.SourceTree + "/deploy/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", rules).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	var targets []string
	for _, in := range nodes {
		targets = append(targets, strconv.Quote(strings.TrimPrefix(in.Root, "http://")))
	}
	text := fmt.Sprintf(`{"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [%q],
		"scrape_configs": [{"job_name": "tickhive", "static_configs": [{"targets": [%s]}]}]}`,
		rules, strings.Join(targets, ","))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "prometheus", "--config.file="+config, "--storage.tsdb.path="+dir+"/data",
		"--web.listen-address="+address, "--log.level=warn")
	c.Stderr = log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = log.Close()
	})
	p := &prometheus{nodes[0], "http://" + address}
	harness.WaitFor(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return p
}

// query returns the number of series that a query has at present.
func (p *prometheus) query(t *testing.T, expr string) int {
	t.Helper()
	a := p.Do("GET", p.base+"/api/v1/query?query="+url.QueryEscape(expr), "")
	var reply struct {
		Status, Error string
		Data          struct{ Result []any }
	}
	if a.Status == 503 {
		return 0 // it starts
	}
	if err := json.Unmarshal([]byte(a.Body), &reply); err != nil || reply.Status != "success" {
		t.Fatalf("%s: %v: %.500s", expr, err, a.Body)
	}
	return len(reply.Data.Result)
}

// Every query of the dashboard has data in a Prometheus that scrapes a writer and its replica, no alert fires there,
// and one does when the writer is gone.
func TestPrometheusReadsTheDashboardAndTheAlerts(t *testing.T) {
	t.Parallel()
	at := harness.StreamAddress(t)
	in := harness.Start(t, "--data-dir", t.TempDir(), "--pairs", "none", "--sim", "off", "--journal", "embedded",
		"--ack", "quorum", "--set", "stream.listen="+at)
	p := startPrometheus(t, in, harness.StartReplica(t, at))
	in.Pair("BTC_USDT")
	in.Limit("BTC_USDT", "buy", "100", "1")
	in.Limit("BTC_USDT", "sell", "100", "1")
	in.Do("GET", in.Public+"/api/tickers?currencyPairCode=nonsense", "")
	n := 0
	for _, panel := range readDashboard(t).Panels {
		for _, target := range panel.Targets {
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "1m")
			harness.WaitFor(t, func() bool { return p.query(t, expr) > 0 })
			n++
		}
	}
	if n < 45 {
		t.Errorf("only %d queries", n)
	}
	if got := p.query(t, `tickhive_no_such_metric`); got != 0 {
		t.Errorf("%d series of a metric that does not exist", got)
	}
	if got := p.query(t, `ALERTS{alertstate="firing"}`); got != 0 {
		t.Errorf("%d alerts of a sound exchange: %s", got, p.Do("GET", p.base+"/api/v1/alerts", "").Body)
	}
	in.Signal(syscall.SIGTERM)
	harness.WaitFor(t, func() bool { return p.query(t, `ALERTS{alertname="TickHiveDown"}`) == 1 })
}

// docs/operating.md says what to do for each alert, and for no other one.
func TestTheManualExplainsEveryAlert(t *testing.T) {
	named := func(file, pattern string) map[string]bool {
		text, err := os.ReadFile(harness.SourceTree + file)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
		return names
	}
	rules := named("/deploy/alerts.yml", `alert: (\w+)`)
	manual := named("/docs/operating.md", "(?m)^\\| `(TickHive\\w+)` \\|")
	if len(rules) < 15 {
		t.Errorf("only %d rules", len(rules))
	}
	for name := range rules {
		if !manual[name] {
			t.Errorf("docs/operating.md does not explain %s", name)
		}
	}
	for name := range manual {
		if !rules[name] {
			t.Errorf("docs/operating.md explains %s: there is no such alert", name)
		}
	}
}
