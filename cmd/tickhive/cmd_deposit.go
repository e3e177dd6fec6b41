package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
)

// depositCmd gives money to a user of a running exchange.
type depositCmd struct {
	internalFlags
	User    string   `arg:"" help:"Id of the user, or a file with a key of the user, as tickhive demo-key writes it."`
	Amounts []string `arg:"" name:"currency=amount" help:"Amounts to add, for example USDT=1000."`
}

// Run deposits the amounts in their order and prints the balances. All of the command line is checked before the first
// deposit.
func (c *depositCmd) Run(p *program) error {
	user, err := c.user()
	if err != nil {
		return err
	}
	for _, text := range c.Amounts {
		if code, amount, ok := strings.Cut(text, "="); !ok || code == "" || !json.Valid([]byte(amount)) {
			return usage("deposit: %q must have the form CURRENCY=AMOUNT, for example USDT=1000", text)
		}
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

// user returns the id that the command line names.
func (c *depositCmd) user() (string, error) {
	if id, err := uuid.Parse(c.User); err == nil {
		return id.String(), nil
	}
	key, err := readDemoKey(c.User)
	if err != nil || key.UserID == "" {
		return "", usage("deposit: %s is neither the id of a user nor a file with a key", c.User)
	}
	return key.UserID, nil
}

// balance is the balance of a user in a currency.
type balance struct {
	CurrencyCode      string
	Free, Held, Total json.Number
}
