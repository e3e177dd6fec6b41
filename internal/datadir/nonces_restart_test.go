package datadir

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"tickhive/accounts"
	"tickhive/accounts/auth"
	"tickhive/client"
	"tickhive/internal/refuse"
	"tickhive/internal/vfs"
)

const privateOfTest = "0123456789012345678901234567890123456789012345678901234567890123"

// noncesRun is one process: keys, their nonces, and the file that survives it.
type noncesRun struct {
	state *accounts.State
	v     *auth.Verifier
	file  *Nonces
}

// startNonces starts a process as serve does. least is the size at which the file is
// rewritten, most the limit of the table.
func startNonces(t testing.TB, path string, keys int, nowMs, knownMs, least int64, most int) *noncesRun {
	t.Helper()
	x := &noncesRun{state: accounts.New(accounts.Options{Random: rand.NewChaCha8([32]byte{})})}
	rec, err := x.state.Plan(nowMs*1e6, accounts.Command{Kind: accounts.CreateUser})
	if err != nil {
		t.Fatal(err)
	}
	x.state.Apply(&rec)
	for i := range keys {
		x.state.Apply(&accounts.Record{Kind: accounts.CreateKey, User: 1, Key: auth.KeyRecord{
			PublicKey: keyOfTest(i), Secret: auth.NewSecret(privateOfTest), Name: "k", CanTrade: true,
		}})
	}
	_, missing := os.Stat(path)
	n, notBefore, err := openNonces(vfs.OS{}, path, knownMs, missing == nil)
	if err != nil {
		t.Fatal(err)
	}
	x.file = n
	n.least, n.limit = least, least
	x.v = auth.NewVerifier(x.state.Keys(), auth.Options{
		NotBeforeMs: notBefore, Used: n.Used(notBefore), UsedNs: nowMs * 1e6, Keep: n.Keep, MaxNonces: most,
	})
	if err := n.Follow(x.v.FloorMs); err != nil {
		t.Fatal(err)
	}
	return x
}

func keyOfTest(i int) string { return fmt.Sprintf("key%035d", i) }

func (x *noncesRun) send(nowMs int64, key int, timestampMs int64, nonce string) *refuse.Refusal {
	ts := strconv.FormatInt(timestampMs, 10)
	_, reject := x.v.Verify(nowMs*1e6, &auth.Request{
		Method: "GET", Target: []byte("/"), PublicKey: []byte(keyOfTest(key)), Timestamp: []byte(ts),
		Nonce:     []byte(nonce),
		Signature: []byte(client.Sign(privateOfTest, ts, nonce, "GET", "/", nil)), RecvWindow: []byte("60000"),
		Remote: netip.MustParseAddr("127.0.0.1"),
	})
	return reject
}

// No request is accepted twice, whatever a process forgets and however its clock moves, during
// a run and over restarts. A restart may interrupt a pass over the file.
func TestNoSignedRequestPassesTwiceOverRestarts(t *testing.T) {
	t.Parallel()
	const t0 = int64(1_767_225_600_000)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	passes, floors, accepted, refused, restarts := 0, 0, 0, 0, 0
	for run := range 30 {
		path := filepath.Join(t.TempDir(), fmt.Sprint("NONCES", run))
		keys, most, least := 1+r.IntN(12), 3+r.IntN(100), 500+r.Int64N(5000)
		x := startNonces(t, path, keys, t0, 0, least, most)
		type request struct {
			key         int
			timestampMs int64
			nonce       string
		}
		passed, list := map[request]bool{}, []request{}
		now := t0
		for range 3000 {
			switch r.IntN(300) {
			case 0:
				now += r.Int64N(100_000)
			case 1:
				now -= r.Int64N(100_000)
			case 2: // killed, and restarted with a clock that may have gone back
				restarts++
				_ = x.file.close()
				now += r.Int64N(100_000) - 50_000
				x = startNonces(t, path, keys, now, []int64{0, now - 10_000, now}[r.IntN(3)], least, most)
			default:
				now += r.Int64N(50)
			}
			q := request{r.IntN(keys), now + (r.Int64N(120_001)-60_000)/(1+r.Int64N(100)), strconv.Itoa(r.IntN(200))}
			if len(list) > 0 && r.IntN(3) == 0 {
				p := list[len(list)-1-r.IntN(min(len(list), 200))]
				if max(p.timestampMs-now, now-p.timestampMs) <= 60_000 {
					q = p
				}
			}
			under := x.file.pass
			if reject := x.send(now, q.key, q.timestampMs, q.nonce); reject != nil {
				refused++
			} else {
				if passed[q] {
					t.Fatalf("run %d: %+v passed twice", run, q)
				}
				passed[q] = true
				accepted++
				list = append(list, q)
			}
			if under == nil && x.file.pass != nil {
				passes++
			}
		}
		for u := range x.file.Used(0) {
			if u.Nonce == "" {
				floors++
			}
		}
		_ = x.file.close()
	}
	t.Logf("%d requests passed, %d were refused, %d restarts, %d passes over the file, %d floors in it", accepted,
		refused, restarts, passes, floors)
	if accepted < 5000 || refused < 5000 || passes < 100 || floors < 10 || restarts < 100 {
		t.Error("the run has not met what it is about")
	}
}

// The length of the file depends on the size of the table, not on one minute's traffic. The
// next process refuses requests below the floor that replaces dropped lines.
func TestNonceFileIsBoundedByTheTable(t *testing.T) {
	const t0, most, requests = int64(1_767_225_600_000), 500, 20_000
	path := filepath.Join(t.TempDir(), "NONCES")
	x := startNonces(t, path, 2, t0, 0, 1, most)
	if reject := x.send(t0, 1, t0+1, "light"); reject != nil {
		t.Fatal(reject)
	}
	longest := int64(0)
	for i := range requests {
		now := t0 + int64(i) // 20 s: the timestamps alone refuse no request
		if reject := x.send(now, 0, now, strconv.Itoa(i)); reject != nil {
			t.Fatal(i, reject)
		}
		longest = max(longest, x.file.size)
	}
	line := int64(len(appendNonceLine(nil, t0, keyOfTest(0), []byte(strconv.Itoa(requests)))))
	if bound := most * line * 23 / 10; longest > bound {
		t.Errorf("the file had %d bytes for %d nonces, at most %d", longest, most, bound)
	}
	floor := x.v.FloorMs([]byte(keyOfTest(0)))
	if floor != t0+requests-most+1 {
		t.Errorf("the floor is at %d", floor-t0)
	}
	_ = x.file.close()
	x = startNonces(t, path, 2, t0, 0, 1, most) // a clock that went back
	defer func() { _ = x.file.close() }()
	for i := range requests {
		if reject := x.send(t0+int64(i), 0, t0+int64(i), strconv.Itoa(i)); reject == nil ||
			reject.Code != refuse.Unauthorized {
			t.Fatalf("request %d passed again: %v", i, reject)
		}
	}
	if reject := x.send(t0, 1, t0+1, "light"); reject == nil || reject.Field != "API-Nonce" {
		t.Fatalf("the light key's request: %v", reject)
	}
	if reject := x.send(t0, 1, t0, "another"); reject != nil {
		t.Fatalf("the light key is refused for the heavy one: %v", reject)
	}
}

// A process that is killed at any byte of a pass loses no required line.
func TestNonceFileCutShortAtEveryStepOfAPass(t *testing.T) {
	const t0 = int64(1_767_225_600_000)
	path := filepath.Join(t.TempDir(), "NONCES")
	x := startNonces(t, path, 4, t0, 0, 1<<40, 100)
	for i := range 300 {
		now := t0 + int64(i)*300 // 90 s
		if reject := x.send(now, i*i%4, now, strconv.Itoa(i)); reject != nil {
			t.Fatal(reject)
		}
	}
	n := x.file
	defer func() { _ = n.close() }()
	refused := func(used []auth.UsedNonce, key, i int) bool {
		for _, u := range used {
			if u.PublicKey == keyOfTest(key) && (u.Nonce == strconv.Itoa(i) || u.Nonce == "" &&
				t0+int64(i)*300 < u.TimestampMs) {
				return true
			}
		}
		return false
	}
	n.beginPass()
	steps := 0
	for ; n.pass != nil; steps++ {
		if err := n.shrink(); err != nil {
			t.Fatal(err)
		}
		if n.pass != nil { // a flush as early as possible
			if err := n.pass.flush(); err != nil {
				t.Fatal(err)
			}
		}
		var used []auth.UsedNonce
		for u := range n.Used(n.notBefore()) {
			used = append(used, u)
		}
		for i := range 300 {
			if t0+int64(i)*300 >= n.notBefore() && !refused(used, i*i%4, i) {
				t.Fatalf("step %d: request %d would pass again", steps, i)
			}
		}
	}
	if steps < 300/shrinkLines {
		t.Errorf("%d steps: the pass was not in parts", steps)
	}
	raw := make([]byte, n.size)
	if _, err := n.f.ReadAt(raw, 0); err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(raw, []byte("\n")); lines > 102 {
		t.Errorf("%d lines are left for 100 nonces", lines)
	}
}

// The newest timestamp shows how far the clock has been, even after its key is deleted.
func TestNonceFileKeepsTheNewestLineOfADeletedKey(t *testing.T) {
	const t0 = int64(1_767_225_600_000)
	path := filepath.Join(t.TempDir(), "NONCES")
	x := startNonces(t, path, 2, t0, 0, 1<<40, 1000)
	for i := range 100 {
		if reject := x.send(t0, i%2, t0+int64(i)*500, strconv.Itoa(i)); reject != nil {
			t.Fatal(reject)
		}
	}
	rec, err := x.state.Plan(t0*1e6, accounts.Command{Kind: accounts.DeleteKey, User: 1, PublicKey: keyOfTest(1)})
	if err != nil {
		t.Fatal(err)
	}
	x.state.Apply(&rec)
	x.file.beginPass()
	for x.file.pass != nil {
		if err := x.file.shrink(); err != nil {
			t.Fatal(err)
		}
	}
	_ = x.file.close()
	n, notBefore, used := usedOf(t, path, 0)
	defer func() { _ = n.close() }()
	if want := t0 + 99*500 - auth.MaxWindowMs; notBefore != want || len(used) != 51 {
		t.Errorf("not before %d, want %d; %d nonces, want 51", notBefore-t0, want-t0, len(used))
	}
}
