package vopr

import (
	"math/rand/v2"
	"slices"
	"time"

	"tickhive/engine/sequencer"
	"tickhive/internal/vfs/vfstest"
)

// plan holds the choices of a seed, apart from the requests and their order.
type plan struct {
	sync              sequencer.SyncPolicy
	segment, snapshot int64 // bytes
	keepAll           bool
	virtual           bool // clock
	lives             []life
}

// end is the way in which a life ends.
type end uint8

const (
	kill     end = iota // kill -9
	powerCut            // between two steps
	cutInOp             // power cut right after a file operation
	killInOp            // kill -9 right after a file operation
	stop                // in order
	cutInStop
)

// ends is the number of ways.
const ends = int(cutInStop) + 1

var endNames = [ends]string{
	"kill", "power cut", "power cut after an operation", "kill after an operation", "stop", "power cut while stopping",
}

func (e end) String() string { return endNames[e] }

func (e end) power() bool { return e == powerCut || e == cutInOp || e == cutInStop }

// life is one process.
type life struct {
	commands int
	end      end
	after    int // file operations until the end, for the ends that count them
	// recoveryCut is the file operation of the start after which the power is cut, 0: none.
	recoveryCut int
	// ahead cuts the power right after a write of a record of the accounts, so that it may be ahead of the journal.
	ahead bool
	// snapshotKill ends the start by kill -9 when the accounts have their first snapshot of it.
	snapshotKill bool
	// spoilNewest aims the damage of the end at the newest snapshot of the accounts.
	spoilNewest bool
	starting    []vfstest.Injection // faults of operations during the start
	working     []vfstest.Injection // faults of operations during the work
	ending      []vfstest.Injection // faults of the cut, and of files at rest after it
	pauseNs     int64               // until the next life
	clockStepNs int64               // step of the machine's clock during the work
}

// commandsPerSeed is the least number of commands of a seed, over all logs.
const commandsPerSeed = 2000

// places are the paths that faults aim at.
var places = []string{
	"d/engine/*", "d/accounts/*", "d/*", "d/engine/*.snap", "d/accounts/*.snap", "d/*/*.wal", "d/*/*", "",
}

// The classes that a seed draws from.
var (
	cutClasses = []vfstest.Class{
		vfstest.TornSector, vfstest.GarbageSector, vfstest.BlockAtomic, vfstest.MiddleVersion,
		vfstest.ReorderedNames, vfstest.SkewedDirs,
	}
	restClasses = []vfstest.Class{
		vfstest.BitRot, vfstest.LostFile, vfstest.StaleFile, vfstest.ForeignFile, vfstest.MixedFile,
	}
	startClasses = []vfstest.Class{
		vfstest.ReadError, vfstest.WriteError, vfstest.SyncError, vfstest.SyncErrorOld, vfstest.FullDisk,
	}
	workClasses = []vfstest.Class{
		vfstest.ReadError, vfstest.WriteError, vfstest.SyncError, vfstest.SyncErrorOld, vfstest.LyingSync,
		vfstest.FullDisk,
	}
)

func newPlan(rnd *rand.Rand) plan {
	p := plan{
		sync: []sequencer.SyncPolicy{
			sequencer.SyncAlways, sequencer.SyncAlways, sequencer.SyncAlways, sequencer.SyncInterval,
			sequencer.SyncInterval, sequencer.SyncOff,
		}[rnd.IntN(6)],
		segment: 8192 << rnd.IntN(4), snapshot: 6000 << rnd.IntN(4), keepAll: rnd.IntN(4) == 0,
	}
	n := 4 + rnd.IntN(3)
	for range n {
		p.lives = append(p.lives, newLife(rnd, commandsPerSeed/n+1))
	}
	if rnd.IntN(8) == 0 {
		p.leaveAhead(rnd)
	}
	return p
}

// leaveAhead plans what chance hardly combines: a power cut that leaves records of the accounts ahead of the journal, a
// kill of the next start between the two snapshots that it then takes, mostly, and a damaged newest snapshot at the
// start after it.
func (p *plan) leaveAhead(rnd *rand.Rand) {
	if p.sync == sequencer.SyncAlways {
		p.sync = sequencer.SyncInterval
	}
	p.snapshot = 1 << 20 // no other snapshot comes between
	at := rnd.IntN(len(p.lives) - 1)
	first, second := &p.lives[at], &p.lives[at+1]
	first.ahead, first.end, first.after, first.working = true, cutInOp, 1+rnd.IntN(100), nil
	first.ending = []vfstest.Injection{
		{Class: vfstest.SkewedDirs, Path: "d/accounts", Count: 1, Keep: 1, AtCut: true},
		{Class: vfstest.SkewedDirs, Path: "d/engine", Count: 1, Keep: -1, AtCut: true},
	}
	*second = life{
		commands: 20 + rnd.IntN(60), end: kill, snapshotKill: rnd.IntN(4) > 0, spoilNewest: true,
		pauseNs: second.pauseNs,
		ending: []vfstest.Injection{{
			Class: vfstest.BitRot, Count: 1, Seed: rnd.Uint64(), AtCut: true,
		}},
	}
	p.lives[len(p.lives)-1].commands += first.commands // as many as without it
}

func newLife(rnd *rand.Rand, commands int) life {
	l := life{
		commands: commands, end: end(rnd.IntN(ends)), after: 1 + rnd.IntN(200),
		pauseNs: rnd.Int64N(1 << uint(20+rnd.IntN(24))),
	}
	if rnd.IntN(8) == 0 { // trades leave the 24 h window
		l.pauseNs += int64(22*time.Hour) + rnd.Int64N(int64(4*time.Hour))
	}
	if rnd.IntN(3) == 0 {
		l.recoveryCut = 1 + rnd.IntN(120)
	}
	draw := func(classes []vfstest.Class, after int) vfstest.Injection {
		in := vfstest.Injection{
			Class: classes[rnd.IntN(len(classes))], Path: places[rnd.IntN(len(places))], Count: 1, Seed: rnd.Uint64(),
			AtCut: after == 0,
		}
		if after > 0 {
			in.After = rnd.IntN(after)
		}
		if in.Class.OfCut() {
			in.Path = ""
		}
		if rnd.IntN(3) == 0 && (in.Class == vfstest.LyingSync || in.Class == vfstest.FullDisk) {
			in.Count = 1 + rnd.IntN(30)
		}
		return in
	}
	for range rnd.IntN(3) {
		l.ending = append(l.ending, draw(cutClasses, 0))
	}
	if slices.ContainsFunc(l.ending, func(in vfstest.Injection) bool { return in.Class == vfstest.ReorderedNames }) {
		l.end = cutInOp // right after a change of a name, which is durable soon
	}
	if rnd.IntN(3) == 0 {
		l.ending = append(l.ending, draw(restClasses, 0))
	}
	if rnd.IntN(6) == 0 {
		l.starting = append(l.starting, draw(startClasses, 30))
	}
	for range rnd.IntN(6) / 4 {
		l.working = append(l.working, draw(workClasses, 150))
	}
	if rnd.IntN(6) == 0 {
		l.clockStepNs = int64(time.Millisecond) << rnd.IntN(28) * (rnd.Int64N(2)*2 - 1)
	}
	return l
}
