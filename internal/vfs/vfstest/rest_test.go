package vfstest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
)

// Faults of rest change one file that they are aimed at: at once, after some operations, or at the
// end of the process and then in its successor only.
func TestFaultsAtRest(t *testing.T) {
	other := world(t)
	other.Put("a/2.wal", bytes.Repeat([]byte{9}, 16*vfs.SectorBytes))
	for class, check := range map[Class]func(t *testing.T, before, after *Mem){
		BitRot: func(t *testing.T, before, after *Mem) {
			a, b := before.Content("a/2.wal"), after.Content("a/2.wal")
			if len(a) != len(b) {
				t.Fatal(len(a), len(b))
			}
			bits := 0
			for i := range a {
				for x := a[i] ^ b[i]; x > 0; x &= x - 1 {
					bits++
				}
			}
			if bits != 1 {
				t.Errorf("%d bits", bits)
			}
		},
		LostFile: func(t *testing.T, _, after *Mem) {
			if _, err := after.Open("a/2.wal"); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		},
		StaleFile: func(t *testing.T, _, after *Mem) {
			if got := after.Content("a/2.wal"); !bytes.Equal(got, bytes.Repeat([]byte("a"), 16*vfs.SectorBytes)) {
				t.Error(kinds(got))
			}
		},
		ForeignFile: func(t *testing.T, _, after *Mem) {
			if got := after.Content("a/2.wal"); !bytes.Equal(got, other.Content("a/2.wal")) {
				t.Error(kinds(got))
			}
		},
		MixedFile: func(t *testing.T, _, after *Mem) {
			got := kinds(after.Content("a/2.wal"))
			if first := strings.IndexByte(got, '9'); first < 1 || strings.Trim(got[first:], "9") != "" {
				t.Error(got)
			}
		},
	} {
		for _, in := range []Injection{
			{}, {After: 2}, {AtCut: true},
		} {
			t.Run(fmt.Sprint(class, " ", in.After, in.AtCut), func(t *testing.T) {
				m := world(t)
				in.Class, in.Path, in.From, in.Seed = class, "a/2*", other, 5
				before := m.Kill()
				untouched := func(m *Mem) {
					for _, name := range before.Paths() {
						if !slices.Contains(m.Paths(), name) || !bytes.Equal(m.Content(name), before.Content(name)) {
							t.Errorf("%s changed too early", name)
						}
					}
				}
				m.Inject(in)
				after := m
				if in.After > 0 {
					untouched(m)
					for range in.After {
						_, _ = m.List("b")
					}
					untouched(m)
					_, _ = m.List("b")
				}
				if in.AtCut {
					after = m.Kill()
					untouched(m)
					untouched(m.Kill())
				}
				check(t, before, after)
				if m.Injected(class) != 1 {
					t.Errorf("counted %d", m.Injected(class))
				}
				for _, name := range []string{"a/1.wal", "b/1.wal", "b/2.wal"} {
					if !bytes.Equal(after.Content(name), before.Content(name)) {
						t.Errorf("%s changed", name)
					}
				}
				// It is on the disk: a power cut does not undo it.
				if class != BitRot {
					cut := after.Crash(1)
					if slices.Contains(cut.Paths(), "a/2.wal") != slices.Contains(after.Paths(), "a/2.wal") {
						t.Error("a power cut undid it")
					}
				}
			})
		}
	}
}

// A removed file comes back, and a replaced one has the content before.
func TestStaleFilesOfNames(t *testing.T) {
	m := NewMem()
	m.KeepVersions(2)
	for i, content := range []string{"one", "two", "three", "four"} {
		f, err := m.Create("d/tmp")
		must(t, err)
		put(t, f, []byte(content), 0)
		must(t, f.Sync())
		must(t, m.Rename("d/tmp", "d/meta"))
		if i == 3 {
			must(t, m.SyncDir("d"))
		}
	}
	seen := map[string]bool{}
	for seed := range uint64(30) {
		c := m.Kill()
		c.Inject(Injection{Class: StaleFile, Path: "d/meta", Seed: seed})
		seen[string(c.Content("d/meta"))] = true
	}
	if len(seen) != 2 || seen["four"] {
		t.Fatal(seen)
	}
	must(t, m.Remove("d/meta"))
	m.Inject(Injection{Class: StaleFile})
	if got := m.Paths(); !slices.Equal(got, []string{"d/meta"}) || m.Injected(StaleFile) != 31 {
		t.Fatal(got, m.Injected(StaleFile))
	}
	// Without kept versions there is nothing to come back.
	m = NewMem()
	create(t, m)
	must(t, m.Remove(name))
	m.Inject(Injection{Class: StaleFile})
	if len(m.Paths()) != 0 || m.Injected(StaleFile) != 0 {
		t.Fatal("a file came back")
	}
}

// Without From, another file of the same extension takes the place.
func TestForeignFilesOfTheSameDirectory(t *testing.T) {
	m := world(t)
	for _, dir := range []string{"a", "b"} {
		m.Put(dir+"/only", []byte(dir))
	}
	m.Inject(Injection{Class: ForeignFile, Path: "a/only"})
	if got := string(m.Content("a/only")); got != "b" {
		t.Fatal(got)
	}
	m.Lose("b/only")
	m.Inject(Injection{Class: ForeignFile, Path: "a/only"})
	if m.Injected(ForeignFile) != 1 {
		t.Fatal(m.Injected(ForeignFile))
	}
}

// Spoiled returns the file that a fault of rest changed last, in related file systems too.
func TestSpoiledNamesTheFile(t *testing.T) {
	m := world(t)
	if got := m.Spoiled(BitRot); got != "" {
		t.Errorf("%q is spoiled without a fault", got)
	}
	m.Inject(Injection{Class: BitRot, Path: "a/2*", Seed: 5})
	if got, other := m.Kill().Spoiled(BitRot), m.Spoiled(LostFile); got != "a/2.wal" || other != "" {
		t.Errorf("%q and %q are spoiled", got, other)
	}
}
