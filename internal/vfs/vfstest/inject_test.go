package vfstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
)

// world has two directories with a log of two segments each: synced sectors of 1, in the second
// segments two unsynced sectors of 2 that were 3 in between.
func world(t *testing.T) *Mem {
	t.Helper()
	m := NewMem()
	m.KeepVersions(4)
	for _, dir := range []string{"a", "b"} {
		for _, base := range []string{"1.wal", "2.wal"} {
			f, err := m.Create(dir + "/" + base)
			must(t, err)
			put(t, f, bytes.Repeat([]byte(dir), 16*vfs.SectorBytes), 0)
			must(t, f.Sync())
			put(t, f, bytes.Repeat([]byte{1}, 16*vfs.SectorBytes), 0)
			must(t, f.Sync())
			must(t, m.SyncDir(dir))
			if base == "2.wal" {
				put(t, f, bytes.Repeat([]byte{3}, 2*vfs.SectorBytes), 8*vfs.SectorBytes)
				put(t, f, bytes.Repeat([]byte{2}, 2*vfs.SectorBytes), 8*vfs.SectorBytes)
			}
			must(t, f.Close())
		}
	}
	return m
}

// kinds returns how the sectors of a file look: a digit for a sector of one byte, t for two bytes,
// g for garbage.
func kinds(content []byte) string {
	var s strings.Builder
	for sector := range slices.Chunk(content, vfs.SectorBytes) {
		values := slices.Compact(slices.Sorted(slices.Values(sector)))
		switch len(values) {
		case 1:
			fmt.Fprint(&s, values[0])
		case 2:
			s.WriteByte('t')
		default:
			s.WriteByte('g')
		}
	}
	return s.String()
}

// Each class of a cut adds outcomes that no plain cut has, in files and directories that it is aimed
// at and in no other one, and never in what was synced.
func TestFaultsOfACutHappenWhereTheyAreAimed(t *testing.T) {
	const ones8, ones6 = "11111111", "111111"
	plain := map[string]bool{}
	for _, middle := range []string{"11", "12", "21", "22"} {
		plain[ones8+middle+ones6] = true
	}
	for class, odd := range map[Class]func(string) bool{
		TornSector:    func(s string) bool { return strings.Contains(s[8:10], "t") },
		GarbageSector: func(s string) bool { return strings.Contains(s[8:10], "g") },
		MiddleVersion: func(s string) bool { return strings.Contains(s[8:10], "3") },
	} {
		m := world(t)
		seen := 0
		for seed := range uint64(seeds) {
			m.Inject(Injection{Class: class, Path: "a/*.wal", Seed: seed})
			before := m.Injected(class)
			after := m.Crash(seed)
			for _, calm := range []string{"a/1.wal", "b/1.wal", "b/2.wal"} {
				if got := kinds(after.Content(calm)); !plain[got] {
					t.Fatalf("%s, seed %d: %s is %s", class, seed, calm, got)
				}
			}
			got := kinds(after.Content("a/2.wal"))
			if odd(got) {
				seen++
			} else if !plain[got] {
				t.Fatalf("%s, seed %d: %s", class, seed, got)
			}
			if got[:8]+got[10:] != ones8+ones6 {
				t.Fatalf("%s, seed %d: synced sectors changed: %s", class, seed, got)
			}
			if odd(got) && m.Injected(class) != before+1 {
				t.Fatalf("%s, seed %d: not counted", class, seed)
			}
			if again := kinds(m.Crash(seed).Content("a/2.wal")); !plain[again] {
				t.Fatalf("%s, seed %d: it happened to a second cut: %s", class, seed, again)
			}
		}
		if seen < seeds/8 || m.Injected(class) < seen {
			t.Errorf("%s: %d of %d cuts, counted %d", class, seen, seeds, m.Injected(class))
		}
	}
}

// A plain cut keeps one sector and not the other, and is counted; without unsynced sectors it is not.
func TestSectorsReachTheDiskInAnyOrder(t *testing.T) {
	m := world(t)
	seen := map[string]int{}
	for seed := range uint64(seeds) {
		seen[kinds(m.Crash(seed).Content("a/2.wal"))[8:10]]++
	}
	if len(seen) != 4 || m.Injected(ReorderedSectors) < seen["12"]+seen["21"] {
		t.Fatal(seen, m.Injected(ReorderedSectors))
	}
	synced := m.Crash(0)
	before := synced.Injected(ReorderedSectors)
	synced.Crash(1)
	if synced.Injected(ReorderedSectors) != before {
		t.Fatal("counted without unsynced sectors")
	}
}

// With 4 KiB atomicity the sectors of a block share their fate; garbage takes the whole block.
func TestBlocksAreWholeOrNotAtAll(t *testing.T) {
	m := world(t)
	outcomes := map[string]int{}
	for seed := range uint64(seeds) {
		m.Inject(Injection{Class: BlockAtomic, Path: "a/*"})
		after := m.Crash(seed)
		outcomes[kinds(after.Content("a/2.wal"))[8:10]]++
		outcomes["b "+kinds(after.Content("b/2.wal"))[8:10]]++
	}
	if outcomes["12"]+outcomes["21"] > 0 || outcomes["11"] == 0 || outcomes["22"] == 0 || outcomes["b 12"] == 0 {
		t.Fatal(outcomes)
	}
	if m.Injected(BlockAtomic) != seeds {
		t.Fatal(m.Injected(BlockAtomic))
	}
	whole := 0
	for seed := range uint64(seeds) {
		m.Inject(Injection{Class: BlockAtomic})
		m.Inject(Injection{Class: GarbageSector, Seed: seed})
		switch got := kinds(m.Crash(seed).Content("a/2.wal")); got {
		case "11111111gggggggg":
			whole++
		case "1111111111111111", "1111111122111111":
		default:
			t.Fatalf("seed %d: %s", seed, got)
		}
	}
	if whole < seeds/4 {
		t.Fatal(whole)
	}
}

func TestNamesInAnyOrderAndDirectoriesApart(t *testing.T) {
	names := func(class Class, armed bool) (seen map[string]bool, m *Mem) {
		m, seen = NewMem(), map[string]bool{}
		for _, file := range []string{"a/f", "b/f", "a/g", "b/g"} {
			_, err := m.Create(file)
			must(t, err)
		}
		for seed := range uint64(seeds) {
			if armed {
				m.Inject(Injection{Class: class, Seed: seed})
			}
			seen[strings.Join(m.Crash(seed).Paths(), " ")] = true
		}
		return seen, m
	}
	for class, odd := range map[Class]string{ReorderedNames: "a/g b/f b/g", SkewedDirs: "a/f a/g"} {
		with, m := names(class, true)
		without, plain := names(class, false)
		if !with[odd] || m.Injected(class) == 0 {
			t.Errorf("%s: %v, counted %d", class, with, m.Injected(class))
		}
		if class == ReorderedNames && without[odd] || plain.Injected(class) != 0 {
			t.Errorf("%s without: %v, counted %d", class, without, plain.Injected(class))
		}
	}
}

// Whole loss of one directory beside whole survival of another is rare by chance and usual with
// SkewedDirs.
func TestSkewedDirectoriesDiffer(t *testing.T) {
	split := func(armed bool) (n int) {
		m := NewMem()
		for _, dir := range []string{"a", "b"} {
			for i := range 20 {
				_, err := m.Create(fmt.Sprintf("%s/%d", dir, i))
				must(t, err)
			}
		}
		for seed := range uint64(seeds) {
			if armed {
				m.Inject(Injection{Class: SkewedDirs, Seed: seed})
			}
			after := m.Crash(seed)
			a, err := after.List("a")
			must(t, err)
			b, err := after.List("b")
			must(t, err)
			if len(a)+len(b) == 20 && len(a)*len(b) == 0 {
				n++
			}
		}
		return n
	}
	if with, without := split(true), split(false); with < seeds/20 || without > 0 {
		t.Fatalf("%d with, %d without", with, without)
	}
}

func TestFaultsOfOperations(t *testing.T) {
	for class, want := range map[Class]error{
		ReadError: syscall.EIO, WriteError: syscall.EIO, SyncError: syscall.EIO, SyncErrorOld: syscall.EIO,
		FullDisk: syscall.ENOSPC, LyingSync: nil,
	} {
		m := NewMem()
		use := func(file string) (errs []error, read string) {
			f, err := m.OpenRW(file)
			must(t, err)
			for range 4 {
				buf := make([]byte, 4)
				_, werr := f.WriteAt([]byte("new!"), 0)
				serr := f.Sync()
				_, rerr := f.ReadAt(buf, 0)
				errs, read = append(errs, errors.Join(werr, serr, rerr)), string(buf)
			}
			return errs, read
		}
		for _, file := range []string{"a/f", "b/f"} {
			f, err := m.Create(file)
			must(t, err)
			put(t, f, []byte("old."), 0)
			must(t, f.Sync())
			must(t, m.SyncDir(file[:1]))
		}
		m.Inject(Injection{Class: class, Path: "a/*", After: 1, Count: 2})
		errs, _ := use("a/f")
		for i, err := range errs {
			if fails := i == 1 || i == 2; fails && !errors.Is(err, want) || !fails && err != nil {
				t.Errorf("%s: round %d: %v", class, i, err)
			}
		}
		if errs, read := use("b/f"); errors.Join(errs...) != nil || read != "new!" {
			t.Errorf("%s hit another file: %v, %q", class, errs, read)
		}
		if m.Injected(class) != 2 {
			t.Errorf("%s: counted %d", class, m.Injected(class))
		}
	}
}

// A failed sync keeps or drops the pages; a lying one keeps them until the cut.
func TestAfterABadSync(t *testing.T) {
	for class, read := range map[Class]string{SyncError: "new!", SyncErrorOld: "old.", LyingSync: "new!"} {
		m := NewMem()
		f := create(t, m)
		put(t, f, []byte("old."), 0)
		must(t, f.Sync())
		put(t, f, []byte("new!"), 0)
		m.Inject(Injection{Class: class, Count: -1})
		if err := f.Sync(); (err == nil) != (class == LyingSync) {
			t.Errorf("%s: %v", class, err)
		}
		if got := string(m.Content(name)); got != read {
			t.Errorf("%s: reads return %q", class, got)
		}
		lost := 0
		for seed := range uint64(40) {
			if string(m.Crash(seed).Content(name)) == "old." {
				lost++
			}
		}
		m.Disarm()
		must(t, f.Sync())
		if lost == 0 || class == LyingSync && string(m.Crash(1).Content(name)) != "new!" {
			t.Errorf("%s: %d of 40 cuts lost it", class, lost)
		}
	}
	// A directory: the name that was reported durable is gone.
	m := NewMem()
	m.Inject(Injection{Class: LyingSync, Path: "d"})
	create(t, m)
	gone := 0
	for seed := range uint64(40) {
		if len(m.Crash(seed).Paths()) == 0 {
			gone++
		}
	}
	if must(t, m.SyncDir("d")); gone == 0 || len(m.Crash(0).Paths()) != 1 {
		t.Errorf("%d of 40 cuts lost the name", gone)
	}
}

// A full disk and an error of a write leave a part of the write, which the seed chooses.
func TestFailingWritesReachTheFileInPart(t *testing.T) {
	for _, class := range []Class{FullDisk, WriteError} {
		sizes := map[int]bool{}
		for seed := range uint64(60) {
			m := NewMem()
			f := create(t, m)
			m.Inject(Injection{Class: class, Seed: seed})
			n, err := f.WriteAt(bytes.Repeat([]byte{7}, 3*vfs.SectorBytes), 0)
			if err == nil || n > 3*vfs.SectorBytes {
				t.Fatal(n, err)
			}
			sizes[bytes.Count(m.Content(name), []byte{7})] = true
		}
		if len(sizes) < 10 {
			t.Errorf("%s: %v", class, sizes)
		}
	}
}

// A full disk does not tear a sector that the file has: it takes the new content or keeps the old one.
func TestAFullDiskKeepsSectorsOfTheFileWhole(t *testing.T) {
	tear := func(class Class, seed uint64) bool {
		m := NewMem()
		f := create(t, m)
		must(t, f.Preallocate(0, 4*vfs.SectorBytes))
		m.Inject(Injection{Class: class, Seed: seed})
		if _, err := f.WriteAt(bytes.Repeat([]byte{7}, 2*vfs.SectorBytes), vfs.SectorBytes); err == nil {
			t.Fatal("no error")
		}
		return bytes.Count(m.Content(name), []byte{7})%vfs.SectorBytes != 0
	}
	torn := map[Class]int{}
	for _, class := range []Class{FullDisk, WriteError} {
		for seed := range uint64(60) {
			if tear(class, seed) {
				torn[class]++
			}
		}
	}
	if torn[FullDisk] != 0 || torn[WriteError] == 0 {
		t.Errorf("torn sectors: %v", torn)
	}
}

// The same injections into the same operations do the same.
func TestInjectionsAreDeterministic(t *testing.T) {
	run := func() string {
		m := world(t)
		for c := range Classes {
			if c != FullDisk && c != ReadError {
				m.Inject(Injection{Class: c, After: int(c), AtCut: c%2 == 0, Seed: 3})
			}
		}
		f, err := m.OpenRW("b/2.wal")
		must(t, err)
		for i := range int64(20) {
			_, _ = f.WriteAt([]byte("text"), i*300)
			_ = f.Sync()
		}
		after := m.Crash(9)
		var all strings.Builder
		for _, name := range after.Paths() {
			fmt.Fprintf(&all, "%s %x\n", name, after.Content(name))
		}
		for c := range Classes {
			fmt.Fprintln(&all, c, m.Injected(c), after.Injected(c))
		}
		return all.String()
	}
	if a, b := run(), run(); a != b {
		t.Fatal("two runs differ")
	}
}

// A read error passes: the bytes are there for the next read.
func TestAReadErrorPasses(t *testing.T) {
	m := world(t)
	f, err := m.Open("a/1.wal")
	must(t, err)
	m.Inject(Injection{Class: ReadError})
	buf := make([]byte, vfs.SectorBytes)
	if n, err := f.ReadAt(buf, 0); n != 0 || !errors.Is(err, syscall.EIO) {
		t.Fatal(n, err)
	}
	if n, err := f.ReadAt(buf, 0); n != vfs.SectorBytes || (err != nil && !errors.Is(err, io.EOF)) {
		t.Fatal(n, err)
	}
}
