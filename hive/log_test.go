package hive

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/refuse"
)

var sources = []string{"queen-1", "queen-3", "scout-1", "scout-2", "worker-1", "worker-2", "worker-3"}

// chatter makes n random entries over the given workers.
func chatter(r *rig, rng *rand.Rand, n, workers int) {
	for range n {
		if rng.IntN(3) == 0 {
			r.toNs(r.now + rng.Int64N(3*secondNs))
		}
		token := uint64(0)
		if rng.IntN(10) > 0 {
			token = firstAgentNFT + uint64(rng.IntN(workers))
		}
		cmd := act(sources[rng.IntN(len(sources))], token, ActionType(rng.IntN(int(actionTypes))), "")
		if cmd.Type == Suspension {
			cmd.Payload = `{"suspended":false}`
		}
		r.do(cmd)
	}
}

// optional picks a pointer to one of the values, or nil as often as any of them.
func optional[T any](rng *rand.Rand, values ...T) *T {
	if i := rng.IntN(len(values) + 1); i < len(values) {
		return &values[i]
	}
	return nil
}

// naiveLog filters the list of everything, newest first, by what the rows say.
func naiveLog(all []EntryInfo, q LogQuery) []EntryInfo {
	var out []EntryInfo
	for _, e := range all {
		if (q.TokenID == nil || e.TargetTokenID() == *q.TokenID) && (q.Type == nil || e.Type == *q.Type) &&
			(q.Tier == nil || e.Source.Tier == *q.Tier) && (q.Since == nil || e.Sec() >= *q.Since) &&
			(q.Until == nil || e.Sec() <= *q.Until) {
			out = append(out, e)
		}
	}
	return out
}

func everything(v *View) []EntryInfo {
	var all []EntryInfo
	for id := v.Entries(); id > 0; id-- {
		all = append(all, v.log.entry(id).info(v.seed, v.genesisNs))
	}
	return all
}

func TestEveryFilterOfTheLogEqualsAFilterOfAllEntries(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 4))
	r := newRig(t)
	for n := uint32(1); n <= 5; n++ {
		r.spawn(n)
	}
	chatter(r, rng, 3000, 5)
	old := r.s.View()
	chatter(r, rng, 500, 5) // the view of before does not see these
	if old.Entries() >= r.s.View().Entries() {
		t.Fatal("no entries were added")
	}
	for name, v := range map[string]*View{"old": old, "new": r.s.View()} {
		all := everything(v)
		last := all[0].Sec()
		for range 400 {
			q := LogQuery{
				Page:    Page{Page: 1, PageSize: 1 + rng.Int64N(100)},
				TokenID: optional(rng, 0, 10001, 10002, 10005, 10006, uint64(math.MaxUint64)),
				Type:    optional(rng, ConfigUpdate, Override, Suspension, VoteCast),
				Tier:    optional(rng, Queen, Scout, WorkerTier),
				Since:   optional(rng, 0, startSec, last-rng.Int64N(1000), last+1),
				Until:   optional(rng, 0, last-rng.Int64N(1000), last, math.MaxInt64),
			}
			want := naiveLog(all, q)
			if q.Since != nil && q.Until != nil && *q.Since > *q.Until {
				if rej := q.Check(); rej == nil || rej.Field != "since" || rej.Code != refuse.InvalidParam {
					t.Fatalf("since after until: %v", rej)
				}
				continue
			}
			n := 0
			for ; ; q.Page.Page++ {
				l := v.Log(q)
				if l.TotalItems != int64(len(want)) {
					t.Fatalf("%s %+v: total %d, want %d", name, q, l.TotalItems, len(want))
				}
				if len(l.Items) == 0 {
					break
				}
				for _, e := range l.Items {
					if fmt.Sprint(e) != fmt.Sprint(want[n]) {
						t.Fatalf("%s %+v: row %d: %s", name, q, n, differ.Diff(want[n], e))
					}
					n++
				}
			}
			if n != len(want) {
				t.Fatalf("%s: %d rows, want %d", name, n, len(want))
			}
		}
	}
	r.check()
}

func TestSinceAndUntilIncludeTheirSecond(t *testing.T) {
	r := newRig(t)
	for _, ns := range []int64{0, 999_999_999, secondNs, 2 * secondNs} {
		r.toNs(start + ns)
		r.must(act("queen-1", 0, Observation, ""))
	}
	count := func(since, until int64) int64 {
		return r.s.View().Log(LogQuery{Page: Page{Page: 1, PageSize: 10}, Since: &since, Until: &until}).TotalItems
	}
	for _, tc := range []struct{ since, until, want int64 }{
		{startSec, startSec, 2},
		{startSec + 1, startSec + 1, 1},
		{startSec, startSec + 2, 4},
		{startSec + 3, startSec + 9, 0},
		{0, startSec - 1, 0},
	} {
		if got := count(tc.since, tc.until); got != tc.want {
			t.Errorf("+%d..+%d: %d, want %d", tc.since-startSec, tc.until-startSec, got, tc.want)
		}
	}
}

func TestEntriesHaveTheShapeOfTheTable(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	r.toNs(start + 5*secondNs)
	a := act("scout-2", token, RiskScore, `{"score":7}`)
	e := r.must(a).Entry
	if e.ID != 1 || e.Source.String() != "scout-2" || e.TargetTokenID() != token || e.Type != RiskScore ||
		e.Payload != `{"score":7}` || e.Reason != "test" || e.BlockNumber != 3 || e.Sec() != startSec+5 ||
		e.TxHash == (Hash{}) || e.Prev != (Hash{}) {
		t.Fatalf("%+v", e)
	}
	a.TokenID = 0
	second := r.must(a).Entry
	first := r.s.log.entry(1)
	if second.ID != 2 || second.TargetTokenID() != 0 || second.Prev != first.Hash() || second.TxHash == e.TxHash {
		t.Fatalf("%+v", second)
	}
	if all := everything(r.s.View()); len(all) != 2 || fmt.Sprint(all[0]) != fmt.Sprint(second) {
		t.Fatalf("%+v", all)
	}
}

func TestAChangedEntryIsFoundOffline(t *testing.T) {
	r := newRig(t)
	r.spawn(1)
	r.spawn(2)
	chatter(r, rand.New(rand.NewPCG(8, 8)), 300, 2)
	v := r.s.View()
	verify := func(change func(e *Entry)) (bad uint64, head Hash) {
		var c chain
		for id := uint64(1); id <= v.Entries(); id++ {
			e := v.log.entry(id)
			if change != nil {
				change(&e)
			}
			if err := c.Next(&e); err != nil {
				return e.ID, c.Head()
			}
		}
		return 0, c.Head()
	}
	if bad, head := verify(nil); bad != 0 || head != v.Head() {
		t.Fatalf("the untouched log breaks at %d", bad)
	}
	const at = 100
	for name, change := range map[string]func(e *Entry){
		"time":    func(e *Entry) { e.TimeNs++ },
		"source":  func(e *Entry) { e.Source.N++ },
		"tier":    func(e *Entry) { e.Source.Tier ^= 1 },
		"target":  func(e *Entry) { e.Target ^= 3 },
		"type":    func(e *Entry) { e.Type ^= 1 },
		"payload": func(e *Entry) { e.Payload += " " },
		"reason":  func(e *Entry) { e.Reason = "other" },
		"prev":    func(e *Entry) { e.Prev[5] ^= 1 },
	} {
		bad, _ := verify(func(e *Entry) {
			if e.ID == at {
				change(e)
			}
		})
		if bad != at && bad != at+1 {
			t.Errorf("%s: found at %d", name, bad)
		}
		// The last entry is betrayed by the head alone.
		bad, head := verify(func(e *Entry) {
			if e.ID == v.Entries() {
				change(e)
			}
		})
		if bad == 0 && head == v.Head() {
			t.Errorf("%s of the last entry: not found", name)
		}
	}
	if bad, _ := verify(func(e *Entry) {
		if e.ID >= at {
			e.ID++
		}
	}); bad != at+1 {
		t.Errorf("a missing entry: found at %d", bad)
	}
	c := chainFrom(at-1, r.s.log.row(at).prev)
	e := r.s.log.entry(at)
	if err := c.Next(&e); err != nil || c.Len() != at || c.Head() != e.Hash() {
		t.Errorf("from the middle: %v", err)
	}
}

// TestAMillionEntries prints memory and the latency of a page for every filter; the
// bound is far above what is measured and far below a scan.
func TestAMillionEntries(t *testing.T) {
	n, workers := 100_000, 10_000
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		n = 1_000_000
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	rng := rand.New(rand.NewPCG(1, 1))
	s := New(DefaultOptions())
	s.Do(start, Begin{Seed: 1, GenesisNs: start})
	before := heap()
	for i := range workers {
		s.Fold(fact(uint32(i)+1, startSec+int64(i)))
	}
	t.Logf("%d workers: %d KB", workers, (heap()-before)/1000)
	base := heap()
	begin := time.Now()
	now := int64(start + int64(workers)*secondNs)
	for i := range n {
		now += 500_000_000
		cmd := Act{
			TokenID: firstAgentNFT + uint64(rng.IntN(workers)), Type: ActionType(rng.IntN(int(actionTypes))),
			Payload: `{"note":"a plausible payload","score":` + fmt.Sprint(i) + `}`, Reason: "volatility_spike",
		}
		switch rng.IntN(10) {
		case 0:
			cmd.Source = "queen-1"
		case 1, 2:
			cmd.Source = "scout-2"
		default:
			cmd.Source = Agent{WorkerTier, uint32(cmd.TokenID - firstAgentNFT + 1)}.String()
		}
		if cmd.Type == Override || cmd.Type == Suspension || cmd.Type == BudgetAllocation {
			cmd.Source, cmd.Payload = "queen-1", `{"suspended":false}`
		}
		if _, err := s.Do(now, cmd); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 0 {
			s.View()
		}
	}
	took := time.Since(begin)
	grown := heap() - base
	t.Logf("%d entries in %v (%v each, JSON checks included), %d KB, %d bytes an entry", n,
		took.Round(time.Millisecond),
		took/time.Duration(n), grown/1000, grown/uint64(n))
	begin = time.Now()
	snap := s.AppendSnapshot(nil)
	took = time.Since(begin)
	begin = time.Now()
	if _, err := DecodeSnapshot(snap, s.opt); err != nil {
		t.Fatal(err)
	}
	t.Logf("snapshot %d KB: written in %v, read and verified in %v", len(snap)/1000, took.Round(time.Millisecond),
		time.Since(begin).Round(time.Millisecond))
	pageLatencies(t, s.View(), now, n)
}

func pageLatencies(t *testing.T, v *View, now int64, n int) {
	token, typ, tier := uint64(firstAgentNFT+77), Signal, WorkerTier
	since, until := now/secondNs-int64(n)/4, now/secondNs-int64(n)/8
	measure := func(name string, run func()) {
		const rounds, reps = 5, 60
		each := time.Hour
		for range rounds { // the best one: other programs interrupt some
			begin := time.Now()
			for range reps {
				run()
			}
			each = min(each, time.Since(begin)/reps)
		}
		t.Logf("%-34s %v", name, each)
		if each > 20*time.Millisecond {
			t.Errorf("%s: %v", name, each)
		}
	}
	for mask := range 32 {
		q := LogQuery{Page: Page{Page: 1, PageSize: 50}}
		name := "log"
		for i, f := range []struct {
			name string
			set  func()
		}{
			{"tokenId", func() { q.TokenID = &token }},
			{"actionType", func() { q.Type = &typ }},
			{"sourceTier", func() { q.Tier = &tier }},
			{"since", func() { q.Since = &since }},
			{"until", func() { q.Until = &until }},
		} {
			if mask>>i&1 == 1 {
				f.set()
				name += " " + f.name
			}
		}
		measure(name, func() { v.Log(q) })
	}
	measure("log, page in the middle", func() { v.Log(LogQuery{Page: Page{Page: int64(n) / 100, PageSize: 50}}) })
	active := Active
	measure("workers", func() { v.Workers(now, WorkerQuery{Page: Page{Page: 250, PageSize: 20}}) })
	measure("workers active", func() {
		v.Workers(now, WorkerQuery{Page: Page{Page: 100, PageSize: 20}, Status: &active})
	})
	measure("worker", func() { v.Worker(now, token) })
	measure("overview", func() { v.Overview(now) })
}
