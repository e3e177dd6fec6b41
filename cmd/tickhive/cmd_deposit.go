package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/bench/loadtool"
)

// depositCmd gives money to a user of a running exchange.
type depositCmd struct {
	internalFlags
	User    string   `arg:"" help:"Id, nickname or public id of the user, or a file with a key of the user, as demo-key, the page or the API made it."`
	Amounts []string `arg:"" name:"currency=amount" help:"Amounts to add, for example USDT=1000."`
}

// Run deposits the amounts in their order and prints the balances. All of the command line is checked before the first
// deposit.
func (c *depositCmd) Run(p *program) error {
	for _, text := range c.Amounts {
		if code, amount, ok := strings.Cut(text, "="); !ok || code == "" || !json.Valid([]byte(amount)) {
			return usage("deposit: %q must have the form CURRENCY=AMOUNT, for example USDT=1000", text)
		}
	}
	user, err := c.user(p)
	if err != nil {
		return err
	}
	for _, text := range c.Amounts {
		code, amount, _ := strings.Cut(text, "=")
		var b balance
		q := map[string]any{"currencyCode": code, "amount": json.RawMessage(amount)}
		if err := c.send(p, http.MethodPost, "/users/"+url.PathEscape(user)+"/deposits", q, &b); err != nil {
			return err
		}
		fmt.Fprintf(p.out, "%s free=%s held=%s total=%s\n", b.CurrencyCode, b.Free, b.Held, b.Total)
	}
	return nil
}

// user returns the id of the user that the command line names.
func (c *depositCmd) user(p *program) (id string, err error) {
	if id, err := uuid.Parse(c.User); err == nil {
		return id.String(), nil
	}
	key, err := readKeyOfUser(c.User)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		id, err = c.find(p, c.User, func(u foundUser) bool {
			return u.PublicID == c.User || strings.EqualFold(u.Nickname, c.User)
		})
		if id == "" && err == nil {
			err = usage("deposit: %s is neither a file with a key nor the id, the nickname or the public id of a user",
				c.User)
		}
		return id, err
	case err != nil:
		return "", usage("deposit: %w", err)
	case key.UserID != "":
		return key.UserID, nil
	case auth.WellFormed(key.PublicKey): // another text could be the beginning of a key
		id, err = c.find(p, key.PublicKey, func(foundUser) bool { return true })
	}
	if id == "" && err == nil {
		err = usage("deposit: %s has the key %s, which is no key of a user of this exchange", c.User, key.PublicKey)
	}
	return id, err
}

// foundUser is a user in the answer to a search.
type foundUser struct{ ID, Nickname, PublicID string }

// find returns the id of the first user that a search for a text finds and that is the wanted one; empty: there is
// none. The search has all whose names begin with the text.
func (c *internalFlags) find(p *program, text string, wanted func(foundUser) bool) (id string, err error) {
	if len(text) > accounts.MaxSearchQuery {
		return "", nil
	}
	const rows = 100
	for page, found := 1, make([]foundUser, rows); len(found) == rows; page++ {
		found = nil
		target := fmt.Sprintf("/users?pageSize=%d&pageNumber=%d&search=%s", rows, page, url.QueryEscape(text))
		if err := c.send(p, http.MethodGet, target, nil, &found); err != nil {
			return "", err
		}
		if i := slices.IndexFunc(found, wanted); i >= 0 {
			return found[i].ID, nil
		}
	}
	return "", nil
}

// readKeyOfUser reads who has the key in a file, in any of the forms in which the exchange gives keys away: with
// userId, or as the API made it, with publicKey alone.
func readKeyOfUser(name string) (k demoKey, err error) {
	text, err := loadtool.ReadKeyFile(name)
	if err != nil {
		return k, err
	}
	if json.Unmarshal(text, &k) != nil || k.UserID == "" && k.PublicKey == "" {
		return k, fmt.Errorf("%s is not a file with a key: neither userId nor publicKey is a member of an object in it",
			name)
	}
	return k, nil
}

// balance is the balance of a user in a currency.
type balance struct {
	CurrencyCode      string
	Free, Held, Total json.Number
}
