package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
)

// keys sign and verify the messages of a test.
var keys = stream.NewKeys([]byte("0123456789abcdef0123456789abcdef"))

// copied is a stream with records, and a directory for copies of it.
type copied struct {
	t        *testing.T
	dir      string
	fs       vfs.FS // nil: the machine's
	genesis  node.Genesis
	messages [][]byte
	states   []stream.State // before the first message, and behind each
	asides   []string
	why      error
}

func newCopied(t *testing.T, history byte) *copied {
	t.Helper()
	c := &copied{t: t, dir: filepath.Join(t.TempDir(), "node"), genesis: node.Genesis{Epoch: "e1"}}
	w, err := stream.Campaign(&stream.Candidate{
		Node: 5, Rules: node.Rules, Info: []byte("{}"), Keys: keys,
		Found: stream.Founding{
			History: [16]byte{history}, End: wal.Begins(wal.ID{history}, "engine"), Info: []byte(`{"epoch":"e1"}`),
		},
		Limits: stream.Limits{InFlight: 1, Queue: stream.MaxMessage},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	publish := func() {
		for p, ok := w.Publish(0); ok; p, ok = w.Publish(0) {
			c.messages = append(c.messages, p.Data)
			w.Acked(p.Number, uint64(len(c.messages)))
			c.resolve(w)
		}
	}
	publish()
	for i := range 10 {
		if _, err := w.Add(0, []byte(strings.Repeat("x", i+1)), []byte{byte(i), 0, history}); err != nil {
			t.Fatal(err)
		}
		publish()
	}
	r := stream.NewReader(stream.State{}, node.Rules, keys)
	c.states = append(c.states, r.State())
	for i, data := range c.messages {
		if _, valid, err := r.Next(uint64(i+1), data); !valid || err != nil {
			t.Fatal(valid, err)
		}
		c.states = append(c.states, r.State())
	}
	return c
}

// resolve ends a doubt of the writer.
func (c *copied) resolve(w *stream.Writer) {
	c.t.Helper()
	for seq, doubt := w.Wants(); doubt; seq, doubt = w.Wants() {
		last, err := uint64(len(c.messages)), error(nil)
		if seq > last {
			err = w.End(last)
		} else {
			err = w.Read(seq, c.messages[seq-1])
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// log returns a log with the first n messages.
func (c *copied) log(n int) jet.Log {
	c.t.Helper()
	log := jettest.NewMem().Connect()
	c.publish(log, 0, n)
	return log
}

// publish appends the messages behind from, up to a number.
func (c *copied) publish(log jet.Log, from, upTo int) {
	for i := from; i < upTo; i++ {
		if err := log.Publish(uint64(i+1), uint64(i), c.messages[i]); err != nil {
			c.t.Error(err)
		}
		if a := <-log.Answers(); a.Err != nil {
			c.t.Error(a.Err)
		}
	}
}

func (c *copied) open() *node.Copy {
	c.t.Helper()
	o := node.CopyOptions{
		Machine: node.OwnMachine(), Log: wal.Options{PreallocBytes: -1}, Genesis: c.genesis,
		Aside: func(to string, why error) { c.asides, c.why = append(c.asides, to), why },
	}
	if c.fs != nil {
		o.Machine.FS = c.fs
	}
	copy, err := node.OpenCopy(c.dir, o)
	if err != nil {
		c.t.Fatal(err)
	}
	return copy
}

// take lets a copy take the messages behind from, up to a number.
func (c *copied) take(to *node.Copy, from, upTo int) error {
	c.t.Helper()
	r := stream.NewReader(c.states[from], node.Rules, keys)
	for seq := from + 1; seq <= upTo; seq++ {
		m, _, err := r.Next(uint64(seq), c.messages[seq-1])
		if err == nil {
			err = to.Take(&m, r.State())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end returns the end of the log behind a message.
func (c *copied) end(upTo int) (end wal.Position) {
	c.t.Helper()
	r := stream.NewReader(stream.State{}, node.Rules, keys)
	for seq := 1; seq <= upTo; seq++ {
		if _, _, err := r.Next(uint64(seq), c.messages[seq-1]); err != nil {
			c.t.Fatal(err)
		}
	}
	return r.State().End
}

// must ends the test after an error.
func (c *copied) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// A copy that was closed goes on where it ended, wherever the node begins to read.
func TestACopyIsContinued(t *testing.T) {
	for _, begins := range []int{0, 3, 6} {
		c := newCopied(t, 1)
		copy := c.open()
		c.must(c.take(copy, 0, 6))
		c.must(copy.Close())
		copy = c.open()
		if at := copy.At(); at != c.states[6] {
			t.Errorf("behind %d: it knows the state %+v", begins, at)
		}
		c.must(c.take(copy, begins, 12))
		c.must(copy.Matches(c.end(12)))
		c.must(copy.Matches(c.end(11))) // a stream that lacks the last records: the next writer sends them
		if len(c.asides) != 0 {
			t.Errorf("behind %d: put aside: %v", begins, c.why)
		}
		if err := copy.Matches(newCopied(t, 2).end(11)); !errors.Is(err, node.ErrOffChain) {
			t.Errorf("behind %d: the end of another history: %v", begins, err)
		}
		c.must(copy.Close())
	}
}

// A copy without messages between, of another exchange, or of a stream that begins later, takes nothing.
func TestACopyTakesWhatContinuesIt(t *testing.T) {
	c, other := newCopied(t, 1), newCopied(t, 2)
	copy := c.open()
	c.must(c.take(copy, 0, 6))
	for name, err := range map[string]error{
		"a gap":            c.take(copy, 7, 8),
		"another exchange": other.take(copy, 0, 1),
		"other records":    other.take(copy, 6, 7),
	} {
		if !errors.Is(err, node.ErrOffChain) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.must(c.take(copy, 6, 12))
	c.must(copy.Matches(c.end(12)))
	c.must(copy.Close())
	c.dir += "-new"
	copy = c.open()
	if err := c.take(copy, 3, 4); !errors.Is(err, node.ErrOffChain) {
		t.Errorf("a new copy, in the middle: %v", err)
	}
	c.must(copy.Close())
}

// Records of the same exchange that are not those of the copy do not continue it, wherever a message meets its end; nor
// does a copy that lacks records have all of the stream.
func TestOtherRecordsOfTheSameExchangeAreNoticed(t *testing.T) {
	c := newCopied(t, 1)
	own := c.states[6].End
	r := stream.NewReader(c.states[6], node.Rules, keys)
	m, valid, err := r.Next(7, c.messages[6])
	if !valid || err != nil || m.Last() == own.Seq {
		t.Fatal(valid, err)
	}
	meets := func(own wal.Position) {
		t.Helper()
		if err := node.Meets(own, &m); err != nil {
			t.Errorf("its own records up to %d: %v", own.Seq, err)
		}
		own.Chain ^= 1
		if err := node.Meets(own, &m); !errors.Is(err, node.ErrOffChain) {
			t.Errorf("other records up to %d: %v", own.Seq, err)
		}
	}
	meets(own)
	for _, record := range m.All() {
		own = own.Next(record)
		meets(own)
	}
	copy := c.open()
	c.must(c.take(copy, 0, 6))
	if err := copy.Matches(c.end(12)); !errors.Is(err, node.ErrOffChain) {
		t.Errorf("a copy up to message 6 of 12: %v", err)
	}
	c.must(copy.Close())
}

// A copy says how far it is when its log is there: a power cut at that moment leaves one that goes on.
func TestACopySaysWhatIsDurable(t *testing.T) {
	c := newCopied(t, 1)
	c.dir = "d/node"
	disk := vfstest.NewMem()
	c.fs = disk
	var mu sync.Mutex
	var cut []*vfstest.Mem
	disk.After(func(op vfstest.Op) {
		if op.Kind == vfstest.OpRename && strings.Contains(op.Path, "COPY") {
			mu.Lock()
			defer mu.Unlock()
			for seed := range uint64(4) {
				cut = append(cut, disk.Crash(seed))
			}
		}
	})
	copy := c.open()
	c.must(c.take(copy, 0, 6))
	c.must(copy.Close())
	reached := 0
	for _, disk := range cut {
		c.fs = disk
		copy := c.open()
		if at := copy.At(); at != (stream.State{}) {
			if copy.Log().LastSeq() < at.End.Seq {
				t.Errorf("behind record %d the log ends at %d", at.End.Seq, copy.Log().LastSeq())
			}
			if at == c.states[6] {
				reached++
			}
		}
		c.must(copy.Close())
	}
	if len(c.asides) != 0 || reached == 0 {
		t.Errorf("%d cuts, %d behind the last message; put aside: %v", len(cut), reached, c.why)
	}
}

// A copy that cannot be read, or is of another stream, is put aside with all its records, and a new one begins.
func TestACopyThatCannotBeReadIsPutAside(t *testing.T) {
	damage := func(c *copied, name string, at int) {
		name = filepath.Join(c.dir, name)
		text, err := os.ReadFile(name)
		c.must(err)
		text[at] ^= 1
		c.must(os.WriteFile(name, text, 0o600))
	}
	for name, change := range map[string]func(c *copied){
		"another epoch":   func(c *copied) { c.genesis.Epoch = "e2" },
		"a damaged log":   func(c *copied) { damage(c, "engine/000001.wal", 1560) },
		"a damaged state": func(c *copied) { damage(c, "COPY", 0) },
		"a state that is none": func(c *copied) {
			c.must(os.WriteFile(filepath.Join(c.dir, "COPY"), []byte("Copy of"), 0o600))
		},
		"a missing log": func(c *copied) { c.must(os.RemoveAll(filepath.Join(c.dir, "engine"))) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCopied(t, 1)
			copy := c.open()
			c.must(c.take(copy, 0, 6))
			c.must(copy.Close())
			change(c)
			before, missing := os.ReadFile(filepath.Join(c.dir, "engine", "000001.wal"))
			copy = c.open()
			if len(c.asides) != 1 || copy.Begun() {
				t.Fatalf("put aside: %v, %v", c.asides, c.why)
			}
			after, err := os.ReadFile(filepath.Join(c.asides[0], "engine", "000001.wal"))
			if missing == nil && (err != nil || !bytes.Equal(after[3*vfs.SectorBytes:], before[3*vfs.SectorBytes:])) {
				t.Errorf("%v, the records are not in %s", err, c.asides[0])
			}
			c.must(c.take(copy, 0, 12))
			c.must(copy.Matches(c.end(12)))
			c.must(copy.Close())
			c.must(c.open().Close())
		})
	}
}

// Records behind the durable state are compared as they are read: those of another history are noticed.
func TestRecordsBehindTheStateAreCompared(t *testing.T) {
	c, other := newCopied(t, 1), newCopied(t, 2)
	copy := c.open()
	c.must(c.take(copy, 0, 6))
	c.must(copy.Close())
	state, err := os.ReadFile(filepath.Join(c.dir, "COPY"))
	c.must(err)
	copy = c.open()
	c.must(c.take(copy, 6, 9))
	c.must(copy.Close())
	c.must(os.WriteFile(filepath.Join(c.dir, "COPY"), state, 0o600)) // as after a kill
	copy = c.open()
	if at := copy.At(); at != c.states[6] || copy.Log().LastSeq() <= at.End.Seq {
		t.Errorf("it goes on behind %+v with the log up to %d", at, copy.Log().LastSeq())
	}
	if err := other.take(copy, 8, 9); !errors.Is(err, node.ErrOffChain) {
		t.Errorf("other records: %v", err)
	}
	c.must(c.take(copy, 6, 12))
	c.must(copy.Matches(c.end(12)))
	c.must(copy.Close())
}

// begins asks for the place where a node goes on behind the first nine messages.
func (c *copied) begins(log jet.Log) (at stream.State, why, err error) {
	m := node.OwnMachine()
	return node.Begins(c.t.Context(), &m, log, c.states[9], c.states[3])
}

// The stream was lost and sent again in fewer, larger messages, so it ends before the last one that a node knows. For
// 30 s that may be a server which is behind: a stream that reaches the message meanwhile is continued. Then it is read
// from an earlier known message, or from the first one.
func TestAStreamWithoutTheKnownMessage(t *testing.T) {
	for name, c := range map[string]struct {
		history byte          // of the stream
		level   time.Duration // until the server has everything; 0: never
		begins  int           // message behind which it is read
		after   time.Duration // until that is known
	}{
		"a server that is behind":  {1, 28_700 * time.Millisecond, 9, 29 * time.Second},
		"a stream that was lost":   {1, 0, 3, 30 * time.Second},
		"another one that reaches": {2, 9_700 * time.Millisecond, 0, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				own, other := newCopied(t, 1), newCopied(t, c.history)
				log := other.log(4)
				if c.level > 0 {
					time.AfterFunc(c.level, func() { other.publish(log, 4, 12) })
				}
				begun := time.Now()
				at, why, err := own.begins(log)
				if err != nil || at != own.states[c.begins] && (c.begins > 0 || at != stream.State{}) {
					t.Fatalf("%+v, %v, %v", at, why, err)
				}
				if took := time.Since(begun); took != c.after {
					t.Errorf("decided after %s, not %s", took, c.after)
				}
				if c.history == 1 && c.level == 0 && at.Seq == 3 && why != nil {
					t.Errorf("the reason: %v", why)
				}
				if c.begins == 0 && why == nil {
					t.Error("no reason")
				}
			})
		})
	}
}

// A node compares the last message that counts for it with the stream. What the stream does not have may be late for
// 30 s, and what it has removed is in snapshots.
func TestAStateThatTheStreamContinues(t *testing.T) {
	for name, c := range map[string]struct {
		history byte // of the stream
		has     int  // messages at the beginning
		change  func(c *copied, log jet.Log)
		after   time.Duration
		want    error
	}{
		"the same message": {1, 12, nil, 0, nil},
		"another one":      {2, 12, nil, 0, stream.ErrReplaced},
		"one that is late": {1, 4, func(c *copied, log jet.Log) {
			time.AfterFunc(9_700*time.Millisecond, func() { c.publish(log, 4, 12) })
		}, 10 * time.Second, nil},
		"none": {1, 4, nil, 30 * time.Second, jet.ErrMissing},
		"one that was removed": {1, 12, func(c *copied, log jet.Log) {
			if err := log.Trim(c.t.Context(), 9); err != nil {
				c.t.Fatal(err)
			}
		}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				own, other := newCopied(t, 1), newCopied(t, c.history)
				log, m := other.log(c.has), node.OwnMachine()
				if c.change != nil {
					c.change(other, log)
				}
				begun := time.Now()
				err := node.Continues(t.Context(), &m, log, &own.states[9])
				if took := time.Since(begun); !errors.Is(err, c.want) || took != c.after {
					t.Errorf("%v after %s", err, took)
				}
				if off := errors.Is(err, node.ErrOffChain); off != (c.want == stream.ErrReplaced) {
					t.Errorf("off the chain: %t", off)
				}
			})
		})
	}
}

// The end of the patience, in the middle of a request, does not hide what the requests before have found.
func TestPatienceDoesNotEndWithARequestThatItCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCopied(t, 1)
		if at, _, err := c.begins(slowLog{c.log(4)}); at.Seq != 3 || err != nil {
			t.Errorf("%+v, %v", at, err)
		}
	})
}

// A server that does not answer one request in time, after it has lacked the message, does not end the patience. One
// that has not answered the last request proves nothing about the message.
func TestPatienceOutlastsAnAnswerThatDoesNotCome(t *testing.T) {
	for name, silent := range map[string]func(n int) bool{
		"once":      func(n int) bool { return n == 2 },
		"from then": func(n int) bool { return n >= 2 },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCopied(t, 1)
			at, _, err := c.begins(&silentLog{Log: c.log(4), silent: silent})
			if lacks := name == "once"; lacks != (err == nil) || lacks != (at.Seq == 3) ||
				!lacks && !errors.Is(err, jet.ErrUnavailable) {
				t.Errorf("%s: %+v, %v", name, at, err)
			}
		})
	}
}

// silentLog does not answer some of the Reads.
type silentLog struct {
	jet.Log
	silent func(n int) bool
	reads  int
}

func (l *silentLog) Read(ctx context.Context, seq uint64) ([]byte, error) {
	if l.reads++; !l.silent(l.reads) {
		return l.Log.Read(ctx, seq)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	<-ctx.Done()
	return nil, fmt.Errorf("%w: %w", jet.ErrUnavailable, ctx.Err())
}

// slowLog answers a Read after 800 ms, unless its time is over.
type slowLog struct{ jet.Log }

func (l slowLog) Read(ctx context.Context, seq uint64) ([]byte, error) {
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", jet.ErrUnavailable, ctx.Err())
	case <-time.After(800 * time.Millisecond):
		return l.Log.Read(ctx, seq)
	}
}

// Nobody campaigns behind a stream whose last message does not verify: it may be one that counted.
func TestAStreamWithADamagedEndHasNoState(t *testing.T) {
	c := newCopied(t, 1)
	log := c.log(6)
	c.messages[6] = []byte("no message")
	c.publish(log, 6, 7)
	if at, err := node.End(t.Context(), log, keys); !errors.Is(err, stream.ErrDamaged) {
		t.Errorf("%+v, %v", at, err)
	}
	if err := log.Publish(8, 7, newCopied(t, 1).messages[6]); err != nil { // a writer that lives goes on
		t.Fatal(err)
	}
	<-log.Answers()
	if at, err := node.End(t.Context(), log, keys); at.Seq != 8 || err != nil {
		t.Errorf("%+v, %v", at, err)
	}
}

// The number of copies that are put aside has a bound.
func TestCopiesThatArePutAsideAreBounded(t *testing.T) {
	c := newCopied(t, 1)
	for range 8 {
		copy := c.open()
		c.must(c.take(copy, 0, 6))
		c.must(copy.SetAside(errors.New("a test")))
		c.must(copy.Close())
	}
	copy := c.open()
	c.must(c.take(copy, 0, 6))
	if err := copy.SetAside(errors.New("a test")); err == nil || !strings.Contains(err.Error(), "remove those") {
		t.Errorf("a ninth one: %v", err)
	}
	c.must(copy.Close())
}

// noRename is a file system without room for another name, once full is set.
type noRename struct {
	vfs.OS
	full *bool
}

// Rename implements vfs.FS.
func (fs noRename) Rename(from, to string) error {
	if *fs.full {
		return errors.New("no room")
	}
	return fs.OS.Rename(from, to)
}

// A copy whose first state cannot be stored says so, and can be closed.
func TestACopyThatCannotBeginEnds(t *testing.T) {
	c, full := newCopied(t, 1), false
	m := node.OwnMachine()
	m.FS = noRename{full: &full}
	copy, err := node.OpenCopy(c.dir, node.CopyOptions{
		Machine: m, Log: wal.Options{PreallocBytes: -1}, Genesis: c.genesis, Aside: func(string, error) {},
	})
	c.must(err)
	full = true
	if err := c.take(copy, 0, 2); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("take: %v", err)
	}
	closed := make(chan error, 1)
	go func() { closed <- copy.Close() }()
	select {
	case err := <-closed:
		c.must(err)
	case <-time.After(3 * time.Minute):
		t.Fatal("Close waits for a goroutine that was never started")
	}
}
