package main

import (
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// limitFiles limits the size of every file that the process writes. Its writers see a full
// disk.
func (in *instance) limitFiles(size uint64) {
	in.t.Helper()
	in.limitResource(syscall.RLIMIT_FSIZE, size)
}

// limitResource changes a limit of the running process.
func (in *instance) limitResource(resource uintptr, value uint64) {
	in.t.Helper()
	var limit syscall.Rlimit
	_, _, code := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(in.cmd.Process.Pid), resource, 0,
		uintptr(unsafe.Pointer(&limit)), 0, 0)
	if code == 0 {
		limit.Cur = value
		_, _, code = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(in.cmd.Process.Pid), resource,
			uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	}
	if code != 0 {
		in.t.Fatalf("prlimit: %v", code)
	}
}

// waitStatus polls /api/status until it has this word and this number of store incidents.
func (in *instance) waitStatus(word string, incidents int) {
	in.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		body := in.do("GET", in.public+"/api/status", "").body
		if strings.HasPrefix(body, `{"status":"`+word+`"`) && strings.Count(body, `"kind":"store"`) == incidents {
			return
		}
		if time.Now().After(deadline) {
			in.t.Fatalf("the status is not %s with %d incidents: %s", word, incidents, body)
		}
	}
}

func TestAFullDiskIsSaidAndRefusesChangesOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := startEmpty(t, "--data-dir", dir)
	in.pair("BTC_USDT")
	in.limit("BTC_USDT", "buy", "1", "1")
	book := in.public + "/api/marketdata/getaggregator/orderbook?ticker_id=BTC_USDT"
	before := in.do("GET", book, "").body

	in.limitFiles(1)
	order := `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":1,"amount":1}`
	for n := 0; ; n++ {
		a := in.do("POST", in.internal+"/orders", order)
		if a.status == 503 {
			if a.header.Get("Retry-After") == "" || !strings.Contains(a.body, `"code":"UNAVAILABLE"`) {
				t.Errorf("%v %s", a.header, a.body)
			}
			break
		}
		if a.status != 200 || n > 100 {
			t.Fatalf("order %d: %d %s", n, a.status, a.body)
		}
	}
	in.waitStatus("degraded", 1)
	if status := in.do("GET", in.public+"/api/status", "").body; strings.Contains(status, dir) {
		t.Errorf("the public status names a path of the machine: %s", status)
	}
	if own := in.do("GET", in.internal+"/incidents", "").body; !strings.Contains(own, dir) {
		t.Errorf("the operator does not see which file could not be written: %s", own)
	}
	if after := in.do("GET", book, ""); after.status != 200 || after.body != before {
		t.Errorf("the book changed: %d %s, before %s", after.status, after.body, before)
	}

	in.limitFiles(math.MaxUint64)
	in.waitStatus("ok", 2) // before any client has tried again
	in.limit("BTC_USDT", "buy", "1", "1")
	hash := fmt.Sprint(in.call(200, "GET", "/state-hash", ""))
	in.signal(syscall.SIGKILL)
	<-in.exited
	if again := fmt.Sprint(startEmpty(t, "--data-dir", dir).call(200, "GET", "/state-hash", "")); again != hash {
		t.Errorf("after the restart %s, before %s", again, hash)
	}
}
