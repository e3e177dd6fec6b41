package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"tickhive/internal/exchange"
	"tickhive/internal/fault"
)

// faultsCmd sets the fault rules of a running exchange (docs/contract/faults.md).
type faultsCmd struct {
	Apply faultsApplyCmd `cmd:"" help:"Put a ready scenario in force: flaky-network, overload, stale-feed or lost-ack."`
	Add   faultsAddCmd   `cmd:"" help:"Put rules in force, each a text such as \"latency probability=0.1 delay=250ms\"."`
	List  faultsListCmd  `cmd:"" help:"List the rules in force and their counters."`
	Clear faultsClearCmd `cmd:"" help:"Remove all rules, or one."`
}

// internalAPI finds and calls the internal listener of a running exchange.
type internalAPI struct {
	Internal  string `default:"127.0.0.1:8081" placeholder:"ADDR" help:"Address of the internal listener, or unix:PATH (${default})."`
	TokenFile string `placeholder:"FILE" help:"File with the bearer token of the internal API; TICKHIVE_INTERNAL_TOKEN holds it otherwise."`
}

type faultsApplyCmd struct {
	internalAPI
	Scenario string   `arg:"" help:"Name of the scenario."`
	Seed     uint64   `default:"1" help:"Seed of the decisions (${default})."`
	For      Duration `placeholder:"DURATION" help:"Time after which the rules end (never)."`
}

type faultsAddCmd struct {
	internalAPI
	Rules []string `arg:"" help:"Texts of the rules."`
}

type faultsListCmd struct{ internalAPI }

type faultsClearCmd struct {
	internalAPI
	ID uint64 `arg:"" optional:"" help:"Id of the rule (all)."`
}

// Run puts a scenario in force and prints its rules.
func (c *faultsApplyCmd) Run(p *program) error {
	if _, err := fault.Scenario(c.Scenario, c.Seed, 0); err != nil {
		return usage("faults apply: %v", err)
	}
	q := map[string]any{"scenario": c.Scenario, "seed": c.Seed}
	if c.For > 0 {
		q["for"] = time.Duration(c.For).String()
	}
	return c.printRules(p, http.MethodPost, q)
}

// Run puts rules in force and prints them.
func (c *faultsAddCmd) Run(p *program) error {
	if _, err := fault.ParseAll(c.Rules); err != nil {
		return usage("faults add: %v", err)
	}
	return c.printRules(p, http.MethodPost, map[string]any{"rules": c.Rules})
}

// Run prints the rules in force.
func (c *faultsListCmd) Run(p *program) error { return c.printRules(p, http.MethodGet, nil) }

// Run removes rules and prints their number.
func (c *faultsClearCmd) Run(p *program) error {
	path := "/faults"
	if c.ID != 0 {
		path = fmt.Sprintf("/faults/%d", c.ID)
	}
	var answer struct{ Removed int }
	if err := c.call(p, http.MethodDelete, path, nil, &answer); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "removed %d rules\n", answer.Removed)
	return nil
}

func (a *internalAPI) printRules(p *program, method string, q map[string]any) error {
	var answer struct {
		Rules []struct {
			ID, Matched, Applied, Skipped uint64
			Rule                          string
		}
	}
	if err := a.call(p, method, "/faults", q, &answer); err != nil {
		return err
	}
	for _, r := range answer.Rules {
		fmt.Fprintf(p.out, "%d  %s  matched=%d applied=%d skipped=%d\n", r.ID, r.Rule, r.Matched, r.Applied, r.Skipped)
	}
	if len(answer.Rules) == 0 {
		fmt.Fprintln(p.out, "no fault rules are in force")
	}
	return nil
}

// internalCallTime limits a call of the internal API by a command.
const internalCallTime = 30 * time.Second

// maxInternalAnswer limits the answer that a command reads.
const maxInternalAnswer = 1 << 20

// call sends a request to the internal API and decodes the answer. q is the body; nil: none.
func (a *internalAPI) call(p *program, method, path string, q, answer any) error {
	body := []byte(nil)
	if q != nil {
		var err error
		if body, err = json.Marshal(q); err != nil {
			return fmt.Errorf("faults: %w", err)
		}
	}
	host, transport := a.Internal, &http.Transport{DisableKeepAlives: true}
	if socket, ok := strings.CutPrefix(a.Internal, exchange.UnixPrefix); ok {
		host = "localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), internalCallTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+host+"/internal/v1"+path, bytes.NewReader(body))
	if err != nil {
		return usage("--internal: %q is no address", a.Internal)
	}
	token, err := a.token(p)
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("the internal listener at %s does not answer: %w; --internal names another address",
			a.Internal, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxInternalAnswer))
	if err != nil {
		return fmt.Errorf("the answer of %s: %w", a.Internal, err)
	}
	if resp.StatusCode != http.StatusOK {
		var refused struct{ Code, Message string }
		if json.Unmarshal(text, &refused) != nil || refused.Message == "" {
			return fmt.Errorf("%s answers %s", a.Internal, resp.Status)
		}
		return errors.New(refused.Message)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("the answer of %s: %w", a.Internal, err)
	}
	return nil
}

// token returns the bearer token, empty when none is set.
func (a *internalAPI) token(p *program) (string, error) {
	if a.TokenFile != "" {
		text, err := os.ReadFile(a.TokenFile)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	for _, e := range p.environ {
		if token, ok := strings.CutPrefix(e, envPrefix+"INTERNAL_TOKEN="); ok {
			return token, nil
		}
	}
	return "", nil
}
