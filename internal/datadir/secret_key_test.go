package datadir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/seal"
)

func keyText(digit string) string { return strings.Repeat(digit, 2*seal.SecretBytes) }

func keyID(t *testing.T, digit string) string {
	t.Helper()
	k, err := seal.ParseKey(keyText(digit))
	if err != nil {
		t.Fatal(err)
	}
	return k.ID()
}

// A start seals with the first key of the file, and needs the one that has sealed since the start before: so a key is
// changed by a line in front of it, and each start without a needed one is refused and changes nothing.
func TestAKeyIsChangedByALineInFrontOfIt(t *testing.T) {
	dir, file := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "key")
	a, b := keyID(t, "a"), keyID(t, "b")
	for i, c := range []struct {
		file string // its lines; empty: there is none
		path string
		want string // the key that seals, or a part of the refusal
	}{
		{"", "", ""},
		{"a", file, a},
		{"a", "", "name the file that has this key"},
		{"", file, "put the file with this key back"},
		{"b", file, "has the key " + b + ", and the secrets in " + dir + " are sealed with the key " + a},
		{"b a", file, b},
		{"a", file, "sealed with the key " + b + ": put this one back into the file as a further line"},
		{"a b", file, a},
		{"b a", file, b},
		{"b", file, b},
		{"x", file, "line 1: a key has 64 hexadecimal digits"},
	} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		var text string
		for _, digit := range strings.Fields(c.file) {
			text += keyText(digit) + "\n"
		}
		if text != "" {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d, err := Open(Options{Path: dir, Boot: "b", Virtual: true})
		if err != nil {
			t.Fatal(err)
		}
		key, err := SecretKey(d, c.path)
		if refused := err != nil; refused != strings.Contains(c.want, " ") {
			t.Errorf("start %d: %v, want %q", i, err, c.want)
		} else if refused && !strings.Contains(err.Error(), c.want) {
			t.Errorf("start %d: %v, want %q", i, err, c.want)
		} else if !refused && (key.ID() != c.want || d.meta.SealedWith != c.want) {
			t.Errorf("start %d: %v seals, meta.json has %q, want %q", i, key, d.meta.SealedWith, c.want)
		}
		if err := d.Close(true); err != nil {
			t.Fatal(err)
		}
	}
}

// The position from which on a key alone has sealed outlives a restart, and counts until another key seals.
func TestTheResealedPositionIsOfTheKeyThatSeals(t *testing.T) {
	dir, file := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "key")
	a, b := keyID(t, "a"), keyID(t, "b")
	for i, c := range []struct {
		file, key string
		pos       uint64 // that the start finds
		note      uint64
	}{
		{"a", a, 0, 7}, {"a", a, 7, 0}, {"b a", b, 0, 9}, {"b", b, 9, 0}, {"a b", a, 0, 0}, {"b a", b, 0, 0},
	} {
		var text string
		for _, digit := range strings.Fields(c.file) {
			text += keyText(digit) + "\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Open(Options{Path: dir, Boot: "b", Virtual: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := SecretKey(d, file); err != nil {
			t.Fatal(err)
		}
		if pos, ok := d.Resealed(c.key); pos != c.pos || ok != (c.pos != 0) {
			t.Errorf("start %d: position %d, %t, want %d", i, pos, ok, c.pos)
		}
		if c.note != 0 {
			if err := d.NoteResealed(c.key, c.note); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Close(true); err != nil {
			t.Fatal(err)
		}
	}
}

// A file is made where no key has sealed anything, for its owner alone, and never in the directory.
func TestAKeyFileIsMadeOnce(t *testing.T) {
	dir, file := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "key")
	open := func(path string) (*seal.Key, error) {
		d, err := Open(Options{Path: dir, Boot: "b", Virtual: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := d.Close(true); err != nil {
				t.Error(err)
			}
		}()
		return SecretKey(d, path)
	}
	_, err := open(filepath.Join(dir, "key"))
	if err == nil || !strings.Contains(err.Error(), "name a file elsewhere") {
		t.Errorf("in the directory: %v", err)
	}
	made, err := open(file)
	if err != nil || made.Empty() {
		t.Fatalf("%v, %v", made, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if again, err := open(file); err != nil || again.ID() != made.ID() {
		t.Errorf("%v, %v; made was %v", again, err, made)
	}
}

// A follower has the keys of its file, and makes none.
func TestAFollowerHasTheKeysOfItsFile(t *testing.T) {
	file, none := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(file, []byte(keyText("b")+"\n"+keyText("a")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, b := keyID(t, "a"), keyID(t, "b")
	for _, c := range []struct{ path, sealed, want string }{
		{"", "", ""},
		{none, "", ""},
		{file, "", b}, // the writer may seal later
		{file, a, b},
		{file, b, b},
		{"", a, "name the file that has this key"},
		{none, a, "put the file with this key back"},
		{file, "0123456789abcdef", "put this one back into the file as a further line"},
	} {
		key, err := FollowerKey(t.TempDir(), c.path, c.sealed)
		if err == nil && key.ID() != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, %v", c, key, err)
		}
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("a follower has made a key")
	}
}
