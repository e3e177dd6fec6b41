package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
)

// WriteCertificate writes a self-signed certificate for 127.0.0.1, which expires at ends, and its key.
func WriteCertificate(t *testing.T, dir string, serial int64, ends time.Time) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "tickhive"},
		NotBefore: ends.Add(-48 * time.Hour), NotAfter: ends, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// StreamOverTLS reads a stream through a TLS address: acknowledgement, snapshot and heartbeat.
func StreamOverTLS(t *testing.T, address string, trusting *tls.Config) {
	t.Helper()
	ws, _, err := (&websocket.Dialer{TLSClientConfig: trusting}).Dial("wss://"+address+"/ws?streams=status", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for range 3 {
		if _, _, err := ws.ReadMessage(); err != nil {
			t.Fatal(err)
		}
	}
}
