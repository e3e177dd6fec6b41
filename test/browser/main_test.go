package browser

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

func TestMain(m *testing.M) {
	flag.Parse()
	leaveToClients()
	harness.Main(m)
}

// leaveToClients leaves out the tests whose names begin with TestBrowser, unless -run or -skip is given. They take
// minutes; make clients and make soak have them.
func leaveToClients() {
	if os.Getenv("TICKHIVE_CLIENTS") == "1" || os.Getenv("TICKHIVE_SOAK") == "1" {
		return
	}
	if !harness.Chosen() {
		_ = flag.Set("test.skip", "^TestBrowser")
		fmt.Println("TestBrowser... left out: TICKHIVE_CLIENTS=1 runs them (make clients)")
	}
}
