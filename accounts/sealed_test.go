package accounts

import (
	"bytes"
	"testing"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
)

// What is sealed is sealed in the record and in the snapshot, and a state that has no key is the same one as a state
// that has it. Readers see the fields where the key is, and no names where it is not.
func TestSealedFieldsAreOpenedForReadersAlone(t *testing.T) {
	ring := seal.New([seal.SecretBytes]byte{1})
	r := newRig(t)
	u := r.user(ProfilePatch{Nickname: ptr("ann")})
	key, err := auth.Draw(r.random, auth.KeyRequest{
		Name: "the bot", CanTrade: true,
		IPWhitelist: []string{"10.20.30.40"},
	})
	if err != nil {
		t.Fatal(err)
	}
	secret := key.Secret.Reveal()
	var records [][]byte
	for _, cmd := range []Command{
		{Kind: PatchUser, User: u, Profile: ProfilePatch{
			Name: OptionalName{true, ptr("Annabel")}, SecondName: OptionalName{true, ptr("Leeward")},
		}},
		{Kind: CreateKey, User: u, Key: key},
	} {
		plain := cmd
		if reject := cmd.Check(); reject != nil {
			t.Fatal(reject)
		}
		cmd.Seal(ring)
		record := AppendCommand(nil, &cmd)
		records = append(records, record)
		back, err := DecodeCommand(record)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.s.Do(r.now, &back)
		if err != nil {
			t.Fatal(err)
		}
		res.Open(&plain, ring)
		if res.Kind == CreateKey && (res.Secret.Reveal() != secret || res.Key.Name != "the bot" ||
			res.Key.IPWhitelist[0] != "10.20.30.40") {
			t.Errorf("the answer has %+v", res.Key)
		}
		if res.Kind == PatchUser && (*res.User.Name != "Annabel" || *res.User.SecondName != "Leeward") {
			t.Errorf("the answer has %+v", res.User)
		}
	}
	body := r.s.AppendSnapshot(nil)
	for _, text := range []string{secret, "the bot", "10.20.30.40", "Annabel", "Leeward"} {
		for _, at := range append(records, body) {
			if bytes.Contains(at, []byte(text)) {
				t.Errorf("%q is in a record or in the snapshot", text)
			}
		}
	}
	for _, has := range []bool{true, false} {
		by := ring
		if !has {
			by = new(seal.Key)
		}
		s, err := DecodeSnapshot(body)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(s.AppendSnapshot(nil), body) {
			t.Error("the state differs after a snapshot")
		}
		v := s.ShownBy(by)
		got, _ := v.User(u)
		if has != (got.Name != nil && *got.Name == "Annabel" && *got.SecondName == "Leeward") ||
			got.Nickname != "ann" ||
			!has && (got.Name != nil || got.SecondName != nil) {
			t.Errorf("with the key %t: %+v", has, got)
		}
		if p := v.person(u); (p.Name != nil) != has {
			t.Errorf("with the key %t: %+v", has, p)
		}
		list := v.Keys(u, r.now)
		if len(list) != 1 || (list[0].Name == "the bot") != has || (len(list[0].IPWhitelist) == 1) != has {
			t.Errorf("with the key %t: %+v", has, list)
		}
	}
}

// A text of a client that begins like a sealed one is refused before it becomes a record.
func TestAClientSealsNothing(t *testing.T) {
	ring := seal.New([seal.SecretBytes]byte{1})
	r := newRig(t)
	u := r.user(ProfilePatch{Nickname: ptr("ann")})
	for name, cmd := range map[string]Command{
		"name":       {Kind: PatchUser, User: u, Profile: ProfilePatch{Name: OptionalName{true, ptr("\x00")}}},
		"secondName": {Kind: PatchUser, User: u, Profile: ProfilePatch{SecondName: OptionalName{true, ptr("\x00a")}}},
		"key": {Kind: CreateKey, User: u, Key: auth.NewKey{KeyRequest: auth.KeyRequest{
			Name: ring.SealText("x", seal.KeyName),
		}}},
		"white list": {Kind: CreateKey, User: u, Key: auth.NewKey{KeyRequest: auth.KeyRequest{
			Name: "x", IPWhitelist: []string{ring.SealText("10.0.0.1", seal.KeyNetwork)},
		}}},
	} {
		if reject := cmd.Check(); reject == nil || reject.Code != refuse.InvalidParam {
			t.Errorf("%s: %v", name, reject)
		}
	}
}
