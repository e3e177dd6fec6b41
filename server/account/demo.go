package account

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// DemoKeyKind marks the JSON form of a funded key.
const DemoKeyKind = "tickhive-demo-key"

const (
	demoNative  = 1000 // NATIVE of a demo account, whole units
	demoKeyName = "demo-key"
)

// demoRoutes returns the routes of demo accounts (docs/contract/internal.md#demo-accounts).
func (us users) demoRoutes() []*edge.Route {
	const path = edge.InternalPrefix + "/demo-accounts"
	return []*edge.Route{
		{
			Method: fasthttp.MethodPost, Path: path, Handle: us.createDemo, Schema: "CreateDemoAccount",
			Members: noMembers.Members(),
			Name:    "createDemoAccount", Summary: "Create a user with money and a key",
			Refuses: []int{409},
		},
		{
			Method: fasthttp.MethodPost, Path: path + "/funds", Handle: us.addFunds, Schema: "AddDemoFunds",
			Members: fundsForm.Members(),
			Name:    "addDemoFunds", Summary: "Add the money of a demo account to the user of a key",
			Refuses: []int{409},
		},
	}
}

// noMembers is the body of POST /demo-accounts: none, or an object without members.
var noMembers = json.Of[struct{}]()

// fundsRequest is the body of POST /demo-accounts/funds.
type fundsRequest struct{ publicKey string }

var fundsForm = json.Of(
	json.Text("publicKey", maxAddressText, func(q *fundsRequest, v string) { q.publicKey = v }).Need(),
)

// createDemo serves POST /demo-accounts.
func (us users) createDemo(c *edge.Ctx) *refuse.Refusal {
	if text := c.PostBody(); json.Sent(text) {
		if err := noMembers.Decode(text, &struct{}{}); err != nil {
			return err
		}
	}
	a, err := us.NewDemoAccount()
	auditFunds(c, a.UserID, a.funds)
	if err != nil {
		return err
	}
	c.Audit("key created", "key", a.PublicKey, "user", a.UserID, "canTrade", true, "canWithdraw", false,
		"canManageKeys", true)
	var w json.Writer
	w.Object()
	w.Name("kind").Word(DemoKeyKind)
	w.Name("userId").Text(a.UserID)
	w.Name("publicKey").Text(a.PublicKey)
	w.Name("privateKey").Text(a.PrivateKey.Reveal())
	writeFunds(&w, a.funds)
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

// demoLevel is the level of a demo account: that of a user who may vote in the hive (docs/contract/hive.md#votes).
const demoLevel = 20

// DemoAccount is a user with money and a key that trades and makes further keys.
type DemoAccount struct {
	UserID, PublicKey string
	PrivateKey        auth.Secret
	funds             []moneyRequest
}

// NewDemoAccount makes a demo account. With an error the account has what the user got before it.
func (s *Service) NewDemoAccount() (a DemoAccount, err *refuse.Refusal) {
	level := int64(demoLevel)
	res, err := s.do(accounts.Command{Kind: accounts.CreateUser, Profile: accounts.ProfilePatch{Level: &level}})
	if err != nil {
		return a, err
	}
	user := res.User
	a.UserID = user.ID
	if a.funds, err = (users{s}).fund(&user); err != nil {
		return a, err
	}
	key, drawn := auth.Draw(s.opt.Random, auth.KeyRequest{Name: demoKeyName, CanTrade: true, CanManageKeys: true})
	if drawn != nil {
		panic("no random bytes: " + drawn.Error())
	}
	res, err = s.do(accounts.Command{Kind: accounts.CreateKey, User: user.Number, Key: key})
	if err != nil {
		return a, err
	}
	a.PublicKey, a.PrivateKey = res.Key.PublicKey, res.Secret
	return a, nil
}

// addFunds serves POST /demo-accounts/funds.
func (us users) addFunds(c *edge.Ctx) *refuse.Refusal {
	var q fundsRequest
	if err := fundsForm.Decode(c.PostBody(), &q); err != nil {
		return err
	}
	n, known := us.shown.Index().Owner(q.publicKey)
	user, found := us.shown.User(n)
	if !known || !found {
		return refuse.Missing("publicKey", "There is no such key.")
	}
	funds, err := us.fund(&user)
	auditFunds(c, user.ID, funds)
	if err != nil {
		return err
	}
	var w json.Writer
	w.Object()
	w.Name("userId").Text(user.ID)
	writeFunds(&w, funds)
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

func writeFunds(w *json.Writer, funds []moneyRequest) {
	w.Name("funds").List()
	for i := range funds {
		w.Object()
		w.Name("currencyCode").Text(funds[i].currency)
		w.Name("amount").Money(funds[i].amount.Wide())
		w.EndObject()
	}
	w.EndList()
}

// fund deposits the money of a demo account and returns what it has deposited, also where a later currency is refused.
func (us users) fund(u *accounts.UserView) (done []moneyRequest, err *refuse.Refusal) {
	for _, m := range us.demoFunds() {
		if _, err := us.credit(u, m.currency, m.amount); err != nil {
			e := *err
			e.Message = "The user " + u.ID + " got " + moneyCount(len(done)) + " before a deposit of " + m.currency +
				" was refused: " + err.Message
			return done, &e
		}
		done = append(done, m)
	}
	return done, nil
}

func auditFunds(c *edge.Ctx, user string, funds []moneyRequest) {
	for i := range funds {
		c.Audit("deposit", "user", user, "currency", funds[i].currency, "amount", moneyText(funds[i].amount))
	}
}

func moneyCount(n int) string {
	if n == 1 {
		return "money in 1 currency"
	}
	return "money in " + strconv.Itoa(n) + " currencies"
}

// demoFunds returns the money of a demo account: in each currency of a pair that takes deposits about the same worth
// (DemoAmounts), by the best bids, and NATIVE. Sorted by currency.
func (us users) demoFunds() (all []moneyRequest) {
	root := us.opt.Board.Load()
	prices, digits := map[string]*big.Rat{}, map[string]int{}
	for _, id := range root.Sorted() {
		v := root.View(id)
		in := v.Instrument
		prices[in.Code] = nil
		if ticks := cmp.Or(v.Ticker.Bid, v.Ticker.Ask, v.Ticker.Last); ticks > 0 {
			unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(in.DigitsPrice)), nil)
			prices[in.Code] = new(big.Rat).SetFrac(big.NewInt(ticks), unit)
		}
		for _, code := range []string{in.Base, in.Quote} {
			if a := root.Asset(code); a != nil {
				digits[code] = a.Digits
			}
		}
	}
	amounts := DemoAmounts(prices, digits)
	amounts[nativeCurrency] = strconv.Itoa(demoNative)
	for _, code := range slices.Sorted(maps.Keys(amounts)) {
		if a := root.Asset(code); a == nil || a.CanDeposit {
			all = append(all, moneyRequest{currency: code, amount: fixed.MustText([]byte(amounts[code]))})
		}
	}
	return all
}
