package server

import (
	"os"
	"regexp"
	"testing"

	"tickhive/engine"
	"tickhive/internal/refuse"
)

// Every code that internal/refuse declares and every reason of the engine has its row in
// the table of statuses; a code without a row would be answered as 500.
func TestEveryCodeHasAStatus(t *testing.T) {
	source, err := os.ReadFile("../internal/refuse/codes.go")
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
		if status := statuses[reasonCode(r)]; status != 400 && status != 409 {
			t.Errorf("%s: status %d", r, status)
		}
	}
	if statusOf("NO_SUCH_CODE") != 500 {
		t.Error("an unknown code is not 500")
	}
}
