package accounts

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
)

// sealedRig is a rig whose commands are sealed by a key, as the writer seals them.
type sealedRig struct {
	*rig
	ring *seal.Key
}

func (r *sealedRig) do(cmd Command) Result {
	r.t.Helper()
	if reject := cmd.Check(); reject != nil {
		r.t.Fatal(reject)
	}
	cmd.Seal(r.ring)
	back, err := DecodeCommand(AppendCommand(nil, &cmd))
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := r.s.Do(r.now, &back)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

// show makes visible what the state has.
func (r *sealedRig) show(v *Shown) {
	if report := r.s.Take(); report != nil {
		v.Fold(report)
	}
	v.Publish()
}

func (r *sealedRig) key(user uint32, networks ...string) *auth.Key {
	r.t.Helper()
	key, err := auth.Draw(r.random, auth.KeyRequest{Name: "bot", CanTrade: true, IPWhitelist: networks})
	if err != nil {
		r.t.Fatal(err)
	}
	r.do(Command{Kind: CreateKey, User: user, Key: key})
	return r.s.keys.Find(key.PublicKey)
}

func secretNo(b byte) [seal.SecretBytes]byte { return [seal.SecretBytes]byte{b} }

// holds reports whether a snapshot or record has something that a key has sealed.
func holds(b []byte, key *seal.Key) bool {
	id, err := hex.DecodeString(key.ID())
	return err == nil && bytes.Contains(b, id)
}

// What a former key has sealed is replaced by the same text, sealed by the first key. A field that has changed between
// the reading and the record, and one that is gone, stay as they are; a state that is read again is the same one.
func TestAFieldIsSealedAgainUnlessItHasChanged(t *testing.T) {
	first, both := seal.New(secretNo(1)), seal.New(secretNo(2), secretNo(1))
	second := seal.New(secretNo(2))
	r := &sealedRig{newRig(t), first}
	ann := r.user(ProfilePatch{Nickname: ptr("ann")})
	bob := r.user(ProfilePatch{Nickname: ptr("bob")})
	for n, name := range map[uint32]string{ann: "Annabel", bob: "Robert"} {
		r.do(Command{Kind: PatchUser, User: n, Profile: ProfilePatch{
			Name: OptionalName{true, &name}, SecondName: OptionalName{true, ptr("Leeward")},
		}})
	}
	kept, gone := r.key(ann, "10.20.30.40", "10.0.0.0/8"), r.key(ann)
	v := r.s.ShownBy(both)
	r.ring = both
	walk := v.Former(both)
	found, done, err := walk.Next(100)
	if err != nil || !done || len(found) != 2+2+3+2 {
		t.Fatalf("%d fields, %t, %v", len(found), done, err)
	}

	r.do(Command{Kind: PatchUser, User: bob, Profile: ProfilePatch{
		Name: OptionalName{true, ptr("Bobby")}, SecondName: OptionalName{Set: true},
	}})
	r.do(Command{Kind: DeleteKey, User: ann, PublicKey: gone.Record().PublicKey})
	cmd := Command{Kind: Reseal, Reseal: found}
	if holds(AppendCommand(nil, &cmd), first) {
		t.Error("the record has what it replaces")
	}
	if res := r.do(cmd); res.Resealed != 2+3 {
		t.Errorf("%d fields are sealed again", res.Resealed)
	}
	was := r.s.Digest()
	if res := r.do(cmd); res.Resealed != 0 || r.s.Digest() != was {
		t.Errorf("the same record again replaces %d fields", res.Resealed)
	}
	r.show(v)
	r.check()
	body := r.s.AppendSnapshot(nil)
	if holds(body, first) || !holds(body, second) {
		t.Error("the state has texts of the former key, or none of the first one")
	}
	if found, done, err = v.Former(both).Next(100); len(found) != 0 || !done || err != nil {
		t.Errorf("the next walk finds %d fields, %t, %v", len(found), done, err)
	}

	s, err := DecodeSnapshot(body)
	if err != nil {
		t.Fatal(err)
	}
	if s.Digest() != was {
		t.Error("the digest of the snapshot differs")
	}
	alone := s.ShownBy(second)
	if err := alone.Missing(); err != nil {
		t.Error(err)
	}
	for n, want := range map[uint32]string{ann: "Annabel Leeward", bob: "Bobby "} {
		u, _ := alone.User(n)
		got := *u.Name + " "
		if u.SecondName != nil {
			got += *u.SecondName
		}
		if got != want {
			t.Errorf("user %d is %q", n, got)
		}
	}
	keys := alone.Keys(ann, r.now)
	if len(keys) != 1 || keys[0].Name != "bot" || len(keys[0].IPWhitelist) != 2 {
		t.Errorf("the keys are %+v", keys)
	}
	if now := r.s.keys.Find(kept.Record().PublicKey); now == kept || now.Number() != kept.Number() {
		t.Error("the key has another number, or is the same object, which readers have")
	}
}

// A walk returns at most MaxReseal fields, and a user with more is looked at until all are sealed again. A key that the
// ring does not have is an error, and the walk goes on behind it.
func TestAWalkIsBounded(t *testing.T) {
	first, both := seal.New(secretNo(1)), seal.New(secretNo(2), secretNo(1))
	r := &sealedRig{newRig(t), first}
	ann := r.user(ProfilePatch{Nickname: ptr("ann")})
	for range MaxKeysPerUser {
		r.key(ann, "10.0.0.1")
	}
	r.user(ProfilePatch{Nickname: ptr("bob")})
	v := r.s.ShownBy(both)
	r.ring = both
	walk, sealed := v.Former(both), 0
	for done := false; !done; {
		var found []Resealed
		var err error
		if found, done, err = walk.Next(1); err != nil || len(found) > MaxReseal {
			t.Fatalf("%d fields, %v", len(found), err)
		}
		if len(found) > 0 {
			sealed += r.do(Command{Kind: Reseal, Reseal: found}).Resealed
			r.show(v)
		}
	}
	if sealed != 3*MaxKeysPerUser {
		t.Errorf("%d fields are sealed again", sealed)
	}
	r.check()

	walk = v.Former(seal.New(secretNo(3)))
	if found, done, err := walk.Next(100); len(found) != 0 || done || err == nil {
		t.Errorf("without the key: %d fields, %t, %v", len(found), done, err)
	}
	if found, done, err := walk.Next(100); len(found) != 0 || !done || err != nil {
		t.Errorf("behind them: %d fields, %t, %v", len(found), done, err)
	}
}

// A command that seals nothing again, too much, or not by a sealed text is refused.
func TestReseal(t *testing.T) {
	sealed := seal.New(secretNo(1)).SealText("Ann", seal.UserName)
	good := Resealed{User: 1, Field: FieldName, Text: sealed}
	for name, c := range map[string]struct {
		fields []Resealed
		code   refuse.Code
	}{
		"none":      {nil, refuse.InvalidParam},
		"too many":  {make([]Resealed, MaxReseal+1), refuse.InvalidParam},
		"no field":  {[]Resealed{{User: 1, Text: sealed}}, refuse.InvalidParam},
		"a field 6": {[]Resealed{{User: 1, Field: 6, Text: sealed}}, refuse.InvalidParam},
		"no key":    {[]Resealed{{User: 1, Field: FieldKeyName, Text: sealed}}, refuse.NotFound},
		"plain":     {[]Resealed{good, {User: 1, Field: FieldName, Text: "Ann"}}, refuse.InvalidParam},
		"too long": {
			[]Resealed{{User: 1, Field: FieldName, Text: sealed + string(make([]byte, maxText))}}, refuse.InvalidParam,
		},
	} {
		cmd := Command{Kind: Reseal, Reseal: c.fields}
		if reject := cmd.Check(); reject == nil || reject.Code != c.code {
			t.Errorf("%s: %v", name, reject)
		}
	}
	cmd := Command{Kind: Reseal, Reseal: []Resealed{good}}
	r := newRig(t)
	if res := r.do(cmd); res.Resealed != 0 {
		t.Error("a user who does not exist has a name")
	}
}
