package wal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// Options out of range are refused by everything that takes options, before it touches a file.
func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	load := func(SnapshotMeta, io.Reader) error { return nil }
	for what, do := range map[string]func(fsys vfs.FS, opts Options) error{
		"Open": func(fsys vfs.FS, opts Options) error {
			_, err := Open(fsys, testDir, opts)
			return err
		},
		"Create": func(fsys vfs.FS, opts Options) error {
			_, err := Create(fsys, testDir, opts, Position{})
			return err
		},
		"OpenReader": func(fsys vfs.FS, opts Options) error {
			_, err := OpenReader(fsys, testDir, opts, 0)
			return err
		},
		"Check": func(fsys vfs.FS, opts Options) error {
			_, err := Check(fsys, testDir, opts, discard)
			return err
		},
		"LoadNewest": func(fsys vfs.FS, opts Options) error {
			_, err := LoadNewest(fsys, testDir, opts, load)
			return err
		},
		"WriteSnapshot": func(fsys vfs.FS, opts Options) error {
			return WriteSnapshot(fsys, testDir, opts, SnapshotMeta{Chain: 1}, writeText(""))
		},
	} {
		for want, opts := range map[string]Options{
			"segment size 255 is below 256 bytes":                    {SegmentBytes: 255},
			`writer "TickHive 1234567890.1" is longer than 20 bytes`: {Writer: "TickHive 1234567890.1"},
		} {
			fsys := vfstest.NewMem()
			if err := do(fsys, opts); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", what, err, want)
			}
			if n := fsys.Operations(); n > 0 {
				t.Errorf("%s: %d operations", what, n)
			}
		}
	}
	opts := Options{SegmentBytes: 256, Writer: "TickHive 1234567890.", MaxRecord: MaxRecord, PreallocBytes: -1}
	must(t, opts.Validate())
	if opts.SegmentBytes != 256 || opts.Writer != "TickHive 1234567890." || opts.MaxRecord != MaxRecord ||
		opts.PreallocBytes != 0 {
		t.Errorf("%+v", opts)
	}
	for _, n := range []int{-1, 0, MaxRecord + 1} {
		opts := Options{MaxRecord: n}
		must(t, opts.Validate())
		if opts.MaxRecord != MaxRecord || opts.SegmentBytes != 64<<20 || opts.PreallocBytes != 1<<20 ||
			opts.RecordVersion != 1 || opts.Writer != "TickHive" {
			t.Errorf("the defaults: %+v", opts)
		}
	}
}

// The name of a log is the last element of its directory's path; 16 bytes of it count.
func TestTheNameOfALog(t *testing.T) {
	fsys := vfstest.NewMem()
	for dir, name := range map[string]string{
		"a/0123456789abcdef": "0123456789abcdef", "a/0123456789abcdefgh": "0123456789abcdef", "b/engine": "engine",
	} {
		l, err := Open(fsys, dir, Options{})
		must(t, err)
		must(t, l.Close())
		for _, other := range []string{name, "another"} {
			_, err := Open(fsys, dir, Options{Name: other, Identity: Identity{History: ID{1}}})
			var foreign *CorruptError
			if !errors.As(err, &foreign) || !foreign.Foreign {
				t.Fatalf("%s: %v", dir, err)
			}
			if byName := strings.Contains(foreign.Reason, "the log "); byName != (other != name) {
				t.Errorf("%s as %s: %v", dir, other, err)
			}
		}
	}
}

func TestIdentities(t *testing.T) {
	id, err := NewID(strings.NewReader("0123456789abcdef and more"))
	must(t, err)
	const text = "30313233343536373839616263646566"
	if id.String() != text {
		t.Errorf("%s", id)
	}
	if id, err := NewID(strings.NewReader("0123456789abcde")); !errors.Is(err, io.ErrUnexpectedEOF) || id != (ID{}) {
		t.Errorf("from 15 bytes: %s, %v", id, err)
	}
	b, err := json.Marshal(id)
	must(t, err)
	var again ID
	if err := json.Unmarshal(b, &again); err != nil || again != id || !bytes.Contains(b, []byte(text)) {
		t.Errorf("%s, then %s, %v", b, again, err)
	}
	for _, bad := range []string{"", text[2:], text + "00", text + "0", strings.Replace(text, "3", "x", 1)} {
		again := id
		if err := again.UnmarshalText([]byte(bad)); err == nil || !strings.Contains(err.Error(), "not 32 hexadecimal") {
			t.Errorf("%q: %v", bad, err)
		}
		if again != id {
			t.Errorf("%q changed the identity to %s", bad, again)
		}
	}
}

// A log is made behind a position: its first record has the next sequence, and continues the chain.
func TestALogIsMadeBehindAPosition(t *testing.T) {
	opts := Options{PreallocBytes: -1, Identity: Identity{History: ID{7}, Directory: ID{8}}}
	whole := vfstest.NewMem()
	l := mustOpen(t, whole, opts)
	appendN(t, l, 4)
	middle := l.Position()
	appendN(t, l, 3)
	end := l.Position()
	must(t, l.Close())

	for _, from := range []Position{middle, {Seq: 4}} {
		fsys := vfstest.NewMem()
		l, err := Create(fsys, testDir, opts, from)
		must(t, err)
		if start := chainStart(ID{7}, "log", 4); from.Chain == 0 && l.Position().Chain != start {
			t.Errorf("a chain begins with %x, want %x", l.Position().Chain, start)
		}
		if l.LastSeq() != 4 || l.DurableSeq() != 4 || l.Recovered().FirstSeq != 5 || l.Recovered().LastSeq != 4 {
			t.Errorf("new: ends at %d, durable %d, %+v", l.LastSeq(), l.DurableSeq(), l.Recovered())
		}
		checkContent(t, fsys.Crash(1), opts, 5, 4) // it is durable
		appendN(t, l, 3)
		if got := l.Position(); got.Seq != 7 || (got.Chain == end.Chain) != (from == middle) {
			t.Errorf("behind %+v the log ends at %+v, the whole one at %+v", from, got, end)
		}
		must(t, l.Close())
		checkContent(t, fsys, opts, 5, 7)
		again := mustOpen(t, fsys, opts)
		appendN(t, again, 1)
		must(t, again.Close())
		checkContent(t, fsys, opts, 5, 8)
		if name := path.Join(testDir, segmentName(1)); len(fsys.Content(name)) == 0 {
			t.Errorf("no file %s", name)
		}
	}
	eachCall(t, vfstest.NewMem(), func(fsys vfs.FS) (Position, error) {
		l, err := Create(fsys, testDir, opts, middle)
		if err != nil {
			return Position{}, err
		}
		return l.Position(), l.Close()
	})
}
