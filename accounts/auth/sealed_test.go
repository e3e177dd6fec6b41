package auth

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
)

// A record shows nothing of what is sealed. An index whose ring has the key verifies and shows it, also when another
// key seals by now; one that lacks the key refuses the requests and says which key is missing.
func TestSealedKeysVerifyWhereTheKeyIs(t *testing.T) {
	first, second := [seal.SecretBytes]byte{1}, [seal.SecretBytes]byte{2}
	rec := record("pubKEY", KeyRequest{Name: "the bot", CanTrade: true, IPWhitelist: []string{"10.0.0.0/8", "::1"}})
	rec.Secret, rec.CreatedNs = NewSecret("privKEY456"), t0
	rec.Seal(seal.New(first))
	for _, shown := range []string{rec.Secret.Reveal(), rec.Name, strings.Join(rec.IPWhitelist, ",")} {
		if !seal.Sealed(shown) || strings.Contains(shown, "privKEY456") || strings.Contains(shown, "bot") ||
			strings.Contains(shown, "10.0") {
			t.Errorf("the record has %q", shown)
		}
	}
	for name, c := range map[string]struct {
		ring *seal.Key
		has  bool
	}{
		"the key": {seal.New(first), true}, "two keys": {seal.New(second, first), true},
		"another key": {seal.New(second), false}, "no key": {new(seal.Key), false},
	} {
		keys, roster := NewKeys(c.ring), NewRoster()
		v := NewVerifier(keys, Options{Legacy: true})
		k := roster.Add(1, userID, rec)
		keys.Add(k)
		r := request("GET", "/api/x", "", "nonce-"+strings.ReplaceAll(name, " ", "-"))
		r.PublicKey = []byte("pubKEY")
		r.Remote = netip.MustParseAddr("10.1.2.3")
		sign("privKEY456", r)
		_, reject := v.Verify(t0, r)
		label, list := k.Describe()
		switch {
		case c.has && (reject != nil || label != "the bot" || len(list) != 2):
			t.Errorf("%s: %v, %q, %q", name, reject, label, list)
		case !c.has && (reject == nil || reject.Code != refuse.Unavailable || label != "" || list != nil ||
			!strings.Contains(reject.Message, "sealed with the key "+seal.New(first).ID())):
			t.Errorf("%s: %v, %q, %q", name, reject, label, list)
		}
		if _, reject := v.Identify(t0, []byte("pubKEY"), r.Remote); (reject == nil) != c.has {
			t.Errorf("%s: identified: %v", name, reject)
		}
		r = request("GET", "/api/x", "", "nonce2-"+strings.ReplaceAll(name, " ", "-"))
		r.PublicKey = []byte("pubKEY")
		r.Remote = netip.MustParseAddr("192.0.2.1")
		sign("privKEY456", r)
		if _, reject := v.Verify(t0, r); reject == nil {
			t.Errorf("%s: admitted from an address that is not on the white list", name)
		}
	}
}
