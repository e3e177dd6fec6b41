package keeper_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
)

// A snapshot beyond the limit is passed over. It counts as damaged only if it is.
func TestLoadReportsDamagedSnapshotsOnly(t *testing.T) {
	x := open(t, vfstest.NewMem(), 1)
	var seqs []uint64
	for range 2 {
		x.trade(50)
		if err := x.keeper.Snapshot(); err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, x.keeper.Covered())
	}
	x.stop()
	name := x.dir.Dir + "/" + wal.SnapshotName(seqs[1])
	for _, damaged := range []int{0, 1} {
		if damaged > 0 {
			x.fs.Flip(name, 200, 1)
		}
		for limit, want := range map[uint64]uint64{
			seqs[0]: seqs[0], seqs[1]: seqs[1-damaged], keeper.NoLimit: seqs[1-damaged], 0: 0,
		} {
			r, found, err := keeper.Load(machine.Options{}, x.dir, limit)
			if err != nil || r.Pos != want || len(found.Damaged) != damaged {
				t.Errorf("limit %d: %v, position %d, want %d; damaged: %v", limit, err, r.Pos, want, found.Damaged)
			}
		}
	}
}

// A body of an earlier or a later format is refused by name.
func TestBodiesOfOtherFormatsAreRefused(t *testing.T) {
	var body bytes.Buffer
	if err := machine.New(machine.Options{}).Write(&body, nil); err != nil {
		t.Fatal(err)
	}
	const format = 3 // behind tag, number and length of the head
	own := body.Bytes()[format]
	for other := range own + 2 {
		body.Bytes()[format] = other
		err := machine.New(machine.Options{}).Read(bytes.NewReader(body.Bytes()))
		says := fmt.Sprintf("body format %d cannot be read by this program, which has %d", other, own)
		if other == own && err != nil || other != own && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("format %d: %v", other, err)
		}
	}
}
