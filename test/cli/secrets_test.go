package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tickhive/client"
	"tickhive/internal/datadir"

	"tickhive/test/harness"
)

// No private key appears in a log at any level, in a metric, or in a file that other users may
// read (docs/contract/signing.md#secrets).
func TestPrivateKeysAreNowhereToBeRead(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	in := harness.StartEmpty(t, "--data-dir", data, "--log-level", "debug")
	user := in.Call(200, "POST", "/users", `{"nickname":"secretive"}`)["id"].(string)
	key := in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"bot"}`)
	private := key["privateKey"].(string)
	c := client.Client{
		Base: in.Public, PublicKey: key["publicKey"].(string), PrivateKey: private,
		Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) },
	}
	if _, err := c.Balances(context.Background()); err != nil {
		t.Fatal(err)
	}
	metrics := in.Do("GET", in.Root+"/metrics", "")
	if metrics.Status != 200 || !strings.Contains(metrics.Body, "tickhive_") {
		t.Fatalf("no metrics: %d", metrics.Status)
	}
	if strings.Contains(metrics.Body, private) || strings.Contains(in.Stderr.String(), private) {
		t.Error("the private key is in the metrics or the log")
	}
	if !strings.Contains(in.Stderr.String(), "requestId=") {
		t.Errorf("no access line in the log:\n%s", in.Stderr.String())
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
func withKey(in *harness.Instance, nickname string) client.Client {
	in.T.Helper()
	user := in.Call(200, "POST", "/users", fmt.Sprintf(`{"nickname":%q}`, nickname))["id"].(string)
	key := in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"bot"}`)
	return client.Client{
		PublicKey: key["publicKey"].(string), PrivateKey: key["privateKey"].(string),
		Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) },
	}
}

// signsAt checks that a key's signature counts.
func signsAt(in *harness.Instance, c client.Client) {
	in.T.Helper()
	c.Base = in.Public
	if _, err := c.Balances(context.Background()); err != nil {
		in.T.Errorf("the key %s: %v", c.PublicKey, err)
	}
}

// With auth.secret_key_file no file of the data directory has a private key, neither after a kill nor after the
// snapshot of a stop, and the keys go on working. A directory that was begun without it is sealed from then on.
func TestSecretsAtRestAreSealed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "secret.key")
	plain := harness.StartEmpty(t, "--data-dir", data)
	old := withKey(plain, "old")
	plain.Signal(syscall.SIGTERM)
	plain.EndsClean(data)
	if len(filesWith(t, data, old.PrivateKey)) == 0 {
		t.Fatal("no file has the key without the setting: what is looked through are not the logs")
	}

	args := []string{"--data-dir", data, "--set", "auth.secret_key_file=" + file}
	in := harness.StartEmpty(t, args...)
	sealed := withKey(in, "sealed")
	in.Signal(syscall.SIGKILL)
	in.Wait()
	in = harness.StartEmpty(t, args...)
	for _, c := range []client.Client{old, sealed} {
		signsAt(in, c)
	}
	in.Signal(syscall.SIGTERM)
	in.EndsClean(data)
	if found := filesWith(t, data, sealed.PrivateKey); len(found) > 0 {
		t.Errorf("the sealed key is in %v", found)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 65 {
		t.Errorf("the file of the key: %v, %v", info, err)
	}
	verify := harness.Command(t, "journal", "verify", data)
	if out, err := verify.CombinedOutput(); err != nil || bytes.Contains(out, []byte("damaged")) {
		t.Errorf("journal verify: %v\n%s", err, out)
	}
	in = harness.StartEmpty(t, args...)
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
	in := harness.StartEmpty(t, "--data-dir", data, "--set", "auth.secret_key_file="+file)
	withKey(in, "sealed")
	in.Signal(syscall.SIGTERM)
	in.EndsClean(data)
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

// tickhive reseal changes the key of a stopped exchange: the API keys go on, the former key opens nothing any more, and
// no file holds what it sealed. A running exchange and wrong keys are refused before anything changes.
func TestResealChangesTheKeyOfTheSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	file := func(name string) string { return filepath.Join(dir, name) }
	begin := func(key string) *harness.Instance {
		return harness.StartEmpty(t, "--data-dir", data, "--set", "auth.secret_key_file="+key)
	}
	stop := func(in *harness.Instance) {
		in.Signal(syscall.SIGTERM)
		in.EndsClean(data)
	}
	plain := harness.StartEmpty(t, "--data-dir", data)
	clients := []client.Client{withKey(plain, "plain")}
	stop(plain)
	in := begin(file("first"))
	clients = append(clients, withKey(in, "sealed"))
	refused := func(code int, want string, args ...string) {
		t.Helper()
		before := files(t, data)
		got, out, errs := harness.Run(t, append([]string{"reseal", data}, args...)...)
		if got != code || out != "" || !strings.Contains(errs, want) {
			t.Errorf("reseal %v: exit code %d, %q and %q; want %d and %q", args, got, out, errs, code, want)
		}
		if diff := cmp.Diff(before, files(t, data)); diff != "" && in == nil {
			t.Errorf("reseal %v was refused and changed the directory: %s", args, diff)
		}
	}
	refused(1, "the directory is in use, stop its program first", "--old", file("first"), "--new", file("second"))
	in.Signal(syscall.SIGKILL)
	in.Wait()
	in = nil
	refused(1, "start the exchange once with the old key and stop it", "--old", file("first"), "--new", file("second"))
	stop(begin(file("first")))
	digits := strings.Repeat("0badc0de", 8)
	if err := os.WriteFile(file("another"), []byte(digits+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file("short"), []byte(digits[1:]), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(2, "--old: the secrets in "+data+" are sealed with the key", "--new", file("second"))
	refused(2, "name the file that has that key, and there is none at", "--old", file("missing"), "--new",
		file("second"))
	refused(2, "--old: "+file("another")+" has the key", "--old", file("another"), "--new", file("second"))
	refused(2, "are sealed already: name another file", "--old", file("first"), "--new", file("first"))
	refused(2, "--new: "+data+"/inside is in the data directory", "--old", file("first"), "--new", data+"/inside")
	refused(2, "--new: "+file("short")+": seal: a key has 64 hexadecimal digits", "--old", file("first"), "--new",
		file("short"))
	if _, err := os.Stat(file("second")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused change made the new key: %v", err)
	}

	meta := func() datadir.Meta {
		t.Helper()
		m, err := datadir.ReadMeta(data)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	was := meta().SealedWith
	oldID, err := hex.DecodeString(was)
	if err != nil || len(filesWith(t, data, string(oldID))) == 0 {
		t.Fatalf("nothing is sealed with the former key %q: %v", was, err)
	}
	set := filepath.Join(data, "accounts", "00000000000000000001.snap.damaged")
	if err := os.WriteFile(set, oldID, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := harness.Run(t, "reseal", data, "--old", file("first"), "--new", file("second"))
	for _, want := range []string{
		"is sealed with the key " + meta().SealedWith + " and verified\n",
		"start it with auth.secret_key_file = " + file("second") + "\n",
		"backups and copies that were made before need the key " + was + "\n",
		set + " is not sealed with the new key",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("reseal: exit code %d, %q and %q; want %q", code, out, errs, want)
		}
	}
	if found := filesWith(t, data, string(oldID)); len(found) != 1 || found[0] != set {
		t.Errorf("the former key has sealed what is in %v", found)
	}
	for _, c := range clients {
		if found := filesWith(t, data, c.PrivateKey); len(found) > 0 {
			t.Errorf("the private key of %s is in %v", c.PublicKey, found)
		}
	}
	if code, out, errs := harness.Run(t, "journal", "verify", "--quiet", data); code != 0 {
		t.Errorf("journal verify: exit code %d, %s %s", code, out, errs)
	}
	startRefused(t, append(startOf(data, "--clock", "virtual", "--pairs", "none", "--sim", "off"), "--set",
		"auth.secret_key_file="+file("first")), "name the file that has that key")
	in = begin(file("second"))
	for _, c := range append(clients, withKey(in, "later")) {
		signsAt(in, c)
	}
	stop(in)
}
