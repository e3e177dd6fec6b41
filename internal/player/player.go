package player

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/fixed"
)

// ErrBack ends a run whose recording begins again, because somebody wants a time that has passed.
var ErrBack = errors.New("the recording begins again")

// Refusals of commands. Their texts are for the person who gave the command.
var (
	ErrEnded = errors.New("the recording has ended: seek to an earlier time")
	ErrLoop  = errors.New("a looped replay has no beginning and no end: start it without --loop")
	ErrKept  = errors.New("the records of this replay are kept in its data directory, and a log does not go back: " +
		"start the replay without --data-dir")
)

// OutsideError refuses a time that the recording does not have.
type OutsideError struct{ BeginNs, EndNs int64 }

// Error names the first and the last time.
func (e *OutsideError) Error() string {
	return fmt.Sprintf("the recording lasts from %s to %s", text(e.BeginNs), text(e.EndNs))
}

func text(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z") }

// Speed is a factor relative to the recording, in thousandths; Max is as fast as possible.
type Speed int64

// Max is as fast as possible.
const Max Speed = 0

// Speeds have at most three decimals. The bound keeps products with it within 64 bits.
const (
	speedUnit = 1000
	MaxSpeed  = 1_000_000
)

// ParseSpeed reads "max", or a factor from 0.001 to MaxSpeed with at most three decimals.
func ParseSpeed(s string) (Speed, error) {
	if s == "max" {
		return Max, nil
	}
	whole, part, _ := strings.Cut(s, ".")
	n, err := strconv.ParseUint(whole, 10, 32)
	thousandths, err2 := strconv.ParseUint(part+"000"[:max(0, 3-len(part))], 10, 32)
	v := Speed(n*speedUnit + thousandths)
	if err != nil || err2 != nil || len(part) > 3 || strings.HasSuffix(s, ".") || v <= 0 || v > MaxSpeed*speedUnit {
		return 0, fmt.Errorf("speed %.20q: want max, or a number from 0.001 to %d with at most three decimals", s,
			MaxSpeed)
	}
	return v, nil
}

// String returns the text that ParseSpeed reads.
func (s Speed) String() string {
	if s == Max {
		return "max"
	}
	t := fmt.Sprintf("%d.%03d", s/speedUnit, s%speedUnit)
	return strings.TrimSuffix(strings.TrimRight(t, "0"), ".")
}

// Recording describes what is played.
type Recording struct {
	Format  string
	Files   []string // names without folders
	Pair    string
	BeginNs int64 // market time of the start, Unix ns
	EndNs   int64 // of the last record
	Total   int   // records of one pass
	Loop    bool
	Book    bool // it has orders or levels, not trades alone
	Kept    bool // its records are kept on a disk
}

// Counts counts what a run has done.
type Counts struct {
	Records                 uint64
	Orders, Trades, Refused uint64 // as of the last time that the run was at rest
}

// Status is what a recording does.
type Status uint8

// The states of a player.
const (
	Playing Status = iota
	Paused
	Seeking // on its way to a time or over a number of records, at full speed
	Ended
)

// String returns the word of the API.
func (s Status) String() string { return [...]string{"playing", "paused", "seeking", "ended"}[s] }

// State is what a person sees of a recording.
type State struct {
	Recording
	Counts
	Status   Status
	Speed    Speed
	Playing  bool  // it plays once it is where it goes to
	TimeNs   int64 // reached market time, Unix ns
	TargetNs int64 // where it goes to; 0: nowhere, or over a number of records
	Backs    int   // how often the recording began again
}

// Player decides when a recording goes on. New makes one.
type Player struct {
	what      Recording
	machineNs func() int64
	wake      chan struct{} // a command has come
	left      chan struct{} // closed by Leave
	leave     sync.Once

	mu      sync.Mutex
	rested  chan struct{} // closed and replaced when the run rests
	counts  Counts
	speed   Speed
	playing bool
	timeNs  int64
	target  int64  // 0: none
	steps   uint64 // records to feed before a pause
	back    bool
	ended   bool
	resting bool // the run waits, everything up to timeNs is done, and no command has come since
	backs   int

	// The speed counts from here, if anchored.
	anchored            bool
	machineAt, marketAt int64
	dueNs               int64 // the record that waits for its time; 0: none does
}

// New returns a player at the beginning of a recording. machineNs reads a steady clock; nil: the machine's.
func New(r Recording, speed Speed, playing bool, machineNs func() int64) *Player {
	if machineNs == nil {
		machineNs = clock.MachineNs
	}
	return &Player{
		what: r, machineNs: machineNs, wake: make(chan struct{}, 1), rested: make(chan struct{}),
		left: make(chan struct{}), speed: speed, playing: playing, timeNs: r.BeginNs,
	}
}

// Begin begins a run at the beginning of the recording.
func (p *Player) Begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.back {
		p.backs++
	}
	p.counts, p.timeNs = Counts{}, p.what.BeginNs
	p.back, p.ended, p.resting, p.anchored, p.dueNs = false, false, false, false, 0
}

// atRest notes that the run rests. The caller holds the lock.
func (p *Player) atRest() {
	p.resting = true
	close(p.rested)
	p.rested = make(chan struct{})
}

// Rest completes everything that a run has begun, and sets the market's clock to ns unless it is later. It returns the
// counts.
type Rest func(ns int64) (Counts, error)

// stepNs is the machine time between two advances of the market's clock while the next record is not due, so that
// windows and clocks move for readers.
const stepNs = int64(50 * time.Millisecond)

// Due returns when the record at the market time ns is to be fed. more says that this is a part of a record whose other
// parts follow: a step ends with the last one. hurried reports that the record is fed at full speed. Errors: ErrBack,
// those of Rest, and the end of ctx.
func (p *Player) Due(ctx context.Context, ns int64, more bool, rest Rest) (hurried bool, err error) {
	for {
		d := p.look(ns, more)
		if d.restNs == 0 || d.err != nil {
			return d.hurried, d.err
		}
		counts, err := rest(d.restNs)
		if err != nil {
			return false, err
		}
		p.restedAt(d.restNs, counts)
		if err := p.wait(ctx, d.wait); err != nil {
			return false, err
		}
	}
}

// decision says what to do before a record.
type decision struct {
	err     error
	hurried bool
	restNs  int64         // rest at this market time; 0: the record is due
	wait    time.Duration // then wait, but not longer than until the next command; 0: do not wait
}

// forever is a wait that a command alone ends.
const forever = time.Duration(1<<63 - 1)

func (p *Player) look(ns int64, more bool) decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := decision{hurried: p.target != 0 || p.playing && p.speed == Max && p.steps == 0}
	switch {
	case p.back:
		return decision{err: ErrBack}
	case p.target != 0 && ns > p.target:
		return decision{restNs: p.target}
	case p.target != 0:
	case p.steps > 0 && more:
	case p.steps > 0:
		p.steps--
	case !p.playing:
		return decision{restNs: p.timeNs, wait: forever}
	case p.speed != Max:
		if at, wait := p.pace(ns); wait > 0 {
			return decision{restNs: at, wait: wait}
		}
	}
	p.timeNs, p.resting, p.dueNs = max(p.timeNs, ns), false, 0
	if !more {
		p.counts.Records++
	}
	return d
}

// pace returns the market time that is reached now, and how long to wait until the record at ns is due, at most stepNs.
func (p *Player) pace(ns int64) (atNs int64, wait time.Duration) {
	now := p.machineNs()
	if !p.anchored {
		p.anchored, p.machineAt, p.marketAt = true, now, p.timeNs
	}
	passed, due := now-p.machineAt, scale(ns-p.marketAt, speedUnit, int64(p.speed))
	if passed >= due {
		return 0, 0
	}
	p.dueNs = ns
	return p.reached(now), time.Duration(min(due-passed, stepNs))
}

// reached returns the market time at a machine time before the record at dueNs is due.
func (p *Player) reached(now int64) int64 {
	at := p.marketAt + scale(now-p.machineAt, int64(p.speed), speedUnit)
	return max(min(at, p.dueNs-1), p.timeNs)
}

// scale returns v x num / den with a product of 128 bits; v below 0 counts as 0.
func scale(v, num, den int64) int64 {
	q, _ := fixed.Mul64(uint64(max(v, 0)), uint64(num)).DivMod64(uint64(den))
	if q.Hi != 0 || q.Lo > 1<<62 {
		return 1 << 62
	}
	return int64(q.Lo)
}

// restedAt notes that the run rests at ns.
func (p *Player) restedAt(ns int64, counts Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts, p.timeNs = counts, max(p.timeNs, ns)
	if p.target != 0 && p.timeNs >= p.target {
		p.target, p.anchored = 0, false
	}
	if p.target == 0 && p.steps == 0 && !p.back {
		p.atRest()
	}
}

// wait waits for a command, at most for the time d.
func (p *Player) wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("replay: %w", ctx.Err())
	case <-p.wake:
	case <-timer.C:
	}
	return nil
}

// End says that the run has no further records, and is complete.
func (p *Player) End(counts Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts, p.timeNs = counts, max(p.timeNs, p.what.EndNs)
	p.ended, p.steps = true, 0
	if !p.back {
		p.target, p.playing = 0, false // a seek back stands where it lands
	}
	p.atRest()
}

// AwaitBack returns ErrBack when somebody wants an earlier time after the end, or the end of ctx.
func (p *Player) AwaitBack(ctx context.Context) error {
	for {
		p.mu.Lock()
		back := p.back
		p.mu.Unlock()
		if back {
			return ErrBack
		}
		if err := p.wait(ctx, forever); err != nil {
			return err
		}
	}
}

// State returns what a person sees.
func (p *Player) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{
		Recording: p.what, Counts: p.counts, Speed: p.speed, Playing: p.playing, TimeNs: p.timeNs,
		TargetNs: p.target, Backs: p.backs,
	}
	switch {
	case p.back || p.target != 0 || p.steps > 0:
		s.Status = Seeking
	case p.ended:
		s.Status = Ended
	case !p.playing:
		s.Status = Paused
	}
	return s
}

// settle is the longest time that a command waits until it is carried out; longer work goes on behind its answer.
const settle = time.Second

// command changes the player, and waits until the run has carried the change out.
func (p *Player) command(change func() error) error {
	p.mu.Lock()
	if p.anchored && p.dueNs != 0 { // the time since the last rest has passed, too
		p.timeNs = p.reached(p.machineNs())
	}
	err := change()
	waits := err == nil && !p.back && !p.ended
	if waits {
		p.resting = false
	}
	p.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	for waits {
		p.mu.Lock()
		rested, done := p.rested, p.resting || p.target == 0 && p.steps == 0 && p.playing && p.speed == Max
		p.mu.Unlock()
		if done {
			break
		}
		select {
		case <-rested:
		case <-timer.C:
			return nil
		}
	}
	return nil
}

// Leave asks for the end of the replay, at any time. Left is then closed.
func (p *Player) Leave() error {
	p.leave.Do(func() { close(p.left) })
	return nil
}

// Left is closed when somebody leaves the replay.
func (p *Player) Left() <-chan struct{} { return p.left }

// Play goes on at the speed.
func (p *Player) Play() error {
	return p.command(func() error {
		if p.ended && !p.back {
			return ErrEnded
		}
		p.playing, p.anchored = true, p.anchored && p.playing
		return nil
	})
}

// Pause stops at the time that is reached. It ends a seek and steps.
func (p *Player) Pause() error {
	return p.command(func() error {
		p.playing, p.target, p.steps, p.anchored = false, 0, 0, false
		return nil
	})
}

// SetSpeed changes the speed, not whether the recording plays.
func (p *Player) SetSpeed(s Speed) error {
	return p.command(func() error {
		p.speed, p.anchored = s, false
		return nil
	})
}

// Step feeds the next records, and pauses.
func (p *Player) Step(records uint64) error {
	return p.command(func() error {
		if p.ended {
			return ErrEnded
		}
		p.playing, p.target, p.steps = false, 0, records
		return nil
	})
}

// StepTo goes on to a time that is not behind, and pauses.
func (p *Player) StepTo(ns int64) error {
	return p.command(func() error {
		switch {
		case p.ended:
			return ErrEnded
		case ns < p.timeNs:
			return &OutsideError{p.timeNs, p.what.EndNs}
		}
		p.playing, p.steps = false, 0
		return p.seek(ns)
	})
}

// SeekTo goes to a time: forward at full speed, back by beginning again. It then plays or pauses as before.
func (p *Player) SeekTo(ns int64) error {
	return p.command(func() error { return p.seek(ns) })
}

func (p *Player) seek(ns int64) error {
	switch {
	case p.what.Loop:
		return ErrLoop
	case ns < p.what.BeginNs || ns > p.what.EndNs:
		return &OutsideError{p.what.BeginNs, p.what.EndNs}
	case ns >= p.timeNs || p.back:
		if p.ended && !p.back {
			return nil // it is there
		}
	case p.what.Kept:
		return ErrKept
	default:
		p.back = true
	}
	p.target, p.steps = ns, 0
	return nil
}
