package replica_test

import (
	"testing"

	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
	"tickhive/marketdata/replica"
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
			seqs[0]: seqs[0], seqs[1]: seqs[1-damaged], replica.NoLimit: seqs[1-damaged], 0: 0,
		} {
			r, found, err := replica.Load(replica.Options{}, x.dir, limit)
			if err != nil || r.Pos != want || len(found.Damaged) != damaged {
				t.Errorf("limit %d: %v, position %d, want %d; damaged: %v", limit, err, r.Pos, want, found.Damaged)
			}
		}
	}
}
