package accounts

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/refuse"
)

var keyText = regexp.MustCompile("^[A-Za-z0-9]+$")

func TestKeyRules(t *testing.T) {
	r := newRig(t)
	u := r.user(ProfilePatch{})
	many := make([]string, 21)
	for i := range many {
		many[i] = "10.0.0.1"
	}
	for _, c := range []struct {
		k     auth.KeyRequest
		field string
	}{
		{auth.KeyRequest{}, "name"},
		{auth.KeyRequest{Name: strings.Repeat("x", 65)}, "name"},
		{auth.KeyRequest{Name: "k", IPWhitelist: many}, "ipWhitelist"},
		{auth.KeyRequest{Name: "k", IPWhitelist: []string{"10.0.0.300"}}, "ipWhitelist[0]"},
		{auth.KeyRequest{Name: "k", IPWhitelist: []string{"10.0.0.0/33"}}, "ipWhitelist[0]"},
		{auth.KeyRequest{Name: "k", IPWhitelist: []string{"10.0.0.1", "host.example"}}, "ipWhitelist[1]"},
		{auth.KeyRequest{Name: "k", CanWithdraw: true}, "canWithdraw"},
		{auth.KeyRequest{Name: "k", ExpiresNs: t0}, "expiresAt"},
	} {
		r.refused(Command{Kind: CreateKey, User: u, Key: asked(c.k)}, "INVALID_PARAM", c.field)
	}
	seen := map[string]bool{}
	for range MaxKeysPerUser {
		res := r.do(Command{Kind: CreateKey, User: u, Key: asked(auth.KeyRequest{
			Name: "k", CanTrade: true, CanWithdraw: true,
			IPWhitelist: many[:20], ExpiresNs: t0 + 1,
		})})
		pub, sec := res.Key.PublicKey, res.Secret.Reveal()
		if len(pub) != 38 || len(sec) != 64 || !keyText.MatchString(pub) || !keyText.MatchString(sec) ||
			seen[pub] || seen[sec] {
			t.Fatalf("key pair %q", pub)
		}
		seen[pub], seen[sec] = true, true
		if !res.Key.CanTrade || !res.Key.CanWithdraw || len(res.Key.IPWhitelist) != 20 || !res.Key.IsActive ||
			res.Key.CreatedNs != t0 {
			t.Fatalf("view %+v", res.Key)
		}
	}
	r.refused(Command{Kind: CreateKey, User: u, Key: asked(auth.KeyRequest{Name: "k"})}, "CONFLICT", "")
	list := r.s.View().Keys(u, t0+1)
	if len(list) != 30 || list[0].IsActive || !slices.IsSortedFunc(list,
		func(a, b APIKeyView) int { return strings.Compare(a.PublicKey, b.PublicKey) }) {
		t.Fatal("list of keys")
	}
	other := r.user(ProfilePatch{})
	r.refused(Command{Kind: DeleteKey, User: other, PublicKey: list[0].PublicKey}, "NOT_FOUND", "publicKey")
	r.refused(Command{Kind: DeleteKey, User: u, PublicKey: "unknown"}, "NOT_FOUND", "publicKey")
	r.do(Command{Kind: DeleteKey, User: u, PublicKey: list[0].PublicKey})
	if got := r.s.View().Keys(u, t0); len(got) != 29 || slices.ContainsFunc(got,
		func(k APIKeyView) bool { return k.PublicKey == list[0].PublicKey }) {
		t.Fatal("the key is still listed")
	}
	r.refused(Command{Kind: DeleteKey, User: u, PublicKey: list[0].PublicKey}, "NOT_FOUND", "publicKey")
}

func TestSecretNeverShowsItself(t *testing.T) {
	private := strings.Repeat("sEcReT00", auth.PrivateKeyLength/8)
	public := strings.Repeat("p", auth.PublicKeyLength)
	r := newRig(t)
	u := r.user(ProfilePatch{})
	cmd := Command{Kind: CreateKey, User: u, Key: auth.NewKey{
		KeyRequest: auth.KeyRequest{Name: "n"}, PublicKey: public, Secret: auth.NewSecret(private),
	}}
	res := r.do(cmd)
	key := r.s.keys.Find(public)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", cmd.Key.Secret, "r", cmd, "k", key, "res", res)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "s", cmd.Key.Secret, "r", cmd, "k", key, "res", res)
	for _, v := range []any{cmd, &cmd, res, cmd.Key.Secret, &cmd.Key.Secret, key, *r.s.dir.users[u], r.s} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&log, verb, v)
		}
		if _, isState := v.(*State); !isState {
			b, _ := json.Marshal(v)
			log.Write(b)
		}
	}
	hex := fmt.Sprintf("%x", private)
	if s := log.String(); strings.Contains(s, private) || strings.Contains(s, hex) ||
		!strings.Contains(s, "[redacted]") {
		t.Fatal("the private key is in a text")
	}
	if res.Secret.Reveal() != private {
		t.Fatal("Reveal does not tell the key")
	}
}

func TestKeysSurviveARestart(t *testing.T) {
	r := newRig(t)
	u := r.user(ProfilePatch{})
	res := r.do(Command{
		Kind: CreateKey, User: u, Key: asked(auth.KeyRequest{Name: "k", IPWhitelist: []string{"10.0.0.0/8"}}),
	})
	r.restart()
	k := r.s.keys.Find(res.Key.PublicKey)
	if k == nil || k.User() != u || k.Record().Secret.Reveal() != res.Secret.Reveal() ||
		len(k.Record().IPWhitelist) != 1 {
		t.Fatal("the key is not what it was")
	}
}

// signed returns a GET that a key signs.
func signed(public, private, nonce string) *auth.Request {
	r := &auth.Request{
		Method: "GET", Target: []byte("/"), PublicKey: []byte(public), Nonce: []byte(nonce),
		Timestamp: strconv.AppendInt(nil, t0/msNs, 10), Remote: netip.MustParseAddr("127.0.0.1"),
	}
	m := hmac.New(sha256.New, []byte(private))
	fmt.Fprintf(m, "%s\n%s\nGET\n/\n%x", r.Timestamp, nonce, sha256.Sum256(nil))
	r.Signature = hex.AppendEncode(nil, m.Sum(nil))
	return r
}

// deletions is a listener that looks at what is shown when it is told of a deleted key.
type deletions struct {
	told
	dead func()
}

func (l *deletions) KeyDeleted(key uint64) {
	l.told.KeyDeleted(key)
	l.dead()
}

func TestDeletedKeyIsDeadAtOnce(t *testing.T) {
	r := newRig(t)
	r.user(ProfilePatch{})
	key := r.do(Command{Kind: CreateKey, User: 1, Key: asked(auth.KeyRequest{Name: "k"})})
	public, private := key.Key.PublicKey, key.Secret.Reveal()
	v := auth.NewVerifier(r.s.View().Index(), auth.Options{})
	if _, reject := v.Verify(t0, signed(public, private, "a")); reject != nil {
		t.Fatal(reject)
	}
	if k := r.s.View().Keys(1, t0); k[0].LastUsedNs != t0 {
		t.Fatal("lastUsedAt is not told")
	}
	who, reject := v.Verify(t0, signed(public, private, "c"))
	if reject != nil {
		t.Fatal(reject)
	}
	l := &deletions{dead: func() {
		if _, reject := v.Verify(t0, signed(public, private, "d")); reject == nil {
			t.Error("told of a key that still verifies")
		}
	}}
	r.s.View().Listen(l)
	_, reject = r.try(Command{Kind: DeleteKey, User: 1, PublicKey: "no such key"})
	if reject == nil || l.deleted != nil {
		t.Fatal(reject, l.deleted)
	}
	r.do(Command{Kind: DeleteKey, User: 1, PublicKey: public})
	r.s.View()
	if _, reject = v.Verify(t0, signed(public, private, "b")); reject == nil ||
		reject.Code != refuse.Unauthorized || reject.Field != "API-Signature" {
		t.Fatal(reject)
	}
	if len(l.deleted) != 1 || l.deleted[0] != who.Key {
		t.Errorf("told of %d, want the key %d", l.deleted, who.Key)
	}
}
