package node_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tickhive/internal/node"
	"tickhive/server/forward"
)

func clusterKey(t *testing.T, letter string) *forward.Key {
	t.Helper()
	k, err := forward.NewKey(strings.Repeat(letter, forward.MinKeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// announce announces an offer of a node with a key.
func (a *archived) announce(key node.Key, epoch string, o node.Offer) {
	a.t.Helper()
	stop, err := node.Announce(a.log, epoch, key, func() node.Offer { return o })
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(stop)
}

// Nodes with the key are found, replicas before the writer and the latest first. Offers without the key, of another
// epoch, of an earlier question and without a usable address are none.
func TestNodesOfTheClusterAreFound(t *testing.T) {
	a := newArchived(t)
	key, other := clusterKey(t, "k"), clusterKey(t, "o")
	for _, o := range []node.Offer{
		{Address: "h1:1", Role: "writer", Seq: 99},
		{Address: "h2:1", Role: "replica", Seq: 5},
		{Address: "h3:1", Role: "standby", Seq: 7},
		{Address: "[::1]:65535", Role: "replica", Seq: 7, Bare: true},
		{Address: "h2:1", Role: "replica", Seq: 5},
		{Address: "h4", Role: "replica"},
		{Address: "h4:0", Role: "replica"},
		{Address: "h4:65536", Role: "replica"},
		{Address: ":1", Role: "replica"},
		{Address: "h4:x", Role: "replica"},
		{Address: "h4:1", Role: "king"},
		{Address: strings.Repeat("h", 300) + ":1", Role: "replica"},
	} {
		a.announce(key, "e1", o)
	}
	a.announce(other, "e1", node.Offer{Address: "h5:1", Role: "replica", Seq: 100})
	a.announce(key, "e2", node.Offer{Address: "h6:1", Role: "replica", Seq: 100})
	var first []byte // what a node has answered to the first question
	for i := range 2 {
		stop, err := a.log.Respond(func([]byte) []byte { return first })
		if err != nil {
			t.Fatal(err)
		}
		found, err := node.Find(t.Context(), a.log, "e1", key)
		stop()
		var got []string
		for _, o := range found {
			got = append(got, o.Address)
		}
		if want := []string{"[::1]:65535", "h3:1", "h2:1", "h1:1"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("question %d: %q, %v, want %q", i, got, err, want)
		}
		const offer = `{"address":"h9:1","role":"replica","seq":1000}`
		first = fmt.Appendf(nil, `{"offer":%s,"proof":%q}`, offer,
			key.Prove("a snapshot is given", "e1", "an earlier nonce", offer))
	}
	for _, text := range []string{"", "{}", "x", `{"nonce":"n","proof":"00"}`} {
		if answers, err := a.log.Ask(t.Context(), []byte(text), 0, 99); len(answers) != 0 || err != nil {
			t.Errorf("%q is answered by %q, %v", text, answers, err)
		}
	}
}

// A node that lies costs one attempt: the next one, or the archive, gives the snapshot. Named nodes come first, and one
// without the simulated market is not asked by a node that needs it.
func TestANodeBeginsWithTheBestSnapshot(t *testing.T) {
	a, key := newArchived(t), clusterKey(t, "k")
	serve := func(g http.Handler) string {
		s := httptest.NewServer(g)
		t.Cleanup(s.Close)
		return s.URL
	}
	text := &strings.Builder{}
	choose := func(c node.Choice) string {
		t.Helper()
		text.Reset()
		c.Log, c.Genesis, c.Until = a.log, node.Genesis{Epoch: "e1"}, 1<<63
		c.Report = slog.New(slog.NewTextHandler(text, nil))
		s, err := c.Choose(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s == nil {
			return ""
		}
		defer s.Close()
		var market []byte
		if err := s.Body(func(body io.Reader) (err error) {
			market, err = io.ReadAll(body)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return string(market)
	}
	if got := choose(node.Choice{Key: key}); got != "" || !strings.Contains(text.String(), "the first message") {
		t.Errorf("%q: %s", got, text)
	}
	refuses := &giver{now: []byte("no"), bad: func(_ int, w http.ResponseWriter) bool {
		w.WriteHeader(404)
		return true
	}}
	good := &giver{now: a.small("announced"), tag: `"1-a"`}
	a.announce(key, "e1", node.Offer{Address: serve(refuses)[7:], Role: "replica", Seq: 1 << 60})
	a.announce(key, "e1", node.Offer{Address: serve(good)[7:], Role: "standby", Seq: 4, Bare: true})
	if got := choose(node.Choice{Key: key}); got != "announced" || len(refuses.asked) != 3 ||
		!strings.Contains(text.String(), "announced=standby") {
		t.Errorf("%q after %d requests of the other: %s", got, len(refuses.asked), text)
	}
	if got := choose(node.Choice{Key: key, Whole: true}); got != "" || len(good.asked) != 1 {
		t.Errorf("a bare one: %q: %s", got, text)
	}
	if got := choose(node.Choice{}); got != "" || len(good.asked) != 1 {
		t.Errorf("without a key: %q: %s", got, text)
	}
	named := &giver{now: a.small("named"), tag: `"1-b"`}
	if got := choose(node.Choice{Key: key, Peers: []string{serve(named)}}); got != "named" || len(good.asked) != 1 ||
		!strings.Contains(text.String(), "named=replica.snapshot_from") {
		t.Errorf("%q: %s", got, text)
	}
}
