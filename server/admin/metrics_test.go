package admin

import (
	"os"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// docs/operating.md#metrics lists every metric, and only metrics that exist.
func TestTheManualListsEveryMetric(t *testing.T) {
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	described := make(chan *prometheus.Desc, 1000)
	(&metrics{}).Describe(described)
	close(described)
	exists := map[string]bool{"tickhive_build_info": true}
	for d := range described {
		exists[regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `tickhive_.*$").FindAllString(string(text), -1) {
		first := regexp.MustCompile(`^\|[^|]*\|`).FindString(row)
		for _, name := range regexp.MustCompile("`(tickhive_\\w+)`").FindAllStringSubmatch(first, -1) {
			listed[name[1]] = true
		}
	}
	for name := range exists {
		if !listed[name] {
			t.Errorf("docs/operating.md does not list %s", name)
		}
	}
	for _, name := range regexp.MustCompile(`tickhive_[a-z_0-9]+`).FindAllString(string(text), -1) {
		if !exists[name] {
			t.Errorf("docs/operating.md names %s: there is no such metric", name)
		}
	}
	if len(exists) < 40 {
		t.Errorf("only %d metrics", len(exists))
	}
}
