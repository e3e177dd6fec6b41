package tidy

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9_]*)`")

// A document that names a test as its proof names one that exists.
func TestTheTestsThatDocumentsNameExist(t *testing.T) {
	files, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, p := range readTree(t).Pages {
		for _, m := range testName.FindAllStringSubmatch(strings.Join(p.Lines, "\n"), -1) {
			named++
			declared := false
			for _, f := range files {
				declared = declared || f.Test && bytes.Contains(f.Text, []byte("\nfunc "+m[1]+"("))
			}
			if !declared {
				t.Errorf("%s names %s, which is no test", p.Path, m[1])
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d names were found", named)
	}
}

// Nothing that serves clients opens connections, so no request can make it call an address. The exception is a
// replica, which calls the writer: the address comes from the log, never from a request.
func TestNothingThatServesClientsCallsAddresses(t *testing.T) {
	calls := []string{
		"net.Dial", "http.Client", "http.Get(", "http.Post(", "fasthttp.Get(", "fasthttp.Post(", "fasthttp.Do",
		"fasthttp.Client", "HostClient", "websocket.Dial",
	}
	files, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, f := range files {
		folder, _, _ := strings.Cut(f.Dir, "/")
		switch {
		case f.Test, f.Dir == "server/servertest", f.Dir == "server/forward",
			f.Path == "internal/exchange/listen.go", // tries its own socket
			f.Path == "internal/exchange/follow.go": // asks nodes, which the configuration and the log name
			continue
		case !strings.Contains(" server accounts engine marketdata hive launchpad aggregator ", " "+folder+" ") &&
			f.Dir != "internal/entry" && f.Dir != "internal/exchange":
			continue
		}
		looked++
		for _, call := range calls {
			if bytes.Contains(f.Text, []byte(call)) {
				t.Errorf("%s uses %s", f.Path, call)
			}
		}
	}
	if looked < 100 {
		t.Errorf("only %d files were looked at", looked)
	}
}

// dials matches what opens a connection.
var dials = regexp.MustCompile(`\b(net\.(Dial|Dialer\b)|tls\.Dial|http\.Client\{|http\.(Get|Post|DefaultClient)\b|` +
	`fasthttp\.(HostClient|Client|Get|Post|Do)\b|\.(DefaultDialer|DialContext)\b|nats\.Connect\()`)

// The table of SECURITY.md has every folder that opens connections, and no other one.
func TestEveryConnectionIsInTheTable(t *testing.T) {
	var table string
	for _, p := range readTree(t).Pages {
		if p.Path == "SECURITY.md" {
			_, table, _ = strings.Cut(strings.Join(p.Lines, "\n"), "## What each connection trusts")
			table, _, _ = strings.Cut(table, "\n## ")
		}
	}
	listed := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^\| [^|(]*\(([^)]*)\) \|`).FindAllStringSubmatch(table, -1) {
		for folder := range strings.SplitSeq(m[1], ", ") {
			listed[strings.Trim(folder, "`")] = false
		}
	}
	files, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		// Benchmarks, examples and what serves tests are not in the program.
		if f.Test || under(f.Dir, "test", "server/servertest", "internal/exchange/exchangetest", "client/examples",
			"tickhivetest") ||
			under(f.Dir, "bench") && !under(f.Dir, "bench/loadtool") || !dials.Match(f.Text) {
			continue
		}
		if _, ok := listed[f.Dir]; !ok {
			t.Errorf("%s opens a connection (%s), and the table of SECURITY.md has no row with `%s`", f.Path,
				dials.Find(f.Text), f.Dir)
			continue
		}
		listed[f.Dir] = true
	}
	for folder, dials := range listed {
		if !dials {
			t.Errorf("SECURITY.md has a row of %s, which opens no connection", folder)
		}
	}
	if len(listed) < 8 {
		t.Errorf("only %d folders are listed", len(listed))
	}
}
