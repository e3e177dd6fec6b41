package auth

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/tickhive/tickhive/internal/refuse"
)

// table holds a nonce table and keys with consecutive numbers.
type table struct {
	*nonceTable
	keys []*Key
}

func newTable(keys, most int) *table {
	x := &table{nonceTable: newNonceTable(most)}
	for i := range keys {
		x.keys = append(x.keys, &Key{number: uint64(i), nonces: &nonceSet{}})
	}
	return x
}

// sum returns the number of nonces in the sets, and checks the bookkeeping of the table.
func (x *table) sum(t testing.TB) (sum int) {
	t.Helper()
	for i, k := range x.keys {
		n := k.nonces
		sum += int(n.count)
		if (n.count > 0) != (n.place > 0) {
			t.Fatalf("key %d: %d nonces, place %d", i, n.count, n.place)
		}
	}
	for i := range x.shards {
		s := &x.shards[i]
		most := uint32(0)
		for j, n := range s.sets {
			most = max(most, n.count)
			if int(n.place) != j+1 {
				t.Fatalf("shard %d: the set at %d knows place %d", i, j+1, n.place)
			}
		}
		if most != s.most.Load() {
			t.Fatalf("shard %d: the heaviest key has %d, noted are %d", i, most, s.most.Load())
		}
	}
	if int(x.total.Load()) != sum {
		t.Fatalf("total is %d, the sets hold %d", x.total.Load(), sum)
	}
	return sum
}

func number(i int) []byte { return strconv.AppendInt(nil, int64(i), 10) }

func TestLimitOfAKeyAndItsShareForCancels(t *testing.T) {
	x := newTable(2, MaxNonces)
	use := func(nowMs int64, i int, cancel bool) *refuse.Refusal {
		return x.use(nowMs, x.keys[0], nowMs, number(i), cancel)
	}
	const others = MaxNoncesPerKey - CancelNonces
	if MaxNoncesPerKey != 100_000 || CancelNonces != 20_000 || MaxNonces != 16_777_216 {
		t.Fatal("the contract has 100,000 nonces for a key, 20,000 of them for cancels, and 16 Mi together")
	}
	for i := range others {
		if reject := use(t0Ms, i, false); reject != nil {
			t.Fatal(i, reject)
		}
	}
	reject := use(t0Ms, -1, false)
	wantReject(t, reject, refuse.RateLimit, "")
	if !strings.Contains(reject.Message, "DELETE /api/orders") {
		t.Errorf("the refusal does not say what is left: %s", reject.Message)
	}
	for i := others; i < MaxNoncesPerKey; i++ {
		if reject := use(t0Ms+1, i, true); reject != nil {
			t.Fatal("cancel", i, reject)
		}
	}
	wantReject(t, use(t0Ms+1, -1, true), refuse.RateLimit, "")
	wantReject(t, use(t0Ms+1, -1, false), refuse.RateLimit, "")
	wantReject(t, use(t0Ms+1, 7, true), refuse.Unauthorized, "API-Nonce") // a full key's nonces are still known
	if reject := x.use(t0Ms+1, x.keys[1], t0Ms, number(0), false); reject != nil {
		t.Fatal("another key:", reject)
	}
	const keepMs = NonceKeepNs / msNs
	wantReject(t, use(t0Ms+keepMs, -1, false), refuse.RateLimit, "")
	if reject := use(t0Ms+keepMs+1, -1, false); reject != nil {
		t.Fatal("the first nonces have left:", reject)
	}
	if got := x.sum(t); got != CancelNonces+2 {
		t.Fatalf("%d nonces left", got)
	}
	if reject := use(t0Ms+3*keepMs, -2, false); reject != nil {
		t.Fatal(reject)
	}
	n := x.keys[0].nonces
	if n.count != 1 || len(n.ring) != minNonceRing {
		t.Fatalf("%d nonces in a ring of %d after all but one left", n.count, len(n.ring))
	}
}

// Cancels beyond CancelNonces count as other requests and leave fewer nonces for them.
func TestCancelsMayUseTheWholeLimit(t *testing.T) {
	x := newTable(1, MaxNonces)
	for i := range MaxNoncesPerKey {
		if reject := x.use(t0Ms, x.keys[0], t0Ms, number(i), true); reject != nil {
			t.Fatal(i, reject)
		}
	}
	wantReject(t, x.use(t0Ms, x.keys[0], t0Ms, number(-1), false), refuse.RateLimit, "")
	wantReject(t, x.use(t0Ms, x.keys[0], t0Ms, number(-1), true), refuse.RateLimit, "")
}

// When all keys together have too many nonces, the key with the most drops its oldest ones and
// refuses timestamps up to theirs. Other keys are not affected.
func TestTheHeaviestKeyMakesRoom(t *testing.T) {
	const most = 1000
	x := newTable(130, most)
	light := x.keys[1:]
	for i, k := range light {
		if reject := x.use(t0Ms, k, t0Ms, number(i), false); reject != nil {
			t.Fatal(reject)
		}
	}
	for i := range 5 * most {
		if reject := x.use(t0Ms+int64(i), x.keys[0], t0Ms+int64(i), number(i), false); reject != nil {
			t.Fatal("the heavy key itself, with the present time:", reject)
		}
		if got := x.total.Load(); got > most {
			t.Fatalf("%d nonces after request %d", got, i)
		}
	}
	if got := x.sum(t); got != most {
		t.Fatalf("%d nonces", got)
	}
	kept := most - len(light)
	now := t0Ms + 5*most
	floor := t0Ms + 5*most - int64(kept)
	if got := x.keys[0].nonces.floorMs; got != floor {
		t.Fatalf("the floor is %d, want %d", got-t0Ms, floor-t0Ms)
	}
	for i := range 5 * most {
		reject := x.use(now, x.keys[0], t0Ms+int64(i), number(i), false)
		if i < 5*most-kept {
			wantReject(t, reject, refuse.Unauthorized, "API-Timestamp")
			if m := reject.Message; !strings.Contains(m, strconv.FormatInt(floor, 10)) ||
				!strings.Contains(m, strconv.FormatInt(now, 10)) {
				t.Fatalf("the refusal names neither the bound nor the time: %s", reject.Message)
			}
		} else {
			wantReject(t, reject, refuse.Unauthorized, "API-Nonce")
		}
	}
	for i, k := range light {
		wantReject(t, x.use(now, k, t0Ms, number(i), false), refuse.Unauthorized, "API-Nonce") // none was dropped
		if got := k.nonces.floorMs; got != 0 {
			t.Fatalf("light key %d has a floor", i)
		}
		if reject := x.use(now, k, t0Ms, number(-1), false); reject != nil {
			t.Fatal("an older timestamp of a light key:", reject)
		}
	}
}

// The table drops the nonces of an idle key, also where the key's whole shard is idle.
func TestIdleKeysGiveTheirNoncesBack(t *testing.T) {
	const most, each = 12_800, 100
	x := newTable(2*nonceShards, most)
	for i := range most {
		if reject := x.use(t0Ms, x.keys[i/each], t0Ms, number(i), false); reject != nil {
			t.Fatal(reject)
		}
	}
	later := t0Ms + NonceKeepNs/msNs + 1
	const more = 12_000
	for i := range int64(more) {
		if reject := x.use(later+i, x.keys[0], later+i, number(int(i)), false); reject != nil {
			t.Fatal(i, reject)
		}
	}
	if got := x.sum(t); got > most || x.keys[0].nonces.count < more-nonceShards {
		t.Errorf("%d nonces, %d of them of the key in use", got, x.keys[0].nonces.count)
	}
	if lost := x.keys[0].nonces.floorMs - later; lost > nonceShards {
		t.Errorf("the key in use lost %d nonces while others were idle", lost)
	}
	wantReject(t, x.use(later, x.keys[64], t0Ms, number(6400), false), refuse.Unauthorized, "API-Timestamp")
}

// Whatever the keys, timestamps, clocks and load: no request passes twice and the table stays
// within its limits. Below its limits, and with a clock that never goes back, it drops no nonce
// early or late.
func TestNoSignedRequestPassesTwice(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		keys := rapid.IntRange(1, 80).Draw(r, "keys")
		pressure := rapid.Bool().Draw(r, "pressure")
		back := rapid.Bool().Draw(r, "clock goes back")
		most := MaxNonces
		if pressure {
			most = rapid.IntRange(1, 60).Draw(r, "most")
		}
		x := newTable(keys, most)
		type sent struct {
			key, nonce  int
			timestampMs int64
		}
		passed, list := map[sent]bool{}, []sent{}
		usedAt := map[[2]int]int64{} // by key and nonce
		now := t0Ms
		for range rapid.IntRange(1, 400).Draw(r, "requests") {
			switch step := rapid.Int64Range(1, 200_000).Draw(r, "step"); rapid.IntRange(0, 7).Draw(r, "clock") {
			case 0:
				now += step
			case 1:
				if back {
					now -= step
				}
			case 2:
				now += step % 100
			}
			q := sent{rapid.IntRange(0, keys-1).Draw(r, "key"), rapid.IntRange(0, 30).Draw(r, "nonce"), 0}
			q.timestampMs = now + rapid.Int64Range(-MaxWindowMs, AheadMs-1).Draw(r, "skew")
			if len(list) > 0 && rapid.Bool().Draw(r, "replay") {
				p := list[len(list)-1-rapid.IntRange(0, min(len(list)-1, 30)).Draw(r, "of")]
				if (Stamp{p.timestampMs, MaxWindowMs, msNs}).In(now * msNs) {
					q = p
				}
			}
			reject := x.use(now, x.keys[q.key], q.timestampMs, number(q.nonce), q.nonce%3 == 0)
			if reject == nil {
				if passed[q] {
					r.Fatalf("%+v passed twice", q)
				}
				list = append(list, q)
			}
			name := [2]int{q.key, q.nonce}
			if at, used := usedAt[name]; !pressure && !back {
				if known := used && now-at <= NonceKeepNs/msNs; known != (reject != nil) {
					r.Fatalf("%+v at %d: known %v (used at %d), %v", q, now-t0Ms, known, at-t0Ms, reject)
				}
			}
			if reject == nil {
				passed[q], usedAt[name] = true, now
			}
			if got := x.sum(t); got > most {
				r.Fatalf("%d nonces, at most %d", got, most)
			}
		}
	})
}

// No key is refused because of other keys: a key with fewer nonces than the heavy keys retains
// its nonces and may use any timestamp.
func TestLightKeysAreNeverRefusedForHeavyOnes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	const heavy, light, each, most = 20, 200, 5, 4000
	x := newTable(heavy+light, most)
	used := make([][]int64, heavy+light)
	for i := range 60_000 {
		now := t0Ms + int64(i)
		k := r.IntN(heavy)
		if i%60 == 0 {
			k = heavy + r.IntN(light)
		}
		if k >= heavy && len(used[k]) == each {
			for j, ms := range used[k] {
				wantReject(t, x.use(now, x.keys[k], ms, number(j), false), refuse.Unauthorized, "API-Nonce")
			}
			continue
		}
		ms := now - r.Int64N(MaxWindowMs)
		if k < heavy {
			ms = now - r.Int64N(100)
		}
		if reject := x.use(now, x.keys[k], ms, number(len(used[k])), false); reject != nil && k >= heavy {
			t.Fatalf("a light key: %v", reject)
		} else if reject == nil {
			used[k] = append(used[k], ms)
		}
	}
	if got := x.sum(t); got != most {
		t.Fatalf("%d nonces: the keys were not heavy", got)
	}
}

func TestConcurrentUseKeepsTheBound(t *testing.T) {
	const most, workers, each = 2000, 8, 5000
	x := newTable(100, most)
	var wg sync.WaitGroup
	var twice atomic.Int64
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				now := t0Ms + int64(i)
				name := number(w*each + i)
				_ = x.use(now, x.keys[i%100], now, name, false)
				if x.use(now, x.keys[i%100], now, name, false) == nil {
					twice.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if twice.Load() != 0 {
		t.Errorf("%d requests passed twice", twice.Load())
	}
	if got := x.sum(t); got > most+workers {
		t.Errorf("%d nonces, at most %d", got, most)
	}
}

func TestUsingANonceAllocatesNothingInTheSteadyState(t *testing.T) {
	x := newTable(100, 10_000)
	i := 0
	use := func() {
		now := t0Ms + int64(i)
		if reject := x.use(now, x.keys[i%100], now, number(i)[:], false); reject != nil {
			t.Fatal(reject)
		}
		i++
	}
	for range 40_000 {
		use()
	}
	if n := testing.AllocsPerRun(10_000, use); n > 1 { // the text of the nonce
		t.Fatalf("%v allocations", n)
	}
}

// BenchmarkNonce measures the cost of the nonce table per signed request.
func BenchmarkNonce(b *testing.B) {
	for _, c := range []struct {
		name       string
		keys, most int
	}{{"few keys", 100, MaxNonces}, {"many keys", 10_000, MaxNonces}, {"full", 10_000, 100_000}} {
		b.Run(c.name, func(b *testing.B) {
			x := newTable(c.keys, c.most)
			name := make([]byte, 0, 20)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				now := t0Ms + int64(i)/50
				name = strconv.AppendInt(name[:0], int64(i), 10)
				if reject := x.use(now, x.keys[i%c.keys], now, name, false); reject != nil {
					b.Fatal(reject)
				}
			}
		})
	}
}
