package sequencer

import "tickhive/internal/clock"

// times is the time of the commands. The loop's goroutine owns it.
type times struct {
	clk    clock.Clock
	manual *clock.Manual // nil with a real clock
	lastNs int64         // no later command has an earlier time: of the last command, or published since
}

// stamp gives every command of the slice its time. A stamped batch whose times go back is refused
// whole; the others go on.
func (t *times) stamp(batches []*Batch) []*Batch {
	kept := batches[:0]
	last, now := t.lastNs, t.clk.NowNs() // one reading for the slice: it costs about 80 ns
	for _, b := range batches {
		if len(b.Commands) == 0 {
			b.answer(nil)
			continue
		}
		if b.Stamped {
			if b.begun == 0 && !t.acceptStamps(b, last) {
				b.answer(ErrTimeBack)
				continue
			}
			last = b.Commands[b.to-1].TimeNs
		} else {
			last = max(last, now)
			for i := b.begun; i < b.to; i++ {
				b.Commands[i].TimeNs = last
			}
		}
		kept = append(kept, b)
	}
	return kept
}

func (t *times) acceptStamps(b *Batch, last int64) bool {
	if t.manual != nil {
		last = max(last, t.manual.NowNs())
	}
	for i := range b.Commands {
		if b.Commands[i].TimeNs < last {
			return false
		}
		last = b.Commands[i].TimeNs
	}
	return true
}

// catchUp moves a virtual clock to the time of the newest command, so that time never goes back.
func (t *times) catchUp() {
	if t.manual != nil && t.lastNs > t.manual.NowNs() {
		t.manual.Set(t.lastNs)
	}
}
