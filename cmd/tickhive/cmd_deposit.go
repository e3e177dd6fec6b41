package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/google/uuid"
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

// maxSearch limits the text by which the internal API finds users.
const maxSearch = 64

// user returns the id of the user that the command line names.
func (c *depositCmd) user(p *program) (string, error) {
	if id, err := uuid.Parse(c.User); err == nil {
		return id.String(), nil
	}
	name, key := c.User, ""
	if file, err := readKeyOfUser(c.User); err == nil && file.UserID != "" {
		return file.UserID, nil
	} else if err == nil {
		name, key = file.PublicKey, file.PublicKey
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", usage("deposit: %w", err)
	}
	nobody := usage("deposit: %s is neither a file with a key nor the id, the nickname or the public id of a user",
		c.User)
	if len(name) > maxSearch {
		return "", nobody
	}
	var found []struct{ ID, Nickname, PublicID string }
	if err := c.send(p, http.MethodGet, "/users?pageSize=100&search="+url.QueryEscape(name), nil, &found); err != nil {
		return "", err
	}
	for _, u := range found { // the search has whose names begin with the text, too
		if key != "" || u.PublicID == name || strings.EqualFold(u.Nickname, name) {
			return u.ID, nil
		}
	}
	if key != "" {
		return "", usage("deposit: %s has the key %s, which is no key of a user of this exchange", c.User, key)
	}
	return "", nobody
}

// readKeyOfUser reads who has the key in a file, in any of the forms in which the exchange gives keys away: with
// userId, or as the API made it, with publicKey alone.
func readKeyOfUser(name string) (k demoKey, err error) {
	f, err := os.Open(name)
	if err != nil {
		return k, err //nolint:wrapcheck // has the name and the reason
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return k, err //nolint:wrapcheck // has the name and the reason
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
