package loadtool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxKeyFile limits the bytes of a key file.
const maxKeyFile = 64 << 10

// Key is the key pair that signs requests. Its zero value is no key.
type Key struct {
	Public  string `json:"publicKey"`
	Private string `json:"privateKey"`
}

// ReadKey reads a key file (docs/contract/configuration.md#funded-keys): one JSON object with publicKey and privateKey.
func ReadKey(file string) (k Key, err error) {
	f, err := os.Open(file)
	if err != nil {
		return k, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	raw, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	switch {
	case err != nil:
		return k, err
	case len(raw) > maxKeyFile:
		return k, fmt.Errorf("%s is larger than %d bytes", file, maxKeyFile)
	}
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&k); err != nil {
		return Key{}, fmt.Errorf("%s is no key file: %w", file, err)
	}
	if k.Public == "" || k.Private == "" {
		return Key{}, fmt.Errorf("%s is no key file: it needs publicKey and privateKey", file)
	}
	return k, nil
}
