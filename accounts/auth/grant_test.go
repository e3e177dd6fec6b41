package auth

import (
	"slices"
	"testing"

	"tickhive/internal/refuse"
)

func TestAKeyMakesNoStrongerKey(t *testing.T) {
	parent := KeyRecord{
		PublicKey: "p", CanTrade: true, CanManageKeys: true, ExpiresNs: t0 + 9,
		IPWhitelist: []string{"10.0.0.0/8", "2001:db8::/32", "192.0.2.7"},
	}
	free := KeyRecord{PublicKey: "f", CanTrade: true, CanManageKeys: true, CanWithdraw: true}
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
		k := keys.Add(1, userID, c.by)
		q := child(c.change)
		if reject := k.MayMake(q); c.field == "" && reject != nil {
			t.Errorf("%+v: %v", q, reject)
		} else if c.field != "" {
			wantReject(t, reject, refuse.Forbidden, c.field)
		}
	}
	for _, weak := range []KeyRecord{{CanTrade: true}, {CanManageKeys: true}} {
		wantReject(t, keys.Add(1, userID, weak).MayManage(), refuse.Forbidden, "canManageKeys")
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
		if reject := q.Check(t0); c.field == "" && reject != nil {
			t.Errorf("%v: %v", c.list, reject)
		} else if c.field != "" {
			wantReject(t, reject, refuse.InvalidParam, c.field)
		}
		if q.CanWithdraw = false; q.Check(t0) != nil {
			t.Errorf("%v is refused without canWithdraw", c.list)
		}
	}
}

func TestATreeOfKeysEndsWithItsRoot(t *testing.T) {
	index := NewRoster()
	var keys []*Key
	for _, k := range [][2]string{{"a", ""}, {"b", ""}, {"a1", "a"}, {"b1", "b"}, {"a11", "a1"}, {"a2", "a"}} {
		keys = append(keys, index.Add(1, userID, KeyRecord{PublicKey: k[0], CreatedBy: k[1]}))
	}
	if err := CheckTree(keys); err != nil {
		t.Fatal(err)
	}
	for root, want := range map[string][]string{
		"a": {"a", "a1", "a11", "a2"}, "a1": {"a1", "a11"}, "b": {"b", "b1"}, "a11": {"a11"}, "": nil, "x": nil,
	} {
		var gone []string
		rest := WithoutTree(keys, root, func(k *Key) { gone = append(gone, k.rec.PublicKey) })
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
