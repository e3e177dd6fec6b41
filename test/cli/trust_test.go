package cli

import (
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// Each command that asks an https address takes the certificates of --ca, and names the flag without it.
func TestEveryClientCommandTakesAPrivateCA(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	dir := t.TempDir()
	cert, key := harness.WriteCertificate(t, dir, 1, time.Now().Add(24*time.Hour))
	in := harness.Start(t, "--set", "tls.cert="+cert, "--set", "tls.key="+key)
	public := "https://" + strings.TrimPrefix(in.Public, "http://")

	behind, err := url.Parse(in.Root)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind) }})
	t.Cleanup(proxy.Close)
	both := filepath.Join(dir, "both.pem") // the certificates of the exchange and of the proxy
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})...)
	if err := os.WriteFile(both, text, 0o600); err != nil {
		t.Fatal(err)
	}
	signer := filepath.Join(dir, "key.json")
	internal := []string{"--internal", proxy.URL}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"ready", []string{"ready", public}},
		{"stats", []string{"stats", "--target", public, "--samples", "1", "--every", "1ms"}},
		{"conformance", []string{"conformance", public}},
		{
			"load polls",
			[]string{"load", "--target", public + "/listing/coingecko", "--mix", "polls", "--duration", "1s"},
		},
		{"load streams", []string{"load", "--target", public, "--mix", "streams", "--duration", "1s"}},
		{"demo-key", append([]string{"demo-key", signer}, internal...)},
		{
			"load orders",
			[]string{"load", "--target", public, "--mix", "orders", "--signed", signer, "--duration", "1s"},
		},
		{"faults", append([]string{"faults", "list"}, internal...)},
		{"backup", append([]string{"backup", filepath.Join(dir, "b.tar")}, internal...)},
	} {
		run := func(args ...string) (code int, said string) {
			out := harness.Launch(t, nil, append(c.args, args...)...)
			return out.Wait(), out.Stderr.String()
		}
		if c.name != "load orders" { // its key is made by now
			if code, said := run(); code == 0 || !strings.Contains(said, "--ca FILE") {
				t.Errorf("%s without --ca: exit code %d: %s", c.name, code, said)
			}
		}
		if code, said := run("--ca", key); code != 2 || !strings.Contains(said, "no PEM certificate") {
			t.Errorf("%s with another file: exit code %d: %s", c.name, code, said)
		}
		code, said := run("--ca", both)
		if code != 0 && !(c.name == "conformance" && code == 1) { // a new market's answers may have errors
			t.Errorf("%s: exit code %d: %s", c.name, code, said)
		}
	}
}
