package main

import (
	"fmt"
	"net/http"

	"github.com/tickhive/tickhive/accounts/auth"
)

// demoKeyCmd makes a funded key in a running exchange.
type demoKeyCmd struct {
	internalFlags
	File    string `arg:"" help:"File for the key, JSON of mode 0600."`
	Replace bool   `help:"Replace the demo key in FILE; any other file stays."`
}

// Run creates a user with money in every currency of the exchange and a key of the user, and writes the key. A key of
// this exchange that is in the file already stays, so that the command of a page works after that of another page.
func (c *demoKeyCmd) Run(p *program) error {
	old, err := readDemoKey(c.File)
	if err != nil {
		return err
	}
	if old.Kind != "" && !c.Replace {
		return c.keep(p, old)
	}
	var made struct {
		demoKey
		Funds []struct{ CurrencyCode string }
	}
	if err := c.send(p, http.MethodPost, "/demo-accounts", nil, &made); err != nil {
		return err
	}
	if err := made.write(c.File, c.Replace); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "key %s of user %s with money in %d currencies: %s\n", made.PublicKey, made.UserID,
		len(made.Funds), c.File)
	return err
}

// keep reports the key in the file. A key that the exchange does not know is refused.
func (c *demoKeyCmd) keep(p *program, old demoKey) (err error) {
	user := ""
	if auth.WellFormed(old.PublicKey) { // another text could be the beginning of a key
		if user, err = c.find(p, old.PublicKey, func(foundUser) bool { return true }); err != nil {
			return err
		}
	}
	if user == "" {
		return usage("%s has the demo key %s of user %s, which this exchange does not know, and whose private key may "+
			"be nowhere else: name another file, or give --replace", c.File, old.PublicKey, old.UserID)
	}
	_, err = fmt.Fprintf(p.out,
		"key %s of user %s is in the file already: %s; --replace makes another user with money\n",
		old.PublicKey, user, c.File)
	return err
}
