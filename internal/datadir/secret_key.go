package datadir

import (
	"path/filepath"
	"strings"

	"tickhive/internal/seal"
	"tickhive/internal/vfs"
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
	key, err := readKey(d, "auth.secret_key_file", path, sealed == "")
	switch {
	case err != nil:
		return nil, err
	case key.Empty():
		return nil, usage("auth.secret_key_file: there is no %s, and the secrets in %s are sealed with the "+
			"key %s: put the file with this key back", path, d.path, sealed)
	case sealed == "":
		return key, d.change(func(m *Meta) { m.SealedWith = key.ID() })
	case sealed != key.ID():
		return nil, usage("auth.secret_key_file: %s has the key %s, and the secrets in %s are sealed with the key %s: "+
			"name the file that has that key", path, key.ID(), d.path, sealed)
	}
	return key, nil
}

// FollowerKey returns the key with which the secrets of a stream are sealed, from a file outside the directory dir of a
// node that follows the stream. sealed is the id of the key; empty: the secrets are plain. Without a dir the node
// stores nothing.
func FollowerKey(dir, path, sealed string) (*seal.Key, error) {
	if sealed == "" {
		return new(seal.Key), nil
	}
	if path == "" {
		return nil, usage("the secrets in the stream are sealed with the key %s: set auth.secret_key_file to a file "+
			"that has this key, as the writer's", sealed)
	}
	key, err := readKey(&Dir{path: dir, fsys: vfs.OS{}}, "auth.secret_key_file", path, false)
	switch {
	case err != nil:
		return nil, err
	case key.Empty():
		return nil, usage("auth.secret_key_file: there is no %s, and the secrets in the stream are sealed with the "+
			"key %s: copy the writer's file", path, sealed)
	case key.ID() != sealed:
		return nil, usage("auth.secret_key_file: %s has the key %s, and the secrets in the stream are sealed with "+
			"the key %s: copy the writer's file", path, key.ID(), sealed)
	}
	return key, nil
}

// FileKey returns the key in a file of auth.secret_key_file that opens what is sealed with the key of this id, nil if
// it takes a key and no file is named.
func FileKey(path, sealed string) (*seal.Key, error) {
	switch {
	case sealed == "":
		return new(seal.Key), nil
	case path == "":
		return nil, nil
	}
	key, err := readKey(&Dir{fsys: vfs.OS{}}, "auth.secret_key_file", path, false)
	if err == nil && key.ID() != sealed {
		err = usage("auth.secret_key_file: %s has the key %q, and the secrets are sealed with the key %s: name the "+
			"file that has that key", path, key.ID(), sealed)
	}
	return key, err
}

// readKey returns the key in a file that a setting names. Without a file it makes one, 0600, or, if it must not,
// returns a key that seals nothing.
func readKey(d *Dir, setting, path string, mayMake bool) (*seal.Key, error) {
	if err := outside(d.path, setting, path); err != nil {
		return nil, err
	}
	text, found, err := readFile(d.fsys, path)
	switch {
	case err != nil:
		return nil, err
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
			return nil, usage("%s: %w", setting, err)
		}
	}
	key, err := seal.ParseKey(string(text))
	if err != nil {
		return nil, usage("%s: %s: %w: put the right file back, or name one that does not exist so that a new "+
			"key is made", setting, path, err)
	}
	return key, nil
}

// ResealKeys returns the key that seals the secrets of an idle directory, from the file old, and the one that is to
// seal them, from the file replacement, which it makes, 0600, if there is none. Plain secrets need no old file.
func ResealKeys(d *Dir, old, replacement string) (from, to *seal.Key, err error) {
	sealed := d.meta.SealedWith
	from = new(seal.Key)
	if old != "" {
		if from, err = readKey(d, "--old", old, false); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case sealed == "" && old != "":
		return nil, nil, usage("--old: the secrets in %s are plain: leave it out", d.path)
	case sealed != "" && from.Empty():
		return nil, nil, usage("--old: the secrets in %s are sealed with the key %s: name the file that has that key, "+
			"and there is none at %q", d.path, sealed, old)
	case sealed != from.ID():
		return nil, nil, usage("--old: %s has the key %s, and the secrets in %s are sealed with the key %s: name the "+
			"file that has that key", old, from.ID(), d.path, sealed)
	}
	to, err = readKey(d, "--new", replacement, true)
	if err == nil && to.ID() == sealed {
		err = usage("--new: %s has the key %s, with which the secrets in %s are sealed already: name another file",
			replacement, sealed, d.path)
	}
	return from, to, err
}

// outside refuses a path in a directory: a copy of the directory would contain the key.
func outside(directory, setting, path string) error {
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
		return usage("%s: %s is in the data directory, so a copy of the directory would have the key: name a file "+
			"elsewhere", setting, path)
	}
	return nil
}
