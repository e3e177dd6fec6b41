package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	found := filesWith(t, data, private)
	for _, path := range found {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the private key and is readable by others: %v, %v", path, info, err)
		}
	}
	if len(found) == 0 {
		t.Error("no file has the key: what was looked through is not the journal")
	}
}

// filesWith returns the files below dir that contain a text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil && bytes.Contains(content, []byte(text)) {
			found = append(found, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// withKey makes a user with a key in a running program.
func withKey(in *instance, nickname string) client.Client {
	in.t.Helper()
	user := in.call(200, "POST", "/users", fmt.Sprintf(`{"nickname":%q}`, nickname))["id"].(string)
	key := in.call(200, "POST", "/users/"+user+"/apikeys", `{"name":"bot"}`)
	return client.Client{
		PublicKey: key["publicKey"].(string), PrivateKey: key["privateKey"].(string),
		Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) },
	}
}

// signsAt checks that a key's signature counts.
func signsAt(in *instance, c client.Client) {
	in.t.Helper()
	c.Base = in.public
	if _, err := c.Balances(context.Background()); err != nil {
		in.t.Errorf("the key %s: %v", c.PublicKey, err)
	}
}

// With auth.secret_key_file no file of the data directory has a private key, neither after a kill nor after the
// snapshot of a stop, and the keys go on working. A directory that was begun without it is sealed from then on.
func TestSecretsAtRestAreSealed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "secret.key")
	plain := startEmpty(t, "--data-dir", data)
	old := withKey(plain, "old")
	plain.signal(syscall.SIGTERM)
	plain.endsClean(data)
	if len(filesWith(t, data, old.PrivateKey)) == 0 {
		t.Fatal("no file has the key without the setting: what is looked through are not the logs")
	}

	args := []string{"--data-dir", data, "--set", "auth.secret_key_file=" + file}
	in := startEmpty(t, args...)
	sealed := withKey(in, "sealed")
	in.signal(syscall.SIGKILL)
	in.wait()
	in = startEmpty(t, args...)
	for _, c := range []client.Client{old, sealed} {
		signsAt(in, c)
	}
	in.signal(syscall.SIGTERM)
	in.endsClean(data)
	if found := filesWith(t, data, sealed.PrivateKey); len(found) > 0 {
		t.Errorf("the sealed key is in %v", found)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 65 {
		t.Errorf("the file of the key: %v, %v", info, err)
	}
	verify := exec.Command(os.Args[0], "journal", "verify", data)
	verify.Env = append(os.Environ(), asProgram+"=1")
	if out, err := verify.CombinedOutput(); err != nil || bytes.Contains(out, []byte("damaged")) {
		t.Errorf("journal verify: %v\n%s", err, out)
	}
	in = startEmpty(t, args...)
	for _, c := range []client.Client{old, sealed} {
		signsAt(in, c)
	}
}

// A start without the key of the sealed secrets, with another key or with a file that cannot have it is refused
// with the remedy, before anything is changed.
func TestSealedSecretsAskForTheirKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "secret.key")
	in := startEmpty(t, "--data-dir", data, "--set", "auth.secret_key_file="+file)
	withKey(in, "sealed")
	in.signal(syscall.SIGTERM)
	in.endsClean(data)
	before := files(t, data)
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	digits := strings.Repeat("0badc0de", 8)
	for name, c := range map[string]struct{ file, want string }{
		"none":    {"", "set auth.secret_key_file to the file that has this key"},
		"missing": {filepath.Join(dir, "missing"), "put the file with this key back"},
		"another": {write("another", digits+"\n", 0o600), "name the file that has that key"},
		"no key":  {write("short", digits[1:], 0o600), "a key has 64 hexadecimal digits"},
		"inside":  {filepath.Join(data, "secret.key"), "is in the data directory"},
		"open":    {write("open", digits, 0o604), "chmod 600"},
	} {
		args := startOf(data, "--clock", "virtual", "--pairs", "none", "--sim", "off")
		if c.file != "" {
			args = append(args, "--set", "auth.secret_key_file="+c.file)
		}
		startRefused(t, args, c.want)
		if diff := cmp.Diff(before, files(t, data)); diff != "" {
			t.Errorf("%s: the refused start changed the directory: %s", name, diff)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a new key was made for a sealed directory: %v", err)
	}
}
