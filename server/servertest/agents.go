package servertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/server/account"
	"github.com/tickhive/tickhive/server/agents"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/web"
)

// Agents holds an exchange whose launchpad and hive are behind both listeners, on a virtual clock and in
// a file system in memory. User n signs as key-n, or as ro-n with a key that only reads.
type Agents struct {
	*Market
	Service  *agents.Service
	FS       *vfstest.Mem // of the data directory
	internal *http.Client
	change   []func(*Options)

	mu     sync.Mutex
	Levels map[int]int64
}

// UserUUID returns the id of user n.
func UserUUID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// UserAddress returns the address of user n.
func UserAddress(n int) string { return fmt.Sprintf("0x%040x", n+0xabc000) }

// MaxUser is the number of the last existing user.
const MaxUser = 999

// NewAgents returns launchpad and hive behind both listeners.
func NewAgents(t testing.TB, change ...func(*Options)) *Agents {
	t.Helper()
	c := &Agents{Levels: map[int]int64{}, FS: vfstest.NewMem()}
	c.change = append([]func(*Options){func(o *Options) {
		o.agents, o.Authenticate = true, authenticateByName
	}}, change...)
	c.open(t, StartNs)
	t.Cleanup(func() { c.internal.CloseIdleConnections() })
	return c
}

// NewUnlimitedAgents returns launchpad and hive whose clients are on the allow-list.
func NewUnlimitedAgents(t testing.TB) *Agents {
	return NewAgents(t, func(o *Options) { o.Rate.Allow = []string{"192.0.2.0/24"} })
}

// User returns level and address of an account.
func (c *Agents) User(a engine.AccountID) (int64, string, bool) {
	if a < 1 || a > MaxUser {
		return 0, "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	level, set := c.Levels[int(a)]
	if !set {
		level = 25
	}
	return level, UserAddress(int(a)), true
}

// Find returns the account of a user.
func (c *Agents) Find(id [16]byte) (engine.AccountID, bool) {
	for n := range MaxUser {
		if strings.ReplaceAll(UserUUID(n+1), "-", "") == fmt.Sprintf("%x", id) {
			return engine.AccountID(n + 1), true
		}
	}
	return 0, false
}

func authenticateByName(c *edge.Ctx) (*edge.Principal, *refuse.Refusal) {
	key := string(c.Request.Header.Peek("API-PublicKey"))
	name, number, _ := strings.Cut(key, "-")
	n, err := strconv.Atoi(number)
	if err != nil || name != "key" && name != "ro" {
		return nil, refuse.New(refuse.Unauthorized, "API-Signature", "The key is unknown or the signature is wrong.")
	}
	return &edge.Principal{
		Account: uint32(n), UserID: UserUUID(n), PublicKey: key,
		CanTrade: name == "key",
	}, nil
}

// open starts the exchange in its directory.
func (c *Agents) open(t testing.TB, startNs int64) {
	t.Helper()
	o := exchangetest.Options("d")
	o.Machine.FS, o.Clock.StartNs = c.FS, startNs
	o.Hooks.Agents = func(a *agents.Options) { a.User, a.Find = c.User, c.Find }
	c.Market = newMarket(t, o, c.change...)
	c.Service = c.Market.Agents()
	c.internal = ClientOf(c.DialInternal)
}

// Restart stops the exchange and starts it after it has advanced the clock by the downtime.
func (c *Agents) Restart(sleptNs int64) {
	c.T.Helper()
	now := c.Clock.NowNs() + sleptNs
	c.internal.CloseIdleConnections()
	c.Stop()
	c.open(c.T, now)
}

// CallInternal sends a request to the internal API.
func (c *Agents) CallInternal(method, path, body string) Answer {
	c.T.Helper()
	req, err := http.NewRequest(method, "http://localhost/internal/v1"+path, strings.NewReader(body))
	if err != nil {
		c.T.Fatal(err)
	}
	res, err := c.internal.Do(req)
	if err != nil {
		c.T.Fatalf("%s %s: %v", method, path, err)
	}
	a := c.Read(res, "internal") // the public document does not describe the answer
	checked(c.T, internalContract(c.T), method, "/internal/v1"+path, a)
	return a
}

// Must decodes an answer whose status must be 200.
func (c *Agents) Must(a Answer) map[string]any {
	c.T.Helper()
	if a.Status != 200 {
		c.T.Fatalf("status %d: %s", a.Status, a.Body)
	}
	return ParseObject(c.T, a.Body)
}

// MustGet sends a GET that must succeed and returns a member of the answer, named by a path such
// as token.symbol or items.0.address.
func (c *Agents) MustGet(target, path string) string {
	c.T.Helper()
	return At(c.Must(c.Get(target)), path)
}

// At picks a member of a decoded answer and prints it.
func At(v any, path string) string {
	for _, name := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			member, ok := x[name]
			if !ok {
				return "(missing)"
			}
			v = member
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(x) {
				return "(missing)"
			}
			v = x[i]
		}
	}
	if v == nil {
		return "null"
	}
	switch v.(type) {
	case map[string]any, []any:
		b, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	return fmt.Sprint(v)
}

// PostAs signs a POST for user n.
func (c *Agents) PostAs(n int, target, body string) Answer {
	c.T.Helper()
	return c.Do("POST", target, body, "API-PublicKey", fmt.Sprintf("key-%d", n), "Content-Type", "application/json")
}

// Spawn spawns a token as user n.
func (c *Agents) Spawn(n int, body string) Answer {
	c.T.Helper()
	return c.PostAs(n, "/api/launchpad/spawn", body)
}

// Fund deposits whole NATIVE and USBI for user n.
func (c *Agents) Fund(n int, native, usbi uint64) {
	c.T.Helper()
	for code, whole := range map[string]uint64{"NATIVE": native, "USBI": usbi} {
		if whole == 0 {
			continue
		}
		amount := Money(c.T, strconv.FormatUint(whole, 10))
		if _, err := c.Service.Deposit(UserAddress(n), code, amount); err != nil {
			c.T.Fatal(err)
		}
	}
}

// Token spawns a token of user n with the funds that it costs and returns its registry id.
func (c *Agents) Token(n int, symbol string) string {
	c.T.Helper()
	c.Fund(n, 100, 0)
	return At(c.Must(c.Spawn(n, fmt.Sprintf(`{"name":"Token %s","symbol":%q}`, symbol, symbol))), "worker.agentNftId")
}

// MustInternal sends a POST to the internal API, which must succeed.
func (c *Agents) MustInternal(path, body string) map[string]any {
	c.T.Helper()
	return c.Must(c.CallInternal("POST", path, body))
}

// View returns the ledger that readers see.
func (c *Agents) View() *launchpad.View {
	ledger, _ := c.Service.Views()
	return ledger
}

// Native returns the NATIVE balance of user n.
func (c *Agents) Native(n int) string {
	a, _ := launchpad.ParseAddress(UserAddress(n))
	return c.View().Balance(a, launchpad.NATIVE).String()
}

// AgentContract loads the description of market data, launchpad and hive.
var AgentContract = sync.OnceValues(func() (*contract,
	error,
) {
	return LoadContract(web.PartMarket, web.PartLaunchpad)
})

// Do sends a request to the public listener and validates the answer against the description.
func (c *Agents) Do(method, target, body string, header ...string) Answer {
	c.T.Helper()
	a := c.Market.Do(method, target, body, header...)
	if a.Status != http.StatusNoContent {
		checked(c.T, AgentContract, method, target, a)
	}
	return a
}

// Get reads a route that must succeed.
func (c *Agents) Get(target string, header ...string) Answer {
	c.T.Helper()
	return c.Do(http.MethodGet, target, "", header...)
}

// AddAction adds an action to the log of the hive.
func (c *Agents) AddAction(source, tokenID, kind, payload string) Answer {
	c.T.Helper()
	return c.CallInternal("POST", "/hive/actions", fmt.Sprintf(
		`{"sourceAgentId":%q,"targetTokenId":%s,"actionType":%q,"actionPayload":%s,`+
			`"reasonCode":"test"}`, source, tokenID, kind, payload))
}

// Transfer moves whole tokens from the owner to user n.
func (c *Agents) Transfer(tokenID string, owner, n int, amount string) {
	c.T.Helper()
	c.MustInternal("/launchpad/tokens/"+tokenID+"/transfers", fmt.Sprintf(
		`{"fromUserId":%q,"toUserId":%q,"amount":%s}`, UserUUID(owner), UserUUID(n), amount))
}

// Propose opens a proposal and returns its id.
func (c *Agents) Propose(tokenID string, urgent bool) string {
	c.T.Helper()
	return At(c.MustInternal("/hive/proposals", fmt.Sprintf(
		`{"tokenId":%s,"topic":"slippage_cap","payload":{"slippageCapBps":150},"proposer":"somebody",`+
			`"urgent":%t}`, tokenID, urgent)), "proposalId")
}

// Money parses a decimal amount into units of 10^-18.
func Money(t testing.TB, text string) account.Money {
	t.Helper()
	v, err := fixed.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
