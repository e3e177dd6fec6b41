package nets_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/test/nets"
)

// options are of an exchange whose clients have no limits of requests.
func options(dir string) exchange.Options {
	o := exchangetest.Options(dir)
	o.Rate.Allow = []string{"127.0.0.0/8"}
	o.Binance.Listen = []string{"127.0.0.1:0"}
	return o
}

// nodeOf returns the addresses of an exchange of this process.
func nodeOf(t *testing.T, x *exchangetest.Rig) *nets.Node {
	return &nets.Node{
		T: t, Public: x.Public, Internal: "http://" + x.InternalAddr(), Binance: "http://" + strings.Join(x.BinanceAddrs(), ""),
	}
}

// stepOf moves the virtual clock of a node.
func stepOf(n *nets.Node) func(time.Duration) {
	return func(d time.Duration) {
		n.T.Helper()
		n.Call("POST", "/clock", fmt.Sprintf(`{"advance":%q}`, d))
	}
}
