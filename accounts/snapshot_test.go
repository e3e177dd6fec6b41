package accounts

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/wire"
)

// refusedState requires that a snapshot is refused with a message, or accepted for "".
func refusedState(t *testing.T, name string, b []byte, says string) *State {
	t.Helper()
	s, err := DecodeSnapshot(b)
	if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, want %q", name, err, says)
	}
	return s
}

// A snapshot of a state with one member out of range is refused, and says why.
func TestSnapshotsOfBrokenStatesAreRefused(t *testing.T) {
	base := richSnapshot(t)
	for name, x := range map[string]struct {
		breaks func(s *State)
		says   string
	}{
		"nothing":         {func(*State) {}, ""},
		"orders":          {func(s *State) { s.dir.users[1].orders = -1 }, "open orders"},
		"no orders":       {func(s *State) { s.dir.users[1].orders = 0 }, "is held without an open order"},
		"hold":            {func(s *State) { s.dir.users[1].rows[0].held = dec("9") }, "deposited - withdrawn"},
		"pair":            {func(s *State) { s.balances.setPair(engine.MaxPairs, s.balances.pairs[0]) }, "pair 131072"},
		"the last pair":   {func(s *State) { s.balances.setPair(engine.MaxPairs-1, s.balances.pairs[0]) }, ""},
		"digits of price": {func(s *State) { s.balances.pairs[0].in.DigitsPrice = 19 }, "19 is above 18"},
		"digits of amount": {
			func(s *State) { s.balances.pairs[0].in.DigitsAmount = 19 }, "19 is above 18",
		},
		"digits together": {
			func(s *State) { s.balances.pairs[0].in.DigitsPrice = 13 }, "pair 0 has other digits than its currencies",
		},
		"digits of the base": {
			func(s *State) { s.balances.currencies[s.balances.pairs[0].base].Digits = 5 }, "pair 0 has other digits",
		},
		"digits of a currency": {func(s *State) { s.balances.currencies[0].Digits = 19 }, "19 is above 18"},
		"currency twice": {
			func(s *State) { s.balances.currencies[1] = s.balances.currencies[0] }, " twice",
		},
		"balance twice": {
			func(s *State) { s.dir.users[1].rows = append(s.dir.users[1].rows, s.dir.users[1].rows...) },
			"account 1 has two balances of a currency",
		},
		"nickname twice": {
			func(s *State) { s.dir.users[2].profile.Nickname = s.dir.users[1].profile.Nickname },
			"the nickname",
		},
		"level": {
			func(s *State) { s.dir.users[1].profile.Level = MaxLevel + 1 },
			"31 is above 30",
		},
		"staking level": {
			func(s *State) { s.dir.users[1].profile.Staking = StakingLevels },
			"9 is above 8",
		},
		"inviter": {func(s *State) { s.dir.users[1].inviter = 99 }, "user 99 of"},
		"cycle": {
			func(s *State) { s.dir.users[1].inviter = 1 },
			"the inviter relation has a cycle",
		},
		"link 0": {
			func(s *State) { s.dir.users[1].links[0].number = 0 },
			"link numbers are not dense",
		},
		"link beyond": {
			func(s *State) { s.dir.users[1].links[0].number = 2 },
			"link numbers are not dense",
		},
		"link twice": {
			func(s *State) {
				s.dir.users[1].links = append(s.dir.users[1].links, s.dir.users[1].links[0])
			},
			"link numbers are not dense",
		},
		"link of the built-in account": {
			func(s *State) {
				s.dir.users[0].links, s.dir.users[1].links = s.dir.users[1].links, nil
			},
			"link numbers are not dense",
		},
		"queue": {
			func(s *State) { s.referral.dealQueue.Push(1) },
			"the queue of deal accruals does not match them",
		},
		"maker of a key": {
			func(s *State) { changeKey(s, func(k *auth.KeyRecord) { k.CreatedBy = "x" }) }, "key",
		},
		"public key": {
			func(s *State) {
				changeKey(s, func(k *auth.KeyRecord) { k.Ed25519 = make([]byte, 31) })
			},
			"an Ed25519 public key of 31 bytes",
		},
		"rates": {
			func(s *State) { s.settings.Referral.Levels[0] = RateOne }, "sum to more than the fee",
		},
		"commission": {
			func(s *State) { s.settings.Withdrawal.Minimum = dec("-1") }, "a commission is negative",
		},
		"currency of a commission": {
			func(s *State) { s.settings.Commissions[0].Currency = strings.Repeat("A", 21) },
			"text of 21 bytes",
		},
		"sums": {
			func(s *State) { s.balances.sums[0].deposited = fixed.I128{} },
			"deposited - withdrawn",
		},
		"deposits": {
			func(s *State) { s.balances.sums[0].deposited = MaxUnits.Add(fixed.FromI64(1)) }, "sums of currency",
		},
		"deposits below 0":    {func(s *State) { s.balances.sums[0].deposited = dec("-1") }, "sums of currency"},
		"withdrawals below 0": {func(s *State) { s.balances.sums[0].withdrawn = dec("-1") }, "sums of currency"},
	} {
		s, err := DecodeSnapshot(base)
		if err != nil {
			t.Fatal(err)
		}
		x.breaks(s)
		refusedState(t, name, s.AppendSnapshot(nil), x.says)
	}
	refusedState(t, "a byte more", append(bytes.Clone(base), 0), "1 bytes left over")
	refusedState(t, "no bytes", nil, "ends inside a field")
	base[0] = SnapshotVersion - 1
	refusedState(t, "version 7", base, "version 8, and this program reads 9 alone")
	base[0] = SnapshotVersion + 1
	refusedState(t, "version 9", base, "version 10, and this program reads 9 alone")
}

// Taking a snapshot changes nothing, and a restored state has everything that follows from it: the number of
// accruals of commands, the owners of links, balances that are held alone.
func TestSnapshotsRestoreWhatFollows(t *testing.T) {
	base := richSnapshot(t)
	s := refusedState(t, "rich", base, "")
	pair := s.balances.pairs[0]
	s.AppendSnapshot(nil)
	if s.balances.pairs[0] != pair {
		t.Error("a snapshot has replaced a pair")
	}
	others := 0
	for _, u := range s.dir.users {
		others += u.received.Others.Len()
	}
	if s.referral.commandAccruals != others || others == 0 {
		t.Errorf("%d accruals of commands, counted %d", others, s.referral.commandAccruals)
	}
	if of, byLink, ok := resolveCode(linkCode(1), len(s.dir.users), &s.dir.linkOwner); of.owner != 1 || !byLink || !ok {
		t.Errorf("link 1 is of user %d", of.owner)
	}
	if _, _, ok := resolveCode(linkCode(2), len(s.dir.users), &s.dir.linkOwner); ok {
		t.Error("there is a link 2")
	}
	for _, u := range s.dir.users {
		for _, k := range u.keys {
			if s.keys.Find(k.Record().PublicKey) == nil {
				t.Errorf("the key %q is not found", k.Record().Name)
			}
		}
	}
	r := newRig(t)
	r.pair()
	user := r.user(ProfilePatch{})
	r.deposit(user, "USDT", "1")
	r.buys(user, 1) // holds all of it
	r.restart()
	r.balance(user, "USDT", "0.0", "1.0")
}

// header encodes what comes before the currencies of an empty state.
func header(version uint8) []byte {
	return wire.Append(nil, func(c *wire.Coder) {
		settings := testSettings()
		c.U8(&version, 9)
		settings.Code(c)
	})
}

// Lists that no state has are refused: of users, of currencies that do not exist, of the accruals of a user twice.
func TestListsOfSnapshotsHaveBounds(t *testing.T) {
	empty := New(testSettings()).AppendSnapshot(nil)
	head := header(SnapshotVersion)
	if !bytes.HasPrefix(empty, head) {
		t.Fatalf("%x does not begin with %x", empty, head)
	}
	list := func(b []byte, more ...byte) []byte { return append(bytes.Clone(b), more...) }
	refusedState(t, "currency 0 of 0", list(head, 0, 1, 0, 0, 0, 0, 0, 0, 0), "currency 0 of 0")
	refusedState(t, "no users", list(head, 0, 0, 0, 0, 0, 0), "0 users")
	users := func(n uint64) []byte {
		return append(binary.AppendUvarint(list(head, 0, 0), n), make([]byte, n)...)
	}
	refusedState(t, "too many users", users(MaxUsers+2), "1000002 users")
	_, err := DecodeSnapshot(users(MaxUsers + 1))
	if err == nil || strings.Contains(err.Error(), " users") {
		t.Errorf("the most users: %v", err)
	}
	// The accruals are last: one receiver, without any, who does not exist.
	refusedState(t, "receiver", list(empty[:len(empty)-1], 1, 1, 0, 0, 0), "user 1 of 1")
	s := New(testSettings())
	s.balances.currency("AA")
	known := s.AppendSnapshot(nil)
	accrued := append(append([]byte{0, 0, 1, 0}, make([]byte, 16)...), 0, 0, 1, 1, 0) // one of another kind than deals
	once := list(known[:len(known)-1], append([]byte{1}, accrued...)...)
	twice := list(known[:len(known)-1], append(append([]byte{2}, accrued...), accrued...)...)
	refusedState(t, "accruals", once, "")
	refusedState(t, "accruals twice", twice, "the accruals of user 0 twice")
}
