package datadir

import (
	"path/filepath"
	"strings"

	"tickhive/internal/seal"
)

// SecretKey returns the key in a file, which seals the secrets from now on. It makes the file, 0600, when there is
// none and no key has sealed anything. Without a path it returns a key that seals nothing. A directory with sealed
// secrets asks for their key.
func SecretKey(d *Dir, path string) (*seal.Key, error) {
	sealed := d.meta.SealedWith
	if !d.Stored() {
		return new(seal.Key), nil
	}
	if path == "" {
		if sealed != "" {
			return nil, usage("data directory: the secrets in %s are sealed with the key %s: set "+
				"auth.secret_key_file to the file that has this key", d.path, sealed)
		}
		return new(seal.Key), nil
	}
	if err := outside(d.path, path); err != nil {
		return nil, err
	}
	text, found, err := readFile(d.fsys, path)
	if err != nil {
		return nil, err
	}
	if !found {
		if sealed != "" {
			return nil, usage("auth.secret_key_file: there is no %s, and the secrets in %s are sealed with the "+
				"key %s: put the file with this key back", path, d.path, sealed)
		}
		made, err := makeSecret(d.fsys, d.random, path)
		if err != nil {
			return nil, err
		}
		text = []byte(made)
	} else if err := private(path); err != nil {
		return nil, usage("auth.secret_key_file: %w", err)
	}
	key, err := seal.ParseKey(string(text))
	switch {
	case err != nil:
		return nil, usage("auth.secret_key_file: %s: %w: put the right file back, or name one that does not exist "+
			"so that a new key is made", path, err)
	case sealed == "":
		return key, d.change(func(m *Meta) { m.SealedWith = key.ID() })
	case sealed != key.ID():
		return nil, usage("auth.secret_key_file: %s has the key %s, and the secrets in %s are sealed with the key %s: "+
			"name the file that has that key", path, key.ID(), d.path, sealed)
	}
	return key, nil
}

// outside refuses a path in a directory: a copy of the directory would contain the key.
func outside(directory, path string) error {
	file, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(directory)
	if err != nil {
		return err
	}
	if in, err := filepath.Rel(dir, file); err == nil && in != ".." && !strings.HasPrefix(in, "../") {
		return usage("auth.secret_key_file: %s is in the data directory, so a copy of the directory would have "+
			"the key: name a file elsewhere", path)
	}
	return nil
}
