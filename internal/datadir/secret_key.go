package datadir

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/tickhive/tickhive/internal/seal"
	"github.com/tickhive/tickhive/internal/vfs"
)

// SecretKey returns the keys in a file, of which the first one seals the secrets from now on. It makes the file, 0600,
// when there is none and no key has sealed anything. Without a path it returns a key that seals nothing. A directory
// with sealed secrets asks for the key that has sealed since the last start.
//
// A key is changed by a new one in front of it and a start. The former one is needed as long as a field of the state is
// sealed by it: a start names the key that it misses. The running exchange seals these fields again.
func SecretKey(d *Dir, path string) (*seal.Key, error) {
	if !d.Stored() {
		return new(seal.Key), nil
	}
	sealed := d.meta.SealedWith
	key, err := keyFor(d, path, sealed, "the secrets in "+d.path, sealed == "")
	if err == nil && key.ID() != sealed {
		err = d.atStart(func(m *Meta) { m.SealedWith, m.Resealed = key.ID(), 0 })
	}
	return key, err
}

// Resealed returns the position from which on a key alone has sealed what the log and the state have. ok is false when
// it is not noted.
func (d *Dir) Resealed(key string) (pos uint64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.meta.Resealed, d.meta.Resealed != 0 && d.meta.SealedWith == key
}

// NoteResealed stores a position for Resealed.
func (d *Dir) NoteResealed(key string, pos uint64) error {
	return d.change(func(m *Meta) {
		if m.SealedWith == key {
			m.Resealed = pos
		}
	})
}

// FollowerKey returns the keys that open the secrets of a stream, from a file outside the directory dir of a node that
// follows the stream. They have the one with the id sealed, unless it is empty. A node that never becomes the writer
// may lack the key: its state has the sealed fields. Without a dir the node stores nothing.
func FollowerKey(dir, path, sealed string) (*seal.Key, error) {
	return keyFor(&Dir{path: dir, fsys: vfs.OS{}}, path, sealed, "the secrets in the stream", false)
}

// keyFor returns the keys in a file of auth.secret_key_file, which have the one with the id sealed unless it is empty.
// what names what that one has sealed. Without a file it makes one, 0600, or, if it must not, returns a key that seals
// nothing.
func keyFor(d *Dir, path, sealed, what string, mayMake bool) (*seal.Key, error) {
	if path == "" {
		if sealed == "" {
			return new(seal.Key), nil
		}
		return nil, usage("auth.secret_key_file: %s are sealed with the key %s: name the file that has this key", what,
			sealed)
	}
	key, err := readKey(d, path, mayMake)
	switch {
	case err != nil:
		return nil, err
	case sealed == "" || key.Has(sealed):
		return key, nil
	case key.Empty():
		return nil, usage("auth.secret_key_file: there is no %s, and %s are sealed with the key %s: put the file with "+
			"this key back", path, what, sealed)
	}
	return nil, usage("auth.secret_key_file: %s has the %s, and %s are sealed with the key %s: put this one back into "+
		"the file as a further line", path, key, what, sealed)
}

// readKey returns the keys in a file. Without a file it makes one, 0600, or, if it must not, returns a key that seals
// nothing.
func readKey(d *Dir, path string, mayMake bool) (*seal.Key, error) {
	if err := outside(d.path, path); err != nil {
		return nil, err
	}
	text, found, err := readFile(d.fsys, path)
	switch {
	case err != nil:
		if cause := (*fs.PathError)(nil); errors.As(err, &cause) { // without what to do about a data directory
			err = cause
		}
		return nil, usage("auth.secret_key_file: %w: let the program's user read the file, or name another one", err)
	case !found && !mayMake:
		return new(seal.Key), nil
	case !found:
		made, err := makeSecret(d.fsys, d.random, path, inHex)
		if err != nil {
			return nil, err
		}
		text = []byte(made)
	default:
		if err := private(path); err != nil {
			return nil, usage("auth.secret_key_file: %w", err)
		}
	}
	key, err := seal.ParseKey(string(text))
	if err != nil {
		remedy := "put the right file back"
		if mayMake {
			remedy += ", or name one that does not exist so that a new key is made"
		}
		return nil, usage("auth.secret_key_file: %s: %w: %s", path, err, remedy)
	}
	return key, nil
}

// outside refuses a path in a directory: a copy of the directory would contain the key.
func outside(directory, path string) error {
	if directory == "" {
		return nil
	}
	file, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(directory)
	if err != nil {
		return err
	}
	if in, err := filepath.Rel(dir, file); err == nil && in != ".." && !strings.HasPrefix(in, "../") {
		return usage("auth.secret_key_file: %s is in the data directory, so a copy of the directory would have the "+
			"key: name a file elsewhere", path)
	}
	return nil
}
