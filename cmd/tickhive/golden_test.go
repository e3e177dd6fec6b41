package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/cryptotest"

	diff "github.com/google/go-cmp/cmp"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/servertest"

	"github.com/tickhive/tickhive/test/harness"
)

// update makes the golden tests write their files instead of comparing with them:
//
//	go test -pgo=off ./cmd/tickhive -run TestGolden -update
//
// One command writes all of them, the frozen texts included.
var update = flag.Bool("update", false, "write the golden files")

// goldenDir holds one file per area: requests with their responses, stream messages, log
// records, snapshots. The bytes are the contract (docs/contract); a change of them changes
// the contract. The files of golden_texts_test.go hold wording, which is no contract.
const goldenDir = "testdata/golden"

// goldenStartMs is the start time of a golden run's virtual clock: 2026-01-01.
const goldenStartMs = 1_767_225_600_000

// golden is one deterministic run of the assembled program: virtual clock, fixed randomness,
// free ports, and each request sent after the response to the previous one.
type golden struct {
	t        testing.TB
	rig      *exchangetest.Rig
	dir      string // data directory
	public   string // http://127.0.0.1:PORT
	internal string
	nowMs    int64 // of the virtual clock
	requests int
	area     string // current output file
	texts    map[string]*bytes.Buffer
	messages map[string]string // see keepMessages

	streamDoc *servertest.Streams // checks messages of /ws; nil before the first
}

// newGolden assembles the program, without pairs or simulation unless the flags enable them,
// and starts its listeners; ready admits clients.
func newGolden(t *testing.T, flags serveFlags) *golden {
	t.Helper()
	cryptotest.SetGlobalRandom(t, 1)
	g := &golden{
		t: t, dir: t.TempDir(), nowMs: goldenStartMs,
		texts: map[string]*bytes.Buffer{}, messages: map[string]string{},
	}
	p := &program{out: io.Discard, err: io.Discard}
	flags.Listen, flags.InternalListen, flags.DataDir = "127.0.0.1:0", "127.0.0.1:0", g.dir
	flags.Clock, flags.ClockStart = "virtual", "2026-01-01T00:00:00Z"
	flags.Sim, flags.Pairs = cmp.Or(flags.Sim, "off"), cmp.Or(flags.Pairs, config.PairsNone)
	cfg, err := flags.config(p)
	if err != nil {
		t.Fatal(err)
	}
	o, err := exchangeOptions(cfg, p, true)
	if err != nil {
		t.Fatal(err)
	}
	g.rig = exchangetest.Open(t, o)
	g.public, g.internal = g.rig.Public, "http://"+g.rig.Opened.InternalAddr()
	return g
}

// ready starts the market and admits clients.
func (g *golden) ready() {
	g.t.Helper()
	g.rig.Ready()
}

// stop ends the program in order. Its data directory is complete afterwards.
func (g *golden) stop() { g.rig.Stop() }

// text returns the buffer of the current area's file.
func (g *golden) text() *bytes.Buffer {
	if g.texts[g.area] == nil {
		g.texts[g.area] = &bytes.Buffer{}
	}
	return g.texts[g.area]
}

// note writes a line that explains the next ones.
func (g *golden) note(format string, args ...any) { fmt.Fprintf(g.text(), "# "+format+"\n", args...) }

// get sends a public GET.
func (g *golden) get(target string, header ...string) string {
	return g.request(g.public, "GET", target, "", header...)
}

// in sends a request to the internal listener, below /internal/v1.
func (g *golden) in(method, path, body string) map[string]any {
	g.t.Helper()
	text := g.request(g.internal, method, "/internal/v1"+path, body)
	if !strings.HasPrefix(text, "{") {
		return nil
	}
	return harness.Object(g.t, text)
}

// id returns a string member of a response.
func (g *golden) id(m map[string]any, name string) string {
	g.t.Helper()
	s, ok := m[name].(string)
	if !ok {
		g.t.Fatalf("no member %s in %v", name, m)
	}
	return s
}

// advance moves the virtual clock.
func (g *golden) advance(ms int64) {
	g.nowMs += ms
	g.in("POST", "/clock", fmt.Sprintf(`{"to":%d}`, g.nowMs))
}

// as sends a signed request.
func (g *golden) as(u *harness.Voter, method, target, body string) string {
	g.t.Helper()
	u.Nonces++
	now, nonce := strconv.FormatInt(g.nowMs, 10), fmt.Sprintf("n-%d", u.Nonces)
	return g.request(g.public, method, target, body,
		"API-PublicKey", u.Public, "API-Timestamp", now, "API-Nonce", nonce,
		"API-Signature", client.Sign(u.Private, now, nonce, method, target, []byte(body)))
}

// member creates a user with a key that may trade.
func (g *golden) member(body string) *harness.Voter {
	g.t.Helper()
	u := &harness.Voter{ID: g.id(g.in("POST", "/users", body), "id")}
	key := g.in("POST", "/users/"+u.ID+"/apikeys", `{"name":"golden"}`)
	u.Public, u.Private = g.id(key, "publicKey"), g.id(key, "privateKey")
	return u
}

// request sends one request and writes it with its response. For the rate limits each request
// has a different address. It returns the body.
func (g *golden) request(base, method, target, body string, header ...string) string {
	g.t.Helper()
	status, h, text := g.send(base, method, target, body, header...)
	g.write(method, target, body, status, h, text)
	return text
}

// send sends a request without output to the files.
func (g *golden) send(base, method, target, body string, header ...string) (int, http.Header, string) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, base+target, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	g.requests++
	req.Header.Set("X-Forwarded-For", fmt.Sprintf("10.0.%d.%d", g.requests/250, g.requests%250+1))
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := harness.HTTPClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

func (g *golden) write(method, target, body string, status int, h http.Header, text string) {
	g.keepMessages(method+" "+target, text)
	b := g.text()
	fmt.Fprintf(b, "\n> %s %s\n", method, target)
	if body != "" {
		fmt.Fprintf(b, "> %s\n", shorten(body))
	}
	fmt.Fprintf(b, "< %d\n", status)
	for _, line := range contractHeaders(h) {
		fmt.Fprintf(b, "< %s\n", line)
	}
	if text != "" {
		fmt.Fprintf(b, "%s\n", readable(normalise(text)))
	}
}

// contractHeaders returns the response headers that are part of the contract, sorted. Headers
// of the connection and of the current time are left out.
func contractHeaders(h http.Header) []string {
	var lines []string
	for name, values := range h {
		value := strings.Join(values, ", ")
		switch name {
		case "Date", "Content-Length", "Connection", "Server":
			continue
		case "X-Request-Id", "Etag", "X-Ratelimit-Reset":
			value = "*"
		case "Content-Type":
			if value == "application/json; charset=utf-8" {
				continue // present in nearly every response
			}
		}
		lines = append(lines, name+": "+value)
	}
	if h.Get("Content-Type") == "" {
		lines = append(lines, "Content-Type: (none)")
	}
	for name, value := range protection(h) { // the files name only what differs from the rule
		if h.Get(name) == value {
			lines = slices.DeleteFunc(lines, func(s string) bool { return s == name+": "+value })
		} else {
			lines = append(lines, name+": want "+value)
		}
	}
	slices.Sort(lines)
	return slices.DeleteFunc(lines, func(s string) bool { return s == "X-Request-Id: *" })
}

// protection returns the headers that every response has for browsers.
func protection(h http.Header) map[string]string {
	corp, expose := "same-origin", ""
	if h.Get("Access-Control-Allow-Origin") != "" {
		corp = "cross-origin"
		expose = "ETag, Retry-After, X-Fault, X-Lag-Ms, X-Next-Cursor, X-Next-Start, X-RateLimit-Limit, " +
			"X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, X-Seq, X-Served-By, X-Truncated"
	}
	return map[string]string{
		"X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin",
		"Cross-Origin-Resource-Policy": corp, "Access-Control-Expose-Headers": expose,
	}
}

// Parts of a body that the golden files leave out: wording, and values that depend on the
// machine's clock or on chance.
var (
	wording = regexp.MustCompile(`"(message|errmsg)":"(?:[^"\\]|\\.)*"`)
	moments = regexp.MustCompile(`"(requestId|viewAgeMs)":("[^"]*"|[0-9]+)`)
)

func normalise(text string) string {
	return moments.ReplaceAllString(wording.ReplaceAllString(text, `"$1":"*"`), `"$1":"*"`)
}

// headBytes is the number of bytes of a long text that a golden file shows.
const headBytes = 900

// shorten returns the head of a long text and the hash of the whole text.
func shorten(text string) string {
	if len(text) <= headBytes*4/3 {
		return text
	}
	return fmt.Sprintf("%s ... %d bytes, sha256 %x", text[:headBytes], len(text), sha256.Sum256([]byte(text)))
}

// readable inserts line breaks between the elements of a body's lists, for diffs.
func readable(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(shorten(text), "},{", "},\n{"), `],"`, "],\n\"")
}

// compare compares every file with the one in the tree, or writes it.
func (g *golden) compare() {
	g.t.Helper()
	for name, text := range g.texts {
		path := filepath.Join(goldenDir, name+".txt")
		if *update {
			if err := os.MkdirAll(goldenDir, 0o755); err != nil {
				g.t.Fatal(err)
			}
			if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
				g.t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			g.t.Fatal(err)
		}
		if d := diff.Diff(strings.Split(string(want), "\n"), strings.Split(text.String(), "\n")); d != "" {
			g.t.Errorf("%s differs (- the file, + this run). A change of behaviour belongs in docs/contract; "+
				"then run go test -pgo=off ./cmd/tickhive -run TestGolden -update:\n%s", path, d)
		}
	}
}

// routesAnswered fails for every route of the program that did not succeed during the run.
func (g *golden) routesAnswered() {
	g.t.Helper()
	elsewhere := []string{
		"/internal/v1/clock/accept", // needs a real clock: see the tests of internal/exchange
		// these need a recording: see the tests of test/cli
		"/internal/v1/replay", "/internal/v1/replay/play", "/internal/v1/replay/pause", "/internal/v1/replay/step",
		"/internal/v1/replay/speed", "/internal/v1/replay/seek", "/internal/v1/replay/leave",
		"/internal/v1/sim", // needs a simulated market: see the tests of test/cli
	}
	table := map[string]bool{}
	for _, r := range g.rig.Opened.Public().Routes() {
		table[r.Method+" "+r.Path] = false
	}
	for listener, stats := range map[string][]edge.RouteStat{
		"public":   g.rig.Opened.Public().RouteStats(),
		"internal": g.rig.Opened.Internal().RouteStats(),
	} {
		for i := range stats {
			if r := &stats[i]; r.Path != "" {
				table[r.Method+" "+r.Path] = table[r.Method+" "+r.Path] || r.Status[2] > 0 || r.Status[1] > 0
				if !table[r.Method+" "+r.Path] && !slices.Contains(elsewhere, r.Path) {
					g.t.Errorf("the golden run never succeeds on %s %s of the %s listener: add a step", r.Method,
						r.Path, listener)
				}
			}
		}
	}
	if len(table) < 100 {
		g.t.Errorf("only %d routes were found", len(table))
	}
}
