package exchange_test

import (
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/server/conn"
)

// A start refuses a console that opens the internal API further than the internal listener is.
func TestAConsoleOpensNoMoreThanItSays(t *testing.T) {
	for _, c := range []struct {
		console, listen, internal, token string
		tls                              bool
		refused                          string // empty: the start goes on
	}{
		{console: "", listen: "0.0.0.0:8080"},
		{console: "off", listen: ":8080"},
		{console: "loopback", listen: "127.0.0.1:8080"},
		{console: "loopback", listen: "[::1]:8080"},
		{console: "loopback", listen: "localhost:8080"},
		{console: "loopback", listen: "0.0.0.0:8080", refused: "loopback needs a loopback address"},
		{console: "loopback", listen: ":8080", refused: "loopback needs a loopback address"},
		{console: "loopback", listen: "192.0.2.1:8080", tls: true, refused: "loopback needs a loopback address"},
		{console: "loopback", listen: "127.0.0.1:8080", token: "open sesame", refused: "asks for no token"},
		{console: "loopback", listen: "127.0.0.1:8080", internal: "unix:/tmp/s", refused: "every user"},
		{console: "token", listen: "127.0.0.1:8080", token: "open sesame"},
		{console: "token", listen: "0.0.0.0:8080", token: "open sesame", tls: true},
		{console: "token", listen: "0.0.0.0:8080", token: "open sesame", refused: "the token needs TLS"},
		{console: "token", listen: "127.0.0.1:8080", refused: "needs the token"},
		{console: "token", listen: "127.0.0.1:8080", internal: "unix:/tmp/s", refused: "needs the token"},
	} {
		o := exchangetest.Options("")
		o.Server.Console, o.Server.Listen, o.Internal.Token = c.console, c.listen, c.token
		if c.internal != "" {
			o.Internal.Listen = c.internal
		}
		if c.tls {
			o.Certificates.Public = new(conn.Certificate)
		}
		err := o.Validate()
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(),
			c.refused)) {
			t.Errorf("%+v: %v", c, err)
		}
		if c.console == "loopback" && o.ConsoleFits() != (err == nil) {
			t.Errorf("%+v fits: %v", c, o.ConsoleFits())
		}
	}
}
