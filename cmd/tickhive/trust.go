package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"tickhive/server/forward"
)

// trustFlags names certificates that a command trusts beside the machine's.
type trustFlags struct {
	CA string `name:"ca" placeholder:"FILE" help:"PEM certificates to trust beside the machine's, for an https address."`
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

// transport returns the transport of an HTTP client that trusts these certificates.
func (f *trustFlags) transport() (*http.Transport, error) {
	pool, err := f.roots()
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}, nil
}

// remedied adds the remedy to the error of a certificate that nobody here vouches for.
func remedied(err error) error {
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return fmt.Errorf("%w: --ca FILE names certificates to trust", err)
	}
	return err
}
