package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"tickhive/internal/exchange"
)

// demoKeyCmd makes a funded key in a running exchange.
type demoKeyCmd struct {
	Internal          string `default:"127.0.0.1:8081" placeholder:"ADDR" help:"Address of the internal listener, or unix:PATH (${default})."`
	InternalTokenFile string `placeholder:"FILE" help:"File with the bearer token of the internal API (otherwise: TICKHIVE_INTERNAL_TOKEN, if set)."`
	File              string `arg:"" help:"File for the key, JSON of mode 0600; replaced only if it is a demo key."`
}

const (
	demoKeyFunds   = "10000" // of each currency
	demoKeyNative  = "1000"
	demoKeyTimeout = 30 * time.Second
	maxDemoAnswer  = 16 << 20
)

// Run creates a user with money in every currency of the exchange and a key of the user, and writes the key.
func (c *demoKeyCmd) Run(p *program) error {
	if _, err := readDemoKey(c.File); err != nil {
		return err
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
	if err := key.write(c.File); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "key %s of user %s with %s of each of %d currencies: %s\n", key.PublicKey, key.UserID,
		demoKeyFunds, len(currencies), c.File)
	return err
}

// internalAPI calls the internal API of a running exchange.
type internalAPI struct {
	base, token string
	http        http.Client
}

// api returns the internal API that the command line names.
func (c *demoKeyCmd) api(p *program) (*internalAPI, error) {
	a := &internalAPI{base: "http://" + c.Internal + "/internal/v1"}
	if path, ok := strings.CutPrefix(c.Internal, exchange.UnixPrefix); ok {
		a.base = "http://localhost/internal/v1"
		a.http.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}
	}
	for _, e := range p.environ {
		if token, ok := strings.CutPrefix(e, "TICKHIVE_INTERNAL_TOKEN="); ok {
			a.token = token
		}
	}
	if c.InternalTokenFile != "" {
		text, err := os.ReadFile(c.InternalTokenFile)
		if err != nil {
			return nil, usageError{Err: err}
		}
		a.token = strings.TrimSpace(string(text))
	}
	return a, nil
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

// call sends one request and decodes the answer into out, unless out is nil.
func (a *internalAPI) call(ctx context.Context, method, path, body string, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return usageError{Err: err}
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return fmt.Errorf("demo key: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDemoAnswer))
	if err != nil {
		return fmt.Errorf("demo key: %s %s: %w", method, path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("demo key: %s %s: %s: %.500s", method, path, resp.Status, text)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("demo key: %s %s: %w", method, path, err)
	}
	return nil
}
