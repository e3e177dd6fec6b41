package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/listen"
)

// clusterKeyFile is the file with the cluster's keys in the directory of a writer, unless cluster.key_file names
// another.
const clusterKeyFile = "cluster.key"

// exposed reports whether other machines may reach the internal listener.
func (c *Config) exposed() bool {
	host, _, err := net.SplitHostPort(c.Internal.Listen)
	return err == nil && !strings.HasPrefix(c.Internal.Listen, listen.Unix) && !listen.Local(host)
}

// KeyFile returns the file with the cluster's keys, which an exchange makes if it is absent; empty: it needs none. A
// relative path starts at the data directory.
func (c *Config) KeyFile() string {
	if c.Journal.Stream == "" && (!c.exposed() || c.Internal.Cert != "") {
		return c.Cluster.KeyFile
	}
	if path := cmp.Or(c.Cluster.KeyFile, c.foundKeys("")); path != "" || c.Data.Dir == "" {
		return path
	}
	return clusterKeyFile
}

// foundKeys returns the file with the cluster's keys where they are without cluster.key_file: beside the credentials of
// the stream, or in a directory. Empty: in neither.
func (c *Config) foundKeys(dir string) string {
	if c.Stream.Credentials != "" {
		if at := filepath.Join(filepath.Dir(c.Stream.Credentials), clusterKeyFile); exists(at) {
			if abs, err := filepath.Abs(at); err == nil { // relative to the working directory
				return abs
			}
		}
	}
	if at := filepath.Join(dir, clusterKeyFile); dir != "" && exists(at) {
		return at
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Ring returns the cluster's keys that ReadKeys has read; nil: it was not called.
func (c *Config) Ring() *clusterkey.Ring { return c.ring }

// ReadKeys reads the cluster's keys for a process that follows or reads a stream. Its directory may be empty.
func (c *Config) ReadKeys(dir string) (err error) {
	path := cmp.Or(c.Cluster.KeyFile, c.foundKeys(dir))
	const remedy = "copy the writer's, by default the file " + clusterKeyFile + " of its data directory, to a file " +
		"of mode 0600, and name it by --cluster-key (cluster.key_file)"
	if path == "" {
		return cmdline.UsageError{Err: errors.New("--cluster-key: the messages of a stream are verified by the key " +
			"of its cluster: " + remedy)}
	}
	if c.ring, err = datadir.ReadClusterKey(path); errors.Is(err, fs.ErrNotExist) {
		return cmdline.UsageError{Err: fmt.Errorf("%w: %s", err, remedy)}
	}
	return err
}
