package cli

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// binanceHosts makes a directory of binance-hosts and returns its path.
func binanceHosts(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "bots")
	code, out, errs := harness.Run(t, "binance-hosts", dir)
	if code != 0 || !strings.Contains(out, dir+"/run PROGRAM") {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	return dir
}

// needNamespaces skips the test where this user may make no network of its own.
func needNamespaces(t *testing.T) {
	t.Helper()
	out, err := exec.Command("unshare", "--map-root-user", "--net", "--mount", "true").CombinedOutput()
	switch {
	case err == nil:
	case os.Getenv("TICKHIVE_STRICT") == "1":
		t.Fatalf("unshare: %v %s", err, out)
	default:
		t.Skipf("unshare: %v %s: not run (TICKHIVE_STRICT=1 makes this an error)", err, out)
	}
}

// The certificate is of Binance's names, the CA may vouch for no other one, and its key is nowhere.
func TestTheCertificateOfBinancesNames(t *testing.T) {
	t.Parallel()
	dir := binanceHosts(t)
	read := func(name string) *x509.Certificate {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		block, rest := pem.Decode(text)
		if block == nil || block.Type != "CERTIFICATE" || len(rest) > 0 {
			t.Fatalf("%s: %s", name, text)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ca, cert := read("ca.pem"), read("tls.pem")
	if !ca.IsCA || !ca.PermittedDNSDomainsCritical || len(ca.PermittedDNSDomains) == 0 || cert.IsCA {
		t.Errorf("%+v", ca)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	hosts, err := os.ReadFile(filepath.Join(dir, "hosts"))
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for line := range strings.Lines(string(hosts)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "127.0.0.1 ")
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil || !ok {
			t.Errorf("%q: %v", line, err)
		}
		names++
	}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: "example.com"}); err == nil || names < 30 {
		t.Errorf("%d names, example.com: %v", names, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		info, ierr := f.Info()
		if err != nil || ierr != nil {
			t.Fatal(err, ierr)
		}
		secret := strings.Contains(string(text), "PRIVATE KEY")
		if secret != (f.Name() == "tls.key") || secret && info.Mode().Perm() != 0o600 {
			t.Errorf("%s %v", f.Name(), info.Mode())
		}
	}
	if code, _, errs := harness.Run(t, "binance-hosts", dir); code != 2 || !strings.Contains(errs, "is not empty") {
		t.Errorf("a second run: exit code %d: %s", code, errs)
	}
}

// defaultURLs is a program for Binance: it trusts what its environment names, and knows no other address.
const defaultURLs = `
import https from 'node:https';
const at = async (url) => (await fetch(url)).json();
const { serverTime } = await at('https://api.binance.com/api/v3/time');
const { symbols } = await at('https://data-api.binance.vision/api/v3/exchangeInfo');
const socket = await new Promise((done, fail) => {
  const headers = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': 13,
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' };
  https.request('https://stream.binance.com:9443/ws/btcusdt@trade', { headers })
    .on('upgrade', (r, s) => { s.destroy(); done(r.statusCode); }).on('error', fail).end();
});
let elsewhere = 'reached';
try { await fetch('https://93.184.215.14/'); } catch (e) { elsewhere = e.cause.code; }
console.log(serverTime > 0, symbols.length, socket, elsewhere);
process.exit(3);
`

// A program whose URLs are Binance's reaches the exchange that the script starts, and nothing else. The script ends as
// the program does, and a second one joins it.
func TestAProgramReachesTheExchangeByBinancesNames(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	harness.NeedTool(t, "node")
	dir := binanceHosts(t)
	program := filepath.Join(dir, "program.mjs")
	if err := os.WriteFile(program, []byte(defaultURLs), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	run := exec.CommandContext(ctx, filepath.Join(dir, "run"), "sh", "-c", `"$0"/run node "$1"`, dir, program)
	run.Env = harness.Environ()
	out, err := run.CombinedOutput()
	if string(out) != "true 12 101 ENETUNREACH\n" || run.ProcessState.ExitCode() != 3 {
		t.Errorf("%v: %s", err, out)
	}
	log, err := os.ReadFile(filepath.Join(dir, "serve.log"))
	if err != nil || !strings.Contains(string(log), "msg=stopped") {
		t.Errorf("%v: %s", err, log)
	}
	again := exec.CommandContext(ctx, filepath.Join(dir, "run"), "cat", filepath.Join(dir, "key.json"))
	again.Env = harness.Environ()
	if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), `"publicKey"`) {
		t.Errorf("%v: %s", err, out)
	}
}
