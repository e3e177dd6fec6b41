package accounts

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var updateFormat = flag.Bool("update", false, "write testdata/format.golden")

// The bytes of records and snapshots are on the disks of running exchanges: another encoder must
// write the same ones.
func TestRecordsAndSnapshotsHaveTheBytesOfTheFormat(t *testing.T) {
	var b strings.Builder
	for _, rec := range sampleRecords() {
		for rec.Rules = range uint8(RulesVersion + 1) {
			fmt.Fprintf(&b, "record %d rules %d: %s\n", rec.Kind, rec.Rules,
				hex.EncodeToString(AppendRecord(nil, &rec)))
		}
	}
	fmt.Fprintf(&b, "empty snapshot: %s\n", hex.EncodeToString(New(testOptions()).AppendSnapshot(nil)))
	rich := richSnapshot(t)
	fmt.Fprintf(&b, "rich snapshot: %d bytes, SHA-256 %x\n", len(rich), sha256.Sum256(rich))
	const file = "testdata/format.golden"
	if *updateFormat {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Fatalf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// The fixtures were written by the programs of these versions: one user with 1000 USDT, an order that
// holds 100, and the keys "trade" and "read". In the later ones "trade" has made "read".
func TestOlderSnapshotsAreRead(t *testing.T) {
	for _, c := range []struct {
		file    string
		version byte
		tree    bool
	}{
		{"testdata/snapshot-v2.hex", 2, false},
		{"testdata/snapshot-v3.hex", 3, true},
		{"testdata/snapshot-v4.hex", 4, true},
	} {
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		old, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil || old[0] != c.version {
			t.Fatal(c.file, err)
		}
		s, err := DecodeSnapshot(old, testOptions())
		if err != nil {
			t.Fatal(err)
		}
		keys := s.View().Keys(1, t0)
		if len(keys) != 2 || len(s.holds.orders) != 1 || s.View().Check() != nil {
			t.Fatalf("%d keys, %d orders", len(keys), len(s.holds.orders))
		}
		for _, k := range keys {
			trades := k.Name == "trade"
			if k.CanTrade != trades || k.Ed25519 != nil || (k.ExpiresNs == t0+1) == trades ||
				k.CanManageKeys != (trades || !c.tree) || (k.CreatedBy != "") != (c.tree && !trades) ||
				s.keys.Find(k.PublicKey).Record().Secret.Empty() {
				t.Errorf("%s: %+v", c.file, k)
			}
		}
		again, err := DecodeSnapshot(s.AppendSnapshot(nil), testOptions())
		if err != nil || string(again.AppendSnapshot(nil)) != string(s.AppendSnapshot(nil)) ||
			s.AppendSnapshot(nil)[0] != SnapshotVersion {
			t.Fatal("the snapshot of this version differs after a restart", err)
		}
	}
}
