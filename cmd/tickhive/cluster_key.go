package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/datadir"
)

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
