package harness

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Voter is a user with a key that may trade.
type Voter struct {
	ID, Public, Private string
	Nonces              int
	mu                  sync.Mutex
}

// Voter creates a user of the given level with NATIVE and USBI.
func (in *Instance) Voter(level int, native, usbi string) *Voter {
	in.T.Helper()
	u := &Voter{ID: in.Call(200, "POST", "/users", fmt.Sprintf(`{"level":%d}`, level))["id"].(string)}
	for code, amount := range map[string]string{"NATIVE": native, "USBI": usbi} {
		in.Call(200, "POST", "/users/"+u.ID+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":%q}`, code, amount))
	}
	key := in.Call(200, "POST", "/users/"+u.ID+"/apikeys", `{"name":"test","canTrade":true}`)
	u.Public, u.Private = key["publicKey"].(string), key["privateKey"].(string)
	return u
}

// Signed returns the headers of a signed request (docs/contract/signing.md#signature).
func (u *Voter) Signed(nowMs, method, target, body string) []string {
	u.mu.Lock()
	u.Nonces++
	nonce := fmt.Sprintf("n-%s-%d", nowMs, u.Nonces)
	u.mu.Unlock()
	hash := sha256.Sum256([]byte(body))
	mac := hmac.New(sha256.New, []byte(u.Private))
	fmt.Fprintf(mac, "%s\n%s\n%s\n%s\n%s", nowMs, nonce, method, target, hex.EncodeToString(hash[:]))
	return []string{
		"API-PublicKey", u.Public, "API-Timestamp", nowMs, "API-Nonce", nonce,
		"API-Signature", hex.EncodeToString(mac.Sum(nil)), "Content-Type", "application/json",
	}
}

// As sends a signed POST request.
func (in *Instance) As(u *Voter, target, body string) Answer {
	in.T.Helper()
	return in.Send(u, "POST", target, body)
}

// Send sends a signed request, dated by the exchange's clock. Directly after a start that clock has to pass the
// timestamps that an earlier process may have accepted; Send signs the request again until then.
func (in *Instance) Send(u *Voter, method, target, body string) Answer {
	in.T.Helper()
	for end := time.Now().Add(Patience); ; {
		now := fmt.Sprint(Object(in.T, in.Do("GET", in.Public+"/api/time", "").Body)["serverTime"])
		a := in.Do(method, in.Public+target, body, u.Signed(now, method, target, body)...)
		if a.Status != 401 || a.Header.Get("Retry-After") == "" || time.Now().After(end) {
			return a
		}
	}
}

// AwaitSigned waits until the exchange accepts what a user signs, which a start does not in its first second. Send
// repeats its request until then; a socket may not, because it has a limit of messages.
func (in *Instance) AwaitSigned(u *Voter) {
	in.T.Helper()
	if a := in.Send(u, "GET", "/api/apikeys", ""); a.Status != 200 {
		in.T.Fatal(a.Status, a.Body)
	}
}

// Within returns a member of a JSON object as text; a path has dots.
func Within(m map[string]any, path string) string {
	var v any = m
	for _, name := range strings.Split(path, ".") {
		x, ok := v.(map[string]any)
		if !ok {
			return "(missing)"
		}
		v = x[name]
	}
	return fmt.Sprint(v)
}

// Trader is a user with 10,000 USDT.
func (in *Instance) Trader() *Voter {
	in.T.Helper()
	u := in.Voter(0, "1", "1")
	in.Call(200, "POST", "/users/"+u.ID+"/deposits", `{"currencyCode":"USDT","amount":10000}`)
	return u
}

// Opened returns the number of open orders of a user in the book, as the internal API shows it.
func (in *Instance) Opened(u *Voter) (n int) {
	in.T.Helper()
	for _, pair := range []string{"AA_USDT", "BB_USDT"} {
		n += strings.Count(in.Do("GET", in.Internal+"/book/"+pair+"?depth=0", "").Body, u.ID)
	}
	return n
}

// TwoPairs adds two pairs.
func (in *Instance) TwoPairs() {
	in.T.Helper()
	for _, pair := range []string{"AA_USDT", "BB_USDT"} {
		in.Pair(pair)
	}
}

// BuiltinUUID is the id of the account that internal orders belong to.
const BuiltinUUID = "00000000-0000-0000-0000-000000000000"
