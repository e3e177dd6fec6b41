package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/listen"
)

// clusterKeyFile is the file with the cluster's keys in the directory of a writer, unless cluster.key_file names
// another.
const clusterKeyFile = "cluster.key"

// local reports whether a host is this machine whatever a name server says.
func local(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// exposed reports whether other machines may reach the internal listener.
func (c *Config) exposed() bool {
	host, _, err := net.SplitHostPort(c.Internal.Listen)
	return err == nil && !strings.HasPrefix(c.Internal.Listen, listen.Unix) && !local(host)
}

// keyFile returns the file with the cluster's keys, which an exchange makes if it is absent; empty: it needs none. A
// relative path starts at the data directory.
func (c *Config) keyFile() string {
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

// readKeys reads the cluster's keys for a process that follows or reads a stream. Its directory may be empty.
func (c *Config) readKeys(dir string) (err error) {
	path := cmp.Or(c.Cluster.KeyFile, c.foundKeys(dir))
	const remedy = "copy the writer's, by default the file " + clusterKeyFile + " of its data directory, to a file " +
		"of mode 0600, and name it by --cluster-key (cluster.key_file)"
	if path == "" {
		return usage("--cluster-key: the messages of a stream are verified by the key of its cluster: %s", remedy)
	}
	if c.ring, err = datadir.ReadClusterKey(path); errors.Is(err, fs.ErrNotExist) {
		return usage("%w: %s", err, remedy)
	}
	return err
}

// keyFlag names the keys by which a command trusts the nodes of a cluster.
type keyFlag struct {
	ClusterKey string `name:"cluster-key" placeholder:"FILE" group:"Connection:" help:"Key file of the exchange (cluster.key_file), by which an https address is trusted."`
}

// ring returns the keys; nil: none are named.
func (f *keyFlag) ring() (*clusterkey.Ring, error) {
	if f.ClusterKey == "" {
		return nil, nil
	}
	r, err := datadir.ReadClusterKey(f.ClusterKey)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage("--cluster-key: %s: there is no such file: copy cluster.key_file of the exchange",
			f.ClusterKey)
	}
	if err != nil {
		return nil, fmt.Errorf("--cluster-key: %w", err)
	}
	return r, nil
}

// clusterCertificateCmd prints the certificate by which the internal listeners of a cluster are trusted.
type clusterCertificateCmd struct {
	File string `arg:"" name:"file" help:"Key file of the cluster (cluster.key_file)."`
}

// Run prints the certificates of all keys, PEM.
func (c *clusterCertificateCmd) Run(p *program) error {
	r, err := (&keyFlag{c.File}).ring()
	if err != nil {
		return err
	}
	text, err := r.Certificates()
	if err != nil {
		return err
	}
	_, err = p.out.Write(text)
	return err
}
