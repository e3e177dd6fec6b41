package datadir

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/vfs"
)

const (
	tokenBytes    = 32      // random bytes of a token that the program makes
	maxTokenBytes = 4 << 10 // of a token's file
)

// Token returns the token in a file; a relative path starts at the directory. It makes the file,
// 0600, when there is none. A file that every user of the machine may read or write is refused.
func (d *Dir) Token(path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.path, path)
	}
	text, found, err := readFile(d.fsys, path)
	if err != nil {
		return "", err
	}
	if !found {
		return makeSecret(d.fsys, d.random, path, inHex)
	}
	if err := private(path); err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if token == "" || len(text) > maxTokenBytes || strings.ContainsFunc(token, odd) {
		return "", fmt.Errorf("%s: a token is one line of at most %d printable ASCII characters without spaces: "+
			"correct the file, or remove it so that a new token is made", path, maxTokenBytes)
	}
	return token, nil
}

// Secret returns the text of a file that has a secret. It makes the file, 0600, when there is none: form makes its text
// of 32 random bytes. A file that every user of the machine may read or write is refused.
func Secret(path string, form func(random []byte) (string, error)) (string, error) {
	text, found, err := readFile(vfs.OS{}, path)
	switch {
	case err != nil:
		return "", err
	case !found:
		return makeSecret(vfs.OS{}, nil, path, form)
	}
	return strings.TrimSpace(string(text)), private(path)
}

// ClusterKey returns the keys in a file of cluster.key_file; a relative path starts at the directory. It makes the
// file, 0600, when there is none.
func (d *Dir) ClusterKey(path string) (*clusterkey.Ring, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.path, path)
	}
	r, err := readClusterKey(d.fsys, path)
	if !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if _, err := makeSecret(d.fsys, d.random, path, inHex); err != nil {
		return nil, fmt.Errorf("cluster.key_file: %w", err)
	}
	return readClusterKey(d.fsys, path)
}

// ReadClusterKey returns the keys in a file of cluster.key_file.
//
// Errors: fs.ErrNotExist; cmdline.UsageError for a file that has no key or that every user of the machine may read.
func ReadClusterKey(path string) (*clusterkey.Ring, error) { return readClusterKey(vfs.OS{}, path) }

func readClusterKey(fsys vfs.FS, path string) (*clusterkey.Ring, error) {
	text, found, err := readFile(fsys, path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cluster.key_file: %w", err)
	case !found:
		return nil, fmt.Errorf("cluster.key_file: %s: %w", path, fs.ErrNotExist)
	}
	if err := private(path); err != nil {
		return nil, usage("cluster.key_file: %w", err)
	}
	r, err := clusterkey.Parse(string(text))
	if err != nil {
		return nil, usage("cluster.key_file: %s: %w: put the right file back; the keys are those of the other nodes",
			path, err)
	}
	return r, nil
}

func inHex(random []byte) (string, error) { return hex.EncodeToString(random), nil }

// makeSecret durably makes a file, 0600, with what form makes of 32 random bytes, and returns it.
func makeSecret(fsys vfs.FS, random io.Reader, path string, form func([]byte) (string, error)) (string, error) {
	if random == nil {
		random = rand.Reader
	}
	var raw [tokenBytes]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", fmt.Errorf("%s: random bytes: %w", path, err)
	}
	text, err := form(raw[:])
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return text, replaceFile(fsys, filepath.Dir(path), path, []byte(text+"\n"))
}

// private refuses a file that every user of the machine may read or write.
func private(path string) error {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("%s: every user of the machine may read or write the secret: chmod 600 it", path)
	}
	return nil
}
