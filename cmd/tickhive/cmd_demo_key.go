package main

import (
	"fmt"
	"net/http"
)

// demoKeyCmd makes a funded key in a running exchange.
type demoKeyCmd struct {
	internalFlags
	File    string `arg:"" help:"File for the key, JSON of mode 0600."`
	Replace bool   `help:"Replace the demo key in FILE; any other file stays."`
}

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
