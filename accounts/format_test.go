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

// snapshot-v2.hex was written by the program before keys had canManageKeys: one user with 1000
// USDT, an order that holds 100, and the keys "trade" and "read".
func TestAnOlderSnapshotIsRead(t *testing.T) {
	text, err := os.ReadFile("testdata/snapshot-v2.hex")
	if err != nil {
		t.Fatal(err)
	}
	old, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
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
		if !k.CanManageKeys || k.CreatedBy != "" || k.CanTrade != (k.Name == "trade") ||
			(k.ExpiresNs == t0+1) != (k.Name == "read") || len(k.IPWhitelist) != map[string]int{"trade": 1}[k.Name] {
			t.Errorf("%+v", k)
		}
	}
	again, err := DecodeSnapshot(s.AppendSnapshot(nil), testOptions())
	if err != nil || string(again.AppendSnapshot(nil)) != string(s.AppendSnapshot(nil)) {
		t.Fatal("the snapshot of this version differs after a restart", err)
	}
	if old[0] != 2 || s.AppendSnapshot(nil)[0] != SnapshotVersion {
		t.Fatal("versions")
	}
}
