package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/wal"

	"github.com/tickhive/tickhive/test/harness"
)

// journalSays runs a journal command.
func journalSays(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	code, out, errs := harness.Run(t, append([]string{"journal"}, args...)...)
	return code, out + errs
}

// poison appends an order of an account that does not exist: no start can fold it.
func poison(t *testing.T, dir string) (pos uint64) {
	t.Helper()
	at := exchange.EngineLog(filepath.Join(dir, "engine"))
	log, err := wal.Open(at.FS, at.Dir, at.Options)
	if err != nil {
		t.Fatal(err)
	}
	last := engine.Command{}
	rd, err := log.Reader(1)
	if err != nil {
		t.Fatal(err)
	}
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = engine.DecodeCommand(rec.Payload, &last)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := engine.Command{
		Kind: engine.Place, TimeNs: last.TimeNs, Account: 77, Price: 100,
		Amount: 100,
	}
	pos, err = log.Append([][]byte{engine.AppendCommand(nil, &cmd)})
	if err == nil {
		err = log.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := rd.Close(); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return pos
}

// soldDir returns a killed directory with a user, two orders and their trade, and the user's
// id; hash is the hash of its state.
func soldDir(t *testing.T, more ...string) (dir, user, hash string) {
	t.Helper()
	dir = t.TempDir()
	in := harness.StartEmpty(t, append([]string{"--data-dir", dir}, more...)...)
	in.Pair("BTC_USDT")
	user = in.Call(200, "POST", "/users", `{"nickname":"alice"}`)["id"].(string)
	in.Call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":"1000"}`)
	in.Limit("BTC_USDT", "sell", "100", "2")
	in.Call(200, "POST", "/orders",
		fmt.Sprintf(`{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":"100","amount":"1",`+
			`"accountId":%q}`, user))
	hash = in.Do("GET", in.Internal+"/state-hash", "").Body
	in.Signal(syscall.SIGKILL)
	<-in.Exited
	return dir, user, hash
}

func failsToStart(in *harness.Instance, want int) string {
	in.T.Helper()
	code := in.Wait()
	if said := in.Stderr.String(); code != want {
		in.T.Fatalf("exit code %d: %s", code, said)
	}
	for line := range in.Lines {
		if strings.HasPrefix(line, "ready") {
			in.T.Errorf("it said %q", line)
		}
	}
	return in.Stderr.String()
}

func tryDir(t *testing.T, dir string) *harness.Instance {
	t.Helper()
	return harness.Serve(t, nil, "--data-dir", dir,
		"--pairs", "none", "--sim", "off", "--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z")
}

// A record that cannot be applied stops every start, which reports its position and the
// remedy. Once it is skipped, the directory starts with all other records: live, from
// snapshots and offline.
func TestASkippedRecordIsNeverCarriedOut(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	dir, user, hash := soldDir(t)
	meta, err := datadir.ReadMeta(dir)
	if err != nil {
		t.Fatal(err)
	}
	pos := poison(t, dir)
	for range 2 {
		said := failsToStart(tryDir(t, dir), 1)
		for _, want := range []string{
			fmt.Sprintf("record %d at offset", pos), "cannot be applied", "no account 77",
			fmt.Sprintf("tickhive journal skip %s --at %d", dir, pos),
		} {
			if !strings.Contains(said, want) {
				t.Errorf("%q is not in: %s", want, said)
			}
		}
	}
	if code, said := journalSays(t, "verify", dir, "--quiet"); code == 0 || strings.Contains(said, "verified") {
		t.Errorf("verify: %d %s", code, said)
	}
	code, said := journalSays(t, "skip", dir, "--at", fmt.Sprint(pos))
	if code != 0 || !strings.Contains(said, "is skipped from") {
		t.Fatalf("%d %s", code, said)
	}

	in := harness.StartEmpty(t, "--data-dir", dir, "--set", "journal.snapshot_bytes=4096")
	if got := in.Do("GET", in.Internal+"/state-hash", "").Body; got != hash {
		t.Errorf("%s, was %s", got, hash)
	}
	status := in.Do("GET", in.Public+"/api/status", "").Body
	if !strings.Contains(status, fmt.Sprintf("record %d of the journal is skipped", pos)) {
		t.Errorf("status: %s", status)
	}
	if now, err := datadir.ReadMeta(dir); err != nil || now.Epoch == meta.Epoch {
		t.Errorf("the epoch %s is the same: %v", now.Epoch, err)
	}
	// Money, orders and snapshots continue after it.
	in.Call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":"7"}`)
	if o := in.Limit("BTC_USDT", "buy", "99", "1"); fmt.Sprint(o["orderId"]) != "3" {
		t.Errorf("the next order is %v", o["orderId"])
	}
	hash = in.Do("GET", in.Internal+"/state-hash", "").Body // computed by a follower
	money := in.Do("GET", in.Internal+"/totals", "").Body
	in.Signal(syscall.SIGKILL)
	<-in.Exited

	code, said = journalSays(t, "verify", dir, "--quiet")
	if code != 0 || !strings.Contains(said, fmt.Sprintf("record %d is skipped", pos)) ||
		!strings.Contains(hash, strings.TrimSpace(said[strings.LastIndex(said, "hash ")+5:])) {
		t.Errorf("verify: %d %s; want %s", code, said, hash)
	}
	code, said = journalSays(t, "dump", dir)
	if code != 0 || !strings.Contains(said, `"kind":"skip"`) ||
		!strings.Contains(said, fmt.Sprintf(`"record":%d,`, pos)) {
		t.Errorf("dump: %d %s", code, said)
	}
	again := harness.StartEmpty(t, "--data-dir", dir)
	if got := again.Do("GET", again.Internal+"/state-hash", "").Body; got != hash {
		t.Errorf("%s, was %s", got, hash)
	}
	if got := again.Do("GET", again.Internal+"/totals", "").Body; got != money {
		t.Errorf("%s, was %s", got, money)
	}
	again.Signal(syscall.SIGTERM)
	if code := again.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, again.Stderr.String())
	}
}

// A record that cannot be skipped is refused with a reason, and nothing is written.
func TestWhatCannotBeSkippedIsRefused(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	dir, _, _ := soldDir(t)
	pos := poison(t, dir)
	refuse := func(at uint64, want string) {
		t.Helper()
		before, err := os.ReadFile(filepath.Join(dir, "engine", "000001.wal"))
		if err != nil {
			t.Fatal(err)
		}
		code, said := journalSays(t, "skip", dir, "--at", fmt.Sprint(at))
		if code != 1 || !strings.Contains(said, want) {
			t.Errorf("record %d: exit code %d, %s; want %q", at, code, said, want)
		}
		after, err := os.ReadFile(filepath.Join(dir, "engine", "000001.wal"))
		if err != nil || string(before) != string(after) {
			t.Errorf("record %d: the journal was changed: %v", at, err)
		}
	}
	refuse(0, "records 1 to")
	refuse(pos+1, fmt.Sprintf("records 1 to %d", pos))
	if code, said := journalSays(t, "skip", dir, "--at", fmt.Sprint(pos)); code != 0 {
		t.Fatalf("%d %s", code, said)
	}
	refuse(pos, "already skipped")
	refuse(pos+1, "is itself the skip")
	running := harness.StartEmpty(t, "--data-dir", dir)
	refuse(pos-1, "in use")
	running.Signal(syscall.SIGTERM)
	if code := running.Wait(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if code, said := journalSays(t, "skip", t.TempDir(), "--at", "1"); code != 1 ||
		!strings.Contains(said, "not a data directory") {
		t.Errorf("%d %s", code, said)
	}
	old := exchangetest.SnapshotDirectory(t)
	if code, said := journalSays(t, "skip", old, "--at", "3"); code != 1 ||
		!strings.Contains(said, "is covered by the snapshot at record") {
		t.Errorf("%d %s", code, said)
	}
}

// lastOf returns the number of a part's last record.
func lastOf(t *testing.T, dir, part string) (number uint64) {
	t.Helper()
	_, dump := journalSays(t, "dump", dir)
	for line := range strings.Lines(dump) {
		if strings.Contains(line, fmt.Sprintf(`"part":%q`, part)) {
			n, err := harness.Object(t, line)["record"].(json.Number).Int64()
			if err != nil {
				t.Fatal(err)
			}
			number = uint64(n)
		}
	}
	if number == 0 {
		t.Fatalf("no record of %s: %s", part, dump)
	}
	return number
}

// The next start has not applied a skipped record of the accounts, the launchpad or the hive, and applies what comes
// behind it. Clients have another epoch.
func TestARecordOfEveryPartCanBeSkipped(t *testing.T) {
	t.Parallel()
	for part, change := range map[string]func(in *harness.Instance, user string){
		"accounts": func(in *harness.Instance, user string) {
			in.Call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":"77"}`)
		},
		"launchpad": func(in *harness.Instance, user string) {
			in.Call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"USBI","amount":"77"}`)
		},
		"hive": func(in *harness.Instance, _ string) {
			in.Call(200, "POST", "/hive/actions",
				`{"sourceAgentId":"queen-1","targetTokenId":0,"actionType":"observation","reasonCode":"skipped"}`)
		},
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			dir, user, _ := soldDir(t)
			in := harness.StartEmpty(t, "--data-dir", dir)
			parts := func(in *harness.Instance) map[string]any {
				state := harness.Object(t, in.Do("GET", in.Internal+"/state-hash", "").Body)
				return state["parts"].(map[string]any)
			}
			epoch := func() string {
				t.Helper()
				meta, err := datadir.ReadMeta(dir)
				if err != nil {
					t.Fatal(err)
				}
				return meta.Epoch
			}
			before, was := parts(in), epoch()
			change(in, user)
			if parts(in)[part] == before[part] {
				t.Fatal("the record has changed nothing")
			}
			in.Limit("BTC_USDT", "buy", "50", "1")
			market := parts(in)["market"]
			in.Signal(syscall.SIGKILL)
			<-in.Exited
			pos := lastOf(t, dir, part)
			if code, said := journalSays(t, "skip", dir, "--at", fmt.Sprint(pos)); code != 0 ||
				!strings.Contains(said, fmt.Sprintf("record %d is skipped", pos)) {
				t.Fatalf("%d %s", code, said)
			}
			again := harness.StartEmpty(t, "--data-dir", dir)
			before["market"] = market
			if got := parts(again); !maps.Equal(got, before) {
				t.Errorf("%v\nwant %v", got, before)
			}
			if now := epoch(); now == was {
				t.Errorf("the epoch %s is the same", now)
			}
			again.Signal(syscall.SIGTERM)
			again.EndsClean(dir)
			if code, said := journalSays(t, "verify", "--quiet", dir); code != 0 ||
				!strings.Contains(said, fmt.Sprintf("record %d is skipped", pos)) {
				t.Errorf("verify: %d %s", code, said)
			}
		})
	}
}
