package nets

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
)

// Node is a running exchange as its clients reach it: base URLs such as http://127.0.0.1:8080, without a path.
type Node struct {
	T                         testing.TB
	Public, Internal, Binance string // Binance: empty without the listener
	Token                     string // of the internal API; empty: none
	// Writer is the public address of the writer when Public is that of a replica, which has no private sockets.
	// Internal is the writer's then, too. Empty: Public.
	Writer string
}

// User is an account with a key pair.
type User struct {
	ID, Public, Private string
}

// Answer is a whole answer.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// connections keeps enough idle connections for the goroutines of a test, because a client that dials for each request
// is slow.
var connections = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// internalAPI is the prefix of the routes of the internal API.
const internalAPI = "/internal/v1"

// Client returns a client that signs as u.
func (n *Node) Client(u *User) *client.Client {
	return &client.Client{Base: n.Public, PublicKey: u.Public, PrivateKey: u.Private, HTTP: connections, Now: n.now}
}

// now returns the time of the exchange's clock.
func (n *Node) now() time.Time {
	n.T.Helper()
	ms, err := (&client.Client{Base: n.Public, HTTP: connections}).Time(n.T.Context())
	if err != nil {
		n.T.Fatal(err)
	}
	return time.UnixMilli(ms)
}

// Send sends a request to the public listener, signed unless u is nil.
func (n *Node) Send(u *User, method, target, body string) Answer {
	n.T.Helper()
	header := http.Header{}
	if u != nil {
		c, err := n.Client(u).Credentials(method, target, []byte(body))
		if err != nil {
			n.T.Fatal(err)
		}
		header.Set("API-PublicKey", c.PublicKey)
		header.Set("API-Timestamp", c.Timestamp)
		header.Set("API-Nonce", c.Nonce)
		header.Set("API-Signature", c.Signature)
	}
	return n.do(method, n.Public+target, body, header)
}

// OK is Send of a request that must succeed.
func (n *Node) OK(u *User, method, target, body string) Answer {
	n.T.Helper()
	a := n.Send(u, method, target, body)
	if a.Status != http.StatusOK {
		n.T.Fatalf("%s %s %s: %d %s", method, target, body, a.Status, a.Body)
	}
	return a
}

// Inside sends a request to the internal listener.
func (n *Node) Inside(method, target, body string) Answer {
	n.T.Helper()
	header := http.Header{}
	if n.Token != "" {
		header.Set("Authorization", "Bearer "+n.Token)
	}
	return n.do(method, n.Internal+target, body, header)
}

// Call sends a request to the internal API, which must succeed, and returns its object.
func (n *Node) Call(method, path, body string) map[string]any {
	n.T.Helper()
	a := n.Inside(method, internalAPI+path, body)
	if a.Status != http.StatusOK {
		n.T.Fatalf("%s %s %s: %d %s", method, path, body, a.Status, a.Body)
	}
	return object(n.T, a.Body)
}

func (n *Node) do(method, url, body string, header http.Header) Answer {
	n.T.Helper()
	req, err := http.NewRequestWithContext(n.T.Context(), method, url, strings.NewReader(body))
	if err != nil {
		n.T.Fatal(err)
	}
	req.Header = header
	req.Header.Set("X-Request-Id", "nets")        // so that errors have equal bytes
	req.Header.Set("Accept-Encoding", "identity") // so that tags are those of one encoding
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := connections.Do(req)
	if err != nil {
		n.T.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		n.T.Fatal(err)
	}
	return Answer{resp.StatusCode, resp.Header, string(text)}
}

// Parse decodes JSON; a number in an any keeps its text.
func Parse(t testing.TB, text string, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
}

func object(t testing.TB, text string) (o map[string]any) {
	t.Helper()
	Parse(t, text, &o)
	return o
}

// Trader makes a user with a key and much of each currency.
func Trader(n *Node, nickname string) *User {
	n.T.Helper()
	id := n.Call(http.MethodPost, "/users", `{"nickname":"`+nickname+`"}`)["id"].(string)
	for _, currency := range []string{"USDT", "BTC", "ETH"} {
		n.Call(http.MethodPost, "/users/"+id+"/deposits", `{"currencyCode":"`+currency+`","amount":100000000}`)
	}
	return n.newKey(id)
}

// newKey makes a key of a user that may do everything but withdraw.
func (n *Node) newKey(id string) *User {
	n.T.Helper()
	k := n.Call(http.MethodPost, "/users/"+id+"/apikeys", `{"name":"first"}`)
	return &User{ID: id, Public: k["publicKey"].(string), Private: k["privateKey"].(string)}
}
