package exchange_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tickhive/engine/sequencer"
	"tickhive/internal/exchange/exchangetest"
	"tickhive/internal/vfs"
	"tickhive/internal/vfs/vfstest"
	"tickhive/server/account"
)

// failingNonces is a file system on which the next sync of NONCES fails once fail is set.
type failingNonces struct {
	vfs.FS
	fail *bool
}

type failingFile struct {
	vfs.File
	fail *bool
}

func (f failingNonces) Create(name string) (vfs.File, error) { return f.wrap(name)(f.FS.Create(name)) }

func (f failingNonces) OpenRW(name string) (vfs.File, error) { return f.wrap(name)(f.FS.OpenRW(name)) }

func (f failingNonces) wrap(name string) func(vfs.File, error) (vfs.File, error) {
	return func(file vfs.File, err error) (vfs.File, error) {
		if err == nil && filepath.Base(name) == "NONCES" {
			file = failingFile{file, f.fail}
		}
		return file, err
	}
}

func (f failingFile) Sync() error {
	if *f.fail {
		return vfstest.ErrInjected
	}
	return f.File.Sync()
}

// After a failed sync of the nonces no signed request is let in until a restart, and the status says
// so. A restart ends it.
func TestTheStatusShowsThatNoncesCannotBeKept(t *testing.T) {
	dir, fail := t.TempDir(), false
	var keep func(nowMs, timestampMs int64, publicKey string, nonce []byte) error
	start := func() *exchangetest.Rig {
		o := exchangetest.Options(dir)
		o.Journal.Sync, o.Machine.FS = sequencer.SyncAlways, failingNonces{vfs.OS{}, &fail}
		o.Hooks.Store = func(s *account.Store) { keep = s.KeepNonce }
		return exchangetest.Start(t, o)
	}
	x := start()
	const nowMs = exchangetest.StartNs / 1_000_000
	status := func() string { return x.Do("GET", x.Public+"/api/status", "").Body }
	if err := keep(nowMs, nowMs, "key", []byte("first")); err != nil || !strings.Contains(status(), `"status":"ok"`) {
		t.Fatalf("before: %v, %s", err, status())
	}
	fail = true
	if err := keep(nowMs, nowMs, "key", []byte("second")); err == nil {
		t.Error("a nonce that is not durable was kept")
	}
	fail = false
	if err := keep(nowMs, nowMs, "key", []byte("third")); err == nil {
		t.Error("a nonce was kept after a failed sync")
	}
	if s := status(); !strings.Contains(s, `"status":"degraded"`) {
		t.Errorf("after a failed sync: %s", s)
	}
	const incident = "signed requests are refused until a restart"
	for end := time.Now().Add(time.Minute); !strings.Contains(status(), incident); {
		if time.Now().After(end) {
			t.Fatalf("no incident in %s", status())
		}
	}
	x.Stop()
	x = start()
	if err := keep(nowMs, nowMs, "key", []byte("fourth")); err != nil || !strings.Contains(status(), `"status":"ok"`) {
		t.Errorf("after a restart: %v, %s", err, status())
	}
}
