package account_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/server/servertest"
)

// another creates a further key for a user; body holds the members besides its name.
func another(k *servertest.Keys, body string) *servertest.Keys {
	k.Exchange.T.Helper()
	made := k.Exchange.MustInternal("POST", "/users/"+k.ID+"/apikeys", `{"name":"another"`+body+`}`)
	return &servertest.Keys{
		Exchange: k.Exchange, ID: k.ID, Public: made["publicKey"].(string),
		Private: made["privateKey"].(string),
	}
}

// signedSocket is a socket that a key signed for, with every message that it received.
type signedSocket struct {
	*client.Stream
	t    *testing.T
	h    *servertest.Exchange
	sent int
}

func socket(k *servertest.Keys, t *testing.T, channels ...string) *signedSocket {
	t.Helper()
	s := &signedSocket{Stream: k.Exchange.Socket(), t: t, h: k.Exchange}
	_ = s.SetReadDeadline(time.Now().Add(time.Minute))
	s.auth(k)
	for _, c := range channels {
		s.subscribe(c)
	}
	return s
}

// ask sends an operation and returns its answer and the messages before it. The answer carries
// the id, so every message queued before it has arrived.
func (s *signedSocket) ask(r client.Request) (answer map[string]any, before []map[string]any) {
	s.t.Helper()
	s.sent++
	r.ID = s.sent
	if err := s.Send(r); err != nil {
		s.t.Fatal(err)
	}
	for {
		m := servertest.Next(s.t, s.Stream)
		if m["id"] == json.Number(fmt.Sprint(s.sent)) {
			return m, before
		}
		before = append(before, m)
	}
}

func (s *signedSocket) auth(k *servertest.Keys) {
	s.t.Helper()
	if err := s.Authenticate(k.Public, k.Private, s.h.Now()); err != nil {
		s.t.Fatal(err)
	}
}

// until reads up to the first message of a type and channel.
func (s *signedSocket) until(kind, channel string) map[string]any {
	s.t.Helper()
	for {
		if m := servertest.Next(s.t, s.Stream); m["type"] == kind && (m["channel"] == channel || channel == "") {
			return m
		}
	}
}

// subscribe returns the snapshot.
func (s *signedSocket) subscribe(channel string) map[string]any {
	s.t.Helper()
	r := client.Request{Op: "subscribe", Channel: channel}
	if channel == "trades" {
		r.Pairs = []string{"BTC_USDT"}
	}
	if m, _ := s.ask(r); m["type"] != "subscribed" {
		s.t.Fatalf("%s: %v", channel, m)
	}
	return s.until("snapshot", channel)
}

// listed returns the channels that list shows.
func (s *signedSocket) listed() string {
	s.t.Helper()
	m, _ := s.ask(client.Request{Op: "list"})
	var names []string
	for _, item := range m["items"].([]any) {
		names = append(names, item.(map[string]any)["channel"].(string))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// ended reads one error for each channel.
func (s *signedSocket) ended(reason string, channels ...string) {
	s.t.Helper()
	for len(channels) > 0 {
		m := s.until("error", "")
		i := slices.Index(channels, m["channel"].(string))
		if i < 0 || m["code"] != "UNAUTHORIZED" || m["id"] != nil || !strings.Contains(m["message"].(string), reason) {
			s.t.Fatalf("%v, want UNAUTHORIZED because the key %s, for %v", m, reason, channels)
		}
		channels = slices.Delete(channels, i, i+1)
	}
}

// silent checks that no private message arrives and that private subscriptions are refused.
func (s *signedSocket) silent() {
	s.t.Helper()
	ask := func(r client.Request) map[string]any {
		answer, before := s.ask(r)
		for _, m := range before {
			if m["channel"] != "trades" {
				s.t.Errorf("after its key ended the socket got %v", m)
			}
		}
		return answer
	}
	if m := ask(client.Request{Op: "ping"}); m["type"] != "pong" {
		s.t.Fatalf("%v", m)
	}
	for _, channel := range []string{"orders", "fills", "balances"} {
		if m := ask(client.Request{Op: "subscribe", Channel: channel}); m["type"] != "error" ||
			m["code"] != "UNAUTHORIZED" {
			s.t.Errorf("a new subscription of %s: %v", channel, m)
		}
	}
	if got := s.listed(); got != "trades" {
		s.t.Errorf("list shows %q", got)
	}
}

// usdt returns the free USDT in a message of balances, "" without a row.
func usdt(m map[string]any) string {
	for _, row := range m["balances"].([]any) {
		if r := row.(map[string]any); r["currencyCode"] == "USDT" {
			return r["free"].(json.Number).String()
		}
	}
	return ""
}

func seqOf(t *testing.T, m map[string]any) int64 {
	t.Helper()
	n, err := m["seq"].(json.Number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A deleted key ends the private subscriptions of its sockets. The sockets stay open, public
// channels continue, sockets of the user's other keys keep their subscriptions, and another key
// may sign for the socket again.
func TestPrivateStreamsEndWhenTheirKeyIsDeleted(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	other, spare := another(a, ""), another(a, "")
	s := socket(a, t, "orders", "fills", "balances", "trades")
	bare := socket(a, t, "trades")
	keeps := socket(other, t, "balances")
	h.Deposit(a, "USDT", "1")
	last := s.until("update", "balances")
	if usdt(last) != "1001.0" || usdt(keeps.until("update", "balances")) != "1001.0" {
		t.Fatalf("%v", last)
	}
	other.OK("DELETE", "/api/apikeys/"+a.Public, "")
	s.ended("was deleted", "orders", "fills", "balances")
	if m := bare.until("error", ""); m["code"] != "UNAUTHORIZED" || m["channel"] != nil {
		t.Errorf("a socket without private subscriptions: %v", m)
	}
	// From now on only the other sockets receive private messages.
	order := `{"side":"sell","currencyPairCode":"BTC_USDT","amount":1,"price":50}`
	b.Place(order)
	other.Place(strings.Replace(order, "sell", "buy", 1))
	for usdt(keeps.until("update", "balances")) != "951.0" { // 1001 - 50: the fee is in BTC
	}
	s.until("update", "trades")
	s.silent()
	bare.until("update", "trades")
	bare.silent()
	if got := keeps.listed(); got != "balances" {
		t.Errorf("the other key's socket has %q", got)
	}
	// Another key signs for the socket: the channels begin with the current state.
	s.auth(spare)
	s.until("authenticated", "")
	if list := s.subscribe("orders")["orders"].([]any); len(list) != 0 {
		t.Errorf("%v", list)
	}
	first := s.subscribe("balances")
	if usdt(first) != "951.0" || seqOf(t, first) < seqOf(t, last) {
		t.Errorf("after the new key: %v, before it %v", first, last)
	}
	h.Deposit(a, "USDT", "9")
	if m := s.until("update", "balances"); usdt(m) != "960.0" || seqOf(t, m) < seqOf(t, first) {
		t.Errorf("%v", m)
	}
	if m := keeps.until("update", "balances"); usdt(m) != "960.0" {
		t.Errorf("%v", m)
	}
	if got := s.listed(); got != "balances orders trades" {
		t.Errorf("list shows %q", got)
	}
}

// A sign-in counts within the window that it asks for, as a request does. A refusal names the member that is wrong.
func TestASignInHasItsWindow(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	h.Clock.Set(h.Now().Add(2 * time.Minute).UnixNano()) // every timestamp below is from after the start
	s := socket(a, t)
	s.until("authenticated", "")
	for _, c := range []struct {
		ageMs, window int64
		field         string
	}{
		{5_000, 0, ""},
		{5_001, 0, "timestamp"},
		{60_000, 60_000, ""},
		{60_001, 60_000, "timestamp"},
		{10, 10, ""},
		{11, 10, "timestamp"},
		{-1_000, 60_000, "timestamp"},
		{0, 60_001, "recvWindow"},
		{0, -1, "recvWindow"},
	} {
		at, nonce := strconv.FormatInt(h.Now().UnixMilli()-c.ageMs, 10), fmt.Sprint("n-", s.sent)
		m, _ := s.ask(client.Request{
			Op: "auth", PublicKey: a.Public, Timestamp: at, Nonce: nonce, RecvWindow: c.window,
			Signature: client.Sign(a.Private, at, nonce, "GET", "/ws", nil),
		})
		if c.field == "" && m["type"] != "authenticated" || c.field != "" && m["field"] != c.field {
			t.Errorf("%+v: %v", c, m)
		}
	}
}

// A key ends exactly at its expiresAt by the exchange's clock, to the nanosecond.
func TestPrivateStreamsEndWhenTheirKeyExpires(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	at := h.Now().Add(time.Hour)
	mortal := another(a, `,"expiresAt":"`+at.UTC().Format(time.RFC3339)+`"`)
	later := another(a, `,"expiresAt":"`+at.Add(time.Hour).UTC().Format(time.RFC3339)+`"`)
	s := socket(mortal, t, "balances", "trades")
	keeps := socket(later, t, "balances")
	h.Clock.Set(at.UnixNano() - 1)
	h.Deposit(a, "USDT", "1")
	if m := s.until("update", "balances"); usdt(m) != "1001.0" {
		t.Fatalf("%v", m)
	}
	keeps.until("update", "balances")
	h.Clock.Set(at.UnixNano())
	h.Deposit(a, "USDT", "1")
	s.ended("has expired", "balances")
	if m := keeps.until("update", "balances"); usdt(m) != "1002.0" {
		t.Errorf("%v", m)
	}
	s.silent()
	s.auth(mortal)
	if m := s.until("error", ""); m["code"] != "UNAUTHORIZED" {
		t.Errorf("%v", m)
	}
	h.Clock.Set(at.Add(time.Hour).UnixNano())
	keeps.ended("has expired", "balances")
}

// Subscriptions belong to the key that signed for them. Another key, of any user, ends them. The
// same key, and credentials that do not verify, leave them unchanged.
func TestSecondAuthOfASocket(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	s := socket(a, t, "balances", "orders", "trades")
	s.auth(a)
	s.until("authenticated", "")
	wrong := &servertest.Keys{Exchange: h, ID: b.ID, Public: b.Public, Private: a.Private}
	s.auth(wrong)
	if m := s.until("error", ""); m["code"] != "UNAUTHORIZED" {
		t.Fatalf("%v", m)
	}
	if got := s.listed(); got != "balances orders trades" {
		t.Fatalf("after the same key and a wrong one: %q", got)
	}
	h.Deposit(a, "USDT", "1")
	if m := s.until("update", "balances"); usdt(m) != "1001.0" {
		t.Fatalf("%v", m)
	}
	for i, k := range []*servertest.Keys{b, another(a, "")} {
		s.auth(k)
		var ended []string
		for m := servertest.Next(t, s.Stream); m["type"] != "authenticated"; m = servertest.Next(t, s.Stream) {
			if m["type"] != "unsubscribed" || m["id"] != nil {
				t.Fatalf("%v", m)
			}
			ended = append(ended, m["channel"].(string))
		}
		slices.Sort(ended)
		if want := []string{"balances orders", "balances"}[i]; strings.Join(ended, " ") != want {
			t.Errorf("the client received the end of %v, want %s", ended, want)
		}
		if got := s.listed(); got != "trades" {
			t.Errorf("list shows %q", got)
		}
		// This socket no longer receives the first user's messages.
		watch := socket(a, t, "balances")
		h.Deposit(a, "USDT", "1")
		watch.until("update", "balances")
		if _, before := s.ask(client.Request{Op: "ping"}); len(before) != 0 {
			t.Errorf("after the auth of another key: %v", before)
		}
		if want := []string{"1000.0", "1003.0"}[i]; usdt(s.subscribe("balances")) != want {
			t.Errorf("the balances are not those of the key")
		}
	}
	// The end of a key that signed for the socket earlier does not affect the socket.
	another(b, "").OK("DELETE", "/api/apikeys/"+b.Public, "")
	last := socket(a, t, "balances")
	a.OK("DELETE", "/api/apikeys/"+a.Public, "")
	last.ended("was deleted", "balances")
	if got := s.listed(); got != "balances trades" {
		t.Errorf("list shows %q", got)
	}
}
