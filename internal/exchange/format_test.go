package exchange_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tickhive/internal/datadir"
	"tickhive/internal/exchange"
	"tickhive/internal/exchange/exchangetest"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
	"tickhive/internal/wal/wal1"
)

// A directory of format 1 is converted by its first start. The state is the same, the old files are
// kept byte by byte, and later starts convert nothing.
func TestADirectoryOfFormat1IsConvertedOnce(t *testing.T) {
	for _, name := range []string{exchangetest.Format1, exchangetest.Rules0} {
		t.Run(name, func(t *testing.T) {
			w, dir := exchangetest.OldState(t, name), exchangetest.OldDirectory(t, name)
			if _, err := datadir.ReadMeta(dir); err == nil || !strings.Contains(err.Error(), "start it once") {
				t.Errorf("a tool reads it before: %v", err)
			}
			first := exchangetest.Start(t, exchangetest.Options(dir))
			isOld(t, first, w)
			fresh := exchangetest.OldDirectory(t, name)
			kept := 0
			for _, pattern := range []string{"*/*.wal", "*/*.snap", "meta.json", "CLOCK", "NONCES"} {
				for _, old := range exchangetest.Files(t, fresh, pattern) {
					rel, err := filepath.Rel(fresh, old)
					if err != nil {
						t.Fatal(err)
					}
					want, err := os.ReadFile(old)
					if err != nil {
						t.Fatal(err)
					}
					got, err := os.ReadFile(filepath.Join(dir, "before-1", rel))
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("%s is not kept: %v", rel, err)
					}
					kept++
				}
			}
			if kept < 10 {
				t.Errorf("%d old files", kept)
			}
			snapshots := len(exchangetest.Files(t, fresh, "*/*.snap"))
			if got := len(exchangetest.Files(t, dir, "*/*.snap")); got < snapshots {
				t.Errorf("%d snapshots, had %d", got, snapshots)
			}
			if strings.Contains(first.Do("GET", first.Public+"/api/status", "").Body, "damaged") {
				t.Error("an incident tells of damage")
			}
			first.Stop()
			if err := os.RemoveAll(filepath.Join(dir, "before-1")); err != nil {
				t.Fatal(err)
			}
			again := exchangetest.Start(t, exchangetest.Options(dir))
			isOld(t, again, w)
			if _, err := os.Stat(filepath.Join(dir, "before-1")); err == nil {
				t.Error("it was converted twice")
			}
		})
	}
}

// A conversion that is cut after an operation goes on at the next start, with the same result.
func TestAConversionSurvivesAPowerCut(t *testing.T) {
	old := exchangetest.OldDirectory(t, exchangetest.Format1)
	disk := vfs.NewMem()
	for _, pattern := range []string{"*/*", "*"} {
		for _, name := range exchangetest.Files(t, old, pattern) {
			if b, err := os.ReadFile(name); err == nil {
				disk.Put("d"+strings.TrimPrefix(name, old), b)
			}
		}
	}
	convert := func(fsys *vfs.Mem) {
		t.Helper()
		d, err := datadir.Open(datadir.Options{Path: "d", FS: fsys, Virtual: true, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Convert(func(name, old, dir string) error {
			o, err := d.LogOptions(name, exchange.EngineLogOptions())
			if err != nil {
				return err
			}
			o.Known, o.PreallocBytes = nil, -1
			_, err = wal1.Convert(fsys, old, dir, o)
			return err
		})
		if err = errors.Join(err, d.Close(true)); err != nil {
			t.Fatal(err)
		}
	}
	// logs returns the records and snapshots of every log.
	logs := func(fsys *vfs.Mem) (all []string) {
		t.Helper()
		for _, name := range []string{"engine", "accounts", "launchpad", "hive"} {
			files, err := wal.Check(fsys, "d/"+name, exchange.EngineLogOptions(), func(r io.Reader) error {
				body, err := io.ReadAll(r)
				all = append(all, string(body))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				all = append(all, fmt.Sprint(f.File, f.First, f.Last, f.Err))
			}
			rd, err := wal.OpenReader(fsys, "d/"+name, exchange.EngineLogOptions(), 0)
			if err != nil {
				t.Fatal(err)
			}
			for rec, err := rd.Next(); !errors.Is(err, io.EOF); rec, err = rd.Next() {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, string(rec.Payload))
			}
		}
		return all
	}
	whole := disk.Kill()
	convert(whole)
	want, cuts := logs(whole), 0
	if len(want) < 1000 {
		t.Fatalf("%d records", len(want))
	}
	for op := 1; ; op += 11 {
		fsys := disk.Kill()
		var cut *vfs.Mem
		fsys.After(func(o vfs.Op) {
			if o.N == op && o.Kind != vfs.OpRead && o.Kind != vfs.OpOpen && o.Kind != vfs.OpList {
				cut = fsys.Crash(uint64(op))
			}
		})
		convert(fsys)
		if fsys.Total() < op {
			break
		}
		if cut == nil {
			continue
		}
		cuts++
		convert(cut)
		if got := logs(cut); !slices.Equal(got, want) {
			t.Fatalf("operation %d: %d records, want %d", op, len(got), len(want))
		}
		for _, name := range disk.Paths() {
			kept := "d/before-1/" + strings.TrimPrefix(name, "d/")
			if name != "d/LOCK" && string(cut.Content(kept)) != string(disk.Content(name)) {
				t.Fatalf("operation %d: %s is not kept", op, name)
			}
		}
	}
	t.Logf("%d cuts", cuts)
}
