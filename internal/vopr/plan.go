package vopr

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// plan holds the choices of a seed, apart from the requests and their order.
type plan struct {
	sync              sequencer.SyncPolicy // of the present life
	segment, snapshot int64                // bytes
	keepAll           bool
	virtual           bool           // clock
	digits            map[string]int // of the currencies that the pairs trade
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
	sync        sequencer.SyncPolicy
	settings    int           // see world.configure
	aim         machine.Part  // the end comes right after a write of records of this part; Market: of any operation
	strike      vfstest.Class // of operations, in a record of the part struck; 0: none
	struck      machine.Part
	strikeAfter int
	starting    []vfstest.Injection // faults of operations during the start
	working     []vfstest.Injection // faults of operations during the work
	ending      []vfstest.Injection // faults of the cut, and of files at rest after it
	pauseNs     int64               // until the next life
	clockStepNs int64               // step of the machine's clock during the work
	edges       []edge              // that it meets at its beginning
}

// commandsPerSeed is the least number of commands of a seed, of all parts.
const commandsPerSeed = 2000

// places are the paths that faults aim at.
var places = []string{
	"d/engine/*", "d/engine/*.wal", "d/engine/*.wal", "d/engine/*.snap", "d/engine/*.snap", "d/*", "d/meta.json", "",
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
	strikeClasses = []vfstest.Class{
		vfstest.FullDisk, vfstest.FullDisk, vfstest.WriteError, vfstest.WriteError,
		vfstest.SyncError, vfstest.SyncErrorOld,
	}
)

var syncPolicies = [3]sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways, sequencer.SyncOff}

func newPlan(rnd *rand.Rand) plan {
	p := plan{
		sync: []sequencer.SyncPolicy{
			sequencer.SyncAlways, sequencer.SyncAlways, sequencer.SyncAlways, sequencer.SyncInterval,
			sequencer.SyncInterval, sequencer.SyncOff,
		}[rnd.IntN(6)],
		segment: 8192 << rnd.IntN(4), snapshot: 6000 << rnd.IntN(4), keepAll: rnd.IntN(4) == 0,
		digits: map[string]int{"AA": 4 + rnd.IntN(6), "BB": 4 + rnd.IntN(15), "CC": 18, "USDT": 6 + rnd.IntN(5)},
	}
	n := 4 + rnd.IntN(3)
	for range n {
		p.lives = append(p.lives, newLife(rnd, commandsPerSeed/n+1))
	}
	sync, settings := p.sync, 0
	for i := range p.lives {
		l := &p.lives[i]
		if rnd.IntN(6) == 0 {
			sync = syncPolicies[rnd.IntN(3)]
		}
		if i > 0 && len(l.starting) == 0 && rnd.IntN(3) == 0 { // a start without room keeps the settings before
			settings = rnd.IntN(4)
		}
		l.sync, l.settings = sync, settings
	}
	return p
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
	if rnd.IntN(4) == 0 && !has(l.ending, vfstest.ReorderedNames) {
		l.end, l.aim, l.after = []end{killInOp, cutInOp}[rnd.IntN(2)], machine.Part(1+rnd.IntN(3)), 1+rnd.IntN(60)
	}
	if rnd.IntN(4) == 0 {
		l.strike, l.strikeAfter = strikeClasses[rnd.IntN(len(strikeClasses))], rnd.IntN(4)
		l.struck = machine.Part(rnd.IntN(int(machine.Parts)))
	}
	if rnd.IntN(3) == 0 {
		l.edges = append(l.edges, edge(rnd.IntN(edges)))
	}
	if rnd.IntN(6) == 0 {
		l.clockStepNs = int64(time.Millisecond) << rnd.IntN(28) * (rnd.Int64N(2)*2 - 1)
	}
	return l
}
