package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/exchange"
)

// demoKeyCmd makes a funded key in a running exchange.
type demoKeyCmd struct {
	internalFlags
	File    string `arg:"" help:"File for the key, JSON of mode 0600."`
	Replace bool   `help:"Replace the demo key in FILE; any other file stays."`
}

const (
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
	amounts, err := api.demoAmounts(ctx)
	if err != nil {
		return err
	}
	var user struct{ ID string }
	if err := api.call(ctx, http.MethodPost, "/users", `{"nativeBalance":`+demoKeyNative+`}`, &user); err != nil {
		return err
	}
	for _, code := range slices.Sorted(maps.Keys(amounts)) {
		if _, err := api.deposit(ctx, user.ID, code, amounts[code]); err != nil {
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
	_, err = fmt.Fprintf(p.out, "key %s of user %s with money in %d currencies: %s\n", key.PublicKey, key.UserID,
		len(amounts), c.File)
	return err
}

// demoAmounts returns the amount of a demo user in each currency of a pair that takes deposits.
func (a *internalAPI) demoAmounts(ctx context.Context) (map[string]string, error) {
	var state struct {
		Pairs []struct{ CurrencyPairCode string }
	}
	if err := a.call(ctx, http.MethodGet, "/state-hash", "", &state); err != nil {
		return nil, err
	}
	prices, digits, closed := map[string]*big.Rat{}, map[string]int{}, []string(nil)
	for _, p := range state.Pairs {
		price, err := a.price(ctx, p.CurrencyPairCode)
		if err != nil {
			return nil, err
		}
		prices[p.CurrencyPairCode] = price
		for code := range strings.SplitSeq(p.CurrencyPairCode, "_") {
			if _, seen := digits[code]; seen {
				continue
			}
			var asset struct {
				Digits     int
				CanDeposit bool
			}
			if err := a.call(ctx, http.MethodGet, "/assets/"+code, "", &asset); err != nil {
				return nil, err
			}
			if digits[code] = asset.Digits; !asset.CanDeposit {
				closed = append(closed, code)
			}
		}
	}
	amounts := exchange.DemoAmounts(prices, digits)
	for _, code := range closed {
		delete(amounts, code)
	}
	return amounts, nil
}

// price returns the best price of a pair's book, of the bids if there are any; nil: the book is empty.
func (a *internalAPI) price(ctx context.Context, pair string) (*big.Rat, error) {
	var book struct {
		Bids, Asks []struct{ Price json.Number }
	}
	if err := a.call(ctx, http.MethodGet, "/book/"+pair+"?depth=1", "", &book); err != nil {
		return nil, err
	}
	for _, level := range append(book.Bids, book.Asks...) {
		if price, ok := new(big.Rat).SetString(level.Price.String()); ok && price.Sign() > 0 {
			return price, nil
		}
	}
	return nil, nil
}
