package objects

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// The pattern of a client order id that the documents give is what the server takes.
func TestThePatternOfClientOrderIDsIsTheServers(t *testing.T) {
	pattern := regexp.MustCompile(ClientOrderPattern)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9_.:-]{0,66}`), rapid.String()).Draw(t, "id")
		if got, want := IsClientOrderID(text), pattern.MatchString(text); got != want {
			t.Errorf("%q: the server takes it %v, the document %v", text, got, want)
		}
	})
}
