package exchange_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/launchpad"
)

// usedDisk returns a disk with an exchange that was killed or stopped, and the bodies of the reads that it gave last.
func usedDisk(t *testing.T, o exchange.Options, kill bool) (disk *vfstest.Mem, reads []string) {
	t.Helper()
	disk = vfstest.NewMem()
	o.Machine.FS = disk
	x := exchangetest.Start(t, o)
	x.Pair("BTC_USDT")
	id, _ := x.Call("POST", "/users", `{"nickname":"ada"}`)["id"].(string)
	x.Call("POST", "/users/"+id+"/deposits", `{"currencyCode":"USDT","amount":1000}`)
	x.Limit("BTC_USDT", "sell", "5", "3")
	x.Limit("BTC_USDT", "sell", "4", "1")
	x.Call("POST", "/orders", `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":4,"amount":1,`+
		`"accountId":"`+id+`"}`)
	reads = readsOf(x, id)
	if !kill {
		x.Stop()
	}
	return disk.Kill(), append(reads, id)
}

// readsOf reads the book, the trades, the user and the balances.
func readsOf(x *exchangetest.Rig, user string) (bodies []string) {
	for _, path := range []string{
		x.Public + "/api/orderbook?currencyPairCode=BTC_USDT", x.Public + "/api/deals?currencyPairCode=BTC_USDT",
		x.Internal + "/users/" + user, x.Internal + "/totals",
	} {
		a := x.Do("GET", path, "")
		bodies = append(bodies, fmt.Sprint(a.Status, " ", a.Body))
	}
	return bodies
}

// A full disk keeps nobody from reading: the exchange starts on it, after a kill and after a stop, however much of what
// a start writes still finds room. It says that it is degraded, refuses changes with nothing applied, and takes them by
// itself once there is room. Nothing that was acknowledged is lost, and nothing that was refused comes back.
func TestAStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	degraded := 0
	for _, kill := range []bool{true, false} {
		for room := int64(0); room < 4000; room += 500 {
			name := fmt.Sprintf("killed %v, room for %d bytes", kill, room)
			o := exchangetest.Options("d")
			o.Journal.SnapshotBytes = 2000
			disk, want := usedDisk(t, o, kill)
			want, user := want[:len(want)-1], want[len(want)-1]
			disk.SetCapacity(disk.Used() + room)
			o.Machine.FS = disk
			x := exchangetest.Start(t, o)
			if got := readsOf(x, user); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: reads\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			refused := x.Do("POST", x.Internal+"/users", `{"nickname":"refused"}`)
			if refused.Status == 503 {
				degraded++
				if status := x.Do("GET", x.Public+"/api/status", "").Body; !strings.Contains(status, `"degraded"`) {
					t.Errorf("%s: the status is not degraded: %s", name, status)
				}
			}
			// The same disk after a kill without room, with room again.
			again := disk.Kill()
			again.SetCapacity(0)
			disk.SetCapacity(0)
			waitFor(t, name+": the status is ok", func() bool {
				return strings.Contains(x.Do("GET", x.Public+"/api/status", "").Body, `"status":"ok"`)
			})
			if a := x.Do("POST", x.Internal+"/users", `{"nickname":"bob"}`); a.Status != 200 {
				t.Fatalf("%s: a change after there is room: %d %s", name, a.Status, a.Body)
			}
			x.Limit("BTC_USDT", "sell", "6", "1")
			hash := x.Call("GET", "/state-hash", "")["hash"]
			o.Machine.FS = disk.Kill()
			y := exchangetest.Start(t, o)
			if got := y.Call("GET", "/state-hash", "")["hash"]; got != hash {
				t.Errorf("%s: the state after a restart is another one", name)
			}
			users := 2 // ada and bob
			if refused.Status != 503 {
				users++
			}
			if got := y.Accounts().Shown().UserCount(); got != users {
				t.Errorf("%s: %d users after a restart, want %d", name, got, users)
			}
			o.Machine.FS = again
			z := exchangetest.Start(t, o)
			if got := readsOf(z, user); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: reads after a kill on the full disk\n%s", name, strings.Join(got, "\n"))
			}
			for _, r := range []*exchangetest.Rig{x, y, z} {
				r.Stop()
			}
		}
	}
	if degraded == 0 {
		t.Error("no start found the disk full")
	}
}

// A start finds a mass cancel that a full disk has cut short. It starts, shows what the journal has of the command, and
// carries out the rest once there is room.
func TestAStartOnAFullDiskWithAnUnfinishedCommand(t *testing.T) {
	t.Parallel()
	const orders = 2000
	o := exchangetest.Options("d")
	disk := vfstest.NewMem()
	o.Machine.FS = disk
	x := exchangetest.Start(t, o)
	x.Pair("BTC_USDT")
	for i := range orders {
		x.Limit("BTC_USDT", "sell", fmt.Sprint(5+i%50), "1")
	}
	whole := x.Do("GET", x.Public+"/api/orderbook?currencyPairCode=BTC_USDT", "").Body
	disk.Inject(vfstest.Injection{Class: vfstest.FullDisk, Path: "d/engine/*.wal", After: 5, Count: -1})
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.Do("DELETE", x.Internal+"/orders?currencyPairCode=BTC_USDT", "")
	}()
	waitFor(t, "the journal is full", func() bool {
		return strings.Contains(x.Do("GET", x.Public+"/api/status", "").Body, `"degraded"`)
	})
	left := disk.Kill()
	disk.Disarm()
	<-done
	x.Stop()
	left.Disarm()
	left.SetCapacity(1)
	o.Machine.FS = left
	y := exchangetest.Start(t, o)
	book := func() string { return y.Do("GET", y.Public+"/api/orderbook?currencyPairCode=BTC_USDT", "").Body }
	if b := book(); b == whole || !strings.Contains(b, `"price"`) {
		t.Fatalf("no command is unfinished on the full disk: %s", b)
	}
	if status := y.Do("GET", y.Public+"/api/status", "").Body; !strings.Contains(status, `"degraded"`) {
		t.Fatalf("the status is not degraded: %s", status)
	}
	left.SetCapacity(0)
	waitFor(t, "the rest of the orders is canceled", func() bool { return !strings.Contains(book(), `"price"`) })
	y.Limit("BTC_USDT", "sell", "5", "1")
}

// waitFor polls until done; the wait ends a hanging test only.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !done(); {
		if time.Now().After(end) {
			t.Fatal("waited for: " + what)
		}
	}
}

// A refused change says what ends the refusal: room, after which the same request works, or a restart after a failed
// sync, for which no client waits (no Retry-After). The status says the same to the operator.
func TestARefusalSaysWhetherARestartIsNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, body string }{
		{"/orders", `{"currencyPairCode":"BTC_USDT","side":"sell","type":"limit","price":5,"amount":1}`},
		{"/users", `{"nickname":"bob"}`},
		{"/users/USER/deposits", `{"currencyCode":"NATIVE","amount":1}`},
	} {
		for _, f := range []struct {
			class                   vfstest.Class
			says, incident, retries string
		}{
			{
				vfstest.SyncError, "until the operator restarts",
				"a sync failed, so a store accepts no changes until a restart", "",
			},
			{vfstest.FullDisk, "at the moment", "Changes are accepted again as soon as the disk has room", "5"},
		} {
			disk := vfstest.NewMem()
			o := exchangetest.Options("d")
			o.Machine.FS, o.Journal.Sync = disk, sequencer.SyncAlways
			x := exchangetest.Start(t, o)
			x.Pair("BTC_USDT")
			id, _ := x.Call("POST", "/users", `{"nickname":"ada"}`)["id"].(string)
			path := strings.Replace(c.path, "USER", id, 1)
			disk.Inject(vfstest.Injection{Class: f.class, Path: "d/engine/*.wal", Count: -1})
			x.Do("POST", x.Internal+path, c.body) // its outcome may be unknown
			a := x.Do("POST", x.Internal+path, c.body)
			if a.Status != 503 || !strings.Contains(a.Body, f.says) || a.Header.Get("Retry-After") != f.retries {
				t.Errorf("%s, %v: %d, Retry-After %q, %s", c.path, f.class, a.Status,
					a.Header.Get("Retry-After"), a.Body)
			}
			waitFor(t, c.path+": an incident with: "+f.incident, func() bool {
				return strings.Contains(x.Do("GET", x.Public+"/api/status", "").Body, f.incident)
			})
			disk.Disarm()
			x.Stop()
		}
	}
}

// What keeps a start from its directory is named with what to do.
func TestAStartThatCannotUseItsDirectorySaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		fail func(t *testing.T, dir string) vfs.FS
		want []string
	}{
		{"meta.json is a directory", func(t *testing.T, dir string) vfs.FS {
			if err := os.Remove(filepath.Join(dir, "meta.json")); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "meta.json"), 0o700); err != nil {
				t.Fatal(err)
			}
			return vfs.OS{}
		}, []string{"meta.json", "restore the directory from a copy"}},
		{"the lock on a full disk", noLock(syscall.ENOSPC), []string{"LOCK", "free some space and start again"}},
		{"the lock on a read-only disk", noLock(syscall.EROFS), []string{"LOCK", "make the file system writable"}},
		{
			"the lock of another user", noLock(syscall.EACCES),
			[]string{"LOCK", "let the program's user read and write there"},
		},
	} {
		o := exchangetest.Options(t.TempDir())
		exchangetest.Start(t, o).Stop()
		o.Machine.FS = c.fail(t, o.Dir)
		err := refused(t, o)
		if err == nil {
			t.Errorf("%s: it started", c.name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", c.name, err, want)
			}
		}
	}
}

// lockless is a file system that refuses locks.
type lockless struct {
	vfs.OS
	err error
}

func (l lockless) Lock(name string, _ vfs.Owner) (io.Closer, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: l.err}
}

func noLock(err error) func(*testing.T, string) vfs.FS {
	return func(*testing.T, string) vfs.FS { return lockless{err: err} }
}

// A loss is accepted only where it can be noted: a start that cuts a log off and keeps its new epoch in memory alone
// would let the next start give ids out again in the old epoch. With room the loss is accepted.
func TestALossIsNotAcceptedOnAFullDisk(t *testing.T) {
	t.Parallel()
	o := exchangetest.Options("d")
	disk, _ := usedDisk(t, o, false)
	shorten(t, disk, "d/engine/000001.wal")
	disk.SetCapacity(1)
	o.Machine.FS = disk
	before := disk.Used()
	lossy := o
	lossy.AcceptDataLoss = true
	if err := refused(t, lossy); err == nil || !strings.Contains(err.Error(), "free some space and start again") {
		t.Fatalf("a loss on a full disk: %v", err)
	}
	if disk.Used() != before {
		t.Errorf("the refused start left %d bytes of %d", disk.Used(), before)
	}
	disk.SetCapacity(0)
	if err := refused(t, o); err == nil {
		t.Error("a start that accepts no loss found none: the refused start had cut the log off")
	}
	x := exchangetest.Start(t, lossy)
	if status := x.Do("GET", x.Public+"/api/status", "").Body; !strings.Contains(status, `"data_loss"`) {
		t.Errorf("with room no incident tells of the loss: %s", status)
	}
}

// shorten cuts the last 64 bytes with a record off a file that was closed in order.
func shorten(t *testing.T, disk *vfstest.Mem, name string) {
	t.Helper()
	f, err := disk.OpenRW(name)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Size()
	if err == nil {
		err = f.Truncate(size - 64)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// repeated lets every kind of change be refused by a full disk, if full is set, and then be repeated. It returns the
// state after each of them.
func repeated(t *testing.T, full bool) (hashes []string) {
	t.Helper()
	disk := vfstest.NewMem()
	o := exchangetest.Options("d")
	o.Machine.FS = disk
	x := exchangetest.Start(t, o)
	x.Pair("BTC_USDT")
	id, _ := x.Call("POST", "/users", `{"nickname":"ada","nativeBalance":1000}`)["id"].(string)
	post := func(path, body string) func() error {
		return func() error {
			a := x.Do("POST", x.Internal+strings.Replace(path, "USER", id, 1), strings.Replace(body, "USER", id, 1))
			if a.Status == 503 && strings.Contains(a.Body, "nothing was applied") {
				return sequencer.ErrUnavailable
			}
			if a.Status != 200 {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		}
	}
	var open hive.ProposalInfo
	for _, change := range []struct {
		what string
		do   func() error
	}{
		{"a deposit", post("/users/USER/deposits", `{"currencyCode":"USDT","amount":100}`)},
		{"a withdrawal", post("/users/USER/withdrawals", `{"currencyCode":"USDT","amount":30}`)},
		{"an order", post("/orders", `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":5,"amount":1,`+
			`"accountId":"USER"}`)},
		{"a deposit of the ledger", post("/users/USER/deposits", `{"currencyCode":"NATIVE","amount":7}`)},
		{"a spawn", post("/launchpad/tokens", `{"userId":"USER","name":"T","symbol":"TTT"}`)},
		{"a proposal", func() error {
			res, err := x.Agents().DoHive(hive.Propose{
				TokenID: launchpad.FirstAgentNFT, Topic: hive.SlippageCap, Payload: `{"slippageCapBps":70}`,
				Proposer: "p",
			})
			open = res.Proposal
			return err
		}},
		{"a vote", func() error {
			_, err := x.Agents().DoHive(vote(launchpad.FirstAgentNFT, &open, 1))
			return err
		}},
	} {
		if full {
			before, reads := ownHash(t, x), readsOf(x, id)
			disk.Inject(vfstest.Injection{Class: vfstest.FullDisk, Path: "d/engine/*.wal", Count: -1})
			for range 2 {
				if err := change.do(); !errors.Is(err, sequencer.ErrUnavailable) {
					t.Errorf("%s on a full disk: %v", change.what, err)
				}
			}
			if ownHash(t, x) != before || fmt.Sprint(readsOf(x, id)) != fmt.Sprint(reads) {
				t.Errorf("%s was refused, and has changed something", change.what)
			}
			disk.Disarm()
		}
		if err := change.do(); err != nil {
			t.Errorf("%s: %v", change.what, err)
		}
		hashes = append(hashes, ownHash(t, x))
	}
	o.Machine.FS = disk.Kill()
	return append(hashes, ownHash(t, exchangetest.Start(t, o)))
}

func ownHash(t *testing.T, x *exchangetest.Rig) string {
	t.Helper()
	h, err := x.OwnHash()
	if err != nil {
		t.Fatal(err)
	}
	return h.Hash
}

// A change of any part whose record a full disk has refused has changed nothing; reads go on. Repeated, it is applied
// once: the state is the one of an exchange that has never met a full disk, and a restart finds it.
func TestARefusedWriteIsAppliedOnceWhenRepeated(t *testing.T) {
	t.Parallel()
	got, want := repeated(t, true), repeated(t, false)
	if !slices.Equal(got, want) || got[len(got)-1] != got[len(got)-2] {
		t.Errorf("the states are\n%s\nwithout a full disk\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
