package datadir

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"tickhive/engine"
	"tickhive/internal/vfs"
	"tickhive/internal/vfs/vfstest"
	"tickhive/marketdata"
)

const damageDir = "d"

const damageStart = int64(1_767_225_600_000)

// damageOptions are the options of a virtual clock under journal.sync = always.
func damageOptions(fsys vfs.FS) Options {
	return Options{Path: damageDir, FS: fsys, Virtual: true, StartNs: damageStart * 1e6, Synced: true, Seed: 7}
}

// acknowledged holds the promises of a process.
type acknowledged struct {
	clockNs int64
	nonces  int
	written int // nonces, acknowledged or not
}

// usedBy runs a process on a directory and notes what it acknowledges. It ends at the first error.
func usedBy(o Options, a *acknowledged) error {
	d, err := Open(o)
	if err != nil {
		return err
	}
	if err := d.SetLimits(engine.Options{}, marketdata.Options{}); err != nil {
		return err
	}
	n, _, err := d.OpenNonces(0)
	if err != nil {
		return err
	}
	if f, err := o.FS.Create(path.Join(damageDir, "engine", "000001.wal")); err != nil {
		return errors.Join(err, n.close())
	} else if err := errors.Join(o.FS.SyncDir(path.Join(damageDir, "engine")), f.Close()); err != nil {
		return errors.Join(err, n.close())
	}
	for range 12 {
		ns := max(d.ClockNs(), damageStart*1e6) + 1e9
		if err := d.KeepClock(ns); err != nil {
			return errors.Join(err, n.close())
		}
		a.clockNs = ns
		a.written++
		if err := n.Keep(0, damageStart+int64(a.written), keyOfTest(1), fmt.Append(nil, "n", a.written)); err != nil {
			return errors.Join(err, n.close())
		}
		a.nonces++
	}
	if err := d.AddIncident(Incident{AtMs: 1, Kind: "restart", Message: "a test"}); err != nil {
		return errors.Join(err, n.close())
	}
	return d.Close(true)
}

// reopened opens a directory and its nonces as a later process does.
func reopened(o Options) (d *Dir, n *Nonces, used []string, err error) {
	o.Virtual, o.StartNs = true, damageStart*1e6
	if d, err = Open(o); err != nil {
		return nil, nil, nil, err
	}
	if n, _, err = d.OpenNonces(d.ClockNs() / 1e6); err != nil {
		return d, nil, nil, err
	}
	for u := range n.Used(0) {
		used = append(used, u.Nonce)
	}
	return d, n, used, errors.Join(n.failed, d.Close(true))
}

// No flipped bit is accepted without a word: the start is refused with the file, or it refuses every timestamp
// that may have been accepted. A refused start changes nothing.
func TestNoFlippedBitOfTheDirectoryIsAccepted(t *testing.T) {
	fsys := vfstest.NewMem()
	var a acknowledged
	if err := usedBy(damageOptions(fsys), &a); err != nil {
		t.Fatal(err)
	}
	names := []string{"meta.json", "CLOCK", "NONCES"}
	for _, name := range names {
		file := path.Join(damageDir, name)
		content := fsys.Content(file)
		refused, shut := 0, 0
		for off := range content {
			for bit := range uint(8) {
				damaged := fsys.Kill()
				damaged.Flip(file, int64(off), bit)
				before := damaged.Content(file)
				_, n, used, err := reopened(damageOptions(damaged))
				switch {
				case err != nil && strings.Contains(err.Error(), name) && strings.Contains(err.Error(), "--data-dir"):
					refused++
					if string(damaged.Content(file)) != string(before) {
						t.Fatalf("%s byte %d bit %d: a refused start changed the file", name, off, bit)
					}
					if left, _ := damaged.List(path.Join(damageDir, "engine")); len(left) != 1 {
						t.Fatalf("%s byte %d bit %d: a refused start removed the market", name, off, bit)
					}
				case err == nil && name == "NONCES" && n.Damaged() != "" &&
					n.notBefore() > damageStart+int64(a.written):
					shut++
				default:
					t.Fatalf("%s byte %d bit %d: %v, %d nonces", name, off, bit, err, len(used))
				}
			}
		}
		t.Logf("%s: %d bytes, %d flips refused, %d shut", name, len(content), refused, shut)
	}
}

// A power cut after any operation leaves a directory that starts, with every acknowledged time and nonce.
func TestAPowerCutKeepsWhatTheDirectoryAcknowledged(t *testing.T) {
	fsys := vfstest.NewMem()
	type cut struct {
		fs *vfstest.Mem
		a  acknowledged
	}
	var cuts []cut
	var a acknowledged
	fsys.After(func(op vfstest.Op) {
		if op.Kind != vfstest.OpRead && op.Kind != vfstest.OpOpen && op.Kind != vfstest.OpList {
			for seed := range uint64(6) {
				cuts = append(cuts, cut{fsys.Crash(uint64(len(cuts)) + seed), a})
			}
		}
	})
	if err := usedBy(damageOptions(fsys), &a); err != nil {
		t.Fatal(err)
	}
	fsys.After(nil)
	torn := 0
	for i, c := range cuts {
		d, n, used, err := reopened(damageOptions(c.fs))
		if err != nil {
			t.Fatalf("cut %d: %v", i, err)
		}
		if d.ClockNs() < c.a.clockNs {
			t.Fatalf("cut %d: the clock is at %d, %d was acknowledged", i, d.ClockNs(), c.a.clockNs)
		}
		if n.Damaged() != "" {
			if torn++; n.notBefore() <= damageStart+int64(c.a.written) {
				t.Fatalf("cut %d: the start does not refuse what was accepted", i)
			}
			continue
		}
		for k := range c.a.nonces {
			if !slices.Contains(used, fmt.Sprint("n", k+1)) {
				t.Fatalf("cut %d: nonce %d of %d is missing: %q", i, k+1, c.a.nonces, used)
			}
		}
	}
	t.Logf("%d cuts, %d torn", len(cuts), torn)
}

// A file that ends between two lines, or is gone, is damaged like one with a flipped bit.
func TestNoncesThatEndTooEarlyAreDamaged(t *testing.T) {
	fsys := vfstest.NewMem()
	var a acknowledged
	if err := usedBy(damageOptions(fsys), &a); err != nil {
		t.Fatal(err)
	}
	const name = damageDir + "/NONCES"
	for size := range len(fsys.Content(name)) + 1 {
		cut := fsys.Kill()
		if cut.Cut(name, int64(size)); size == len(fsys.Content(name)) {
			cut.Lose(name)
		}
		_, n, _, err := reopened(damageOptions(cut))
		if err != nil || n.Damaged() == "" || n.notBefore() <= damageStart+int64(a.written) {
			t.Fatalf("%d bytes: %v, %q, not before %d", size, err, n.Damaged(), n.notBefore())
		}
	}
}

// Under journal.sync = interval and off a power cut may take nonces, and never the start.
func TestAPowerCutOfUnsyncedNoncesRefusesNoStart(t *testing.T) {
	fsys := vfstest.NewMem()
	n, _, err := openNonces(fsys, "d/NONCES", 0, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.close() }()
	torn := 0
	for i := range 300 {
		if err := n.Keep(0, damageStart+int64(i), keyOfTest(1), fmt.Append(nil, "n", i)); err != nil {
			t.Fatal(err)
		}
		if i == 100 {
			if err := n.syncTo(n.written()); err != nil {
				t.Fatal(err)
			}
		}
		for seed := range uint64(4) {
			after, _, err := openNonces(fsys.Crash(uint64(i)*4+seed), "d/NONCES", 0, false)
			if err != nil {
				t.Fatalf("nonce %d, seed %d: %v", i, seed, err)
			}
			if after.Damaged() != "" {
				torn++
			}
			if i >= 100 && after.newest < damageStart+100 {
				t.Fatalf("nonce %d, seed %d: a synced line is missing", i, seed)
			}
		}
	}
	if torn == 0 {
		t.Error("no cut left a torn end")
	}
}

// The goroutine of journal.sync = interval syncs what was written.
func TestNoncesAreSyncedWithinAnInterval(t *testing.T) {
	fsys := vfstest.NewMem()
	n, _, err := openNonces(fsys, "d/NONCES", 0, false)
	if err != nil {
		t.Fatal(err)
	}
	synced := make(chan struct{}, 16)
	fsys.After(func(op vfstest.Op) {
		if op.Kind == vfstest.OpSync {
			synced <- struct{}{}
		}
	})
	n.startSync(false, time.Millisecond, nil, nil)
	if err := n.Keep(0, damageStart, keyOfTest(1), []byte("n")); err != nil {
		t.Fatal(err)
	}
	<-synced
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
}

// After a failed sync no nonce is kept, because the content of the disk is unknown.
func TestAFailedSyncOfNoncesIsFinal(t *testing.T) {
	fsys := vfstest.NewMem()
	n, _, err := openNonces(fsys, "d/NONCES", 0, false)
	if err != nil {
		t.Fatal(err)
	}
	n.startSync(true, 0, nil, nil)
	fsys.FailNext(vfstest.OpSync, vfstest.Fault{Err: vfstest.ErrInjected})
	for range 2 {
		if err := n.Keep(0, damageStart, keyOfTest(1), []byte("n")); !errors.Is(err, vfstest.ErrInjected) {
			t.Fatal(err)
		}
	}
	_ = n.close()
}

// A damaged format is damage, not the file of another program.
func TestADamagedFormatIsDamage(t *testing.T) {
	fsys := vfstest.NewMem()
	if err := usedBy(damageOptions(fsys), &acknowledged{}); err != nil {
		t.Fatal(err)
	}
	content := string(fsys.Content(damageDir + "/meta.json"))
	for old, text := range map[string]string{`"format": 3`: `"format": 7`, `"format"`: `"fOrmaq"`} {
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
			string(sealMeta([]byte("{\n  \"format\": 4,\n  \"writer\": \"TickHive 9\"\n}"))),
			"format 4, written by TickHive 9",
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
