package datadir

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

const damageDir = "d"

const damageStart = int64(1_767_225_600_000)

// damageOptions are the options of a virtual clock.
func damageOptions(fsys vfs.FS) Options {
	return Options{Path: damageDir, FS: fsys, Virtual: true, StartNs: damageStart * 1e6, Seed: 7}
}

// usedBy runs a process on a directory. It stores the last time that the process acknowledges in clockNs, and ends at
// the first error.
func usedBy(o Options, clockNs *int64) error {
	d, err := Open(o)
	if err != nil {
		return err
	}
	if f, err := o.FS.Create(path.Join(damageDir, "engine", "000001.wal")); err != nil {
		return err
	} else if err := errors.Join(o.FS.SyncDir(path.Join(damageDir, "engine")), f.Close()); err != nil {
		return err
	}
	for range 12 {
		ns := max(d.ClockNs(), damageStart*1e6) + 1e9
		if err := d.KeepClock(ns); err != nil {
			return err
		}
		*clockNs = ns
	}
	if err := d.AddIncident(Incident{AtMs: 1, Kind: "restart", Message: "a test"}); err != nil {
		return err
	}
	return d.Close(true)
}

// reopened opens a directory as a later process does.
func reopened(o Options) (*Dir, error) {
	d, err := Open(o)
	if err != nil {
		return nil, err
	}
	return d, d.Close(true)
}

// No flipped bit is accepted: the start is refused with the file, and changes nothing.
func TestNoFlippedBitOfTheDirectoryIsAccepted(t *testing.T) {
	fsys := vfstest.NewMem()
	if err := usedBy(damageOptions(fsys), new(int64)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"meta.json", "CLOCK"} {
		file := path.Join(damageDir, name)
		content := fsys.Content(file)
		for off := range content {
			for bit := range uint(8) {
				damaged := fsys.Kill()
				damaged.Flip(file, int64(off), bit)
				before := damaged.Content(file)
				_, err := reopened(damageOptions(damaged))
				if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "--data-dir") {
					t.Fatalf("%s byte %d bit %d: %v", name, off, bit, err)
				}
				if string(damaged.Content(file)) != string(before) {
					t.Fatalf("%s byte %d bit %d: a refused start changed the file", name, off, bit)
				}
				if left, _ := damaged.List(path.Join(damageDir, "engine")); len(left) != 1 {
					t.Fatalf("%s byte %d bit %d: a refused start removed the market", name, off, bit)
				}
			}
		}
		t.Logf("%s: %d bytes", name, len(content))
	}
}

// A power cut after any operation leaves a directory that starts, with every acknowledged time.
func TestAPowerCutKeepsWhatTheDirectoryAcknowledged(t *testing.T) {
	fsys := vfstest.NewMem()
	type cut struct {
		fs      *vfstest.Mem
		clockNs int64
	}
	var cuts []cut
	var clockNs int64
	fsys.After(func(op vfstest.Op) {
		if op.Kind != vfstest.OpRead && op.Kind != vfstest.OpOpen && op.Kind != vfstest.OpList {
			for seed := range uint64(6) {
				cuts = append(cuts, cut{fsys.Crash(uint64(len(cuts)) + seed), clockNs})
			}
		}
	})
	if err := usedBy(damageOptions(fsys), &clockNs); err != nil {
		t.Fatal(err)
	}
	fsys.After(nil)
	for i, c := range cuts {
		d, err := reopened(damageOptions(c.fs))
		if err != nil {
			t.Fatalf("cut %d: %v", i, err)
		}
		if d.ClockNs() < c.clockNs {
			t.Fatalf("cut %d: the clock is at %d, %d was acknowledged", i, d.ClockNs(), c.clockNs)
		}
	}
	t.Logf("%d cuts", len(cuts))
}

// A damaged format is damage, not the file of another program.
func TestADamagedFormatIsDamage(t *testing.T) {
	fsys := vfstest.NewMem()
	if err := usedBy(damageOptions(fsys), new(int64)); err != nil {
		t.Fatal(err)
	}
	content := string(fsys.Content(damageDir + "/meta.json"))
	for old, text := range map[string]string{`"format": 6`: `"format": 8`, `"format"`: `"fOrmaq"`} {
		damaged := fsys.Kill()
		damaged.Put(damageDir+"/meta.json", []byte(strings.Replace(content, old, text, 1)))
		var d *DamagedError
		if _, err := Open(damageOptions(damaged)); !errors.As(err, &d) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A directory of another format is refused by its number and its program, and nothing is changed. A meta.json of
// format 1 had no checksum.
func TestOtherFormatsAreRefused(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{`{"format": 1, "writer": "TickHive 0.1.0", "seed": 7, "synced": true}`, "format 1, written by TickHive 0.1.0"},
		{
			string(sealMeta([]byte("{\n  \"format\": 2,\n  \"writer\": \"TickHive 0.2.0\"\n}"))),
			"format 2, written by TickHive 0.2.0",
		},
		{
			string(sealMeta([]byte("{\n  \"format\": 4,\n  \"writer\": \"TickHive 0.9.0\"\n}"))),
			"format 4, written by TickHive 0.9.0",
		},
		{
			string(sealMeta([]byte("{\n  \"format\": 5,\n  \"writer\": \"TickHive 0.10.0\"\n}"))),
			"format 5, written by TickHive 0.10.0",
		},
		{
			string(sealMeta([]byte("{\n  \"format\": 7,\n  \"writer\": \"TickHive 9\"\n}"))),
			"format 7, written by TickHive 9",
		},
	} {
		fsys := fuzzed(t, "meta.json", []byte(c.content))
		_, err := Open(damageOptions(fsys))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--data-dir") {
			t.Errorf("%s: %v", c.want, err)
		}
		if got := string(fsys.Content(path.Join(damageDir, "meta.json"))); got != c.content {
			t.Errorf("%s: the file was changed to %q", c.want, got)
		}
	}
}
