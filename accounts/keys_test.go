package accounts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestKeyRules(t *testing.T) {
	r := newRig(t)
	u := r.user(ProfilePatch{})
	many := make([]string, 21)
	for i := range many {
		many[i] = "10.0.0.1"
	}
	for _, c := range []struct {
		k     KeyRequest
		field string
	}{
		{KeyRequest{}, "name"},
		{KeyRequest{Name: strings.Repeat("x", 65)}, "name"},
		{KeyRequest{Name: "k", IPWhitelist: many}, "ipWhitelist"},
		{KeyRequest{Name: "k", IPWhitelist: []string{"10.0.0.300"}}, "ipWhitelist[0]"},
		{KeyRequest{Name: "k", IPWhitelist: []string{"10.0.0.0/33"}}, "ipWhitelist[0]"},
		{KeyRequest{Name: "k", IPWhitelist: []string{"10.0.0.1", "host.example"}}, "ipWhitelist[1]"},
		{KeyRequest{Name: "k", CanWithdraw: true}, "canWithdraw"},
		{KeyRequest{Name: "k", ExpiresNs: t0}, "expiresAt"},
	} {
		r.refused(Command{Kind: CreateKey, User: u, Key: c.k}, "INVALID_PARAM", c.field)
	}
	seen := map[string]bool{}
	for range MaxKeysPerUser {
		res := r.do(Command{Kind: CreateKey, User: u, Key: KeyRequest{Name: "k", CanTrade: true, CanWithdraw: true, IPWhitelist: many[:20], ExpiresNs: t0 + 1}})
		pub, sec := res.Key.PublicKey, res.Secret.Reveal()
		if len(pub) != 38 || len(sec) != 64 || !alphanumeric([]byte(pub)) || !alphanumeric([]byte(sec)) || seen[pub] || seen[sec] {
			t.Fatalf("key pair %q", pub)
		}
		seen[pub], seen[sec] = true, true
		if !res.Key.CanTrade || !res.Key.CanWithdraw || len(res.Key.IPWhitelist) != 20 || !res.Key.IsActive || res.Key.CreatedNs != t0 {
			t.Fatalf("view %+v", res.Key)
		}
	}
	r.refused(Command{Kind: CreateKey, User: u, Key: KeyRequest{Name: "k"}}, "CONFLICT", "")
	list := r.s.View().Keys(u, t0+1)
	if len(list) != 30 || list[0].IsActive || !slices.IsSortedFunc(list, func(a, b APIKeyView) int { return strings.Compare(a.PublicKey, b.PublicKey) }) {
		t.Fatal("list of keys")
	}
	other := r.user(ProfilePatch{})
	r.refused(Command{Kind: DeleteKey, User: other, PublicKey: list[0].PublicKey}, "NOT_FOUND", "publicKey")
	r.refused(Command{Kind: DeleteKey, User: u, PublicKey: "unknown"}, "NOT_FOUND", "publicKey")
	r.do(Command{Kind: DeleteKey, User: u, PublicKey: list[0].PublicKey})
	if got := r.s.View().Keys(u, t0); len(got) != 29 || slices.ContainsFunc(got, func(k APIKeyView) bool { return k.PublicKey == list[0].PublicKey }) {
		t.Fatal("the key is still listed")
	}
	r.refused(Command{Kind: DeleteKey, User: u, PublicKey: list[0].PublicKey}, "NOT_FOUND", "publicKey")
}

func TestWhitelistTakesAddressesAndNetworks(t *testing.T) {
	for _, c := range []struct {
		entry, remote string
		want          bool
	}{
		{"10.1.2.3", "10.1.2.3", true},
		{"10.1.2.3", "10.1.2.4", false},
		{"10.1.2.99/24", "10.1.2.4", true},
		{"10.1.2.0/24", "10.1.3.4", false},
		{"10.1.2.0/24", "::ffff:10.1.2.4", true},
		{"::ffff:10.1.2.3", "10.1.2.3", true},
		{"::ffff:10.1.2.0/120", "10.1.2.3", true},
		{"2001:db8::/32", "2001:db8:1::1", true},
		{"2001:db8::1", "2001:db8::1", true},
		{"2001:db8::/32", "10.1.2.3", false},
	} {
		p, ok := parsePrefix(c.entry)
		if !ok {
			t.Fatalf("%s does not parse", c.entry)
		}
		k := &apiKey{allowed: []netip.Prefix{p}}
		if got := k.allows(netip.MustParseAddr(c.remote)); got != c.want {
			t.Errorf("%s allows %s: %v", c.entry, c.remote, got)
		}
	}
}

func TestSecretNeverShowsItself(t *testing.T) {
	const private = "sEcReTsEcReT"
	rec := Record{Kind: CreateKey, Key: KeyRecord{PublicKey: "pub", Secret: NewSecret(private), Name: "n"}}
	r := newRig(t)
	u := r.user(ProfilePatch{})
	rec.User = u
	res := r.s.Apply(&rec)
	key := r.s.keys.findText("pub")
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", rec.Key.Secret, "r", rec, "k", key, "res", res)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "s", rec.Key.Secret, "r", rec, "k", key, "res", res)
	for _, v := range []any{rec, &rec, res, rec.Key.Secret, &rec.Key.Secret, key, *r.s.users[u], r.s} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&log, verb, v)
		}
		if _, isState := v.(*State); !isState {
			b, _ := json.Marshal(v)
			log.Write(b)
		}
	}
	hex := fmt.Sprintf("%x", private)
	if s := log.String(); strings.Contains(s, private) || strings.Contains(s, hex) || !strings.Contains(s, redacted) {
		t.Fatal("the private key is in a text")
	}
	if res.Secret.Reveal() != private {
		t.Fatal("Reveal does not tell the key")
	}
}

func TestKeysSurviveARestart(t *testing.T) {
	r := newRig(t)
	u := r.user(ProfilePatch{})
	res := r.do(Command{Kind: CreateKey, User: u, Key: KeyRequest{Name: "k", IPWhitelist: []string{"10.0.0.0/8"}}})
	r.restart()
	k := r.s.keys.findText(res.Key.PublicKey)
	if k == nil || k.user != u || k.rec.Secret.Reveal() != res.Secret.Reveal() || len(k.allowed) != 1 {
		t.Fatal("the key is not what it was")
	}
}
