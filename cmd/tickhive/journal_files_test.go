package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/seal"
	"github.com/tickhive/tickhive/internal/wal"
)

// A verification reads every byte of every segment and snapshot: a flipped bit anywhere is reported with its file and
// an exit code, also where no start would read it.
func TestVerifyReadsEveryFileOfTheLog(t *testing.T) {
	t.Parallel()
	dir := exchangetest.SnapshotDirectory(t)
	verify := func(args ...string) (int, string) {
		var out bytes.Buffer
		args = append([]string{"journal", "verify", "--quiet"}, args...)
		return run(args, &program{out: &out, err: &out}), out.String()
	}
	code, said := verify(dir)
	if code != 0 {
		t.Fatalf("%d %s", code, said)
	}
	names, err := filepath.Glob(filepath.Join(dir, "engine", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 3 { // a segment and two snapshots
		t.Errorf("the files %v", names)
	}
	for _, name := range names {
		short := filepath.Join("engine", filepath.Base(name))
		if !strings.Contains(said, short+" ") {
			t.Errorf("no line for %s: %s", short, said)
		}
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		written := len(bytes.TrimRight(whole, "\x00"))
		for _, at := range []int{70, written / 3, written / 2} {
			damaged := bytes.Clone(whole)
			damaged[at] ^= 4
			if err := os.WriteFile(name, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{dir}, {"--json", dir}, {filepath.Dir(name)}} {
				code, said := verify(args...)
				if code != 3 || !strings.Contains(said, "damaged") || !strings.Contains(said, short) ||
					strings.Contains(said, "journal verify") || strings.Contains(said, "verify done") {
					t.Errorf("%s, byte %d, %q: exit %d: %s", short, at, args, code, said)
				}
			}
		}
		if err := os.WriteFile(name, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, again := verify(dir); code != 0 || again != said {
		t.Errorf("%d %s", code, again)
	}
}

// A verification replays from the oldest snapshot and compares the state with the newer one.
func TestVerifyComparesTheSnapshots(t *testing.T) {
	t.Parallel()
	dir := exchangetest.SnapshotDirectory(t)
	log := exchange.EngineLog(filepath.Join(dir, "engine"))
	o := machine.Options{Secrets: new(seal.Key)}
	newest, _, err := keeper.Load(o, log, keeper.NoLimit)
	if err != nil {
		t.Fatal(err)
	}
	older, _, err := keeper.Load(o, log, newest.Pos-1)
	if err != nil || older.Pos == 0 {
		t.Fatal(err, older.Pos)
	}
	older.Pos = newest.Pos // a snapshot that verifies and is of another history
	err = wal.WriteSnapshot(log.FS, log.Dir, log.Options, wal.SnapshotMeta{Seq: newest.Pos}, func(w io.Writer) error {
		return older.Write(w, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := run([]string{"journal", "verify", "--quiet", dir}, &program{out: &out, err: &out})
	if code != 3 || !strings.Contains(out.String(), "the replay of the records before it gives") ||
		!strings.Contains(out.String(), wal.SnapshotName(newest.Pos)) {
		t.Errorf("exit %d: %s", code, out.String())
	}
}
