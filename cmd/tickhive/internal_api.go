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
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/internal/listen"
)

// internalFlags names the internal listener of a running exchange.
type internalFlags struct {
	Internal          string `default:"127.0.0.1:8081" placeholder:"ADDR" group:"Connection:" help:"Address or URL of the internal listener, or unix:PATH (${default})."`
	InternalTokenFile string `placeholder:"FILE" group:"Connection:" help:"File with the bearer token of the internal API (otherwise: TICKHIVE_INTERNAL_TOKEN, if set)."`
	keyFlag
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
	base, path, err := c.base()
	if err != nil {
		return nil, err
	}
	transport, err := c.transport(&c.keyFlag)
	if err != nil {
		return nil, err
	}
	a := &internalAPI{base: base.String() + "/internal/v1", http: http.Client{
		Transport: transport, CheckRedirect: func(*http.Request,
			[]*http.Request,
		) error {
			return http.ErrUseLastResponse
		},
	}}
	if path != "" {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	for _, e := range p.environ {
		if token, ok := strings.CutPrefix(e, config.EnvPrefix+"INTERNAL_TOKEN="); ok {
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
	if a.token != "" && base.Scheme == "http" && !listen.Local(base.Hostname()) {
		return nil, usage("--internal: the token would go over the network in clear to %s: name https://%s, with "+
			"--cluster-key FILE or --ca FILE for its certificate", base, base.Host)
	}
	if r, err := c.ring(); err != nil || r != nil && a.token == "" {
		if err != nil {
			return nil, err
		}
		a.http = *r.Client() // a node's proof instead of the token, where it counts
	}
	return a, nil
}

// base returns the URL of the listener, or the path of its socket. An address of another machine without a scheme, and
// one with keys or certificates to trust, speaks TLS.
func (c *internalFlags) base() (base *url.URL, socket string, err error) {
	text := strings.TrimSuffix(c.Internal, "/")
	if path, ok := strings.CutPrefix(text, listen.Unix); ok {
		text, socket = "http://localhost", path
	}
	if !strings.Contains(text, "://") {
		scheme := "http://"
		host, _, err := net.SplitHostPort(text)
		if err == nil && !listen.Local(host) || c.CA != "" || c.ClusterKey != "" {
			scheme = "https://"
		}
		text = scheme + text
	}
	base, err = url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, "",
			usage("--internal: %q is not an address HOST:PORT, a URL such as https://HOST:PORT, or unix:PATH",
				c.Internal)
	}
	return base, socket, nil
}

const (
	sendTimeout = 30 * time.Second // of one request
	startWait   = time.Minute      // for an exchange that starts; tickhive ready waits for a longer one
)

// send sends a request, with q as its body if it has members, and decodes the answer. It waits for an exchange that
// refuses to serve for now, which changed nothing.
func (c *internalFlags) send(p *program, method, path string, q map[string]any, answer any) error {
	waits := false
	return await(startWait, func() (again bool, err error) {
		err = c.sendOnce(p, method, path, q, answer)
		again = errors.As(err, new(unreadyError))
		if again && !waits {
			waits = true
			fmt.Fprintln(p.err, "waiting until the exchange is ready")
		}
		return again, err
	})
}

// sendOnce is send without the wait.
func (c *internalFlags) sendOnce(p *program, method, path string, q map[string]any, answer any) error {
	body := []byte(nil)
	if len(q) > 0 {
		var err error
		if body, err = json.Marshal(q); err != nil {
			return fmt.Errorf("internal API: %s %s: %w", method, path, err)
		}
	}
	api, err := c.api(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
	defer cancel()
	return api.call(ctx, method, path, string(body), answer)
}

// unreadyError is an answer that asks to try again: 503 with Retry-After.
type unreadyError struct{ error }

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
	var refused struct{ Message string }
	if json.Unmarshal(text, &refused) == nil && refused.Message != "" {
		text = []byte(refused.Message)
	}
	if resp.StatusCode == http.StatusUnauthorized {
		text = append(text, " Give it as --internal-token-file, or in TICKHIVE_INTERNAL_TOKEN."...)
	}
	err = fmt.Errorf("internal API: %s %s: %s: %.500s", method, path, resp.Status, text)
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "" {
		err = unreadyError{err}
	}
	return nil, err
}
