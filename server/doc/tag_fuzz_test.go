package doc

import (
	"strings"
	"testing"
)

// An If-None-Match matches exactly if one entry of its list, taken apart by a plain reading of the contract, is
// the tag in any encoding or a star.
func FuzzIfNoneMatch(f *testing.F) {
	const tag = `"0123456789abcdef"`
	for _, sent := range []string{
		tag, "W/" + tag, "*", " * ", tag + `, "x"`, `"x",` + tag, `"0123456789abcdef-g"`, `W/"0123456789abcdef-b"`,
		`"0123456789abcdef-x"`, `0123456789abcdef`, ",,", strings.Repeat(`"x",`, 500), `W/W/` + tag, `"` + tag + `"`,
	} {
		f.Add(sent)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		want := false
		for one := range strings.SplitSeq(sent, ",") {
			switch strings.TrimPrefix(strings.TrimSpace(one), "W/") {
			case "*", tag, `"0123456789abcdef-g"`, `"0123456789abcdef-b"`:
				want = true
			}
		}
		if got := Names([]byte(sent), tag); got != want {
			t.Fatalf("%q matches: %v, want %v", sent, got, want)
		}
	})
}
