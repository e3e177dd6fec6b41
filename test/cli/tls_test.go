package cli

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// The public listener speaks TLS, streams included. SIGHUP takes a new certificate, and files that
// are no pair leave the old one in force.
func TestThePublicListenerSpeaksTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := harness.WriteCertificate(t, dir, 1, time.Now().Add(24*time.Hour))
	in := harness.StartEmpty(t, "--set", "tls.cert="+cert, "--set", "tls.key="+key)
	address := strings.TrimPrefix(in.Public, "http://")
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
	harness.StreamOverTLS(t, address, trusting)
	reload := func(want string) {
		t.Helper()
		in.Signal(syscall.SIGHUP)
		for end := time.Now().Add(harness.Patience); !strings.Contains(in.Stderr.String(), want); {
			if time.Now().After(end) {
				t.Fatalf("no %q in\n%s", want, in.Stderr.String())
			}
			serial()
		}
	}
	reload("nothing to reload: the files have the content that is in force")
	harness.WriteCertificate(t, dir, 2, time.Now().Add(24*time.Hour))
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
	cert, key := harness.WriteCertificate(t, t.TempDir(), 1, time.Now().Add(24*time.Hour))
	at := map[string]string{
		"public": harness.StreamAddress(t), "aggregator": harness.StreamAddress(t),
		"binance": harness.StreamAddress(t),
	}
	harness.Start(t, "--pairs", "none", "--sim", "off", "--listen", at["public"], "--binance-listen", at["binance"],
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
	cert, key := harness.WriteCertificate(t, dir, 1, time.Now().Add(-time.Hour))
	for name, c := range map[string]struct{ cert, key, want string }{
		"ended":   {cert, key, "renew it"},
		"one":     {cert, "", "set both or neither"},
		"swapped": {key, cert, "name a PEM certificate"},
		"missing": {cert, filepath.Join(dir, "nope"), "name a PEM certificate"},
	} {
		in := harness.Serve(t, nil, "--data-dir",
			filepath.Join(dir, "data"), "--set", "tls.cert="+c.cert, "--set", "tls.key="+c.key)
		if code := in.Wait(); code != 2 || !strings.Contains(in.Stderr.String(), c.want) {
			t.Errorf("%s: exit code %d: %s", name, code, in.Stderr.String())
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		t.Error("a data directory was made")
	}
}
