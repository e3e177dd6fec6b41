package exchangetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

//go:embed testdata/rules0.tar.gz testdata/rules0.json
var oldFiles embed.FS

// OldDirectory unpacks a data directory that the program wrote before rules had versions: two
// pairs, four users, resting orders, icebergs and 210 waiting stops of one account, snapshots
// of the market and of the accounts, and a journal after them that ends with a kill -9.
func OldDirectory(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	packed, err := oldFiles.ReadFile("testdata/rules0.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
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

// State holds the responses of the program that wrote the old directory, before its end.
type State struct {
	StateHash, Totals string
	Users             map[string]string
}

// OldState returns the state of the old directory.
func OldState(t testing.TB) (s State) {
	t.Helper()
	b, err := oldFiles.ReadFile("testdata/rules0.json")
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}
