package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// unpackOld unpacks a data directory that the program wrote before rules had versions: two
// pairs, four users, resting orders, icebergs and 210 waiting stops of one account, snapshots
// of the market and of the accounts, and a journal after them that ends with a kill -9.
func unpackOld(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	f, err := os.Open("testdata/rules0.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil || !filepath.IsLocal(h.Name) {
			t.Fatal(h, err)
		}
		b, err := io.ReadAll(r)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, h.Name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, h.Name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// oldState holds the responses of the program that wrote the directory, before its end.
type oldState struct {
	StateHash, Totals string
	Users             map[string]string
}

func wantOld(t *testing.T) (w oldState) {
	t.Helper()
	b, err := os.ReadFile("testdata/rules0.json")
	if err == nil {
		err = json.Unmarshal(b, &w)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (in *instance) isOld(w oldState) {
	in.t.Helper()
	for path, want := range map[string]string{"/state-hash": w.StateHash, "/totals": w.Totals} {
		if got := in.do("GET", in.internal+path, "").body; got != want {
			in.t.Errorf("%s is\n%s\nwant\n%s", path, got, want)
		}
	}
	for id, want := range w.Users {
		if got := in.do("GET", in.internal+"/users/"+id, "").body; got != want {
			in.t.Errorf("user %s is\n%s\nwant\n%s", id, got, want)
		}
	}
}

// A directory of older rules is replayed by those rules. It has the same state and the same
// balances, from its snapshots and from the first record, and it accepts new commands.
func TestADirectoryOfOldRulesKeepsItsState(t *testing.T) {
	w, dir := wantOld(t), unpackOld(t)
	first := startEmpty(t, "--data-dir", dir)
	first.isOld(w)
	order := first.do("POST", first.internal+"/orders", `{"currencyPairCode":"AA_USDT","side":"buy","type":"limit","price":"1","amount":"1"}`)
	if order.status != 200 || !strings.Contains(order.body, `"status":"Created"`) {
		t.Fatalf("%d %s", order.status, order.body)
	}
	hash := first.do("GET", first.internal+"/state-hash", "").body
	first.signal(syscall.SIGKILL)
	<-first.exited
	again := startEmpty(t, "--data-dir", dir)
	if got := again.do("GET", again.internal+"/state-hash", "").body; got != hash {
		t.Errorf("%s, want %s", got, hash)
	}

	for _, name := range []string{"engine", "accounts"} {
		snaps, err := filepath.Glob(filepath.Join(unpackOld(t), name, "*.snap"))
		if err != nil || len(snaps) == 0 {
			t.Fatalf("%s of the directory has no snapshot: %v", name, err)
		}
	}
	dir = unpackOld(t)
	for _, pattern := range []string{"engine/*.snap", "accounts/*.snap"} {
		snaps, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range snaps {
			if err := os.Remove(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	startEmpty(t, "--data-dir", dir).isOld(w)
}
