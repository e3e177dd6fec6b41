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

// The bytes of commands and snapshots belong to their versions: another encoder of the same versions must write the
// same ones.
func TestCommandsAndSnapshotsHaveTheBytesOfTheFormat(t *testing.T) {
	var b strings.Builder
	for _, cmd := range sampleCommands() {
		fmt.Fprintf(&b, "command %d: %s\n", cmd.Kind, hex.EncodeToString(AppendCommand(nil, &cmd)))
	}
	fmt.Fprintf(&b, "empty snapshot: %s\n", hex.EncodeToString(New(testSettings()).AppendSnapshot(nil)))
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
