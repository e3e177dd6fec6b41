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
			f.Path == "internal/exchange/listen.go": // tries its own socket
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
