package vopr

import (
	"math/rand/v2"

	"tickhive/engine/sequencer"
	"tickhive/internal/vfs"
)

// plan holds the choices of a seed, apart from the requests and their order.
type plan struct {
	sync              sequencer.SyncPolicy
	segment, snapshot int64 // bytes
	keepAll           bool
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
	ends
)

var endNames = [ends]string{
	"kill", "power cut", "power cut after an operation", "kill after an operation", "stop",
	"power cut while stopping",
}

func (e end) String() string { return endNames[e] }

// life is one process.
type life struct {
	commands int
	end      end
	after    int // file operations until the end, for the ends that count them
	// recoveryCut is the file operation of the start after which the power is cut, 0: none.
	recoveryCut int
	faults      []vfs.Injection
	pauseNs     int64 // until the next life
}

// cutClasses are the classes of a power cut that a seed draws from. GarbageSector is left out: it takes
// the synced bytes of a sector too, and a log does not know yet how far it was synced.
var cutClasses = []vfs.Class{
	vfs.TornSector, vfs.BlockAtomic, vfs.MiddleVersion, vfs.ReorderedNames, vfs.SkewedDirs,
}

// commandsPerSeed is the least number of commands of a seed, over all logs.
const commandsPerSeed = 2000

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
		l := life{
			commands: commandsPerSeed/n + 1, end: end(rnd.IntN(int(ends))), after: 1 + rnd.IntN(200),
			pauseNs: rnd.Int64N(1 << uint(20+rnd.IntN(24))),
		}
		if rnd.IntN(3) == 0 {
			l.recoveryCut = 1 + rnd.IntN(120)
		}
		for range rnd.IntN(3) {
			l.faults = append(l.faults, vfs.Injection{Class: cutClasses[rnd.IntN(len(cutClasses))],
				Seed: rnd.Uint64()})
		}
		p.lives = append(p.lives, l)
	}
	return p
}
