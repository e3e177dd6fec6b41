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

//go:embed testdata/*.tar.gz testdata/*.json
var oldFiles embed.FS

// Names of old directories.
const (
	// Rules0 was written before rules had versions: two pairs, four users, resting orders, icebergs
	// and 210 waiting stops of one account, snapshots of the market and of the accounts, and a
	// journal after them that ends with a kill -9.
	Rules0 = "rules0"
	// Format1 was written by the last program of format 1, which stopped in order: two pairs, three
	// users, several segments, and two snapshots of the market and of the accounts.
	Format1 = "format1"
)

// OldDirectory unpacks a data directory of an older program.
func OldDirectory(t testing.TB, name string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	packed, err := oldFiles.ReadFile("testdata/" + name + ".tar.gz")
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
		if h.Typeflag == tar.TypeDir {
			continue
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

// OldState returns the state of an old directory.
func OldState(t testing.TB, name string) (s State) {
	t.Helper()
	b, err := oldFiles.ReadFile("testdata/" + name + ".json")
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ConvertedDirectory returns an old directory after a start of the current program that ended with a
// kill.
func ConvertedDirectory(t testing.TB, name string) (dir string) {
	t.Helper()
	return Start(t, Options(OldDirectory(t, name))).Kill()
}
