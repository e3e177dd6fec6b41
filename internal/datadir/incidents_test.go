package datadir

import (
	"slices"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// Equal incidents are one with a count, in memory and in meta.json, which does not grow by them. Others stay apart, in
// the order of their newest time, and a list of different ones is bounded.
func TestEqualIncidentsAreOne(t *testing.T) {
	disk := vfstest.NewMem()
	open := func() *Dir {
		d, err := Open(Options{Path: "d", FS: disk, Boot: "b"})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	size := func() int {
		raw, _, err := readFile(disk, "d/meta.json")
		if err != nil {
			t.Fatal(err)
		}
		return len(raw)
	}
	d := open()
	add := func(at int64, kind, message, detail string) {
		if err := d.AddIncident(Incident{AtMs: at, Kind: kind, Message: message, Detail: detail}); err != nil {
			t.Fatal(err)
		}
	}
	add(1000, "restart", "not clean", "recovered 10 commands")
	add(1001, "store", "no changes", "")
	small := size()
	for i := range int64(36) {
		add(1002+i, "restart", "not clean", "recovered 11 commands")
	}
	add(1100, "restart", "another text", "")
	if err := d.Close(false); err != nil {
		t.Fatal(err)
	}
	if d = open(); size() > small+200 {
		t.Errorf("meta.json has grown from %d to %d bytes", small, size())
	}
	want := []Incident{
		{AtMs: 1100, FirstMs: 1100, Count: 1, Kind: "restart", Message: "another text"},
		{
			AtMs: 1037, FirstMs: 1000, Count: 37, Kind: "restart", Message: "not clean",
			Detail: "recovered 11 commands",
		},
		{AtMs: 1001, FirstMs: 1001, Count: 1, Kind: "store", Message: "no changes"},
	}
	if got := d.Incidents(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	for i := range int64(2 * maxIncidents) {
		add(2000+i, "clock", string(rune('a'+i)), "")
	}
	if got := d.Incidents(); len(got) != maxIncidents || got[0].AtMs != 2000+2*maxIncidents-1 {
		t.Errorf("%d incidents, the newest %+v", len(got), got[0])
	}
}
