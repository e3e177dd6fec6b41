package vopr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// specimen is a small directory whose process has ended, and what a start has to make of it.
type specimen struct {
	world  *world
	disk   *vfstest.Mem
	paths  []string
	want   found
	signed []signedRead // accepted, and still valid by their timestamps
}

// signedRead is a signed request.
type signedRead struct {
	key   key
	stamp int64 // Unix ms
	nonce string
}

// found is the state of an exchange after its start.
type found struct {
	position  uint64
	state     string
	epoch     string
	clockMs   int64
	incidents int
	replayed  int // signed requests that were accepted again
}

// most is the largest size of a specimen.
const most = 64 << 10

// newSpecimen runs an exchange until its log has two segments and two snapshots, and ends it.
func newSpecimen(t *testing.T, policy sequencer.SyncPolicy, e end, virtual bool) *specimen {
	t.Helper()
	w := newWorld(7, nil)
	w.plan = plan{
		sync: policy, segment: 3000, snapshot: 2400, virtual: virtual,
		digits: map[string]int{"AA": 8, "BB": 8, "CC": 18, "USDT": 8},
	}
	w.begin()
	w.run(w.risen)
	w.await("set-up", clients{w}.setUp)
	for n := 0; !w.segmented() && w.failure == nil && w.up == nil; n++ {
		if n > 5000 {
			t.Fatalf("the log does not get what it needs: %v", w.disk.Paths())
		}
		w.await("a command", func() { clients{w}.fill() })
	}
	s := &specimen{world: w}
	w.await("signed", func() { s.sign() })
	if e == stop {
		w.await("stop", func() { w.x.Stop(context.Background()) })
	}
	if w.failure != nil || w.up != nil {
		t.Fatal(w.failure, w.up)
	}
	s.disk = w.disk.Kill()
	w.p.end()
	total := 0
	for _, p := range s.disk.Paths() {
		total += len(s.disk.Content(p))
	}
	s.paths = s.disk.Paths()
	if total > most {
		t.Fatalf("the directory has %d bytes: %v", total, s.paths)
	}
	var refused error
	if s.want, refused = s.start(s.disk.Kill()); refused != nil {
		t.Fatal(refused)
	}
	t.Logf("%d bytes in %d files, %d commands of the market", total, len(s.paths), s.want.position)
	return s
}

// segmented reports whether the log has two segments and two snapshots.
func (w *world) segmented() bool { return w.count(".wal") >= 2 && w.count(".snap") >= 2 }

// count returns the number of files of the log.
func (w *world) count(ext string) (n int) {
	for _, p := range w.disk.Paths() {
		if path.Ext(p) == ext {
			n++
		}
	}
	return n
}

// fill sends a command of each part in turn.
func (w clients) fill() {
	u, t := w.model.users[0], w.model.tokens[0]
	w.serial++
	switch w.serial % 4 {
	case 0:
		w.must(internal+"/hive/actions", fmt.Sprintf(`{"sourceAgentId":"queen-1","targetTokenId":%s,`+
			`"actionType":"observation","reasonCode":"r","actionPayload":{"n":%d}}`, t.NFT, w.serial), nil)
	case 1:
		w.must(internal+"/launchpad/tokens/"+t.NFT+"/swaps", fmt.Sprintf(`{"userId":%q,"side":"buy","amountIn":1}`,
			w.model.users[3].ID), nil)
	case 2:
		w.must(internal+"/orders", fmt.Sprintf(`{"currencyPairCode":"AA_USDT","side":"buy","type":"limit",`+
			`"price":%d,"amount":0.01,"accountId":%q}`, 1+w.serial%7, u.ID), nil)
	default:
		w.must(internal+"/users/"+u.ID+"/deposits", `{"currencyCode":"USDT","amount":1}`, nil)
	}
	w.machine.pass(int64(20 * time.Millisecond))
}

// sign sends signed requests with timestamps ahead of the clock. A virtual clock stands, so a start refuses only
// timestamps before it.
func (s *specimen) sign() {
	w := s.world
	if w.plan.virtual {
		for range 3 {
			clients{w}.must(internal+"/clock", `{"advance":"1s"}`, nil)
		}
	}
	first := w.timeMs() + 900
	if w.plan.virtual {
		first = w.timeMs() - 900
	}
	for i := range 12 {
		r := signedRead{w.model.users[i%3].keys[0], first + int64(i), fmt.Sprintf("ahead-%d", i)}
		if a := s.send(r); !a.ok() {
			w.fail("a signed request: %d %s", a.status, a.body)
		}
		s.signed = append(s.signed, r)
	}
}

func (s *specimen) send(r signedRead) answer {
	return s.world.callStamped(&r.key, r.stamp, r.nonce, "GET", "/api/wallets/balances", "")
}

// start starts an exchange on a disk. refused is the error of the start.
func (s *specimen) start(disk *vfstest.Mem) (f found, refused error) {
	w := newWorld(7, nil)
	w.plan, w.disk, w.machine, w.mix.Lives = s.world.plan, disk, s.world.machine, 1
	w.machine.pass(int64(time.Second))
	w.begin()
	w.run(w.risen)
	defer w.p.end()
	if w.failure != nil {
		return f, w.failure
	}
	if w.up != nil {
		return f, w.up
	}
	x := w.x
	w.await("state", func() {
		// First: the hash waits for a snapshot that is due, and the machine's clock moves meanwhile.
		f.clockMs = w.timeMs()
		f.position = x.Loop().Position()
		f.state = stateText(x.State())
		h, err := x.StateHash()
		w.check(err)
		if text := fmt.Sprint(h.Parts()); text != f.state {
			w.fail("the log gives the state %s, the exchange has %s", text, f.state)
		}
		checker{w}.readStatus()
		f.epoch, f.incidents = w.model.epoch, len(w.model.incidents)
		for _, r := range s.signed {
			if a := w.callStamped(&r.key, r.stamp, r.nonce, "GET", "/api/wallets/balances", ""); a.ok() {
				f.replayed++
			}
		}
	})
	return f, w.failure
}

// timeMs returns the time of the exchange's clock.
func (w *world) timeMs() int64 {
	var now struct{ ServerTime int64 }
	w.check(w.call(nil, "GET", "/api/time", "").into(&now))
	return now.ServerTime
}

func (w *world) check(err error) {
	if err != nil {
		w.fail("%v", err)
	}
}

// damage is a change of a file.
type damage struct {
	file string
	at   int  // offset; negative: the file is removed
	cut  bool // the file ends there; otherwise bits of the byte are flipped
	mask byte
}

func (d damage) String() string {
	if d.at < 0 {
		return d.file + " removed"
	}
	if d.cut {
		return fmt.Sprintf("%s cut at %d", d.file, d.at)
	}
	return fmt.Sprintf("%s byte %d ^ %#x", d.file, d.at, d.mask)
}

func (d damage) apply(disk *vfstest.Mem) {
	if d.at < 0 {
		disk.Lose(d.file)
		return
	}
	b := disk.Content(d.file)
	if d.cut {
		b = b[:d.at]
	} else {
		b[d.at] ^= d.mask
	}
	disk.Put(d.file, b)
}

// outcome names the way in which a start ended.
type outcome string

const (
	asBefore outcome = "the state of before"
	reported outcome = "the state of before and an incident"
	refusal  outcome = "refused"
)

// judge starts an exchange on a damaged copy. The error is a broken promise.
func (s *specimen) judge(d damage) (outcome, error) {
	disk := s.disk.Kill()
	d.apply(disk)
	got, refused := s.start(disk)
	if refused != nil {
		return refusal, s.explained(d, refused)
	}
	extra := got.incidents - s.want.incidents
	got.incidents = s.want.incidents
	switch {
	case got != s.want:
		return asBefore, fmt.Errorf("%v: the start found\n%+v, it was\n%+v", d, got, s.want)
	case extra > 0:
		return reported, nil
	default:
		return asBefore, nil
	}
}

// explained returns an error unless a refusal has the exit code of damage and names file, place and remedy.
func (s *specimen) explained(d damage, refused error) error {
	var code interface{ ExitCode() int }
	text := refused.Error()
	if !errors.As(refused, &code) || code.ExitCode() != 3 {
		return fmt.Errorf("%v: the refusal is no damage: %w", d, refused)
	}
	name := path.Base(d.file)
	if d.at < 0 {
		name = path.Ext(d.file) // of a segment that is gone the refusal names the one before, where the log ends
	}
	names := strings.Contains(text, name) && strings.Contains(text, path.Dir(d.file))
	if !names || path.Dir(d.file) != "d" && !strings.Contains(text, "at offset ") || !strings.Contains(text, "copy") {
		return fmt.Errorf("%v: the refusal names no file, place or remedy: %w", d, refused)
	}
	return nil
}

// damages returns every cut and flip of every file, and its removal.
func (s *specimen) damages() (all []damage) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, p := range s.paths {
		if path.Base(p) == "LOCK" {
			continue // a text for people
		}
		all = append(all, damage{file: p, at: -1})
		for at := range s.disk.Content(p) {
			all = append(all, damage{p, at, true, 0}, damage{p, at, false, byte(1 + rnd.IntN(255))})
		}
	}
	return all
}

// Truncating any file at any place and changing any byte of it gives the same state or a refusal that
// explains itself, after a stop in order and after the end of the process, and so does the absence of any file.
// TICKHIVE_SOAK=1 tries every place.
func TestNoDamagedByteIsSilent(t *testing.T) {
	for _, c := range []struct {
		name    string
		policy  sequencer.SyncPolicy
		end     end
		virtual bool
	}{
		{"stopped", sequencer.SyncAlways, stop, false},
		{"killed", sequencer.SyncInterval, kill, false},
		{"stopped with a virtual clock", sequencer.SyncInterval, stop, true},
		{"killed with a virtual clock", sequencer.SyncAlways, kill, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSpecimen(t, c.policy, c.end, c.virtual)
			all := s.damages()
			if c.virtual { // the logs are the same
				all = slices.DeleteFunc(all, func(d damage) bool { return path.Dir(d.file) != "d" })
			}
			if os.Getenv("TICKHIVE_SOAK") != "1" {
				gone := slices.DeleteFunc(slices.Clone(all), func(d damage) bool { return d.at >= 0 })
				rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				all = append(gone, all[:min(len(all), *damaged)]...)
			}
			s.tryAll(t, all)
		})
	}
}

// tryAll judges damages on all cores.
func (s *specimen) tryAll(t *testing.T, all []damage) {
	t.Helper()
	defer collectLess()()
	var mu sync.Mutex
	counts := map[string]int{}
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for k := range workers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := k; i < len(all); i += workers {
				o, err := s.judge(all[i])
				mu.Lock()
				counts[kindOf(all[i].file)+": "+string(o)]++
				if err != nil && counts["failures"] < 20 {
					counts["failures"]++
					t.Errorf("%v", err)
				}
				mu.Unlock()
			}
		}()
	}
	wait.Wait()
	var b bytes.Buffer
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "\n%8d %s", counts[k], k)
	}
	t.Logf("%d damages%s", len(all), b.String())
}

// kindOf returns the kind of a file.
func kindOf(file string) string {
	if path.Dir(file) == "d" {
		return path.Base(file)
	}
	return path.Ext(file)
}
