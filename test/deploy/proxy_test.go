package deploy

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// startProxy runs nginx with docs/nginx.conf in front of the exchange and returns its address.
func startProxy(t *testing.T, in *harness.Instance) (address string) {
	t.Helper()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		if os.Getenv("TICKHIVE_STRICT") == "1" {
			t.Fatal("nginx is missing: apt-get install nginx-light")
		}
		t.Skip("nginx is missing (apt-get install nginx-light): docs/nginx.conf is not tested here")
	}
	text, err := os.ReadFile("../../docs/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	address = harness.StreamAddress(t)
	dir := t.TempDir()
	cert, key := harness.WriteCertificate(t, dir, 1, time.Now().Add(24*time.Hour))
	scratch := "http {\n\taccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		scratch += fmt.Sprintf("\t%s_temp_path %s;\n", kind, filepath.Join(dir, kind))
	}
	conf := string(text)
	for from, to := range map[string]string{
		"http {\n": scratch, "server 127.0.0.1:8080;": "server " + strings.TrimPrefix(in.Public, "http://") + ";",
		"listen 443 ssl http2;": "listen " + address + " ssl http2;", "/etc/tickhive/cert.pem": cert,
		"/etc/tickhive/key.pem":     key,
		"worker_connections 16384;": "worker_connections 256;",
	} {
		if strings.Count(conf, from) != 1 {
			t.Fatalf("docs/nginx.conf has %q %d times", from, strings.Count(conf, from))
		}
		conf = strings.Replace(conf, from, to, 1)
	}
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &harness.Output{}
	cmd := exec.Command(nginx, "-p", dir, "-c", path, "-e", "stderr", "-g",
		"daemon off; master_process off; pid "+filepath.Join(dir, "pid")+";")
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	for end := time.Now().Add(harness.Patience); ; {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
			return address
		}
		if time.Now().After(end) {
			t.Fatalf("nginx does not listen: %s", log.String())
		}
	}
}

// Behind the reference configuration a client's address is its own, whatever it claims, the target
// arrives as it was written, streams work, and no request has two ends.
func TestTheReferenceProxy(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t, "--set", "server.trusted_proxies=127.0.0.1")
	address := startProxy(t, in)
	trusting := &tls.Config{InsecureSkipVerify: true} // a certificate of this test
	c := http.Client{Transport: &http.Transport{TLSClientConfig: trusting}}
	get := func(target, forwarded string) *http.Response {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, "https://"+address+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", forwarded)
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return res
	}
	if res := get("/api/time", ""); res.StatusCode != 200 ||
		strings.Join(res.Header["Strict-Transport-Security"], "|") != "max-age=31536000" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	for _, target := range []string{"/api//time", "/api/%74ime", "/api/time/", "/internal/v1/totals", "/metrics"} {
		if res := get(target, ""); res.StatusCode != 404 {
			t.Errorf("GET %s: %d, want 404", target, res.StatusCode)
		}
	}
	statuses := map[int]int{}
	var last *http.Response
	for i := range 61 { // the limit of one client is 60 a minute
		last = get("/api/launchpad/tokens", fmt.Sprintf("10.1.2.%d", i))
		statuses[last.StatusCode]++
	}
	if statuses[429] == 0 {
		t.Errorf("a client that forges X-Forwarded-For has no rate limit: %v %v", statuses, last.Header)
	}
	harness.StreamOverTLS(t, address, trusting)
	conn, err := tls.Dial("tcp", address, trusting)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /api/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/time HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answers, _ := io.ReadAll(conn)
	if !strings.HasPrefix(string(answers), "HTTP/1.1 400 ") || strings.Count(string(answers), "HTTP/1.1 ") != 1 {
		t.Errorf("two lengths: %.300q", answers)
	}
}
