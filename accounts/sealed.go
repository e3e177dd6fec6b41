package accounts

import (
	"fmt"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
)

// The secrets, names and white lists of accounts are sealed field by field, before a command becomes a record. State
// holds, compares and stores the sealed texts, and opens none of them: a node without the key has the same state as one
// with it. What readers see (Shown) opens them.

// checkPlain refuses a text that would be taken for a sealed one.
func (cmd *Command) checkPlain() *refuse.Refusal {
	for _, f := range []struct {
		name string
		in   *OptionalName
	}{{"name", &cmd.Profile.Name}, {"secondName", &cmd.Profile.SecondName}} {
		if v := f.in.Value; v != nil && seal.Sealed(*v) {
			return invalid(f.name, "%s must be 1 to %d characters without control characters.", f.name, MaxRealName)
		}
	}
	if cmd.Key.Sealed() {
		return invalid("name", "name, ipWhitelist and the secret of a key must not have control characters.")
	}
	return nil
}

// Seal seals the fields of a command that Check has passed. The texts of the caller stay as they are.
func (cmd *Command) Seal(ring *seal.Key) {
	cmd.Key.Seal(ring)
	cmd.Profile.Name.Value = sealName(ring, cmd.Profile.Name.Value, seal.UserName)
	cmd.Profile.SecondName.Value = sealName(ring, cmd.Profile.SecondName.Value, seal.UserSecond)
}

func sealName(ring *seal.Key, name *string, purpose string) *string {
	if name == nil {
		return nil
	}
	text := ring.SealText(*name, purpose)
	return &text
}

// openName returns a name of a user; nil: there is none, or this process does not have the key that opens it.
func openName(ring *seal.Key, name *string, purpose string) *string {
	if name == nil || !seal.Sealed(*name) {
		return name
	}
	text, err := ring.OpenText(*name, purpose)
	if err != nil {
		return nil
	}
	return &text
}

// Open opens what is sealed in the result of a command, which is the one before it was sealed.
func (res *Result) Open(cmd *Command, ring *seal.Key) {
	res.User.open(ring)
	if res.Kind == CreateKey && !res.Secret.Empty() {
		res.Secret = cmd.Key.Secret
	}
	if res.Kind == CreateKey {
		res.Key.Name, res.Key.IPWhitelist = cmd.Key.Name, append([]string{}, cmd.Key.IPWhitelist...)
	}
}

// open opens the names of a user.
func (u *UserView) open(ring *seal.Key) {
	u.Name = openName(ring, u.Name, seal.UserName)
	u.SecondName = openName(ring, u.SecondName, seal.UserSecond)
}

// Missing returns the error of a field of the state whose key a ring does not have, nil if it has all keys.
func (s *State) Missing(ring *seal.Key) error {
	for _, u := range s.dir.users {
		for _, name := range []*string{u.profile.Name, u.profile.SecondName} {
			if name == nil {
				continue
			}
			if err := ring.Lacks(*name); err != nil {
				return fmt.Errorf("accounts: the name of user %s: %w", u.id, err)
			}
		}
		for _, k := range u.keys {
			if err := k.Missing(); err != nil {
				return fmt.Errorf("accounts: the API key %s: %w", k.Record().PublicKey, err)
			}
		}
	}
	return nil
}

// Missing returns why readers do not see a field of the state from which Shown was made, nil if they see all of them.
func (v *Shown) Missing() error { return v.missing }
