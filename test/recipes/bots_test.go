package recipes

import (
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// botSays is the last line of a bot: its fills and what they have brought of both currencies.
var botSays = regexp.MustCompile(`(\d+) fills: (-?[0-9.E+-]+) BTC, (-?[0-9.E+-]+) USDT\n$`)

const examples = harness.SourceTree + "/client/examples/"

// The bots of the examples trade on a simulated market until they have some fills. Then no order is open, and the
// position that they know from their streams is what the balances have changed by.
func TestBotsKnowTheirPosition(t *testing.T) {
	t.Parallel()
	maker := filepath.Join(t.TempDir(), "maker")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", maker, "./client/examples/maker")
	build.Dir = harness.SourceTree
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const grid, oco = examples + "grid/grid.py", examples + "oco/oco.mjs"
	in := harness.Start(t, "--backfill", "1h", "--quiet", "--set", "rate.allow=127.0.0.1")
	for _, bot := range []struct {
		name, program string
		args          []string
	}{
		{"maker", maker, []string{"-base", in.Public, "-fills", "5"}},
		// A market that only rises or falls fills the three levels of one side, and no more until it comes back.
		{"grid", "python3", []string{grid, in.Public, "BTC_USDT", "3"}},
		{"oco", "node", append(harness.NodeFlags(), oco, in.Public, "BTC_USDT", "2")},
	} {
		t.Run(bot.name, func(t *testing.T) {
			t.Parallel()
			runBot(t, in, bot.program, bot.args)
		})
	}
}

// The Python and the JavaScript of docs/guide/write-a-bot.md run as they are printed but for the address and the
// package.
func TestGuideOfBotsRuns(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(harness.SourceTree + "/docs/guide/write-a-bot.md")
	if err != nil {
		t.Fatal(err)
	}
	in := harness.Start(t, "--backfill", "1h", "--quiet", "--set", "rate.allow=127.0.0.1")
	text := strings.NewReplacer("http://127.0.0.1:8080", in.Public,
		"from 'tickhive'", "from '"+harness.SourceTree+"/client/js/tickhive.mjs'").Replace(string(raw))
	for _, language := range []struct {
		name, program string
		flags         []string
		want          []string
	}{
		{"python", "python3", []string{"-c"}, []string{
			"'fill': {", "'lists': [{", "'missed': True", "{'date': '", "'BTC_USDT': {'date': ",
		}},
		{"js", "node", append(harness.NodeFlags(), "--input-type=module", "-e"), []string{
			`"fill":{`, `"lists":[{`, `"missed":true`, `{"date":"`, `"BTC_USDT":{"date":`,
		}},
	} {
		t.Run(language.name, func(t *testing.T) {
			blocks := regexp.MustCompile("(?s)```"+language.name+"\n(.*?)```").FindAllStringSubmatch(text, -1)
			if len(blocks) != 1 {
				t.Fatalf("%d blocks", len(blocks))
			}
			c, program := newBotUser(in), harness.NeedTool(t, language.program)
			out := runWith(t, c, program, append(language.flags, blocks[0][1])...)
			for _, want := range language.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %s in\n%s", want, out)
				}
			}
		})
	}
}

// The JavaScript of the page of the package runs as it is printed but for the address and the package.
func TestPageOfThePackageRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := harness.Start(t, "--backfill", "1h", "--quiet", "--set", "rate.allow=127.0.0.1")
	tree, err := filepath.Abs(harness.SourceTree)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("http://127.0.0.1:8080", in.Public, "from 'tickhive'",
		"from '"+tree+"/client/js/tickhive.mjs'", "'key.json'", "'"+dir+"/key.json'",
	).Replace(harness.ReadTree(t, "client/js/README.md"))
	block := regexp.MustCompile("(?s)```js\n(.*?)```").FindStringSubmatch(text)
	if block == nil {
		t.Fatal("no JavaScript")
	}
	c := newBotUser(in)
	key := fmt.Sprintf(`{"kind":"tickhive-demo-key","userId":"u","publicKey":%q,"privateKey":%q}`, c.PublicKey,
		c.PrivateKey)
	if err := os.WriteFile(filepath.Join(dir, "key.json"), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := append(harness.NodeFlags(), "--input-type=module", "-e", block[1])
	if out := runWith(t, c, harness.NeedTool(t, "node"), flags...); !regexp.MustCompile(
		`^Created\n(\d+\.\d+ \d\.\d+\n)+$`).MatchString(out) {
		t.Error(out)
	}
}

// runBot runs a bot with the key of a new user to its end and checks what it leaves.
func runBot(t *testing.T, in *harness.Instance, name string, args []string) {
	t.Helper()
	c := newBotUser(in)
	out := runWith(t, c, harness.NeedTool(t, name), args...)
	said := botSays.FindStringSubmatch(out)
	if said == nil {
		t.Fatal(out)
	}
	if open, err := c.OpenOrders(t.Context(), "BTC_USDT"); err != nil || len(open) > 0 {
		t.Errorf("%d orders are open: %v", len(open), err)
	}
	balances, err := c.Balances(t.Context())
	if err != nil || len(balances) != len(botMoney) {
		t.Fatalf("%d balances: %v", len(balances), err)
	}
	position := map[string]string{"BTC": said[2], "USDT": said[3]}
	for _, b := range balances {
		change := rat(t, string(b.Total))
		if change.Sub(change, botMoney[b.Currency]).Cmp(rat(t, position[b.Currency])) != 0 {
			t.Errorf("%s changed by %s: %s", b.Currency, change.FloatString(8), out)
		}
	}
}

// botMoney is what the user of a bot has at first.
var botMoney = map[string]*big.Rat{"BTC": big.NewRat(10, 1), "USDT": big.NewRat(1000000, 1)}

// newBotUser returns a client of a new user with money.
func newBotUser(in *harness.Instance) *client.Client {
	user := in.Call(200, "POST", "/users", `{}`)["id"].(string)
	for code, amount := range botMoney {
		in.Call(200, "POST", "/users/"+user+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":%s}`, code,
			amount.FloatString(0)))
	}
	key := in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"bot"}`)
	return &client.Client{
		Base: in.Public, PublicKey: key["publicKey"].(string), PrivateKey: key["privateKey"].(string),
	}
}

// runWith runs a program with the keys of a user and the Python package, and returns its output.
func runWith(t *testing.T, c *client.Client, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "PUBLIC="+c.PublicKey, "PRIVATE="+c.PrivateKey, "PYTHONDONTWRITEBYTECODE=1",
		"PYTHONPATH="+harness.SourceTree+"/client/python")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func rat(t *testing.T, text string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return r
}
