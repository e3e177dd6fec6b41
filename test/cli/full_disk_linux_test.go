package cli

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/tickhive/tickhive/test/harness"
)

// limitFiles limits the size of every file that the process writes. Its writers see a full
// disk.
func limitFiles(in *harness.Instance, size uint64) {
	in.T.Helper()
	limitResource(in, syscall.RLIMIT_FSIZE, size)
}

// limitResource changes a limit of the running process.
func limitResource(in *harness.Instance, resource uintptr, value uint64) {
	in.T.Helper()
	var limit syscall.Rlimit
	_, _, code := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(in.Cmd.Process.Pid), resource, 0,
		uintptr(unsafe.Pointer(&limit)), 0, 0)
	if code == 0 {
		limit.Cur = value
		_, _, code = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(in.Cmd.Process.Pid), resource,
			uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	}
	if code != 0 {
		in.T.Fatalf("prlimit: %v", code)
	}
}

// waitStatus polls /api/status until it has this word and this number of store incidents.
func waitStatus(in *harness.Instance, word string, incidents int) {
	in.T.Helper()
	for deadline := time.Now().Add(harness.Patience); ; {
		body := in.Do("GET", in.Public+"/api/status", "").Body
		if strings.HasPrefix(body, `{"status":"`+word+`"`) && strings.Count(body, `"kind":"store"`) == incidents {
			return
		}
		if time.Now().After(deadline) {
			in.T.Fatalf("the status is not %s with %d incidents: %s", word, incidents, body)
		}
	}
}

// hasMetrics reads the metrics once, and compares whole lines.
func hasMetrics(in *harness.Instance, lines ...string) {
	in.T.Helper()
	body := in.Do("GET", in.Root+"/metrics", "").Body
	for _, line := range lines {
		if !strings.Contains(body, "\n"+line+"\n") {
			in.T.Errorf("the metrics have no line %s", line)
		}
	}
	if !regexp.MustCompile(`(?m)^tickhive_disk_free_bytes [1-9]`).MatchString(body) {
		in.T.Error("the metrics do not say how much room the disk has")
	}
}

func TestAFullDiskIsSaidAndRefusesChangesOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := harness.StartEmpty(t, "--data-dir", dir)
	in.Pair("BTC_USDT")
	in.Limit("BTC_USDT", "buy", "1", "1")
	book := in.Public + "/api/marketdata/getaggregator/orderbook?ticker_id=BTC_USDT"
	before := in.Do("GET", book, "").Body

	limitFiles(in, 1)
	order := `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":1,"amount":1}`
	for n := 0; ; n++ {
		a := in.Do("POST", in.Internal+"/orders", order)
		if a.Status == 503 {
			if a.Header.Get("Retry-After") == "" || !strings.Contains(a.Body, `"code":"UNAVAILABLE"`) {
				t.Errorf("%v %s", a.Header, a.Body)
			}
			break
		}
		if a.Status != 200 || n > 100 {
			t.Fatalf("order %d: %d %s", n, a.Status, a.Body)
		}
	}
	waitStatus(in, "degraded", 1)
	hasMetrics(in, `tickhive_changes_refused 1`, `tickhive_status{status="degraded"} 1`,
		`tickhive_status{status="ok"} 0`,
		`tickhive_snapshot_failures_total{log="engine"} 0`)
	internal, elsewhere := strings.TrimPrefix(in.Root, "http://"), t.TempDir()+"/b.snap"
	if code, _, errs := harness.Run(t, "backup", "--internal", internal, elsewhere); code != 1 ||
		!strings.Contains(errs, "The snapshot cannot be taken now: ") || !strings.Contains(errs, "file too large") {
		t.Errorf("a backup to another disk: exit code %d, %s", code, errs)
	}
	if body := in.Do("GET", in.Root+"/metrics", "").Body; !regexp.MustCompile(
		`(?m)^tickhive_snapshot_failures_total{log="engine"} [1-9]`).MatchString(body) {
		t.Error("a backup that failed is not counted")
	}
	if own := in.Do("GET", in.Internal+"/incidents", "").Body; !strings.Contains(own, `"kind":"snapshot"`) {
		t.Errorf("a backup that failed is no incident: %s", own)
	}
	if status := in.Do("GET", in.Public+"/api/status", "").Body; strings.Contains(status, dir) {
		t.Errorf("the public status names a path of the machine: %s", status)
	}
	if own := in.Do("GET", in.Internal+"/incidents", "").Body; !strings.Contains(own, dir) {
		t.Errorf("the operator does not see which file could not be written: %s", own)
	}
	if after := in.Do("GET", book, ""); after.Status != 200 || after.Body != before {
		t.Errorf("the book changed: %d %s, before %s", after.Status, after.Body, before)
	}

	limitFiles(in, math.MaxUint64)
	waitStatus(in, "ok", 2) // before any client has tried again
	hasMetrics(in, `tickhive_changes_refused 0`, `tickhive_status{status="degraded"} 0`,
		`tickhive_status{status="ok"} 1`)
	in.Limit("BTC_USDT", "buy", "1", "1")
	hash := fmt.Sprint(in.Call(200, "GET", "/state-hash", ""))
	in.Signal(syscall.SIGKILL)
	<-in.Exited
	if again := fmt.Sprint(harness.StartEmpty(t, "--data-dir", dir).Call(200, "GET", "/state-hash",
		"")); again != hash {
		t.Errorf("after the restart %s, before %s", again, hash)
	}
}
