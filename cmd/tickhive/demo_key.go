package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/server/account"
)

// demoKeyKind marks the files that the program may replace.
const demoKeyKind = account.DemoKeyKind

// maxKeyFile limits the bytes that are read of a file of a key.
const maxKeyFile = 64 << 10

// demoKey is the JSON form of a funded key, in a file and in the line of serve --ephemeral.
type demoKey struct {
	Kind       string `json:"kind"`
	UserID     string `json:"userId"`
	PublicKey  string `json:"publicKey"`
	PrivateKey string `json:"privateKey"`
}

// demoKeyOf converts a key of the exchange.
func demoKeyOf(k exchange.FundedKey) demoKey {
	return demoKey{Kind: demoKeyKind, UserID: k.User, PublicKey: k.Public, PrivateKey: k.Private.Reveal()}
}

// readDemoKey reads the key in a file. The key is zero if there is no file. Any other file is refused, because
// the caller is about to replace it.
func readDemoKey(name string) (k demoKey, err error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if parent, err := os.Stat(filepath.Dir(name)); err != nil || !parent.IsDir() {
			return k, usage("there is no directory %s for the demo key", filepath.Dir(name))
		}
		return k, nil
	}
	foreign := usage("%s exists and is no demo key: name another file, or remove it", name)
	switch {
	case err != nil:
		return k, usageError{Err: err}
	case !info.Mode().IsRegular() || info.Size() > maxKeyFile:
		return k, foreign
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return k, usageError{Err: err}
	}
	if json.Unmarshal(text, &k) != nil || k.Kind != demoKeyKind {
		return demoKey{}, foreign
	}
	return k, nil
}

// write puts the key into a file that only its owner may read. It makes the file in one step, so a reader never
// sees a part of it. Without replace a file that exists stays, also one that another process made meanwhile.
func (k demoKey) write(name string, replace bool) error {
	text, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("demo key: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".demo-key-") // its mode is 0600
	if err != nil {
		return fmt.Errorf("demo key: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil && replace {
		if err = os.Rename(f.Name(), name); err == nil {
			return nil
		}
	} else if err == nil {
		err = os.Link(f.Name(), name)
	}
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return fmt.Errorf("demo key: %w", err)
	}
	return nil
}
