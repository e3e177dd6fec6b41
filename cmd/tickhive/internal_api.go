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
	"strings"

	"tickhive/internal/listen"
)

// internalFlags names the internal listener of a running exchange.
type internalFlags struct {
	Internal          string `default:"127.0.0.1:8081" placeholder:"ADDR" help:"Address or URL of the internal listener, or unix:PATH (${default})."`
	InternalTokenFile string `placeholder:"FILE" help:"File with the bearer token of the internal API (otherwise: TICKHIVE_INTERNAL_TOKEN, if set)."`
	trustFlags
}

// internalAPI calls the internal API of a running exchange.
type internalAPI struct {
	base, token string
	http        http.Client
}

// maxInternalAnswer limits the answer that a command reads.
const maxInternalAnswer = 16 << 20

// api returns the internal API that the command line names.
func (c *internalFlags) api(p *program) (*internalAPI, error) {
	base := strings.TrimSuffix(c.Internal, "/")
	if !strings.HasPrefix(base, "http://") && !strings.HasPrefix(base, "https://") { // a proxy speaks TLS
		base = "http://" + base
	}
	transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	a := &internalAPI{base: base + "/internal/v1", http: http.Client{Transport: transport}}
	if path, ok := strings.CutPrefix(c.Internal, listen.Unix); ok {
		a.base = "http://localhost/internal/v1"
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	for _, e := range p.environ {
		if token, ok := strings.CutPrefix(e, envPrefix+"INTERNAL_TOKEN="); ok {
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

// call sends one request and decodes the answer into out, unless out is nil.
func (a *internalAPI) call(ctx context.Context, method, path, body string, out any) error {
	resp, err := a.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxInternalAnswer))
	if err != nil {
		return fmt.Errorf("internal API: %s %s: %w", method, path, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("internal API: %s %s: %w", method, path, err)
	}
	return nil
}

// send sends one request. The caller must close the body of the answer, whose status is 200.
func (a *internalAPI) send(ctx context.Context, method, path, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, usageError{Err: err}
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("internal API: %w; --internal names another address", remedied(err))
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxInternalAnswer))
	if err != nil {
		return nil, fmt.Errorf("internal API: %s %s: %w", method, path, err)
	}
	return nil, fmt.Errorf("internal API: %s %s: %s: %.500s", method, path, resp.Status, text)
}
