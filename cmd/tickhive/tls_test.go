package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
)

// writeCertificate writes a self-signed certificate for 127.0.0.1 that ends then, and its key.
func writeCertificate(t *testing.T, dir string, serial int64, ends time.Time) (cert, key string) {
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

// streamOverTLS reads a stream through a TLS address: acknowledgement, snapshot and heartbeat.
func streamOverTLS(t *testing.T, address string, trusting *tls.Config) {
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

// The public listener speaks TLS, streams included. SIGHUP takes a new certificate, and files that
// are no pair leave the old one in force.
func TestThePublicListenerSpeaksTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := writeCertificate(t, dir, 1, time.Now().Add(24*time.Hour))
	in := startEmpty(t, "--set", "tls.cert="+cert, "--set", "tls.key="+key)
	address := strings.TrimPrefix(in.public, "http://")
	trusting := &tls.Config{InsecureSkipVerify: true} // the certificate is compared by its serial
	serial := func() int64 {
		t.Helper()
		c := http.Client{Transport: &http.Transport{TLSClientConfig: trusting, DisableKeepAlives: true}}
		res, err := c.Get("https://" + address + "/api/healthcheck")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != 200 || res.Header.Get("Strict-Transport-Security") != "max-age=31536000" ||
			res.TLS.Version < tls.VersionTLS12 {
			t.Errorf("%d %v", res.StatusCode, res.Header)
		}
		return res.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d", n)
	}
	if res, err := http.Get("http://" + address + "/api/healthcheck"); err != nil || res.StatusCode != 400 {
		t.Errorf("plain text is answered by %v: %v", res, err)
	}
	streamOverTLS(t, address, trusting)
	reload := func(want string) {
		t.Helper()
		in.signal(syscall.SIGHUP)
		for end := time.Now().Add(patience); !strings.Contains(in.stderr.String(), want); {
			if time.Now().After(end) {
				t.Fatalf("no %q in\n%s", want, in.stderr.String())
			}
			serial()
		}
	}
	writeCertificate(t, dir, 2, time.Now().Add(24*time.Hour))
	reload("msg=reloaded")
	if n := serial(); n != 2 {
		t.Errorf("certificate %d after the reload", n)
	}
	if err := os.WriteFile(key, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	reload("reload failed; keeping the old content")
	if n := serial(); n != 2 {
		t.Errorf("certificate %d after a reload that failed", n)
	}
}

// Each listener with TLS answers HTTP without TLS by 400 and words, however much the client sends, and other bytes by
// closing the connection.
func TestPlainHTTPOnATLSPortIsAnsweredWithWords(t *testing.T) {
	t.Parallel()
	cert, key := writeCertificate(t, t.TempDir(), 1, time.Now().Add(24*time.Hour))
	at := map[string]string{"public": streamAddress(t), "aggregator": streamAddress(t), "binance": streamAddress(t)}
	start(t, "--pairs", "none", "--sim", "off", "--listen", at["public"], "--binance-listen", at["binance"],
		"--set", "aggregator.listen="+at["aggregator"], "--set", "tls.cert="+cert, "--set", "tls.key="+key)
	for name, address := range at {
		ask := func(request string) (answer string) {
			t.Helper()
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go io.Copy(conn, strings.NewReader(request)) // the server may end the connection first
			text, err := io.ReadAll(conn)
			if err != nil {
				t.Fatalf("%s: %q: %v", name, text, err)
			}
			return string(text)
		}
		for _, request := range []string{
			"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n",
			"OPTIONS /api/orders HTTP/1.1\r\nHost: x\r\n\r\n",
			"POST /api/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n" + strings.Repeat("a", 900_000),
		} {
			text := ask(request)
			if !strings.HasPrefix(text, "HTTP/1.1 400 ") || !strings.Contains(text, "\r\nConnection: close\r\n") ||
				!strings.Contains(text, "https://") || strings.Contains(text, "Retry-After") {
				t.Errorf("%s: %.40q: %s", name, request, text)
			}
		}
		if text := ask("HELLO THERE\r\n"); strings.Contains(text, "HTTP") {
			t.Errorf("%s: other bytes: %q", name, text)
		}
	}
}

// A certificate that cannot be used is refused with its file and the remedy, before anything starts.
func TestBadCertificatesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := writeCertificate(t, dir, 1, time.Now().Add(-time.Hour))
	for name, c := range map[string]struct{ cert, key, want string }{
		"ended":   {cert, key, "renew it"},
		"one":     {cert, "", "set both or neither"},
		"swapped": {key, cert, "name a PEM certificate"},
		"missing": {cert, filepath.Join(dir, "nope"), "name a PEM certificate"},
	} {
		in := launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir",
			filepath.Join(dir, "data"), "--set", "tls.cert="+c.cert, "--set", "tls.key="+c.key)
		if code := in.wait(); code != 2 || !strings.Contains(in.stderr.String(), c.want) {
			t.Errorf("%s: exit code %d: %s", name, code, in.stderr.String())
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		t.Error("a data directory was made")
	}
}
