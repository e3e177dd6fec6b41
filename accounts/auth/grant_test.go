package auth

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
)

func TestAKeyMakesNoStrongerKey(t *testing.T) {
	parent := record("p", KeyRequest{
		CanTrade: true, CanManageKeys: true, ExpiresNs: t0 + 9,
		IPWhitelist: []string{"10.0.0.0/8", "2001:db8::/32", "192.0.2.7"},
	})
	free := record("f", KeyRequest{CanTrade: true, CanManageKeys: true, CanWithdraw: true})
	keys := NewRoster()
	child := func(change func(*KeyRequest)) *KeyRequest {
		q := &KeyRequest{
			Name: "c", CanTrade: true, CanManageKeys: true, IPWhitelist: []string{"10.1.0.0/16"}, ExpiresNs: t0 + 9,
		}
		change(q)
		return q
	}
	for _, c := range []struct {
		by     KeyRecord
		change func(*KeyRequest)
		field  string // "": allowed
	}{
		{parent, func(*KeyRequest) {}, ""},
		{parent, func(q *KeyRequest) { q.CanTrade, q.CanManageKeys, q.ExpiresNs = false, false, t0+1 }, ""},
		{parent, func(q *KeyRequest) { q.IPWhitelist = []string{"10.0.0.0/8", "2001:db8:1::1", "192.0.2.7/32"} }, ""},
		{parent, func(q *KeyRequest) { q.IPWhitelist = []string{"::ffff:10.1.2.3"} }, ""},
		{parent, func(q *KeyRequest) { q.IPWhitelist = nil }, "ipWhitelist"},
		{parent, func(q *KeyRequest) { q.IPWhitelist = []string{"10.0.0.0/7"} }, "ipWhitelist"},
		{parent, func(q *KeyRequest) { q.IPWhitelist = []string{"10.1.1.1", "192.0.2.0/24"} }, "ipWhitelist"},
		{parent, func(q *KeyRequest) { q.IPWhitelist = []string{"::/0"} }, "ipWhitelist"},
		{parent, func(q *KeyRequest) { q.IPWhitelist = []string{"::ffff:0:0/95"} }, "ipWhitelist"},
		{parent, func(q *KeyRequest) { q.ExpiresNs = 0 }, "expiresAt"},
		{parent, func(q *KeyRequest) { q.ExpiresNs = t0 + 10 }, "expiresAt"},
		{parent, func(q *KeyRequest) { q.CanWithdraw = true }, "canWithdraw"},
		{free, func(q *KeyRequest) { q.CanWithdraw, q.IPWhitelist, q.ExpiresNs = true, nil, 0 }, ""},
	} {
		for _, ring := range []*seal.Key{new(seal.Key), seal.New([seal.SecretBytes]byte{1})} {
			by, q := c.by, child(c.change)
			by.Seal(ring)
			k, shown := keys.Add(1, userID, by), NewKeys(ring)
			shown.Add(k)
			reject := k.MayMake(q)
			if reject == nil {
				reject = shown.MayMake(by.PublicKey, q)
			}
			if c.field == "" && reject != nil {
				t.Errorf("%+v: %v", q, reject)
			} else if c.field != "" {
				wantReject(t, reject, refuse.Forbidden, c.field)
			}
		}
	}
	for _, weak := range []KeyRequest{{CanTrade: true}, {CanManageKeys: true}} {
		wantReject(t, keys.Add(1, userID, record("", weak)).MayManage(), refuse.Forbidden, "canManageKeys")
	}
	if reject := keys.Add(1, userID, free).MayManage(); reject != nil {
		t.Error(reject)
	}
}

func TestWithdrawingNeedsNarrowNetworks(t *testing.T) {
	for _, c := range []struct {
		list  []string
		field string
	}{
		{nil, "canWithdraw"},
		{[]string{"10.0.0.0/8", "2001::/16"}, ""},
		{[]string{"0.0.0.0/0"}, "ipWhitelist[0]"},
		{[]string{"10.0.0.1", "::/0"}, "ipWhitelist[1]"},
		{[]string{"0.0.0.0/1", "128.0.0.0/1"}, "ipWhitelist[0]"},
		{[]string{"::ffff:0.0.0.0/96"}, "ipWhitelist[0]"},
	} {
		q := KeyRequest{CanWithdraw: true, IPWhitelist: c.list}
		if reject := q.Check(); c.field == "" && reject != nil {
			t.Errorf("%v: %v", c.list, reject)
		} else if c.field != "" {
			wantReject(t, reject, refuse.InvalidParam, c.field)
		}
		if q.CanWithdraw = false; q.Check() != nil {
			t.Errorf("%v is refused without canWithdraw", c.list)
		}
	}
}

func TestATreeOfKeysEndsWithItsRoot(t *testing.T) {
	index := NewRoster()
	var keys []*Key
	for _, k := range [][2]string{{"a", ""}, {"b", ""}, {"a1", "a"}, {"b1", "b"}, {"a11", "a1"}, {"a2", "a"}} {
		keys = append(keys, index.Add(1, userID, KeyRecord{NewKey: NewKey{PublicKey: k[0]}, CreatedBy: k[1]}))
	}
	if err := CheckTree(keys); err != nil {
		t.Fatal(err)
	}
	for root, want := range map[string][]string{
		"a": {"a", "a1", "a11", "a2"}, "a1": {"a1", "a11"}, "b": {"b", "b1"}, "a11": {"a11"}, "": nil, "x": nil,
	} {
		var gone []string
		rest := RevokeKey(keys, root, func(k *Key) { gone = append(gone, k.rec.PublicKey) })
		if !slices.Equal(gone, want) || len(rest) != len(keys)-len(want) {
			t.Errorf("with %q end %v, want %v", root, gone, want)
		}
		if err := CheckTree(rest); err != nil {
			t.Error(err)
		}
	}
	if CheckTree(keys[2:]) == nil {
		t.Error("a key without the key that made it passes")
	}
}

// What Draw draws passes Check; another form, or a secret beside an Ed25519 key, does not.
func TestADrawnKeyPassesCheck(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	plain, err := Draw(random, KeyRequest{Name: "k", IPWhitelist: []string{"10.0.0.1"}})
	ed, err2 := Draw(random, KeyRequest{Ed25519: make([]byte, 32)})
	if err != nil || err2 != nil || plain.Check() != nil || ed.Check() != nil {
		t.Fatalf("%v, %v: %v, %v", err, err2, plain.Check(), ed.Check())
	}
	if plain.PublicKey == ed.PublicKey || plain.Name != "k" || !ed.Secret.Empty() || !WellFormed(ed.PublicKey) {
		t.Errorf("%+v, %+v", plain, ed)
	}
	for name, x := range map[string]struct {
		of     NewKey
		change func(*NewKey)
		field  string
	}{
		"short":          {plain, func(k *NewKey) { k.PublicKey = k.PublicKey[1:] }, "publicKey"},
		"characters":     {plain, func(k *NewKey) { k.PublicKey = "_" + k.PublicKey[1:] }, "publicKey"},
		"no secret":      {plain, func(k *NewKey) { k.Secret = Secret{} }, ""},
		"long secret":    {plain, func(k *NewKey) { k.Secret = NewSecret(k.Secret.Reveal() + "a") }, ""},
		"both":           {plain, func(k *NewKey) { k.Ed25519 = ed.Ed25519 }, "ed25519PublicKey"},
		"ed25519":        {ed, func(k *NewKey) { k.Ed25519 = make([]byte, 31) }, "ed25519PublicKey"},
		"no ed25519":     {ed, func(k *NewKey) { k.Ed25519 = []byte{} }, "ed25519PublicKey"},
		"whitelist":      {plain, func(k *NewKey) { k.IPWhitelist = []string{"x"} }, "ipWhitelist[0]"},
		"long whitelist": {plain, func(k *NewKey) { k.IPWhitelist = make([]string, MaxWhitelist+1) }, "ipWhitelist"},
	} {
		k := x.of
		x.change(&k)
		if reject := k.Check(); reject == nil || reject.Code != refuse.InvalidParam || reject.Field != x.field {
			t.Errorf("%s: %+v", name, reject)
		}
	}
	if _, err := Draw(strings.NewReader("short"), KeyRequest{}); err == nil {
		t.Error("a key is drawn without random bytes")
	}
	q := KeyRequest{ExpiresNs: t0}
	if wantReject(t, q.CheckExpiry(t0), refuse.InvalidParam, "expiresAt"); q.CheckExpiry(t0-1) != nil ||
		new(KeyRequest).CheckExpiry(t0) != nil {
		t.Error("a key that has not expired is refused")
	}
}
