package exchange_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/differ"
	"tickhive/internal/exchange"
	"tickhive/internal/exchange/exchangetest"
	"tickhive/internal/node"
	"tickhive/internal/stream/jet"
	"tickhive/internal/stream/jet/jettest"
)

// whole is a snapshot that was read to its end.
type whole struct {
	node.Head
	body []byte
}

// takeSnapshot asks a node for a snapshot.
func takeSnapshot(t *testing.T, internal string) (w whole) {
	t.Helper()
	for {
		resp, err := http.Get(internal + "/snapshots/latest")
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusServiceUnavailable {
			continue // between two messages
		}
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", resp.Status, data)
		}
		s, err := node.ReadSnapshot(io.NopCloser(bytes.NewReader(data)))
		if err != nil {
			t.Fatal(err)
		}
		w.Head = s.Head
		err = s.Body(func(body io.Reader) error {
			w.body, err = io.ReadAll(body)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
}

// upTo returns a log that ends with a message.
func upTo(t *testing.T, from jet.Log, seq uint64) jet.Log {
	t.Helper()
	to := jettest.NewMem().Connect()
	for n := range seq {
		data, err := from.Read(t.Context(), n+1)
		if err == nil {
			err = to.Publish(n, n, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// busyChanges bounds the load of each client.
const busyChanges = 1000

// busy lets clients change the exchange until stop is closed.
func busy(t *testing.T, x *exchangetest.Rig, stop <-chan struct{}) (done *sync.WaitGroup) {
	done = &sync.WaitGroup{}
	each := func(change func(n int)) {
		done.Go(func() {
			for n := range busyChanges {
				select {
				case <-stop:
					return
				default:
					change(n)
				}
			}
		})
	}
	user := x.Call("POST", "/users", "{}")["id"].(string)
	x.Call("POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":1000000}`)
	each(func(n int) {
		b := sequencer.Batch{}
		for i := range int64(10) {
			b.Commands = append(b.Commands, engine.Command{
				Kind: engine.Place, Side: engine.Side((int64(n) + i) % 2), Price: 9_000 + int64(n)%7*100 + i,
				Amount: 1000 + i, Account: engine.AccountID(i % 2),
			})
		}
		if err := x.Submit(&b); err != nil {
			t.Error(err)
		}
	})
	each(func(int) { x.Do("POST", x.Internal+"/users", "{}") })
	each(func(n int) {
		x.Do("POST", x.Internal+"/users/"+user+"/deposits", fmt.Sprintf(`{"currencyCode":"USDT","amount":%d}`, 1+n%9))
	})
	return done
}

// A snapshot of a writer under load is, in each byte, the one that a replica takes behind the same message.
func TestASnapshotOfAWriterIsTheOneOfAReplica(t *testing.T) {
	mem := jettest.NewMem()
	options := func(dir string) exchange.Options {
		o := exchangetest.Options(dir)
		o.Clock = exchange.ClockOptions{}
		return o
	}
	o := options(t.TempDir())
	o.Journal.KeepAll, o.Journal.SnapshotBytes = true, 256<<10
	o.Stream = exchange.StreamOptions{
		Sim:  exchange.SimOff,
		Open: func(context.Context, string) (jet.Log, func(), error) { return mem.Connect(), func() {}, nil },
	}
	x := exchangetest.Start(t, o)
	x.Pair("BTC_USDT")
	stop := make(chan struct{})
	done := busy(t, x, stop)
	var taken []whole
	for len(taken) < 4 {
		x.Limit("BTC_USDT", "buy", "1", "0.001") // the next one differs, also when the load has ended
		x.Call("POST", "/users", "{}")
		taken = append(taken, takeSnapshot(t, x.Internal))
	}
	close(stop)
	done.Wait()
	x.Stop()
	log := mem.Connect()
	genesis, err := node.ReadGenesis(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range taken {
		r := options("")
		r.Follow = &exchange.FollowOptions{Log: upTo(t, log, w.At.Seq), Genesis: genesis, MaxLag: time.Hour}
		follows(t, r, func(internal string) {
			sameSnapshot(t, fmt.Sprint("snapshot ", i), w, takeSnapshot(t, internal))
		})
	}
	if last := taken[3].At; last.Pos <= taken[0].At.Pos {
		t.Errorf("nothing has changed meanwhile: %+v", last)
	}
}

// follows runs a replica while use runs.
func follows(t *testing.T, o exchange.Options, use func(internal string)) {
	t.Helper()
	o.Log = exchangetest.Options("").Log
	opened, err := exchange.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	recovered, err := opened.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	y, err := recovered.Follow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	y.Admit()
	defer y.Stop(t.Context())
	use("http://" + y.InternalAddr() + "/internal/v1")
}

// sameSnapshot compares two snapshots in all but the time and the program.
func sameSnapshot(t *testing.T, what string, a, b whole) {
	t.Helper()
	a.TakenMs, b.TakenMs = 0, 0
	if fmt.Sprintf("%+v", a.Head) != fmt.Sprintf("%+v", b.Head) {
		t.Errorf("%s: heads: %s", what, differ.Diff(a.Head, b.Head))
	}
	if !bytes.Equal(a.body, b.body) {
		t.Errorf("%s: the bodies differ, %d and %d bytes", what, len(a.body), len(b.body))
	}
}
