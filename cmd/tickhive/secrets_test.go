package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tickhive/accounts/auth"
	"tickhive/client"
)

// The terminal shows the demo's private key once, and no address that would carry it into the
// history of a browser.
func TestTheDemosAddressCarriesNoKey(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &program{out: &out}
	if err := p.showDemoKey("thePublicHalf", auth.NewSecret("thePrivateHalf"), "http://127.0.0.1:8080/"); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Count(text, "thePublicHalf") != 1 || strings.Count(text, "thePrivateHalf") != 1 {
		t.Errorf("not each half once:\n%s", text)
	}
	if !strings.Contains(text, "page     http://127.0.0.1:8080/\n") {
		t.Errorf("no bare address of the page:\n%s", text)
	}
}

// No private key appears in a log at any level, in a metric, or in a file that other users may
// read (docs/contract/signing.md#secrets).
func TestPrivateKeysAreNowhereToBeRead(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	in := startEmpty(t, "--data-dir", data, "--log-level", "debug")
	user := in.call(200, "POST", "/users", `{"nickname":"secretive"}`)["id"].(string)
	key := in.call(200, "POST", "/users/"+user+"/apikeys", `{"name":"bot"}`)
	private := key["privateKey"].(string)
	c := client.Client{
		Base: in.public, PublicKey: key["publicKey"].(string), PrivateKey: private,
		Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) },
	}
	if _, err := c.Balances(context.Background()); err != nil {
		t.Fatal(err)
	}
	metrics := in.do("GET", in.root+"/metrics", "")
	if metrics.status != 200 || !strings.Contains(metrics.body, "tickhive_") {
		t.Fatalf("no metrics: %d", metrics.status)
	}
	if strings.Contains(metrics.body, private) || strings.Contains(in.stderr.String(), private) {
		t.Error("the private key is in the metrics or the log")
	}
	if !strings.Contains(in.stderr.String(), "requestId=") {
		t.Errorf("no access line in the log:\n%s", in.stderr.String())
	}
	found := 0
	if err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte(private)) {
			return err
		}
		found++
		if info, err := d.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the private key and is readable by others: %v, %v", path, info, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no file has the key: what was looked through is not the journal")
	}
}
