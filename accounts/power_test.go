package accounts

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/durable"
	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
)

// plant is a Store beside an engine whose journal is on the same disk: a power cut loses the
// unsynced bytes of both. A record of the journal is the index of a command in table. Every
// command makes one event, so its position is its seq.
type plant struct {
	t       *testing.T
	fs      *vfstest.Mem
	clock   *clock.Manual
	table   *[]plantCommand
	lax     bool // nothing waits for the journal
	asked   int  // how often the store waited for it
	journal *wal.Log
	there   []int // commands in the journal
	store   *Store
	s       *State
}

type plantCommand struct {
	order uint64 // the order that it made, 0: none
	event engine.Event
}

func newPlant(t *testing.T) *plant {
	p := &plant{t: t, fs: vfstest.NewMem(), clock: clock.NewManual(t0), table: new([]plantCommand)}
	p.open()
	p.command(0, engine.Event{
		Kind: engine.EventPair, Seq: 1,
		Instrument: &engine.Instrument{Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 6},
	})
	if err := p.journal.Sync(); err != nil {
		t.Fatal(err)
	}
	return p
}

// on returns the plant restarted on another disk.
func (p *plant) on(fs *vfstest.Mem) *plant {
	p.t.Helper()
	q := &plant{t: p.t, fs: fs, clock: p.clock, table: p.table, lax: p.lax}
	q.open()
	return q
}

func (p *plant) open() {
	p.t.Helper()
	var err error
	if p.journal, err = wal.Open(p.fs, "engine", wal.Options{PreallocBytes: -1, NoLock: true}); err != nil {
		p.t.Fatal(err)
	}
	p.read()
	r, err := Recover(p.options())
	if err != nil {
		p.t.Fatal(err)
	}
	p.s = r.State()
	p.store = mergeAll(p.t, r, p.foldTo)
	p.s.ReleaseUnknown(func(order uint64) bool {
		for _, i := range p.there {
			if (*p.table)[i].order == order {
				return true
			}
		}
		return false
	})
	if err := Recheckpoint(p.store, p.s); err != nil {
		p.t.Fatal(err)
	}
}

// options returns the options of the store beside the open journal.
func (p *plant) options() StoreOptions {
	return StoreOptions{
		State: testOptions(),
		Config: durable.Config{
			FS: p.fs, Dir: "accounts", Clock: p.clock, SnapshotBytes: 1 << 40,
			Log: wal.Options{PreallocBytes: -1, NoLock: true},
		},
		EngineLast: p.journal.LastSeq(),
		EngineDurable: func(pos uint64) error {
			p.asked++
			if p.lax || p.journal.DurableSeq() >= pos {
				return nil
			}
			return p.journal.Sync()
		},
	}
}

func (p *plant) read() {
	p.t.Helper()
	rd, err := p.journal.Reader(1)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = rd.Close() }()
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			p.t.Fatal(err)
		}
		p.there = append(p.there, int(binary.LittleEndian.Uint32(rec.Payload)))
	}
}

func (p *plant) foldTo(s *State, pos uint64) error {
	for at := s.EnginePos(); at < min(pos, uint64(len(p.there))); at++ {
		s.FoldEvents([]engine.Event{(*p.table)[p.there[at]].event}, at+1)
	}
	return nil
}

// next returns the seq of the next command's event.
func (p *plant) next() uint64 { return uint64(len(p.there)) + 1 }

// command writes a command, without a sync, and folds its event.
func (p *plant) command(order uint64, event engine.Event) {
	p.t.Helper()
	*p.table = append(*p.table, plantCommand{order, event})
	p.there = append(p.there, len(*p.table)-1)
	payload := binary.LittleEndian.AppendUint32(nil, uint32(len(*p.table)-1))
	if _, err := p.journal.Append([][]byte{payload}); err != nil {
		p.t.Fatal(err)
	}
	if err := p.foldTo(p.s, uint64(len(p.there))); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plant) idle() {
	p.command(0, engine.Event{Kind: engine.EventNothing, Seq: engine.Seq(p.next())})
}

// buy places an order for 1 BTC at 100 USDT, and fills half of it.
func (p *plant) buy(user uint32) {
	p.t.Helper()
	seq, order := p.next(), uint64(len(*p.table))
	p.command(order, engine.Event{
		Kind: engine.EventAccepted, Seq: engine.Seq(seq), Order: engine.OrderID(order),
		Account: engine.AccountID(user), Side: engine.Buy, Price: 100_00, Amount: 1_000_000,
	})
	p.command(0, engine.Event{
		Kind: engine.EventTrade, Seq: engine.Seq(seq + 1), TimeNs: t0, Side: engine.Buy,
		Order: engine.OrderID(order), Account: engine.AccountID(user), Price: 100_00, Amount: 500_000,
		OpenAmount: 500_000, TakerFee: RateOne / 100,
	})
}

func (p *plant) do(cmd Command) {
	p.t.Helper()
	p.clock.Set(p.clock.NowNs() + 1000)
	if _, err := p.store.Do(cmd); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plant) state() []byte { return p.s.AppendSnapshot(nil) }

func (p *plant) close() {
	p.t.Helper()
	if err := errors.Join(p.store.Close(), p.journal.Close()); err != nil {
		p.t.Fatal(err)
	}
}

// goOn lets every user trade, in the positions that a power cut freed, and requires the same
// state after the end of the process, also where the newest snapshot is damaged.
func (p *plant) goOn() {
	p.t.Helper()
	for n := range uint32(p.s.Shown().UserCount()) {
		p.do(Command{Kind: Deposit, User: n + 1, Currency: "USDT", Amount: dec("1000")})
		p.buy(n + 1)
	}
	for range 3 {
		p.idle()
	}
	if err := p.s.Check(); err != nil {
		p.t.Fatal(err)
	}
	want := p.state()
	killed := p.on(p.fs.Kill())
	if !bytes.Equal(killed.state(), want) {
		p.t.Fatal("the state after a kill is another")
	}
	names, err := p.fs.List("accounts")
	if err != nil {
		p.t.Fatal(err)
	}
	newest := ""
	for _, name := range names { // sorted
		if len(name) > 5 && name[len(name)-5:] == ".snap" {
			newest = name
		}
	}
	if newest == "" {
		return
	}
	damaged := p.fs.Kill()
	damaged.Flip("accounts/"+newest, 100, 1)
	if !bytes.Equal(p.on(damaged).state(), want) {
		p.t.Fatal("the state is another without the newest snapshot")
	}
}

// Every answer survives a power cut. Commands that take the positions of lost commands are
// folded after the records that were written before them, not between them.
func TestRecordsOutliveNoCommandThatTheyHadSeen(t *testing.T) {
	type cut struct {
		fs       *vfstest.Mem
		answered uint64
	}
	p := newPlant(t)
	var cuts []cut
	answered := uint64(0)
	seed := uint64(0)
	p.fs.After(func(op vfstest.Op) {
		if op.Kind == vfstest.OpRead || op.Kind == vfstest.OpOpen || op.Kind == vfstest.OpList {
			return
		}
		for range 3 {
			seed++
			cuts = append(cuts, cut{p.fs.Crash(seed), answered})
		}
	})
	do := func(cmd Command) {
		p.do(cmd)
		answered = p.store.Log().LastSeq()
	}
	for n := range uint32(4) {
		p.idle()
		do(Command{Kind: CreateUser})
		p.idle()
		do(Command{Kind: Deposit, User: n + 1, Currency: "USDT", Amount: dec("1000")})
		p.buy(n + 1)
		do(Command{Kind: Withdraw, User: n + 1, Currency: "BTC", Amount: dec("0.1")})
		p.idle()
		if n%2 == 0 {
			if err := p.store.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.fs.After(nil)
	beyond := 0
	for i, c := range cuts {
		q := p.on(c.fs)
		if q.store.Recovered().LastSeq < c.answered {
			t.Fatalf("cut %d: %d records, %d answered", i, q.store.Recovered().LastSeq, c.answered)
		}
		if bad := q.store.Recovered().Damaged; len(bad) > 0 {
			t.Fatalf("cut %d: %v", i, bad)
		}
		if n := uint64(q.s.AheadOfJournal()); n > 0 {
			if beyond++; n > q.store.Recovered().LastSeq-c.answered {
				t.Fatalf("cut %d: an answered record had seen commands that are gone", i)
			}
		}
		q.goOn()
		q.close()
	}
	if beyond == 0 {
		t.Fatal("no cut left a record that the system had written by itself before the journal")
	}
	t.Logf("%d cuts, %d with records beyond the journal", len(cuts), beyond)
	p.close()
}

// Records whose engine position is beyond the end of the journal, because a power cut lost
// commands, are applied at the journal's end by this recovery and by every later one.
func TestRecordsBeyondTheJournalStandAtItsEnd(t *testing.T) {
	p := newPlantAhead(t)
	for seed := range uint64(1000) {
		q := p.on(p.fs.Crash(seed))
		if q.journal.LastSeq() > 1 {
			continue
		}
		if q.s.AheadOfJournal() != 2 || q.s.EnginePos() != 1 {
			t.Fatalf("%d records beyond, the state at %d", q.s.AheadOfJournal(), q.s.EnginePos())
		}
		for range 4 { // its last commands take the positions that the records name
			q.buy(1)
		}
		q.goOn()
		return
	}
	t.Fatal("no power cut took the journal's end")
}

// Recovery skips a snapshot that reflects commands which the journal does not have: the
// previous snapshot and the records after it contain no lost trade.
func TestSnapshotAheadOfTheJournalIsPassedOver(t *testing.T) {
	p := newPlant(t)
	p.lax = true
	p.do(Command{Kind: CreateUser})
	p.do(Command{Kind: Deposit, User: 1, Currency: "USDT", Amount: dec("1000")})
	if err := p.journal.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := p.store.Snapshot(); err != nil {
		t.Fatal(err)
	}
	p.buy(1)
	p.do(Command{Kind: CreateUser})
	if err := p.store.Snapshot(); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(1000) {
		q := p.on(p.fs.Crash(seed))
		if q.journal.LastSeq() > 1 {
			continue
		}
		if bad := q.store.Recovered().Damaged; len(bad) != 1 {
			t.Fatalf("passed over: %q", bad)
		}
		if b := q.s.Shown().Balance(1, "USDT"); text(b.Free) != "1000.0" || q.s.Shown().UserCount() != 2 {
			t.Fatalf("free %s, %d users", text(b.Free), q.s.Shown().UserCount())
		}
		q.goOn()
		return
	}
	t.Fatal("no power cut took the journal's end")
}

// A group of records waits for the journal once, and syncs it only where necessary.
func TestGroupOfRecordsSharesOneSyncOfTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.do(Command{Kind: CreateUser})
		p.idle()
		deposit := Command{Kind: Deposit, User: 1, Currency: "USDT", Amount: dec("1")}
		const group = 20
		errs := make(chan error, group)
		syncs, asked := p.fs.Count(vfstest.OpSync), p.asked
		if err := p.store.WithState(func() {
			for range group {
				go func() {
					_, err := p.store.Do(deposit)
					errs <- err
				}()
			}
			synctest.Wait() // all of them wait for the store, whose goroutine runs this function
		}); err != nil {
			t.Fatal(err)
		}
		for range group {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
		if n := p.fs.Count(vfstest.OpSync) - syncs; n != 2 || p.asked != asked+1 {
			t.Fatalf("%d syncs of two logs, the journal asked %d times", n, p.asked-asked)
		}
		syncs = p.fs.Count(vfstest.OpSync)
		p.do(deposit)
		if n := p.fs.Count(vfstest.OpSync) - syncs; n != 1 {
			t.Fatalf("%d syncs for a record that had seen nothing new", n)
		}
		p.close()
	})
}

// A journal that cannot be made durable ends the store: no client receives an answer for a
// change whose place is lost.
func TestRecordIsNotAnsweredWhenTheJournalCannotBeSynced(t *testing.T) {
	p := newPlant(t)
	p.idle()
	p.fs.FailNext(vfstest.OpSync, vfstest.Fault{Err: vfstest.ErrInjected})
	if _, err := p.store.Do(Command{Kind: CreateUser}); !errors.Is(err, wal.ErrStopped) || p.store.Health() == nil {
		t.Fatalf("got %v, health %v", err, p.store.Health())
	}
	if err := p.store.Snapshot(); !errors.Is(err, wal.ErrStopped) {
		t.Fatalf("a snapshot: %v", err)
	}
}
