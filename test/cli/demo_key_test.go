package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// writtenKey is a key as the program writes it, to a file or on a line.
type writtenKey struct{ Kind, UserID, PublicKey, PrivateKey string }

// readKey reads a file of a demo key and checks its mode.
func readKey(t *testing.T, name string) (k writtenKey) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v: %v", info, err)
	}
	text, err := os.ReadFile(name)
	if err != nil || json.Unmarshal(text, &k) != nil || k.Kind != "tickhive-demo-key" {
		t.Fatalf("%s: %v", text, err)
	}
	return k
}

// funds signs with the key and returns the free amount of each currency.
func (k writtenKey) funds(t *testing.T, base string) map[string]string {
	t.Helper()
	c := client.Client{Base: base, PublicKey: k.PublicKey, PrivateKey: k.PrivateKey}
	balances, err := c.Balances(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	free := map[string]string{}
	for _, b := range balances {
		free[b.Currency] = string(b.Free)
	}
	return free
}

func TestServeWritesAFundedKeyBeforeItIsReady(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	file, data := filepath.Join(work, "key.json"), filepath.Join(work, "data")
	args := []string{"--demo-key", file, "--data-dir", data, "--sim", "off"}
	in := harness.Start(t, args...)
	first := readKey(t, file)
	free := first.funds(t, in.Public)
	if free["BTC"] != "10000.0" || free["USDT"] != "10000.0" || len(free) < 10 {
		t.Errorf("%v", free)
	}
	if u := in.Call(200, "GET", "/users/"+first.UserID, ""); u["id"] != first.UserID {
		t.Errorf("%v", u)
	}
	if strings.Contains(in.Stderr.String(), first.PrivateKey) {
		t.Error("the log has the private key")
	}
	in.Signal(syscall.SIGTERM)
	in.EndsClean(data)

	in = harness.Start(t, args...) // the key in the file is one of this directory: it stays
	if again := readKey(t, file); again != first || again.funds(t, in.Public)["BTC"] != "10000.0" {
		t.Errorf("%v, then %v", first, again)
	}
	in.Signal(syscall.SIGTERM)
	in.EndsClean(data)

	in = harness.Start(t, "--demo-key", file, "--data-dir", filepath.Join(work, "other"))
	if other := readKey(t, file); other.PublicKey == first.PublicKey || len(other.funds(t, in.Public)) < 10 {
		t.Errorf("%v in another directory", other)
	}
	if left, err := filepath.Glob(filepath.Join(work, ".demo-key-*")); err != nil || len(left) != 0 {
		t.Errorf("temporary files %v: %v", left, err)
	}
}

func TestADemoKeyReplacesNoOtherFile(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	for name, content := range map[string]string{"notes": "my notes", "json": `{"kind":"other"}`, "empty": ""} {
		file := filepath.Join(work, name)
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"serve", "--demo-key", file, "--ephemeral"},
			{"demo-key", "--internal", "127.0.0.1:1", file},
		} {
			in := harness.Launch(t, nil, args...)
			if code := in.Wait(); code != 2 || !strings.Contains(in.Stderr.String(), "is no demo key") {
				t.Errorf("%v: exit code %d: %s", args, code, in.Stderr.String())
			}
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != content {
			t.Errorf("%q is now %q: %v", content, text, err)
		}
	}
	for _, file := range []string{work, filepath.Join(work, "none", "key")} {
		in := harness.Launch(t, nil, "serve", "--ephemeral", "--demo-key", file)
		if code := in.Wait(); code != 2 {
			t.Errorf("%s: exit code %d: %s", file, code, in.Stderr.String())
		}
	}
}

func TestDemoKeyFundsAUserOfARunningExchange(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--sim", "off", "--internal-token", "open sesame")
	in.Token = "open sesame"
	in.Call(200, "POST", "/pairs", `{"code":"CARD_USDT","digitsPrice":2,"digitsAmount":2}`)
	in.Call(200, "PATCH", "/assets/BTC", `{"canDeposit":false}`)
	work := t.TempDir()
	file, token := filepath.Join(work, "key.json"), filepath.Join(work, "token")
	if err := os.WriteFile(token, []byte("open sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	internal := strings.TrimPrefix(in.Root, "http://")
	refused := harness.Launch(t, nil, "demo-key", "--internal", internal, file)
	if code := refused.Wait(); code != 1 || !strings.Contains(refused.Stderr.String(), "401") {
		t.Errorf("without a token: exit code %d: %s", code, refused.Stderr.String())
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a refused call left a file")
	}
	var keys [2]writtenKey
	for i, run := range [][]string{
		{"demo-key", "--internal", internal, "--internal-token-file", token, file},
		{"demo-key", "--internal=" + internal, "--replace", file},
	} {
		out := harness.Launch(t, []string{"TICKHIVE_INTERNAL_TOKEN=open sesame"}, run...)
		line := out.WaitLine("key ")
		if code := out.Wait(); code != 0 {
			t.Fatalf("exit code %d: %s", code, out.Stderr.String())
		}
		keys[i] = readKey(t, file)
		free := keys[i].funds(t, in.Public)
		if free["CARD"] != "10000.0" || free["USDT"] != "10000.0" || free["BTC"] != "" {
			t.Errorf("%v", free)
		}
		if !strings.Contains(line, keys[i].PublicKey) || strings.Contains(line, keys[i].PrivateKey) {
			t.Errorf("%s", line)
		}
	}
	if keys[0].UserID == keys[1].UserID || keys[0].PublicKey == keys[1].PublicKey {
		t.Errorf("%v", keys)
	}
}

// The amounts of a demo key are worth about the same by the market's prices, whichever way the key was made.
func TestADemoKeyHasAboutTheSameOfEachCurrency(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	at, later := filepath.Join(work, "at.json"), filepath.Join(work, "later.json")
	in := harness.Start(t, "--demo-key", at, "--backfill", "1h")
	if c := harness.Launch(t, nil, "demo-key", "--internal", in.Root, later); c.Wait() != 0 {
		t.Fatal(c.Stderr.String())
	}
	for _, file := range []string{at, later} {
		free, priced := readKey(t, file).funds(t, in.Public), 0
		for base, text := range free {
			ticker := in.Do("GET", in.Public+"/api/tickers?currencyPairCode="+base+"_USDT", "")
			if ticker.Status != 200 {
				continue // USDT, and currencies that another one quotes
			}
			amount, ok := new(big.Rat).SetString(text)
			price, priceOk := new(big.Rat).SetString(fmt.Sprint(harness.Object(t, ticker.Body)["price"]))
			if !ok || !priceOk {
				t.Fatalf("%s: %s", text, ticker.Body)
			}
			worth, _ := amount.Mul(amount, price).Float64()
			if worth < 60_000 || worth > 140_000 {
				t.Errorf("%s: %s %s are worth %v", file, text, base, worth)
			}
			priced++
		}
		if !strings.HasPrefix(free["USDT"], "10000") || len(free["USDT"]) < 8 || priced < 8 {
			t.Errorf("%s: %v", file, free)
		}
	}
}

// tickhive deposit adds money to a user by id, by a name or by a file with a key of any form; a command line that is
// wrong in its last word adds nothing.
func TestDepositGivesMoneyToAUser(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--sim", "off")
	made := in.Call(200, "POST", "/users", `{"nickname":"rich"}`)
	for i := range 101 { // more than a page of those that a search for the name finds first
		in.Call(200, "POST", "/users", fmt.Sprintf(`{"nickname":"richer-%d"}`, i))
	}
	user := made["id"].(string)
	file := filepath.Join(t.TempDir(), "key.json")
	apiKey, lost, cut, large := file+".api", file+".lost", file+".cut", file+".large"
	key := in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"bot"}`)
	text, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		apiKey: string(text), lost: `{"publicKey":"th_nobody"}`,
		cut:   fmt.Sprintf(`{"publicKey":%q}`, key["publicKey"].(string)[:8]),
		large: string(text) + strings.Repeat(" ", 64<<10),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if c := harness.Launch(t, nil, "demo-key", "--internal", in.Root, file); c.Wait() != 0 {
		t.Fatal(c.Stderr.String())
	}
	for _, test := range []struct {
		user string
		args []string
		code int
		want string
	}{
		{
			user,
			[]string{"USDT=1000", "BTC=0.5"},
			0,
			"USDT free=1000.0 held=0.0 total=1000.0\nBTC free=0.5 held=0.0 total=0.5\n",
		},
		{user, []string{"USDT=0.25"}, 0, "USDT free=1000.25 held=0.0 total=1000.25\n"},
		{user, []string{"USDT=1", "BTC"}, 2, `"BTC" must have the form CURRENCY=AMOUNT`},
		{file + ".other", []string{"USDT=1"}, 2, "neither a file with a key nor the id, the nickname or the public id"},
		{"ric", []string{"USDT=1"}, 2, "neither a file with a key"},
		{lost, []string{"USDT=1"}, 2, "which is no key of a user of this exchange"},
		{cut, []string{"USDT=1"}, 2, "which is no key of a user of this exchange"},
		{large, []string{"USDT=1"}, 2, "is larger than 65536 bytes"},
		{filepath.Dir(file), []string{"USDT=1"}, 2, "is a directory"},
		{user, []string{"USDT=-1"}, 1, "amount"},
		{file, []string{"USDT=1"}, 0, "USDT free=10001.0 held=0.0 total=10001.0\n"},
		{user, []string{"USDT=1"}, 0, "USDT free=1001.25 held=0.0 total=1001.25\n"},
		{"Rich", []string{"USDT=1"}, 0, "USDT free=1002.25 held=0.0 total=1002.25\n"},
		{made["publicId"].(string), []string{"USDT=1"}, 0, "USDT free=1003.25 held=0.0 total=1003.25\n"},
		{apiKey, []string{"USDT=1"}, 0, "USDT free=1004.25 held=0.0 total=1004.25\n"},
	} {
		args := append([]string{"deposit", "--internal", in.Root, test.user}, test.args...)
		code, out, errs := harness.Run(t, args...)
		if code != test.code || code == 0 && out != test.want || code != 0 && !strings.Contains(errs, test.want) {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
		}
	}
}

// A key that demo-key wrote stays unless --replace is given: to its own exchange the command succeeds once more, to
// another one it is refused.
func TestADemoKeyIsReplacedOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	in, other := harness.StartEmpty(t), harness.StartEmpty(t)
	file := filepath.Join(t.TempDir(), "key.json")
	run := func(internal string, args ...string) (code int, said string) {
		code, out, errs := harness.Run(t, append([]string{"demo-key", "--internal", internal, file}, args...)...)
		return code, out + errs
	}
	if code, said := run(in.Root, "--replace"); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	first := readKey(t, file)
	for _, c := range []struct {
		internal string
		code     int
		want     string
	}{
		{in.Root, 0, "key " + first.PublicKey + " of user " + first.UserID + " is in the file already: " + file},
		{other.Root, 2, "of user " + first.UserID + ", which this exchange does not know"},
		{"127.0.0.1:1", 1, "127.0.0.1:1"}, // no exchange
	} {
		code, said := run(c.internal)
		if code != c.code || !strings.Contains(said, c.want) || strings.Contains(said, first.PrivateKey) ||
			code != 1 && !strings.Contains(said, "--replace") {
			t.Errorf("%s: exit code %d: %s", c.internal, code, said)
		}
		if again := readKey(t, file); again != first {
			t.Errorf("%s: %v is now %v", c.internal, first, again)
		}
	}
	if code, said := run(in.Root, "--replace"); code != 0 {
		t.Errorf("exit code %d: %s", code, said)
	}
	if again := readKey(t, file); again.PublicKey == first.PublicKey || again.UserID == first.UserID {
		t.Errorf("%v with --replace", again)
	}
}

func TestEphemeralSaysOneLineAndLeavesNothing(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	in := harness.Launch(t, []string{"TMPDIR=" + temp}, "serve", "--ephemeral", "--sim", "off")
	var said struct {
		Public, Internal string
		writtenKey
	}
	if err := json.Unmarshal([]byte(in.WaitLine("{")), &said); err != nil {
		t.Fatal(err)
	}
	if said.funds(t, said.Public)["USDT"] != "10000.0" {
		t.Error("the key has no money")
	}
	in.Internal = said.Internal + "/internal/v1"
	if u := in.Call(200, "GET", "/users/"+said.UserID, ""); u["id"] != said.UserID {
		t.Errorf("%v", u)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 1 {
		t.Errorf("data directories %v: %v", left, err)
	}
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
	if line, ok := <-in.Lines; ok {
		t.Errorf("a second line %q", line)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind %v: %v", left, err)
	}
	if entries, err := os.ReadDir(in.Cmd.Dir); err != nil || len(entries) != 0 {
		t.Errorf("in the working directory: %v, %v", entries, err)
	}
	bad := harness.Launch(t, nil, "serve", "--ephemeral", "--data-dir", temp)
	if code := bad.Wait(); code != 2 || !strings.Contains(bad.Stderr.String(), "data.dir") {
		t.Errorf("exit code %d: %s", code, bad.Stderr.String())
	}
}

// A start goes on in the directory that a killed one has left, with its key and its data, and removes it at its end.
func TestEphemeralGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	var said, again struct {
		Public, Internal, DataDir string
		writtenKey
	}
	start := func(into any, more ...string) *harness.Instance {
		in := harness.Launch(t, []string{"TMPDIR=" + temp}, append([]string{"serve", "--ephemeral", "--sim", "off"},
			more...)...)
		if err := json.Unmarshal([]byte(in.WaitLine("{")), into); err != nil {
			t.Fatal(err)
		}
		return in
	}
	in := start(&said)
	in.Internal = said.Internal + "/internal/v1"
	in.Call(200, "POST", "/users/"+said.UserID+"/deposits", `{"currencyCode":"USDT","amount":5}`)
	in.Signal(syscall.SIGKILL)
	in.Wait()
	in = start(&again, "--data-dir", said.DataDir, "--listen", strings.TrimPrefix(said.Public, "http://"))
	if again.Public != said.Public || again.writtenKey != said.writtenKey || again.DataDir != said.DataDir ||
		again.funds(t, again.Public)["USDT"] != "10005.0" {
		t.Errorf("%+v, before %+v", again, said)
	}
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind %v: %v", left, err)
	}
}

// A failed start removes the temporary directory too.
func TestEphemeralIsRemovedAfterAFailedStart(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	in := harness.Launch(t, []string{"TMPDIR=" + temp}, "serve", "--ephemeral", "--listen", "192.0.2.1:1")
	if code := in.Wait(); code != 1 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind %v: %v", left, err)
	}
}
