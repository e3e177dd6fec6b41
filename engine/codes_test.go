package engine_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// The rule for codes, read as the contract states it.
func TestCodes(t *testing.T) {
	currency := regexp.MustCompile(`^[A-Z0-9]{1,20}$`)
	pair := regexp.MustCompile(`^[A-Z0-9]{1,20}_[A-Z0-9]{1,20}$`)
	long := strings.Repeat("A", 20)
	parts := []string{"", "W", "1", "AB", long, long + "A", "a", "A-B", "A.B", "É", "@", "[", "/", ":", "A\n", "A_B"}
	for _, a := range parts {
		for _, sep := range []string{"", "_", "__", "-"} {
			for _, b := range parts {
				code := a + sep + b
				if got, want := engine.ValidCurrencyCode(code), currency.MatchString(code); got != want {
					t.Errorf("currency %q: %v", code, got)
				}
				if got, want := engine.ValidPairCode(code), pair.MatchString(code); got != want {
					t.Errorf("pair %q: %v", code, got)
				}
				if engine.ValidPairCode([]byte(code)) != engine.ValidPairCode(code) {
					t.Errorf("pair %q: bytes and text differ", code)
				}
			}
		}
	}
	if n := len(long + "_" + long); n != engine.MaxPairCode {
		t.Errorf("the longest code has %d characters, MaxPairCode is %d", n, engine.MaxPairCode)
	}
	if engine.CurrencyForm != "1 to 20 of A-Z and 0-9" || engine.MaxCurrencyCode != 20 {
		t.Error("the words do not say the rule")
	}
}
