package cli

import (
	"bytes"
	"context"
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

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/internal/datadir"

	"github.com/tickhive/tickhive/test/harness"
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
		t.Fatal("no file has the key without the setting: what is looked through is not the log")
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
		"none":    {"", "name the file that has this key"},
		"missing": {filepath.Join(dir, "missing"), "put the file with this key back"},
		"another": {write("another", digits+"\n", 0o600), "put this one back into the file as a further line"},
		"no key":  {write("short", digits[1:], 0o600), "a key has 64 hexadecimal digits"},
		"inside":  {filepath.Join(data, "secret.key"), "is in the data directory"},
		"folder":  {dir, "auth.secret_key_file: read " + dir + ": is a directory: let the program's user read"},
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

// A new key in front of the former one seals from the next start on, also what the former one has sealed, and the API
// keys go on. A start without the former one is refused before the log says that it is not needed, and no start asks
// for it afterwards.
func TestTheKeyOfTheSecretsIsChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "secret.key")
	first, second := strings.Repeat("0badc0de", 8)+"\n", strings.Repeat("c0ffee00", 8)+"\n"
	begin := func(keys string) *harness.Instance {
		t.Helper()
		if err := os.WriteFile(file, []byte(keys), 0o600); err != nil {
			t.Fatal(err)
		}
		return harness.StartEmpty(t, "--data-dir", data, "--set", "auth.secret_key_file="+file)
	}
	sealedWith := func() string {
		t.Helper()
		m, err := datadir.ReadMeta(data)
		if err != nil || m.SealedWith == "" {
			t.Fatal(m.SealedWith, err)
		}
		return m.SealedWith
	}
	in := begin(first)
	clients := []client.Client{withKey(in, "first")}
	in.Signal(syscall.SIGKILL)
	in.Wait()
	was := sealedWith()
	if err := os.WriteFile(file, []byte(second), 0o600); err != nil {
		t.Fatal(err)
	}
	without := harness.Launch(t, nil, append(startOf(data, "--clock", "virtual", "--pairs", "none", "--sim", "off"),
		"--set", "auth.secret_key_file="+file)...)
	for range without.Lines {
	}
	if code := without.Wait(); code != 2 ||
		!strings.Contains(without.Stderr.String(), "sealed with the key "+was+": put this one back into the file") {
		t.Errorf("without the former key: exit code %d: %s", code, without.Stderr.String())
	}
	in = begin(second + first)
	clients = append(clients, withKey(in, "second"))
	in.WaitLog("no field of the state needs a former key any more", 1)
	in.Signal(syscall.SIGKILL)
	in.Wait()
	if now := sealedWith(); now == was {
		t.Errorf("the key %s seals again", now)
	}
	in = begin(second)
	for _, c := range append(clients, withKey(in, "third")) {
		signsAt(in, c)
		if found := filesWith(t, data, c.PrivateKey); len(found) > 0 {
			t.Errorf("the private key of %s is in %v", c.PublicKey, found)
		}
	}
	in.Signal(syscall.SIGTERM)
	in.EndsClean(data)
}

// journal verify has the hash of the running exchange without the key. journal dump opens nothing.
func TestVerifyOfSealedAccounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "secret.key")
	in := harness.StartEmpty(t, "--data-dir", data, "--set", "auth.secret_key_file="+file)
	withKey(in, "alice")
	live := harness.Object(t, in.Do("GET", in.Internal+"/state-hash", "").Body)
	in.Signal(syscall.SIGKILL)
	in.Wait()
	meta, err := datadir.ReadMeta(data)
	if err != nil {
		t.Fatal(err)
	}
	verify := []string{"journal", "verify", "--quiet", data}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	code, out, errs := harness.Run(t, verify...)
	if code != 0 || !strings.Contains(out, fmt.Sprintf("\nhash %v\n", live["hash"])) {
		t.Errorf("exit code %d, %s%s, the exchange has %v", code, out, errs, live)
	}
	code, out, errs = harness.Run(t, append(verify, "--json")...)
	got := harness.Object(t, out)
	if code != 0 || got["hash"] != live["hash"] {
		t.Errorf("exit code %d, %s%s, the exchange has %v", code, out, errs, live)
	}
	for _, name := range []string{"market", "accounts", "launchpad", "hive", "settings"} {
		if part(got, name) == nil || part(got, name) != part(live, name) {
			t.Errorf("part %s of %s, the exchange has %v", name, out, live)
		}
	}
	code, out, errs = harness.Run(t, "journal", "dump", data)
	if code != 0 || strings.Count(out, fmt.Sprintf(`"sealed":%q`, meta.SealedWith)) != 1 ||
		strings.Contains(out, "bot") {
		t.Errorf("journal dump: exit code %d, %s%s", code, out, errs)
	}
}

// journal dump prints the commands of every part, and neither private keys nor real names nor white lists.
func TestADumpHasNoSecrets(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	in := harness.StartEmpty(t, "--data-dir", data, "--set", "referral.bonus_share=0.125")
	in.Pair("BTC_USDT")
	user := in.Call(200, "POST", "/users", `{"nickname":"alice","name":"Real","secondName":"Person"}`)["id"].(string)
	in.Call(200, "PATCH", "/users/"+user, `{"name":"Other","secondName":null,"level":3}`)
	key := in.Call(200, "POST", "/users/"+user+"/apikeys",
		`{"name":"bot","canTrade":true,"canWithdraw":true,"ipWhitelist":["10.1.2.0/24"]}`)
	in.Call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":"12.5"}`)
	in.Call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"NATIVE","amount":"7"}`)
	in.Signal(syscall.SIGKILL)
	in.Wait()
	code, out, errs := harness.Run(t, "journal", "dump", data)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{
		`"kind":"create_user","nickname":"alice"`, `"kind":"patch_user","level":3`,
		fmt.Sprintf(`"publicKey":%q`, key["publicKey"]), `"canWithdraw":true`,
		`"amount":"12.5","currency":"USDT","kind":"deposit"`, `"amount":"7.0","currency":"NATIVE","kind":"deposit"`,
		`"referral.levels":["0.2","0.1","0.05","0.03","0.02"]`, `"referral.bonus_share":"0.125"`,
		`"launchpad.fee":"100.0"`, `"orders.fills_kept":1000000`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
	for _, secret := range []string{"Real", "Person", "Other", "10.1.2", key["privateKey"].(string)} {
		if strings.Contains(out, secret) {
			t.Errorf("%s is in\n%s", secret, out)
		}
	}
}
