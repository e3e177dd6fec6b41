package datadir

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
)

// A token file that is missing is made, once, for its owner alone; a used one is read.
func TestATokenFileIsMadeOnce(t *testing.T) {
	d := &Dir{path: t.TempDir(), fsys: vfs.OS{}}
	token, err := d.Token("token")
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := hex.DecodeString(token); err != nil || len(raw) != 32 {
		t.Errorf("the token %q: %v", token, err)
	}
	path := filepath.Join(d.path, "token")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if again, err := d.Token("token"); err != nil || again != token {
		t.Errorf("the second time: %q %v, want %q", again, err, token)
	}
	if again, err := d.Token(path); err != nil || again != token {
		t.Errorf("by its absolute path: %q %v", again, err)
	}
	other := &Dir{path: t.TempDir(), fsys: vfs.OS{}}
	if second, err := other.Token("token"); err != nil || second == token {
		t.Errorf("another directory has the token %q, %v", second, err)
	}
}

// A file that is no token, or that others may read, is refused with its path and the remedy.
func TestBadTokenFilesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"empty":           {"", 0o600, "remove it"},
		"blank":           {" \n", 0o600, "remove it"},
		"two lines":       {"abc\ndef\n", 0o600, "remove it"},
		"not ASCII":       {"schlüssel\n", 0o600, "remove it"},
		"long":            {strings.Repeat("a", 5000), 0o600, "remove it"},
		"world-readable":  {"abcdef\n", 0o644, "chmod 600"},
		"world-writeable": {"abcdef\n", 0o602, "chmod 600"},
	} {
		d := &Dir{path: t.TempDir(), fsys: vfs.OS{}}
		path := filepath.Join(d.path, "token")
		if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil { // whatever the umask is
			t.Fatal(err)
		}
		if token, err := d.Token("token"); err == nil || !strings.Contains(err.Error(), path) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q %v", name, token, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != c.text {
			t.Errorf("%s: the file was changed: %q %v", name, text, err)
		}
	}
}
