package edge

import (
	"os"
	"regexp"
	"testing"

	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
)

// The table of statuses has a row for every code of internal/refuse and every reason of the
// engine; a code without a row would be answered with 500.
func TestEveryCodeHasAStatus(t *testing.T) {
	source, err := os.ReadFile("../../internal/refuse/codes.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`Code = "([A-Z_]+)"`).FindAllSubmatch(source, -1)
	if len(declared) < 27 {
		t.Fatalf("%d codes found in codes.go, at least 27 expected", len(declared))
	}
	for _, m := range declared {
		if _, ok := statuses[refuse.Code(m[1])]; !ok {
			t.Errorf("%s has no status", m[1])
		}
	}
	for r := engine.PriceNotPositive; r <= engine.InvalidPair; r++ {
		if status := statuses[entry.Code(r)]; status != 400 && status != 409 {
			t.Errorf("%s: status %d", r, status)
		}
	}
	if statusOf("NO_SUCH_CODE") != 500 {
		t.Error("an unknown code is not 500")
	}
}
