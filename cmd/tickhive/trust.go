package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"github.com/tickhive/tickhive/server/forward"
)

// trustFlags names certificates that a command trusts beside the machine's.
type trustFlags struct {
	CA string `name:"ca" placeholder:"FILE" group:"Connection:" help:"PEM certificates to trust beside the machine's, for an https address."`
}

// roots returns the certificates to trust; nil: the machine's.
func (f *trustFlags) roots() (*x509.CertPool, error) {
	if f.CA == "" {
		return nil, nil
	}
	pool, err := forward.Roots(f.CA)
	if err != nil {
		return nil, usage("--ca: %w", err)
	}
	return pool, nil
}

// transport returns the transport of an HTTP client that trusts these certificates, or the nodes of a cluster. key may
// be nil.
func (f *trustFlags) transport(key *keyFlag) (*http.Transport, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if key != nil && key.ClusterKey != "" {
		if f.CA != "" {
			return nil, usage("--ca and --cluster-key are both given; keep the one by which the address is to be " +
				"trusted")
		}
		r, err := key.ring()
		if err != nil {
			return nil, err
		}
		return &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: r.ClientTLS()}, nil
	}
	var err error
	if trust.RootCAs, err = f.roots(); err != nil {
		return nil, err
	}
	return &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust}, nil
}

// remedied adds the remedy to the error of a certificate that nobody here vouches for.
func remedied(err error) error {
	unknown, other := x509.UnknownAuthorityError{}, x509.HostnameError{}
	if errors.As(err, &unknown) || errors.As(err, &other) {
		return fmt.Errorf("%w: --ca FILE names certificates to trust, and for an internal listener --cluster-key "+
			"FILE the key file of the exchange", err)
	}
	return err
}
