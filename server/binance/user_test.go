package binance_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	gobinance "github.com/adshao/go-binance/v2"

	"github.com/tickhive/tickhive/client"
)

// user is a funded user with the other project's client and the native one.
type user struct {
	*gobinance.Client
	r      *rig
	id     string
	native *client.Client
	sent   int // requests of raw; each has another window, because the clock does not move
}

// user makes a user with BTC and USDT.
func (r *rig) user(name string) *user { return r.owner(name, "BTC 100", "USDT 100000") }

// owner makes a user with deposits, each a currency and an amount.
func (r *rig) owner(name string, deposits ...string) *user {
	r.t.Helper()
	id := r.Call("POST", "/users", `{"nickname":"`+name+`"}`)["id"].(string)
	for _, d := range deposits {
		currency, amount, _ := strings.Cut(d, " ")
		r.Call("POST", "/users/"+id+"/deposits", `{"currencyCode":"`+currency+`","amount":"`+amount+`"}`)
	}
	key := r.Call("POST", "/users/"+id+"/apikeys", `{"name":"`+name+`"}`)
	return r.withKey(id, key["publicKey"].(string), key["privateKey"].(string))
}

func (r *rig) withKey(id, public, private string) *user {
	u := &user{Client: gobinance.NewClient(public, private), r: r, id: id}
	u.BaseURL = r.base
	u.native = &client.Client{Base: r.Public, PublicKey: public, PrivateKey: private, Now: r.now}
	u.syncClock()
	return u
}

func (r *rig) now() time.Time { return time.Unix(0, r.Clock.NowNs()) }

// syncClock tells the client the difference between the machine's clock and the virtual one.
func (u *user) syncClock() { u.TimeOffset = time.Now().UnixMilli() - u.r.now().UnixMilli() }

// raw signs and sends a request, with the parameters in the query.
func (u *user) raw(method, path, params string) (int, string) {
	u.r.t.Helper()
	if params != "" {
		params += "&"
	}
	u.sent++
	params += fmt.Sprintf("recvWindow=%d&timestamp=%d", 5000+u.sent, u.r.now().UnixMilli())
	return u.send(method, path+"?"+params+"&signature="+u.sign(params))
}

func (u *user) sign(text string) string {
	mac := hmac.New(sha256.New, []byte(u.SecretKey))
	_, _ = mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

func (u *user) send(method, target string) (int, string) {
	u.r.t.Helper()
	status, body, _ := u.exchange(method, target)
	return status, body
}

func (u *user) exchange(method, target string) (int, string, http.Header) {
	u.r.t.Helper()
	req, err := http.NewRequest(method, u.r.base+target, nil)
	if err != nil {
		u.r.t.Fatal(err)
	}
	req.Header.Set("X-MBX-APIKEY", u.APIKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		u.r.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		u.r.t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

// fails checks the status and the beginning of an error answer.
func (u *user) fails(method, path, params string, status int, want string) {
	u.r.t.Helper()
	if got, body := u.raw(method, path, params); got != status || !strings.HasPrefix(body, want) {
		u.r.t.Errorf("%s %s?%s: %d %s, want %d %s", method, path, params, got, body, status, want)
	}
}

// agrees compares an order of the other exchange's form with the native order view.
func (u *user) agrees(o *gobinance.Order) {
	t := u.r.t
	t.Helper()
	n, err := u.native.Order(t.Context(), fmt.Sprint(o.OrderID))
	if err != nil {
		t.Fatal(err)
	}
	u.r.equal("filled", o.ExecutedQuantity, json.Number(string(n.FilledAmount)))
	u.r.equal("filled quote", o.CummulativeQuoteQuantity, json.Number(string(n.FilledQuoteAmount)))
	if n.InitialAmount != nil {
		u.r.equal("amount", o.OrigQuantity, json.Number(string(*n.InitialAmount)))
	}
	if n.Price != nil {
		u.r.equal("price", o.Price, json.Number(string(*n.Price)))
	}
	if n.StopPrice != nil {
		u.r.equal("stop price", o.StopPrice, json.Number(string(*n.StopPrice)))
	}
	client := generated.FindString(o.ClientOrderID)
	if n.ClientOrderID != nil {
		client = *n.ClientOrderID
	}
	if o.ClientOrderID == "" || o.ClientOrderID != client || (o.Side == "BUY") != n.IsBid {
		t.Errorf("%+v, the native API has %+v", o, n)
	}
}

// funded returns a rig with a pair and two users.
func funded(t *testing.T) (*rig, *user, *user) {
	r := newRig(t)
	r.Call("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":5,"minQuoteAmount":5}`)
	return r, r.user("anna"), r.user("bert")
}

func listAll() client.ListQuery { return client.ListQuery{} }
