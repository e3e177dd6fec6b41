package bench

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/bench/report"
)

var update = flag.Bool("update", false, "write the table of goals into the page")

// The table of docs/internals/performance.md lists the goals of the table in code.
func TestThePageListsTheGoals(t *testing.T) {
	const page, begin, end = "../docs/internals/performance.md", "<!-- goals -->\n", "<!-- end of goals -->\n"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), begin)
	listed, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table between %q and %q", page, begin, end)
	}
	if want := goalsTable(); listed != want && *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if listed != want {
		t.Errorf("%s lists other goals; go test ./bench -run TestThePage -update writes:\n%s", page, want)
	}
}

// goalsTable returns the goals as a table of Markdown. The first row of each goal is its anchor.
func goalsTable() string {
	all, of := &report.Report{}, map[*report.Measure]string{}
	for _, s := range scenarios() {
		part := &report.Scenario{Name: s.name}
		for _, x := range s.rows {
			m := x.measure()
			part.Measures, of[m] = append(part.Measures, m), s.name
		}
		all.Scenarios = append(all.Scenarios, part)
	}
	var b strings.Builder
	b.WriteString("| Goal | Figure | Reference | Target | Conditions | Scenario |\n|---|---|---|---|---|---|\n")
	last := ""
	for _, m := range all.Goals() {
		goal, target := m.Goal, m.TargetText()
		if goal != last {
			goal = fmt.Sprintf(`<a id="%s"></a>%s`, strings.ToLower(goal), goal)
		}
		last = m.Goal
		switch {
		case m.Worst:
			target += ", worst round"
		case m.Median:
			target += ", median"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | `%s` |\n", goal, m.Name, m.RefName, target, m.With, of[m])
	}
	return b.String()
}

// No two rows of a scenario have one name, and only a goal has a target.
func TestRowsAreDistinct(t *testing.T) {
	for _, s := range scenarios() {
		seen := map[string]bool{}
		for _, x := range s.rows {
			if seen[x.name] {
				t.Errorf("%s: two rows %q", s.name, x.name)
			}
			seen[x.name] = true
			if x.goal == "" && x.target != 0 || x.name == "" || x.unit == "" {
				t.Errorf("%s: %+v", s.name, x)
			}
		}
	}
}
