package listen

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A unix socket is for this user alone, replaces one that a process left behind, is refused to a
// second process, and is removed with its listener.
func TestUnixSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "internal")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	_ = stale.Close()
	ln, err := At(Unix + path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if ln.Addr().String() != path || Address(ln) != Unix+path {
		t.Errorf("address %s, printed %s", ln.Addr(), Address(ln))
	}
	go func() {
		if c, err := ln.Accept(); err == nil {
			_ = c.Close()
		}
	}()
	if second, err := At(Unix + path); err == nil || !strings.Contains(err.Error(), "a process listens") {
		t.Errorf("a second process: %v %v", second, err)
	}
	_ = ln.Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := At(Unix + path); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("a file at the path: %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "mine" {
		t.Errorf("the file has %q", text)
	}
}
