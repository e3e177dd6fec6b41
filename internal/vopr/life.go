package vopr

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// runLife runs one life: start, recovery, work, end.
func (w *world) runLife(l *life, final bool) {
	if !w.rise(l) {
		return
	}
	w.await("set-up", clients{w}.setUp)
	if w.halted { // the operator starts it once more
		w.halted, w.starting = false, nil
		w.may.unsynced = w.may.unsynced || w.loose()
		w.again(w.disk.Kill())
		w.await("verify", checker{w}.verify)
		w.await("set-up", clients{w}.setUp)
	}
	if w.x != nil && !w.p.dead && w.failure == nil {
		for _, r := range w.streams.all {
			w.streams.open(r, w.x.Hub())
		}
	}
	for _, e := range l.edges {
		w.await("edge", func() { clients{w}.meet(e) })
	}
	w.inject(l.working)
	w.work(l.commands / 2)
	w.await("compare the trades", checker{w}.checkTapes)
	w.catchUp()
	w.refuse()
	w.strike(l)
	if l.clockStepNs != 0 {
		w.machine.wallNs += l.clockStepNs
		w.stepped = true
		w.mix.Steps++
	}
	w.work(l.commands - l.commands/2)
	if w.failure != nil {
		return
	}
	w.finish(l)
	w.machine.pass(l.pauseNs)
	if final && w.failure == nil {
		w.rise(&life{sync: w.plan.sync, settings: w.settings})
	}
}

// inject arms faults of operations and of cuts.
func (w *world) inject(faults []vfstest.Injection) {
	for _, in := range faults {
		if in.Class == vfstest.ForeignFile || in.Class == vfstest.MixedFile {
			in.From = w.foreign
		}
		w.disk.Inject(in)
	}
}

// rise starts processes until one has recovered, and verifies it. Each crash of a recovery is followed by
// another start.
func (w *world) rise(l *life) bool {
	w.was, w.plan.sync = w.plan.sync, l.sync
	if w.settings != l.settings {
		w.mix.Settings++
	}
	w.settings, w.starting = l.settings, l.starting
	if l.recoveryCut > 0 {
		disk := w.disk
		crash := func(seed uint64) *vfstest.Mem {
			w.noteLies(disk)
			return disk.Crash(seed)
		}
		w.begin()
		w.cutAfter(l.recoveryCut, nil, crash)
		if !w.run(w.risen) && w.failure == nil {
			w.logf("power cut in the recovery")
		}
		if w.failure != nil {
			return false
		}
		w.die(crash, true)
		w.may.unsynced = w.may.unsynced || w.loose()
		w.may.any = w.may.any || w.lied
	}
	w.inject(l.starting)
	w.begin()
	w.run(w.risen)
	w.disk.Disarm()
	if w.up != nil && len(l.starting) > 0 && w.failure == nil {
		w.logf("refused: %v", w.up)
		w.mix.Refusals++
		w.may.unsynced = w.may.unsynced || has(l.starting, vfstest.SyncErrorOld) && w.loose()
		w.again(w.disk.Kill())
	}
	if w.up != nil && w.failure == nil {
		w.refused()
	}
	if w.failure != nil {
		return false
	}
	w.await("verify", checker{w}.verify)
	w.backup = nil
	return w.failure == nil
}

// loose reports whether what was answered may not be synced: by this process, or by the one before.
func (w *world) loose() bool {
	return w.plan.sync != sequencer.SyncAlways || w.was != sequencer.SyncAlways
}

// risen reports whether the start has ended.
func (w *world) risen() bool { return w.x != nil || w.up != nil }

// again starts on another disk.
func (w *world) again(disk *vfstest.Mem) {
	w.p.end()
	w.streams.disconnect()
	w.disk = disk
	w.begin()
	w.run(w.risen)
}

// refused judges the refusal of a start. Where a fault explains it, the operator restores a copy, the disk
// without that fault, or accepts the loss where the refusal offers this. If syncs lied before a power cut, that
// copy may be refused too: the operator accepts the loss, or else restores a copy from before the cut.
func (w *world) refused() {
	if w.backup == nil && !w.lied {
		w.fail("the start was refused: %v", w.up)
		return
	}
	offered := func() bool { return w.up != nil && strings.Contains(w.up.Error(), "--accept-data-loss") }
	w.stale = false
	accept := offered() && w.rnd.IntN(3) == 0
	if accept {
		w.acceptLoss()
	}
	if w.up != nil && !(accept && offered()) && w.backup != nil {
		w.logf("refused, and a copy put back: %v", w.up)
		w.mix.Refusals++
		w.may = w.cutMay
		w.may.any = w.may.any || w.lied
		accept = false // of another directory
		w.again(w.backup)
	}
	if offered() && !accept && w.lied {
		w.acceptLoss()
	}
	if w.up != nil && !offered() && w.lied {
		w.logf("refused, and the directory from before the power cut put back: %v", w.up)
		w.model.forgetEpoch() // an older copy of a whole directory: the program cannot know its age
		w.stale = true
		w.mix.Restored++
		w.may.any, w.lied = true, false
		w.again(w.intact)
	}
	if w.up != nil {
		w.fail("the start from a copy, or with --accept-data-loss, was refused: %v", w.up)
	}
}

// acceptLoss starts with --accept-data-loss.
func (w *world) acceptLoss() {
	w.logf("refused, and the loss accepted: %v", w.up)
	w.mix.Accepted++
	w.accept, w.may.any = true, true
	w.again(w.disk.Kill())
	w.accept = false
	if w.up == nil {
		w.lied = false
	}
}

// noteLies notes before a power cut of a disk whether syncs lied since the one before.
func (w *world) noteLies(disk *vfstest.Mem) {
	if n := disk.Injected(vfstest.LyingSync); n > w.lies {
		w.lies, w.lied = n, true
		disk.Disarm()
		w.intact = disk.Kill()
	}
}

// refusable reports whether a start may refuse the directory that a fault leaves: its data look like
// acknowledged data.
func refusable(c vfstest.Class) bool {
	return c.AtRest() || c == vfstest.TornSector || c == vfstest.GarbageSector
}

// earlierLog reports whether the log lost records without a trace because an earlier content of a file, a segment, was
// put back. A log that was not closed is what its files say: an earlier content of its last file is an earlier log,
// back to the latest start at most, whose end meta.json has. After a power cut the epoch is another one, and after a
// stop the start is refused.
func earlierLog(file string) bool { return path.Ext(file) == ".wal" }

// forgets reports whether a sync of the life fails, and the system forgets what it should have written. Then meta.json
// says that records may be lost: with an earlier content of it no start can know.
func (l *life) forgets() bool {
	return l.strike == vfstest.SyncErrorOld || has(l.working, vfstest.SyncErrorOld)
}

// cutAfter ends the process after a number of file operations: next makes the disk of the next process.
// It is the first one after them that right, unless it is nil, takes.
func (w *world) cutAfter(ops int, right func(op vfstest.Op) bool, next func(seed uint64) *vfstest.Mem) {
	p, disk, seed := w.p, w.disk, w.rnd.Uint64()
	from := disk.Operations()
	disk.After(func(op vfstest.Op) {
		if ok := right == nil || right(op); ok && op.N >= from+ops && !p.dead {
			p.dead = true
			w.disk = next(seed)
		}
		p.atSync(op)
	})
}

// die ends the process now, unless a cut has ended it already.
func (w *world) die(next func(seed uint64) *vfstest.Mem, power bool) {
	if !w.p.dead {
		w.hash()
		w.disk = next(w.rnd.Uint64())
	}
	w.p.end()
	w.mix.Within += w.p.turns
	w.streams.disconnect()
	w.x = nil
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
	if !w.compared { // this process may have other records at the positions of those before it
		return
	}
	w.last, w.sums = 0, nil
	if !w.mark() {
		return
	}
	w.last = w.x.Loop().Position()
	w.machine.pass(int64(time.Second)) // the documents may be older than the views until then
	if len(w.inflight) == 0 && w.mix.Unknown == w.unknown {
		w.sums = w.totals()
	}
	w.tickers = map[string]string{}
	for _, pair := range w.model.pairs {
		v := w.x.Feed().Board().Load().Lookup(pair)
		if v == nil || v.Seq != w.x.Core().LastSeq(v.Instrument.ID) { // the newest commands are not published
			continue
		}
		if a := w.call(nil, "GET", "/api/tickers?currencyPairCode="+pair, ""); a.ok() {
			w.tickers[pair] = a.seq
		}
	}
}

// totals returns what the currencies that the pairs trade have in all, by currency.
func (w *world) totals() map[string]string {
	var rows []json.RawMessage
	if w.call(nil, "GET", internal+"/totals", "").into(&rows) != nil {
		return nil
	}
	all := map[string]string{}
	for _, row := range rows {
		var of struct{ CurrencyCode string }
		if json.Unmarshal(row, &of) == nil && slices.Contains(traded, of.CurrencyCode) {
			all[of.CurrencyCode] = string(row)
		}
	}
	return all
}

// has reports whether a fault has one of the classes.
func has(faults []vfstest.Injection, classes ...vfstest.Class) bool {
	return slices.ContainsFunc(faults, func(in vfstest.Injection) bool { return slices.Contains(classes, in.Class) })
}

// rightOp returns which operation the cut of a life comes after; nil: any. A renaming, where names are reordered: the
// names of a temporary file and of the file are not durable then.
func rightOp(l *life) func(op vfstest.Op) bool {
	switch {
	case l.aim != machine.Market:
		return func(op vfstest.Op) bool { return op.Kind == vfstest.OpWrite && path.Ext(op.Path) == ".wal" }
	case has(l.ending, vfstest.ReorderedNames):
		return func(op vfstest.Op) bool { return op.Kind == vfstest.OpRename }
	default:
		return nil
	}
}

// end returns what makes the disk after the end of a life: with the faults of the end, and beside it a copy
// without those that explain a refusal.
func (w *world) end(l *life) func(seed uint64) *vfstest.Mem {
	disk := w.disk
	next := func(seed uint64) *vfstest.Mem {
		if l.end.power() {
			return disk.Crash(seed)
		}
		return disk.Kill()
	}
	return func(seed uint64) *vfstest.Mem {
		disk.Disarm()
		if l.end.power() {
			w.noteLies(disk)
		}
		w.inject(l.ending)
		were := disk.Injected(vfstest.StaleFile)
		after := next(seed)
		if disk.Injected(vfstest.StaleFile) > were && !l.end.power() {
			file := disk.Spoiled(vfstest.StaleFile)
			w.stale = earlierLog(file) || l.forgets() && path.Base(file) == "meta.json"
		}
		if slices.ContainsFunc(l.ending, func(in vfstest.Injection) bool { return refusable(in.Class) }) {
			disk.Disarm()
			w.backup = next(seed)
		}
		return after
	}
}

// finish ends the life as planned.
func (w *world) finish(l *life) {
	w.mix.Ends[l.end]++
	w.logf("end: %s", l.end)
	w.cutMay = losses{
		unsynced: w.loose() &&
			(l.end.power() || l.forgets()),
		any: (has(l.working, vfstest.LyingSync) || w.disk.Injected(vfstest.LyingSync) > w.lies) && l.end.power(),
	}
	w.may = w.cutMay
	w.may.any = w.may.any || has(l.ending, restClasses...) || has(l.ending, vfstest.GarbageSector) && l.end.power()
	switch l.end {
	case kill, powerCut:
		w.die(w.end(l), l.end.power())
	case killInOp, cutInOp:
		if l.aim != machine.Market && w.quiet() {
			w.only = l.aim
			w.mix.Aimed[l.aim]++
		}
		right := rightOp(l)
		w.cutAfter(l.after, right, w.end(l))
		w.work(50)
		if right != nil {
			w.work(100)
		}
		w.only = machine.Market
		w.last = 0
		w.die(w.end(l), l.end.power())
	case stop, cutInStop:
		stopped := false
		w.p.begin("stop", func() { w.x.Stop(context.Background()); stopped = true })
		if l.end == cutInStop {
			w.cutAfter(l.after, rightOp(l), w.end(l))
		}
		w.run(func() bool { return stopped })
		w.last = 0
		w.die(w.end(l), l.end.power())
	}
}
