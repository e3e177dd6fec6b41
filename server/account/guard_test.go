package account_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/server/servertest"
)

// guard authenticates a socket with cancelOnDisconnect, and returns the answer.
func (s *signedSocket) guard(k *servertest.Keys, grace time.Duration) map[string]any {
	s.t.Helper()
	if err := s.AuthenticateGuarded(k.Public, k.Private, s.h.Now(), grace); err != nil {
		s.t.Fatal(err)
	}
	return servertest.Next(s.t, s.Stream)
}

// held returns the amount of USDT that the orders of a user hold.
func held(k *servertest.Keys) any {
	for _, b := range k.Exchange.MustInternal("GET", "/users/"+k.ID, "")["balances"].([]any) {
		if row := b.(map[string]any); row["currencyCode"] == "USDT" {
			return row["held"]
		}
	}
	return json.Number("0.0")
}

// canceled moves the clock until the orders of a user are canceled: the hub may not have noticed yet that a socket
// is gone.
func canceled(t *testing.T, k *servertest.Keys) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); held(k) != json.Number("0.0"); {
		if time.Now().After(deadline) {
			t.Fatalf("the orders hold %v", held(k))
		}
		k.Exchange.MustInternal("POST", "/clock", `{"advance":"1s"}`)
	}
}

func rest(k *servertest.Keys) {
	k.Exchange.T.Helper()
	k.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10}`)
	k.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10,"stopPrice":1000}`)
}

// The orders of a user are canceled after the last socket that guards them is gone, and no others.
func TestTheLastGuardingSocketCancelsWhenItIsGone(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	h.Deposit(a, "USDT", "1000")
	rest(a)
	rest(b)
	want := held(a)
	first, second, plain, other := socket(a, t), socket(a, t), socket(a, t), socket(b, t)
	for _, s := range []*signedSocket{first, second, plain, other} {
		s.until("authenticated", "")
	}
	if m := first.guard(a, 0); m["cancelOnDisconnect"] != true || m["graceMs"] != json.Number("0") {
		t.Fatalf("%v", m)
	}
	second.guard(a, 2*time.Second)
	second.guard(a, time.Second) // a repeat counts once
	_ = first.Close()
	_ = plain.Close()
	_ = other.Close()
	h.MustInternal("POST", "/clock", `{"advance":"1h"}`)
	if got := held(a); got != want {
		t.Errorf("a socket is there, and the orders hold %v of %v", got, want)
	}
	_ = second.Close()
	canceled(t, a)
	if got := held(b); got != want {
		t.Errorf("another user's orders hold %v of %v", got, want)
	}
}

// A deleted key and a signature for another account end the guard of a socket as its end does; auth without the
// wish withdraws it.
func TestWhatEndsTheGuardOfASocket(t *testing.T) {
	for name, end := range map[string]func(s *signedSocket, a, b *servertest.Keys){
		"its key is deleted": func(_ *signedSocket, a, _ *servertest.Keys) {
			a.OK("DELETE", "/api/apikeys/"+a.Public, "")
		},
		"it signs for another account": func(s *signedSocket, _, b *servertest.Keys) {
			s.auth(b)
			s.until("authenticated", "") // before canceled moves the clock beyond the window of the signature
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, a, b := servertest.NewTradedExchange(t)
			h.Deposit(a, "USDT", "1000")
			rest(a)
			s, withdrawn := socket(a, t), socket(b, t)
			s.until("authenticated", "")
			s.guard(a, 0)
			withdrawn.until("authenticated", "")
			withdrawn.guard(b, 0)
			withdrawn.auth(b)
			if m := withdrawn.until("authenticated", ""); m["cancelOnDisconnect"] != nil {
				t.Errorf("%v", m)
			}
			rest(b)
			want := held(b)
			_ = withdrawn.Close()
			end(s, a, b)
			canceled(t, a)
			if got := held(b); got != want {
				t.Errorf("the orders of a withdrawn wish hold %v of %v", got, want)
			}
		})
	}
}

func TestAGuardIsRefused(t *testing.T) {
	_, a, _ := servertest.NewTradedExchange(t)
	reader := another(a, `,"canTrade":false`)
	s := socket(a, t)
	s.until("authenticated", "")
	if m := s.guard(reader, 0); m["code"] != "FORBIDDEN" {
		t.Errorf("a key that may not trade: %v", m)
	}
	for _, grace := range []time.Duration{-time.Millisecond, 10*time.Minute + time.Millisecond} {
		if m := s.guard(a, grace); m["code"] != "INVALID_PARAM" {
			t.Errorf("a grace of %s: %v", grace, m)
		}
	}
	ms := int64(5)
	if m, _ := s.ask(client.Request{Op: "auth", GraceMs: &ms}); m["code"] != "INVALID_PARAM" {
		t.Errorf("a grace without cancelOnDisconnect: %v", m)
	}
}
