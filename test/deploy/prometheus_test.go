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

// Each of these alerts fires in the state that it is for, and not in the sound one.
func TestTheAlertsFire(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	harness.NeedTool(t, "promtool")
	rules, err := filepath.Abs(harness.SourceTree + "/deploy/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	const minutes = 2000 // of samples, one a minute; alerts are compared at the last one
	for _, c := range []struct {
		alert  string
		fires  bool
		series map[string]string
	}{
		{"TickHiveNoChanges", true, map[string]string{"tickhive_changes_refused": "1x%d"}},
		{"TickHiveNoChanges", false, map[string]string{"tickhive_changes_refused": "0x%d"}},
		{"TickHiveDiskNearlyFull", true, map[string]string{"tickhive_disk_free_bytes": "1000000000x%d"}},
		{"TickHiveDiskNearlyFull", false, map[string]string{"tickhive_disk_free_bytes": "1100000000x%d"}},
		{"TickHiveStreamLag", true, map[string]string{`tickhive_stream_lag_seconds{role="replica"}`: "2x%d"}},
		{"TickHiveStreamLag", false, map[string]string{`tickhive_stream_lag_seconds{role="replica"}`: "0.5x%d"}},
		{"TickHiveNoWriter", true, map[string]string{
			`tickhive_nodes{job="t",instance="a",role="writer"}`: "0x%d",
			`tickhive_nodes{job="t",instance="b",role="writer"}`: "0x%d", `tickhive_nodes{role="replica"}`: "2x%d",
		}},
		{"TickHiveNoWriter", false, map[string]string{
			`tickhive_nodes{job="t",instance="a",role="writer"}`: "0x%d",
			`tickhive_nodes{job="t",instance="b",role="writer"}`: "1x%d",
		}},
		{"TickHiveForwarding", true, map[string]string{`tickhive_forwarded_total{outcome="unreached"}`: "0+1x%d"}},
		{"TickHiveForwarding", false, map[string]string{`tickhive_forwarded_total{outcome="answered"}`: "0+1x%d"}},
		{"TickHiveServerErrors", true, map[string]string{
			`tickhive_requests_total{route="/api/x",status="5xx"}`: "0+1x%d",
		}},
		{"TickHiveServerErrors", false, map[string]string{
			`tickhive_requests_total{route="/readyz",status="5xx"}`: "0+1x%d",
		}},
		{"TickHiveSnapshotFailures", true, map[string]string{"tickhive_snapshot_failures_total": "0+1x%d"}},
		{"TickHiveOldSnapshot", true, map[string]string{
			"tickhive_snapshot_timestamp_seconds": "0x%d",
			"tickhive_log_replay_bytes":           "1x%d",
		}},
		{"TickHiveOldSnapshot", false, map[string]string{
			"tickhive_snapshot_timestamp_seconds": "0x%d",
			"tickhive_log_replay_bytes":           "0x%d",
		}}, // nothing is new
		{"TickHiveOldSnapshot", false, map[string]string{
			"tickhive_snapshot_timestamp_seconds": "0+60x%d",
			"tickhive_log_replay_bytes":           "1x%d",
		}},
	} {
		var series []map[string]string
		for name, values := range c.series {
			if first, _, steps := strings.Cut(values, "+"); !steps {
				values = strings.Replace(first, "x", "+0x", 1)
			}
			series = append(series, map[string]string{"series": name, "values": fmt.Sprintf(values, minutes)})
		}
		want := "0"
		if c.fires {
			want = "1"
		}
		text, err := json.Marshal(map[string]any{
			"rule_files": []string{rules}, "evaluation_interval": "1m",
			"tests": []any{map[string]any{
				"interval": "1m", "input_series": series, "promql_expr_test": []any{map[string]any{
					"expr":      fmt.Sprintf(`count(ALERTS{alertname=%q,alertstate="firing"}) or vector(0)`, c.alert),
					"eval_time": fmt.Sprintf("%dm", minutes), "exp_samples": []any{
						map[string]any{"labels": "{}", "value": json.RawMessage(want)},
					},
				}},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "test.yml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(
			t.Context(), "promtool", "test", "rules", file).CombinedOutput(); err != nil {
			t.Errorf("%s fires: want %t, with %v: %v\n%s", c.alert, c.fires, c.series, err, out)
		}
	}
}
