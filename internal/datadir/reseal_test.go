package datadir

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"tickhive/internal/seal"
	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
)

func sealKey(b byte) *seal.Key { return seal.New([seal.SecretBytes]byte{0: b}) }

// accountsOptions are the options of the accounts' log in these tests: many segments.
func accountsOptions() wal.Options {
	return wal.Options{NoLock: true, SegmentBytes: 1 << 10, PreallocBytes: -1}
}

// sealedDir returns a directory that was stopped in order. Its accounts have 5 plain records and 15 that key sealed.
func sealedDir(t *testing.T, key *seal.Key) *vfstest.Mem {
	t.Helper()
	disk := vfstest.NewMem()
	d, err := Open(Options{Path: "d", FS: disk, Boot: "b", Virtual: true})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	o, err := d.LogOptions(sealedStore, accountsOptions())
	check(err)
	l, err := wal.Open(disk, d.Sub(sealedStore), o)
	check(err)
	for i := range 20 {
		payload := secretOf(uint64(i + 1))
		if i >= 5 {
			payload = key.Seal(nil, payload, seal.Record)
		}
		_, err := l.Append([][]byte{payload})
		check(err)
		if i == 7 || i == 14 {
			check(l.Sync())
			check(l.WriteSnapshot(wal.SnapshotMeta{Seq: l.LastSeq()}, func(w io.Writer) error {
				_, err := w.Write(key.Seal(nil, secretOf(1000+l.LastSeq()), seal.Snapshot))
				return err
			}))
		}
	}
	check(l.Close())
	check(d.change(func(m *Meta) { m.SealedWith = key.ID() }))
	check(d.Close(true))
	return disk
}

func secretOf(seq uint64) []byte {
	return fmt.Appendf(nil, "secret %d %s", seq, strings.Repeat("private ", 20))
}

// holds fails unless the accounts of an idle directory have the records and snapshots of sealedDir under its key.
func holds(t *testing.T, d *Dir, key *seal.Key) {
	t.Helper()
	o, err := d.LogOptions(sealedStore, accountsOptions())
	if err != nil {
		t.Fatal(err)
	}
	r, err := wal.OpenReader(d.fsys, d.Sub(sealedStore), o, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for seq := uint64(1); seq <= 20; seq++ {
		rec, err := r.Next()
		if err == nil {
			rec.Payload, err = key.Open(rec.Payload, seal.Record)
		}
		if err != nil || rec.Seq != seq || !bytes.Equal(rec.Payload, secretOf(seq)) {
			t.Fatalf("record %d is %d %q, %v", seq, rec.Seq, rec.Payload, err)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last record: %v", err)
	}
	var bodies []string
	files, err := wal.Check(d.fsys, d.Sub(sealedStore), o, func(r io.Reader) error {
		body, err := io.ReadAll(r)
		if err == nil {
			body, err = key.Open(body, seal.Snapshot)
		}
		bodies = append(bodies, string(body))
		return err
	})
	for _, f := range files {
		err = errors.Join(err, f.Err)
	}
	if err != nil || strings.Join(bodies, "") != string(secretOf(1008))+string(secretOf(1015)) {
		t.Errorf("snapshots %q, %v", bodies, err)
	}
}

// anyFileWith returns the files of a disk that contain b.
func anyFileWith(disk *vfstest.Mem, b []byte) (found []string) {
	for _, name := range disk.Paths() {
		if bytes.Contains(disk.Content(name), b) {
			found = append(found, name)
		}
	}
	return found
}

func idOf(key *seal.Key) []byte {
	id, _ := hex.DecodeString(key.ID())
	return id
}

// A change of the key that ends at any operation, by a kill or a power cut, leaves a directory whose accounts are whole
// under the key that meta.json names. Ended, it leaves no file with a plain secret or the former key.
func TestAChangeOfTheKeyIsWholeOrNotAtAll(t *testing.T) {
	from, to := sealKey(1), sealKey(2)
	begun := sealedDir(t, from)
	if len(anyFileWith(begun, []byte("private"))) == 0 || len(anyFileWith(begun, idOf(from))) == 0 {
		t.Fatal("the directory has nothing to seal")
	}
	outcomes := map[string]int{}
	for n, ended := 1, false; !ended; n++ {
		for _, how := range []string{"kill", "power"} {
			disk := begun.Kill()
			d, err := openIdle(disk, "d")
			if err != nil {
				t.Fatal(err)
			}
			last := disk.Operations() + n
			disk.Before(func(op vfstest.Op) vfstest.Fault {
				if op.N >= last {
					return vfstest.Fault{Err: vfstest.ErrInjected}
				}
				return vfstest.Fault{}
			})
			err = Reseal(d, accountsOptions(), from, to)
			disk.Before(nil)
			ended = err == nil
			after := disk.Kill()
			if how != "kill" {
				after = disk.Crash(uint64(n*2 + len(how)))
			}
			if d, err = openIdle(after, "d"); err != nil {
				t.Fatalf("operation %d, %s: %v", n, how, err)
			}
			switch d.meta.SealedWith {
			case from.ID():
				outcomes["former key"]++
				holds(t, d, from)
				if ended {
					t.Fatalf("operation %d, %s: a change that succeeded is gone", n, how)
				}
				if err := Reseal(d, accountsOptions(), from, to); err != nil {
					t.Fatalf("operation %d, %s: again: %v", n, how, err)
				}
			case to.ID():
				outcomes["new key"]++
			default:
				t.Fatalf("operation %d, %s: sealed with %q", n, how, d.meta.SealedWith)
			}
			holds(t, d, to)
			if found := anyFileWith(after, idOf(from)); len(found) > 0 {
				t.Fatalf("operation %d, %s: the former key is in %v", n, how, found)
			}
			if found := anyFileWith(after, []byte("private")); len(found) > 0 {
				t.Fatalf("operation %d, %s: plain secrets are in %v", n, how, found)
			}
			if err := d.Unlock(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if outcomes["former key"] == 0 || outcomes["new key"] < 4 {
		t.Errorf("outcomes %v", outcomes)
	}
	t.Log(outcomes)
}

// A start ends a change of the key that was cut short. Damage, and a record of another key, refuse the change before
// anything is replaced; files that no start reads are named.
func TestAChangeOfTheKeyThatCannotEnd(t *testing.T) {
	from, to := sealKey(1), sealKey(2)
	disk := sealedDir(t, from)
	d, err := openIdle(disk, "d")
	if err != nil {
		t.Fatal(err)
	}
	disk.Before(func(op vfstest.Op) vfstest.Fault {
		if op.Kind == vfstest.OpRename && strings.HasSuffix(op.Path, newExt) && strings.Contains(op.Path, "000002") {
			return vfstest.Fault{Err: vfstest.ErrInjected}
		}
		return vfstest.Fault{}
	})
	if err := Reseal(d, accountsOptions(), from, to); !errors.Is(err, vfstest.ErrInjected) {
		t.Fatalf("the cut change: %v", err)
	}
	err = d.meta.settled("d")
	if err == nil || !strings.Contains(err.Error(), "`tickhive serve`, which completes it") {
		t.Errorf("a tool that only reads: %v", err)
	}
	cut := disk.Kill()
	if d, err = Open(Options{Path: "d", FS: cut, Boot: "b", Virtual: true}); err != nil {
		t.Fatal(err)
	}
	holds(t, d, to)
	if d.meta.Resealing || len(anyFileWith(cut, idOf(from))) > 0 {
		t.Error("the start did not complete the change")
	}

	disk = sealedDir(t, from)
	disk.Put("d/accounts/00000000000000000003.snap.damaged", from.Seal(nil, []byte("x"), seal.Snapshot))
	if d, err = openIdle(disk, "d"); err != nil {
		t.Fatal(err)
	}
	left, err := NotResealed(d)
	if err != nil || len(left) != 1 || left[0] != "d/accounts/00000000000000000003.snap.damaged" {
		t.Errorf("left %q, %v", left, err)
	}
	if err := Reseal(d, accountsOptions(), sealKey(3), to); err == nil ||
		!strings.Contains(err.Error(), "sealed with the key "+from.ID()) {
		t.Errorf("with another key: %v", err)
	}
	holds(t, d, from)
	disk.Flip("d/accounts/000001.wal", 1600, 1)
	var damaged *wal.CorruptError
	if err := Reseal(d, accountsOptions(), from, to); !errors.As(err, &damaged) {
		t.Errorf("damaged: %v", err)
	}
	if found := anyFileWith(disk, idOf(to)); len(found) > 0 || d.meta.SealedWith != from.ID() {
		t.Errorf("the refused change left %v", found)
	}
}
