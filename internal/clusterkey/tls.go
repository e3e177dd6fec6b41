package clusterkey

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// ServerName is the name in the certificate of a cluster key, and the one by which nodes ask for this certificate where
// a listener has another one, too.
const ServerName = "node.tickhive.internal"

// The certificate of a key is valid for as long as the key is used.
var (
	notBefore = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	notAfter  = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) // "no expiration" (RFC 5280, 4.1.2.5)
)

func (k *key) private() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(k.derive("tls")) }

func (k *key) public() ed25519.PublicKey {
	public, ok := k.private().Public().(ed25519.PublicKey)
	if !ok {
		panic("BUG: clusterkey: the public key of ed25519 has another type")
	}
	return public
}

// certificate returns the self-signed certificate of a key, the same one at each node.
func (k *key) certificate() (tls.Certificate, error) {
	private := k.private()
	of := &x509.Certificate{
		SerialNumber:          new(big.Int).SetBytes(k.sum("certificate")[:16]),
		Subject:               pkix.Name{CommonName: "TickHive cluster " + k.id},
		DNSNames:              []string{ServerName, "localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		NotBefore:             notBefore,
		NotAfter:              notAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:                  true, // so that a program that wants an authority takes it as its own one
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, k.public(), private)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate of the cluster key: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, nil
}

// ServerTLS returns the configuration of a listener that serves the certificate of the first key.
func (r *Ring) ServerTLS() (*tls.Config, error) {
	c, err := r.keys[0].certificate()
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12}, nil
}

// Certificates returns the certificates of the ring in PEM, for programs that are to trust its nodes and do not get the
// key: scrapers, probes, curl --cacert. They expect ServerName there.
func (r *Ring) Certificates() ([]byte, error) {
	var out []byte
	for i := range r.keys {
		c, err := r.keys[i].certificate()
		if err != nil {
			return nil, err
		}
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})...)
	}
	return out, nil
}

// ErrOtherKey reports a server that has not proved to have a key of the ring.
var ErrOtherKey = errors.New("the server there has no certificate of a key in cluster.key_file: it is no node of " +
	"this cluster, or its file has other keys: copy cluster.key_file of the writer")

// ClientTLS returns the configuration of a client that accepts the certificates of the ring's keys and no other one.
func (r *Ring) ClientTLS() *tls.Config {
	public := make([]ed25519.PublicKey, len(r.keys))
	for i := range r.keys {
		public[i] = r.keys[i].public()
	}
	return &tls.Config{
		ServerName: ServerName, MinVersion: tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection asks for the key itself: no authority counts
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) > 0 { // TLS has verified that the server has the private key of the first one
				for _, p := range public {
					if p.Equal(s.PeerCertificates[0].PublicKey) {
						return nil
					}
				}
			}
			return ErrOtherKey
		},
	}
}
