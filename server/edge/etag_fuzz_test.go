package edge

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
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
		if strings.ContainsAny(sent, "\r\n\x00") {
			return
		}
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.Set("If-None-Match", sent)
		want := false
		for one := range strings.SplitSeq(string(ctx.Request.Header.Peek("If-None-Match")), ",") {
			switch strings.TrimPrefix(strings.TrimSpace(one), "W/") {
			case "*", tag, `"0123456789abcdef-g"`, `"0123456789abcdef-b"`:
				want = true
			}
		}
		if got := NotModified(&ctx, tag); got != want {
			t.Fatalf("%q matches: %v, want %v", sent, got, want)
		}
	})
}
