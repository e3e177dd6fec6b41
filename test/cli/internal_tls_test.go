package cli

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/test/harness"
)

// exposed starts an exchange whose internal listener other machines reach, and returns its data directory and the
// address of this listener.
func exposed(t *testing.T, args ...string) (in *harness.Instance, dir, at string) {
	t.Helper()
	dir = t.TempDir()
	in = harness.Launch(t, []string{"TICKHIVE_STREAM_CREDENTIALS"}, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--internal-listen", "0.0.0.0:0", "--internal-token-file", "token",
		"--data-dir", dir, "--pairs", "none", "--sim", "off",
	}, args...)...)
	in.TakeAddresses(in.WaitLine("ready "))
	_, port, ok := strings.Cut(strings.TrimPrefix(in.Root, "http://"), ":")
	for ok && strings.Contains(port, ":") { // [::]:PORT
		_, port, ok = strings.Cut(port, ":")
	}
	return in, dir, "127.0.0.1:" + port
}

// keys returns the keys in a file.
func keys(t *testing.T, path string) *clusterkey.Ring {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := clusterkey.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// answer sends a request with headers by a client.
func answer(t *testing.T, c *http.Client, method, url string, header ...string) (status int, body string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// An internal listener that other machines reach speaks TLS by a key that the start makes. Without the key nothing is
// read, and a node with another key sends nothing.
func TestAnOpenInternalListenerSpeaksTLS(t *testing.T) {
	t.Parallel()
	in, dir, at := exposed(t)
	file := filepath.Join(dir, "cluster.key")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	bearer := "Bearer " + strings.TrimSpace(string(token))
	const path = "/internal/v1/totals"

	plain := &http.Client{}
	if status, body, err := answer(t, plain, "GET", "http://"+at+path, "Authorization", bearer); err != nil ||
		status != 400 || !strings.Contains(body, "https://") {
		t.Errorf("plain text: %d %s %v", status, body, err)
	}
	if _, _, err := answer(t, plain, "GET", "https://"+at+path, "Authorization", bearer); !isUnknown(err) {
		t.Errorf("a client that trusts the machine's authorities: %v", err)
	}
	other, err := clusterkey.Parse(rand.Text() + rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := answer(t, other.Client(), "GET", "https://"+at+path); !errors.Is(err, clusterkey.ErrOtherKey) {
		t.Errorf("a node with another key: %v", err)
	}
	secure := &http.Client{Transport: &http.Transport{TLSClientConfig: keys(t, file).ClientTLS()}}
	for header, want := range map[string]int{bearer: 200, "Bearer x": 401, "": 401} {
		if status, body, err := answer(t, secure, "GET", "https://"+at+path, "Authorization", header); err != nil ||
			status != want {
			t.Errorf("with %.9q: %d %s %v, want %d", header, status, body, err, want)
		}
	}
	if status, _, err := answer(t, secure, "GET", "https://"+at+"/readyz"); err != nil || status != 200 {
		t.Errorf("a probe: %d %v", status, err)
	}
	if strings.Contains(in.Stderr.String(), strings.TrimSpace(string(token))) {
		t.Error("the token is in the log")
	}
}

func isUnknown(err error) bool {
	unknown := x509.UnknownAuthorityError{}
	return errors.As(err, &unknown)
}

// A request that a node has signed is admitted to the snapshot, once, and to nothing else.
func TestAProofOfANodeOpensTheSnapshotAlone(t *testing.T) {
	t.Parallel()
	_, dir, at := exposed(t)
	r := keys(t, filepath.Join(dir, "cluster.key"))
	other, err := clusterkey.Parse(rand.Text() + rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	secure := &http.Client{Transport: &http.Transport{TLSClientConfig: r.ClientTLS()}}
	const path = "/internal/v1/snapshot"
	now := time.Now().UnixMilli()
	proof := r.Sign("GET", path, at, now)
	for _, c := range []struct {
		name, method, path, proof string
		admitted                  bool
	}{
		{"its own", "GET", path, proof, true},
		{"again", "GET", path, proof, false},
		{"another one", "GET", path, r.Sign("GET", path, at, now), true},
		{"of another target", "GET", path + "?fresh=true", r.Sign("GET", path, at, now), false},
		{"of another method", "HEAD", path, r.Sign("GET", path, at, now), false},
		{"of another address", "GET", path, r.Sign("GET", path, "127.0.0.2:1", now), false},
		{"of another key", "GET", path, other.Sign("GET", path, at, now), false},
		{"late", "GET", path, r.Sign("GET", path, at, now-31_000), false},
		{"of the process before", "GET", path, r.Sign("GET", path, at, now-29_000), false},
		{"totals", "GET", "/internal/v1/totals", r.Sign("GET", "/internal/v1/totals", at, now), false},
		{"users", "POST", "/internal/v1/users", r.Sign("POST", "/internal/v1/users", at, now), false},
		{"metrics", "GET", "/metrics", r.Sign("GET", "/metrics", at, now), false},
		{"profiles", "GET", "/debug/pprof/heap", r.Sign("GET", "/debug/pprof/heap", at, now), false},
	} {
		status, body, err := answer(t, secure, c.method, "https://"+at+c.path, "Authorization", c.proof)
		if err != nil || (status != 401) != c.admitted {
			t.Errorf("%s: %d %s %v", c.name, status, body, err)
		}
	}
	if status, body, err := answer(t, r.Client(), "GET", "https://"+at+path); err != nil || status == 401 {
		t.Errorf("the client of a node: %d %s %v", status, body, err)
	}
}

// On loopback the listener asks for no proof, and one counts at its own address alone: the program at another port that
// has received it cannot use it.
func TestAProofInPlainTextCountsAtItsAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := harness.Serve(t, nil, "--internal-token-file", "token", "--data-dir", dir, "--journal", "embedded", "--set",
		"stream.listen=127.0.0.1:0", "--pairs", "none", "--sim", "off")
	in.TakeAddresses(in.WaitLine("ready "))
	r := keys(t, harness.StreamSeed.Key)
	if _, err := os.Stat(filepath.Join(dir, "cluster.key")); err == nil {
		t.Error("it has made a key beside the one that it has")
	}
	at := strings.TrimPrefix(in.Root, "http://")
	const path = "/internal/v1/snapshot"
	for host, admitted := range map[string]bool{at: true, "127.0.0.1:1": false, "localhost": false} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", in.Root+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header.Set("Authorization", r.Sign("GET", path, host, time.Now().UnixMilli()))
		resp, err := harness.HTTPClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if (resp.StatusCode != 401) != admitted {
			t.Errorf("Host %s: %s", host, resp.Status)
		}
	}
	if status, body, err := answer(t, r.Client(), "GET", in.Root+path); err != nil || status == 401 {
		t.Errorf("the client of a node: %d %s %v", status, body, err)
	}
}

// Commands reach the listener by the key or by a certificate, and show a token to no other machine.
func TestCommandsTrustAnInternalListener(t *testing.T) {
	t.Parallel()
	in, dir, at := exposed(t)
	file, token := filepath.Join(dir, "cluster.key"), filepath.Join(dir, "token")
	wrong := filepath.Join(t.TempDir(), "wrong.key")
	if err := os.WriteFile(wrong, []byte(rand.Text()+rand.Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, pem, errs := harness.Run(t, "cluster", "certificate", file)
	if code != 0 || !strings.HasPrefix(pem, "-----BEGIN CERTIFICATE-----") {
		t.Fatalf("exit code %d: %s %s", code, pem, errs)
	}
	list := []string{"faults", "list", "--internal-token-file", token, "--internal"}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{append(list, at, "--cluster-key", file), 0, ""},
		{append(list, "https://"+at, "--cluster-key", file), 0, ""},
		{append(list, "https://"+at), 1, "--cluster-key FILE"},
		{append(list, at), 1, "https://"},
		{append(list, at, "--cluster-key", wrong), 1, "copy cluster.key_file"},
		{append(list, at, "--cluster-key", file, "--ca", file), 2, "keep the one"},
		{append(list, at, "--cluster-key", file+"x"), 2, "there is no such file"},
		{append(list, "http://192.0.2.1:8081"), 2, "in clear"},
		{append(list, "http://node.example:8081"), 2, "in clear"},
		{append(list, "ftp://127.0.0.1"), 2, "HOST:PORT"},
		{[]string{"ready", "https://" + at, "--cluster-key", file}, 0, ""},
		{[]string{"ready", "https://" + at}, 1, "--cluster-key FILE"},
		{[]string{"ready", at}, 0, ""}, // as a health check, which knows no key
		{[]string{"ready", strings.TrimPrefix(in.Public, "http://")}, 0, ""},
		{[]string{"ready", "192.0.2.1:8081"}, 2, "is not a URL"},
	} {
		if code, out, errs := harness.Run(t, c.args...); code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%q: exit code %d, want %d: %s%s", c.args, code, c.code, out, errs)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(pem))
	scraper := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: pool, ServerName: "node.tickhive.internal",
	}}}
	text, err := os.ReadFile(token)
	if err != nil {
		t.Fatal(err)
	}
	if status, _, err := answer(t, scraper, "GET", "https://"+at+"/metrics", "Authorization",
		"Bearer "+strings.TrimSpace(string(text))); err != nil || status != 200 {
		t.Errorf("a scraper with the certificate: %d %v", status, err)
	}
}

// With internal.cert programs get this certificate, and nodes the one of the key.
func TestTheInternalListenerHasACertificateOfItsOwn(t *testing.T) {
	t.Parallel()
	cert, key := harness.WriteCertificate(t, t.TempDir(), 7, time.Now().Add(24*time.Hour))
	own := []string{"--set", "internal.cert=" + cert, "--set", "internal.key=" + key}
	serial := func(at, name string) int64 {
		t.Helper()
		conn, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true, ServerName: name})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	_, dir, at := exposed(t, own...)
	if n := serial(at, "localhost"); n != 7 {
		t.Errorf("certificate %d", n)
	}
	if _, err := os.Stat(filepath.Join(dir, "cluster.key")); err == nil {
		t.Error("a key was made, and nothing needs one")
	}
	_, dir, at = exposed(t, append(own, "--set", "cluster.key_file=nodes.key")...)
	if n := serial(at, "localhost"); n != 7 {
		t.Errorf("certificate %d", n)
	}
	if status, body, err := answer(t, keys(t, filepath.Join(dir, "nodes.key")).Client(), "GET",
		"https://"+at+"/internal/v1/snapshot"); err != nil || status == 401 {
		t.Errorf("a node: %d %s %v", status, body, err)
	}
	in := harness.StartEmpty(t, own...)
	if n := serial(strings.TrimPrefix(in.Root, "http://"), ""); n != 7 {
		t.Errorf("on loopback: certificate %d", n)
	}
}

// What would leave the machine in clear is refused before anything starts.
func TestAnOpenInternalListenerWithoutTLSIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.key")
	if err := os.WriteFile(bad, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open.key")
	if err := os.WriteFile(open, []byte(rand.Text()+rand.Text()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	serve := []string{
		"serve", "--listen", "127.0.0.1:0", "--internal-listen", "0.0.0.0:0", "--internal-token", "open sesame",
		"--sim",
		"off", "--pairs", "none",
	}
	for says, args := range map[string][]string{
		"set cluster.key_file, or internal.cert": append(serve, "--set", "data.dir="),
		"internal.cert and internal.key need":    append(serve, "--data-dir", dir, "--set", "internal.cert=x"),
		"internal.cert x, internal.key y": append(serve, "--data-dir", dir, "--set", "internal.cert=x", "--set",
			"internal.key=y"),
		"a unix socket has no TLS": {
			"serve", "--internal-listen", "unix:" + dir + "/s", "--set", "internal.cert=x", "--set", "internal.key=y",
		},
		"a key of 5 characters": append(serve, "--data-dir", filepath.Join(dir, "a"), "--set", "cluster.key_file="+bad),
		"chmod 600 it": append(serve, "--data-dir", filepath.Join(dir, "b"), "--set",
			"cluster.key_file="+open),
	} {
		if code, out, errs := harness.Run(t, args...); code != 2 || !strings.Contains(errs, says) {
			t.Errorf("%s: exit code %d: %s%s", says, code, out, errs)
		}
	}
}
