package vopr

import (
	"context"
	"slices"

	"tickhive/engine/sequencer"
	"tickhive/internal/vfs"
	"tickhive/marketdata/replica"
)

// live runs one life: start, recovery, work, end.
func (w *world) live(l *life, final bool) {
	if !w.rise(l) {
		return
	}
	w.arm(l.faults)
	if len(w.model.users) == 0 {
		w.await("set-up", clients{w}.setUp)
	}
	w.work(l.commands)
	if w.failure != nil {
		return
	}
	w.finish(l)
	w.clock.ns += l.pauseNs
	if final && w.failure == nil {
		w.rise(&life{})
	}
}

// arm injects the faults of a life.
func (w *world) arm(faults []vfs.Injection) {
	w.armed = faults
	for _, in := range faults {
		w.disk.Inject(in)
	}
}

// crash returns the disk after a power cut, and keeps a copy without the faults that explain a refusal.
func (w *world) crash() func(seed uint64) *vfs.Mem {
	disk, armed := w.disk, w.armed
	return func(seed uint64) *vfs.Mem {
		after := disk.Crash(seed)
		if slices.ContainsFunc(armed, func(in vfs.Injection) bool { return refusable(in.Class) }) {
			disk.Disarm()
			w.backup = disk.Crash(seed)
		}
		return after
	}
}

// rise starts processes until one has recovered, and verifies it. Each crash of a recovery is followed by
// another start.
func (w *world) rise(l *life) bool {
	if l.recoveryCut > 0 {
		w.begin()
		w.cutAfter(l.recoveryCut, w.crash())
		if !w.run(func() bool { return w.x != nil || w.up != nil }) && w.failure == nil {
			w.logf("power cut in the recovery")
		}
		if w.failure != nil {
			return false
		}
		w.die(w.crash(), true)
		w.mayLose = w.mayLose || w.plan.sync != sequencer.SyncAlways
	}
	w.begin()
	w.run(func() bool { return w.x != nil || w.up != nil })
	if w.up != nil && w.failure == nil {
		w.refused()
	}
	if w.failure != nil {
		return false
	}
	w.await("verify", checker{w}.verify)
	return w.failure == nil
}

// refused judges the refusal of a start. Where a fault explains it, the operator restores a copy, the disk
// without that fault.
func (w *world) refused() {
	if w.backup == nil {
		w.fail("the start was refused: %v", w.up)
		return
	}
	w.logf("refused: %v", w.up)
	w.mix.Refusals++
	w.p.end()
	w.disk, w.backup = w.backup, nil
	w.begin()
	w.run(func() bool { return w.x != nil || w.up != nil })
	if w.up != nil {
		w.fail("the start from a copy was refused: %v", w.up)
	}
}

// refusable reports whether a start may refuse the directory that a fault leaves: its data look like
// acknowledged data.
func refusable(c vfs.Class) bool {
	return c.OfRest() || c == vfs.TornSector || c == vfs.GarbageSector
}

// cutAfter ends the process after a number of file operations: next makes the disk of the next process.
func (w *world) cutAfter(ops int, next func(seed uint64) *vfs.Mem) {
	p, seed := w.p, w.rnd.Uint64()
	from := w.disk.Total()
	w.disk.After(func(op vfs.Op) {
		if op.N >= from+ops && !p.dead {
			p.dead = true
			w.disk = next(seed)
		}
	})
}

// die ends the process now, unless a cut has ended it already.
func (w *world) die(next func(seed uint64) *vfs.Mem, power bool) {
	if !w.p.dead {
		w.hash()
		w.disk = next(w.rnd.Uint64())
	}
	old := w.x
	w.p.end()
	w.x = nil
	_ = old
	if power {
		w.boot++
	}
	for _, r := range w.inflight {
		r.done(answer{})
		w.mix.Unknown++
	}
	w.inflight = nil
	clear(w.busy)
}

// hash notes the state at the end of a life.
func (w *world) hash() {
	w.last = ""
	if w.x == nil || w.x.Accounts().EnginePos() != w.x.Loop().Position() { // commands wait for the disk
		return
	}
	w.last, w.lastPos = replica.Hash(w.x.Core(), w.x.Feed()).Hash, w.x.Loop().Position()
}

// finish ends the life as planned.
func (w *world) finish(l *life) {
	w.mix.Ends[l.end]++
	power := l.end == powerCut || l.end == cutInOp || l.end == cutInStop
	w.mayLose = power && w.plan.sync != sequencer.SyncAlways
	w.logf("end: %s", l.end)
	killed := func(uint64) *vfs.Mem { return w.disk.Kill() }
	switch l.end {
	case kill:
		w.die(killed, false)
	case powerCut:
		w.die(w.crash(), true)
	case killInOp, cutInOp:
		next := w.crash()
		if l.end == killInOp {
			next = killed
		}
		w.cutAfter(l.after, next)
		w.work(50)
		w.last = ""
		w.die(next, l.end == cutInOp)
	case stop, cutInStop:
		stopped := false
		w.p.begin("stop", func() { w.x.Stop(context.Background()); stopped = true })
		if l.end == cutInStop {
			w.cutAfter(l.after, w.crash())
		}
		w.run(func() bool { return stopped })
		w.last = ""
		if l.end == cutInStop {
			w.die(w.crash(), true)
		} else {
			w.die(killed, false)
		}
	}
}
