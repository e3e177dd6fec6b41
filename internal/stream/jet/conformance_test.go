package jet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
)

// rig is a log that nodes connect to, and the machine below it.
type rig struct {
	connect func() jet.Log
	stop    func() // nil: it ends with the process
	start   func()
}

// within bounds each test, so that a log that hangs is a failure.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 60*time.Second, errors.New("the test took too long"))
	t.Cleanup(cancel)
	return ctx
}

// testKeys are the keys of the cluster in tests.
var testKeys = stream.NewKeys(make([]byte, 32))

// testSeed is the seed of the servers of tests.
var testSeed = func() string {
	seed, err := jet.NewSeed(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return seed
}()

func conn(t *testing.T, r jet.Remote) *jet.Conn {
	t.Helper()
	if r.Embedded == nil && r.Seed == "" {
		r.Seed = write(t, filepath.Join(t.TempDir(), "seed.nk"), []byte(testSeed))
	}
	c, err := jet.Connect(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func open(t *testing.T, c *jet.Conn) jet.Log {
	t.Helper()
	l, err := c.Log(within(t), "e1", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func serve(t *testing.T, dir, listen string) *jet.Server {
	t.Helper()
	return startOne(t, jet.ServerOptions{Dir: dir, Listen: listen})
}

// rigs are the logs that have to behave alike.
var rigs = map[string]func(t *testing.T) *rig{
	"memory": func(*testing.T) *rig {
		m := jettest.NewMem()
		return &rig{m.Connect, func() { m.SetDown(true) }, func() { m.SetDown(false) }}
	},
	"embedded": func(t *testing.T) *rig {
		c := conn(t, jet.Remote{Embedded: serve(t, t.TempDir(), "")})
		return &rig{connect: func() jet.Log { return open(t, c) }}
	},
	"loopback": func(t *testing.T) *rig {
		dir := t.TempDir()
		s := serve(t, dir, freeAddress(t))
		url := s.URL()
		connect := func() jet.Log { return open(t, conn(t, jet.Remote{URLs: []string{url}})) }
		return &rig{
			connect: connect,
			stop:    func() { s.Stop() },
			start:   func() { s = serve(t, dir, url[len("nats://"):]) },
		}
	},
}

func onEveryRig(t *testing.T, test func(t *testing.T, r *rig)) {
	for name, make := range rigs {
		t.Run(name, func(t *testing.T) { test(t, make(t)) })
	}
}

// publish publishes until it is answered.
func publish(t *testing.T, l jet.Log, number, expect uint64, text string) jet.Answer {
	t.Helper()
	if err := l.Publish(number, expect, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return answer(t, l)
}

func answer(t *testing.T, l jet.Log) jet.Answer {
	t.Helper()
	select {
	case a := <-l.Answers():
		return a
	case <-within(t).Done():
		t.Fatal("no answer")
	}
	return jet.Answer{}
}

func TestAPublicationIsAppendedWhereTheLogEnds(t *testing.T) {
	t.Parallel()
	onEveryRig(t, func(t *testing.T, r *rig) {
		l, other := r.connect(), r.connect()
		if last, err := l.Last(within(t)); last != 0 || err != nil {
			t.Fatalf("an empty log ends at %d, %v", last, err)
		}
		if data, err := l.Read(within(t), 1); !errors.Is(err, jet.ErrMissing) {
			t.Errorf("the first message of an empty log: %q, %v", data, err)
		}
		for i := range uint64(20) { // in flight together: the answers keep their order
			if err := l.Publish(100+i, i, fmt.Appendf(nil, "m%d", i+1)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range uint64(20) {
			if a := answer(t, l); a != (jet.Answer{Number: 100 + i, Seq: i + 1}) {
				t.Fatalf("answer %+v", a)
			}
		}
		for _, expect := range []uint64{0, 19, 21} {
			a := publish(t, other, 7, expect, "no")
			if !errors.Is(a.Err, jet.ErrRefused) || a.Number != 7 || a.Seq != 0 {
				t.Errorf("expecting %d: %+v", expect, a)
			}
		}
		if a := publish(t, other, 8, 20, "m21"); a != (jet.Answer{Number: 8, Seq: 21}) {
			t.Errorf("answer %+v", a)
		}
		last, err := l.Last(within(t))
		if last != 21 || err != nil {
			t.Errorf("the log ends at %d, %v", last, err)
		}
		for i := range last {
			data, err := l.Read(within(t), i+1)
			if string(data) != fmt.Sprintf("m%d", i+1) || err != nil {
				t.Errorf("message %d: %q, %v", i+1, data, err)
			}
		}
		// One whose number a node remembers from a log that was longer: ErrUnavailable would be "try again".
		for _, behind := range []uint64{last + 1, last + 100} {
			if data, err := l.Read(within(t), behind); !errors.Is(err, jet.ErrMissing) {
				t.Errorf("message %d behind the end, %d: %q, %v", behind, last, data, err)
			}
		}
		if len(l.Answers())+len(other.Answers()) != 0 {
			t.Error("more answers than publications")
		}
	})
}

// errEnough ends a Follow.
var errEnough = errors.New("enough")

// follow reads messages from a number on up to another one.
func follow(t *testing.T, l jet.Log, from, to uint64) error {
	next := from
	err := l.Follow(within(t), from, func(seq uint64, data []byte) error {
		if seq != next || string(data) != fmt.Sprintf("m%d", seq) {
			return fmt.Errorf("message %d is %q, expected number %d", seq, data, next)
		}
		if next++; seq == to {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func TestFollowersReadEveryMessageOnceFromAnyNumber(t *testing.T) {
	t.Parallel()
	onEveryRig(t, func(t *testing.T, r *rig) {
		l := r.connect()
		const n = 300
		done := make(chan error, 3)
		for _, from := range []uint64{1, 1, 150} { // before the messages are there
			l := r.connect()
			go func() {
				for last := uint64(0); last < from-1; { // a follower begins within the log
					last, _ = l.Last(t.Context())
				}
				done <- follow(t, l, from, n)
			}()
		}
		for i := range uint64(n) {
			if a := publish(t, l, i, i, fmt.Sprintf("m%d", i+1)); a.Err != nil {
				t.Fatal(a.Err)
			}
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if err := follow(t, l, 120, 120); err != nil { // all there already
			t.Error(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errEnough)
		if err := l.Follow(ctx, 1, func(uint64, []byte) error { return nil }); !errors.Is(err, errEnough) {
			t.Errorf("the context's end: %v", err)
		}
	})
}

func TestFollowersBehindATrimNeedASnapshot(t *testing.T) {
	t.Parallel()
	onEveryRig(t, func(t *testing.T, r *rig) {
		l := r.connect()
		for i := range uint64(10) {
			publish(t, l, i, i, fmt.Sprintf("m%d", i+1))
		}
		if err := r.connect().Trim(within(t), 6); err != nil {
			t.Fatal(err)
		}
		if err := follow(t, l, 6, 10); !errors.Is(err, jet.ErrTrimmed) {
			t.Errorf("from a removed message: %v", err)
		}
		if _, err := l.Read(within(t), 6); !errors.Is(err, jet.ErrTrimmed) {
			t.Errorf("a removed message: %v", err)
		}
		if err := follow(t, l, 7, 10); err != nil {
			t.Errorf("from the first kept one: %v", err)
		}
		if a := publish(t, l, 11, 10, "m11"); a.Seq != 11 {
			t.Errorf("the log goes on at %+v", a)
		}
	})
}

func TestARestartOfTheServerLosesNothing(t *testing.T) {
	t.Parallel()
	onEveryRig(t, func(t *testing.T, r *rig) {
		if r.stop == nil {
			t.Skip("the server ends with the process")
		}
		l := r.connect()
		done := make(chan error, 1)
		follower := r.connect()
		go func() { done <- follow(t, follower, 1, 12) }()
		seq := uint64(0)
		for round := range 3 {
			for range 4 {
				for seq++; ; {
					err := l.Publish(seq, seq-1, fmt.Appendf(nil, "m%d", seq))
					if err == nil {
						break
					}
					if !errors.Is(err, jet.ErrUnavailable) || within(t).Err() != nil {
						t.Fatal(err)
					}
				}
				if a := answer(t, l); a.Seq != seq {
					t.Fatalf("answer %+v, want %d", a, seq)
				}
			}
			if round == 2 {
				break
			}
			r.stop()
			if err := l.Publish(99, seq, []byte("lost")); err != nil && !errors.Is(err, jet.ErrUnavailable) {
				t.Errorf("without a server: %v", err)
			}
			if _, err := l.Last(shortly(t)); !errors.Is(err, jet.ErrUnavailable) {
				t.Errorf("the end without a server: %v", err)
			}
			r.start()
			for {
				last, err := l.Last(within(t))
				if err == nil && last == seq {
					break
				}
				if err != nil && !errors.Is(err, jet.ErrUnavailable) || err == nil {
					t.Fatalf("after the restart the log ends at %d, %v; want %d", last, err, seq)
				}
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A log that was lost and begun again may have grown beyond a follower, which must not go on behind other messages.
func TestAFollowerOfALogThatWasBegunAgain(t *testing.T) {
	t.Parallel()
	c := conn(t, jet.Remote{Embedded: serve(t, t.TempDir(), "")})
	c.SetStaleFor(100 * time.Millisecond)
	l := open(t, c)
	for i := range uint64(3) {
		publish(t, l, i, i, fmt.Sprintf("m%d", i+1))
	}
	err := l.Follow(within(t), 1, func(seq uint64, data []byte) error {
		if string(data) != fmt.Sprintf("m%d", seq) {
			return fmt.Errorf("message %d is %q", seq, data)
		}
		if seq == 3 {
			if err := c.JetStream().DeleteStream(within(t), "TICKHIVE_e1"); err != nil {
				return err
			}
			for again, i := open(t, c), uint64(0); i < 9; i++ {
				publish(t, again, i, i, fmt.Sprintf("another %d", i+1))
			}
		}
		return nil
	})
	if !errors.Is(err, jet.ErrMissing) || !errors.Is(err, stream.ErrReplaced) {
		t.Errorf("got %v", err)
	}
}

// shortly bounds a request that no server answers.
func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// A server that comes back without its files is reported and not followed.
func TestALogThatIsGoneIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, dir, freeAddress(t))
	url := s.URL()
	l := open(t, conn(t, jet.Remote{URLs: []string{url}}))
	publish(t, l, 1, 0, "m1")
	s.Stop()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	serve(t, dir, url[len("nats://"):])
	if err := follow(t, l, 2, 2); !errors.Is(err, jet.ErrLost) {
		t.Errorf("a follower: %v", err)
	}
	if _, err := l.Last(within(t)); !errors.Is(err, jet.ErrLost) {
		t.Errorf("its end: %v", err)
	}
	short := conn(t, jet.Remote{URLs: []string{url}})
	short.SetStaleFor(time.Second)
	again := open(t, short) // made again, empty
	if err := follow(t, again, 2, 2); !errors.Is(err, jet.ErrMissing) {
		t.Errorf("a follower of the new one: %v", err)
	}
}
