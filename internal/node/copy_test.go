package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tickhive/internal/node"
	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
	"tickhive/internal/stream/jet/jettest"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// copied is a stream with records, and a directory for copies of it.
type copied struct {
	t        *testing.T
	dir      string
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
		Node: 5, Rules: node.Rules, Info: []byte("{}"),
		Found:  stream.Founding{History: [16]byte{history}, Info: []byte(`{"epoch":"e1"}`)},
		Limits: stream.Limits{InFlight: 1, Queue: stream.MaxMessage},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	publish := func() {
		for p, ok := w.Publish(0); ok; p, ok = w.Publish(0) {
			c.messages = append(c.messages, p.Data)
			w.Acked(p.Number, uint64(len(c.messages)))
		}
	}
	publish()
	for i := range 10 {
		if _, err := w.Add(0, []byte(strings.Repeat("x", i+1)), []byte{byte(i), 0, history}); err != nil {
			t.Fatal(err)
		}
		publish()
	}
	r := stream.NewReader(stream.State{}, node.Rules)
	c.states = append(c.states, r.State())
	for i, data := range c.messages {
		if _, valid, err := r.Next(uint64(i+1), data); !valid || err != nil {
			t.Fatal(valid, err)
		}
		c.states = append(c.states, r.State())
	}
	return c
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
		Log: wal.Options{PreallocBytes: -1}, Genesis: c.genesis,
		Aside: func(to string, why error) { c.asides, c.why = append(c.asides, to), why },
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
	r := stream.NewReader(c.states[from], node.Rules)
	for seq := from + 1; seq <= upTo; seq++ {
		m, _, err := r.Next(uint64(seq), c.messages[seq-1])
		if err == nil {
			err = to.Take(&m)
		}
		if err == nil {
			err = to.Note(r.State())
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
	r := stream.NewReader(stream.State{}, node.Rules)
	for seq := 1; seq <= upTo; seq++ {
		m, _, err := r.Next(uint64(seq), c.messages[seq-1])
		if err != nil {
			c.t.Fatal(err)
		}
		end = node.NextEnd(end, &m)
	}
	return end
}

// must ends the test after an error.
func (c *copied) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// A copy that was closed goes on where it ended, wherever the node begins to read: at the first message, or behind a
// snapshot before or behind the end of the copy. The messages between are taken from the stream.
func TestACopyIsContinued(t *testing.T) {
	for _, begins := range []int{0, 3, 6, 9, 12} {
		c := newCopied(t, 1)
		copy := c.open()
		c.must(c.take(copy, 0, 6))
		c.must(copy.Close())
		copy = c.open()
		var from *node.Snapshot
		if begins > 0 {
			from = &node.Snapshot{Head: node.Head{At: c.states[begins], Chain: c.end(begins).Chain}}
		}
		c.must(copy.Join(t.Context(), c.log(12), from))
		c.must(c.take(copy, begins, 12))
		c.must(copy.Reaches(c.end(12)))
		if len(c.asides) != 0 {
			t.Errorf("behind %d: put aside: %v", begins, c.why)
		}
		if err := copy.Reaches(c.end(11)); !errors.Is(err, node.ErrOffChain) {
			t.Errorf("behind %d: the end of the message before: %v", begins, err)
		}
		c.must(copy.Close())
	}
}

// A copy that another stream continues, or none, is put aside with all its records, and a new one begins.
func TestACopyOffTheChainIsPutAside(t *testing.T) {
	damage := func(c *copied, name string, at int) {
		name = filepath.Join(c.dir, name)
		text, err := os.ReadFile(name)
		c.must(err)
		text[at] ^= 1
		c.must(os.WriteFile(name, text, 0o600))
	}
	for name, change := range map[string]func(c *copied) jet.Log{
		"another history": func(c *copied) jet.Log { return newCopied(c.t, 2).log(12) },
		"another epoch": func(c *copied) jet.Log {
			c.genesis.Epoch = "e2"
			return c.log(12)
		},
		"a trimmed stream": func(c *copied) jet.Log {
			log := c.log(12)
			c.must(log.Trim(c.t.Context(), 7))
			return log
		},
		"a damaged log":   func(c *copied) jet.Log { damage(c, "engine/000001.wal", 1560); return c.log(12) },
		"a damaged state": func(c *copied) jet.Log { damage(c, "COPY", 0); return c.log(12) },
		"a state that is none": func(c *copied) jet.Log {
			c.must(os.WriteFile(filepath.Join(c.dir, "COPY"), []byte("Copy of"), 0o600))
			return c.log(12)
		},
		"a missing log": func(c *copied) jet.Log {
			c.must(os.RemoveAll(filepath.Join(c.dir, "engine")))
			return c.log(12)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCopied(t, 1)
			copy := c.open()
			c.must(c.take(copy, 0, 6))
			c.must(copy.Close())
			log := change(c)
			before, missing := os.ReadFile(filepath.Join(c.dir, "engine", "000001.wal"))
			copy = c.open()
			c.must(copy.Join(t.Context(), log, nil))
			if len(c.asides) != 1 || copy.Begun() {
				t.Fatalf("put aside: %v, %v", c.asides, c.why)
			}
			after, err := os.ReadFile(filepath.Join(c.asides[0], "engine", "000001.wal"))
			if missing == nil && (err != nil || !bytes.Equal(after[3*vfs.SectorBytes:], before[3*vfs.SectorBytes:])) {
				t.Errorf("%v, the records are not in %s", err, c.asides[0])
			}
			c.must(c.take(copy, 0, 12))
			c.must(copy.Reaches(c.end(12)))
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
	c.must(copy.Join(t.Context(), c.log(12), nil))
	if err := copy.Reaches(c.end(6)); !errors.Is(err, node.ErrOffChain) {
		t.Errorf("a copy with more records than the stream: %v", err)
	}
	r := stream.NewReader(other.states[6], node.Rules)
	for seq := uint64(7); seq <= 9 && err == nil; seq++ {
		var m stream.Message
		if m, _, err = r.Next(seq, other.messages[seq-1]); err == nil {
			err = copy.Take(&m)
		}
	}
	if !errors.Is(err, node.ErrOffChain) {
		t.Errorf("other records: %v", err)
	}
	c.must(copy.SetAside(err))
	c.must(copy.Close())
	copy = c.open()
	c.must(c.take(copy, 0, 12))
	c.must(copy.Reaches(c.end(12)))
	c.must(copy.Close())
}

// The stream was lost and sent again in fewer, larger messages, so it ends before the last one of the copy. For 30 s
// that may be a server which is behind: a stream that reaches the message meanwhile continues the copy. Then the copy
// is put aside, with all its records, and a new one begins.
func TestACopyBehindTheEndOfTheStream(t *testing.T) {
	for name, c := range map[string]struct {
		history byte          // of the stream
		level   time.Duration // until the server has everything; 0: never
		aside   bool
		after   time.Duration // until Join returns
	}{
		"a server that is behind":  {1, 28_700 * time.Millisecond, false, 29 * time.Second},
		"a stream that was lost":   {1, 0, true, 30 * time.Second},
		"another one that reaches": {2, 9_700 * time.Millisecond, true, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				own, other := newCopied(t, 1), newCopied(t, c.history)
				copy := own.open()
				own.must(own.take(copy, 0, 9))
				own.must(copy.Close())
				log := other.log(4)
				copy = own.open()
				defer func() { own.must(copy.Close()) }()
				if c.level > 0 {
					time.AfterFunc(c.level, func() { other.publish(log, 4, 12) })
				}
				begun := time.Now()
				own.must(copy.Join(t.Context(), log, nil))
				if took := time.Since(begun); took != c.after {
					t.Errorf("decided after %s, not %s", took, c.after)
				}
				if (len(own.asides) == 1) != c.aside || copy.Begun() == c.aside {
					t.Fatalf("put aside: %v, %v", own.asides, own.why)
				}
				if c.aside && c.level == 0 && !errors.Is(own.why, jet.ErrMissing) {
					t.Errorf("the reason: %v", own.why)
				}
				if c.aside {
					if _, err := os.Stat(filepath.Join(own.asides[0], "engine", "000001.wal")); err != nil {
						t.Error(err)
					}
					own.must(other.take(copy, 0, 12))
					own.must(copy.Reaches(other.end(12)))
				}
			})
		})
	}
}

// The end of the patience, in the middle of a request, does not hide what the requests before have found.
func TestPatienceDoesNotEndWithARequestThatItCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCopied(t, 1)
		copy := c.open()
		c.must(c.take(copy, 0, 9))
		c.must(copy.Close())
		copy = c.open()
		defer func() { c.must(copy.Close()) }()
		c.must(copy.Join(t.Context(), slowLog{c.log(4)}, nil))
		if len(c.asides) != 1 || !errors.Is(c.why, jet.ErrMissing) {
			t.Errorf("put aside: %v, %v", c.asides, c.why)
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
			copy := c.open()
			c.must(c.take(copy, 0, 9))
			c.must(copy.Close())
			copy = c.open()
			defer func() { c.must(copy.Close()) }()
			err := copy.Join(t.Context(), &silentLog{Log: c.log(4), silent: silent}, nil)
			if lacks := name == "once"; lacks != (err == nil) || lacks != (len(c.asides) == 1) ||
				!lacks && !errors.Is(err, jet.ErrUnavailable) {
				t.Errorf("%s: %v, put aside: %v", name, err, c.asides)
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
	if at, _, err := node.ReadStream(t.Context(), log); !errors.Is(err, stream.ErrDamaged) {
		t.Errorf("%+v, %v", at, err)
	}
	if err := log.Publish(8, 7, newCopied(t, 1).messages[6]); err != nil { // a writer that lives goes on
		t.Fatal(err)
	}
	<-log.Answers()
	if at, _, err := node.ReadStream(t.Context(), log); at.Seq != 8 || err != nil {
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
