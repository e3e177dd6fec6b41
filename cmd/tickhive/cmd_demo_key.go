package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// demoKeyCmd makes a funded key in a running exchange.
type demoKeyCmd struct {
	internalFlags
	File    string `arg:"" help:"File for the key, JSON of mode 0600."`
	Replace bool   `help:"Replace the demo key in FILE; any other file stays."`
}

const (
	demoKeyFunds   = "10000" // of each currency
	demoKeyNative  = "1000"
	demoKeyTimeout = 30 * time.Second
)

// Run creates a user with money in every currency of the exchange and a key of the user, and writes the key.
func (c *demoKeyCmd) Run(p *program) error {
	old, err := readDemoKey(c.File)
	if err != nil {
		return err
	}
	if old.Kind != "" && !c.Replace {
		return usage("%s has the demo key %s of user %s, whose private key may be nowhere else: name another file, "+
			"or give --replace", c.File, old.PublicKey, old.UserID)
	}
	api, err := c.api(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), demoKeyTimeout)
	defer cancel()
	currencies, err := api.currencies(ctx)
	if err != nil {
		return err
	}
	var user struct{ ID string }
	if err := api.call(ctx, http.MethodPost, "/users", `{"nativeBalance":`+demoKeyNative+`}`, &user); err != nil {
		return err
	}
	for _, code := range currencies {
		body := fmt.Sprintf(`{"currencyCode":%q,"amount":%s}`, code, demoKeyFunds)
		if err := api.call(ctx, http.MethodPost, "/users/"+user.ID+"/deposits", body, nil); err != nil {
			return err
		}
	}
	key := demoKey{Kind: demoKeyKind, UserID: user.ID}
	if err := api.call(ctx, http.MethodPost, "/users/"+user.ID+"/apikeys", `{"name":"demo-key"}`, &key); err != nil {
		return err
	}
	if err := key.write(c.File, c.Replace); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "key %s of user %s with %s of each of %d currencies: %s\n", key.PublicKey, key.UserID,
		demoKeyFunds, len(currencies), c.File)
	return err
}

// currencies returns the currencies of all pairs whose assets take deposits.
func (a *internalAPI) currencies(ctx context.Context) (out []string, err error) {
	var state struct {
		Pairs []struct{ CurrencyPairCode string }
	}
	if err := a.call(ctx, http.MethodGet, "/state-hash", "", &state); err != nil {
		return nil, err
	}
	for _, p := range state.Pairs {
		out = append(out, strings.Split(p.CurrencyPairCode, "_")...)
	}
	slices.Sort(out)
	var open []string
	for _, code := range slices.Compact(out) {
		var asset struct{ CanDeposit bool }
		if err := a.call(ctx, http.MethodGet, "/assets/"+code, "", &asset); err != nil {
			return nil, err
		}
		if asset.CanDeposit {
			open = append(open, code)
		}
	}
	return open, nil
}
