package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/server/edge"
)

// readyCmd reports by its exit code whether an exchange serves clients. Health checks of containers run it,
// because an image without a shell has no other client.
type readyCmd struct {
	Target string        `arg:"" default:"http://127.0.0.1:8080" placeholder:"URL" help:"URL of the public or the internal listener (${default}). HOST:PORT of this machine takes TLS or not, as the listener speaks, and verifies no certificate."`
	Wait   time.Duration `placeholder:"DURATION" help:"Try again for this long before giving up (0)."`
	keyFlag
	trustFlags
}

const (
	readyTimeout = 2 * time.Second // of one request
	readyEvery   = 100 * time.Millisecond
)

// Run prints "ready" when the exchange serves clients, else it returns the reason.
func (c *readyCmd) Run(p *program) error {
	ask, err := c.asks()
	if err != nil {
		return err
	}
	if err := await(c.Wait, func() (bool, error) { return true, ask() }); err != nil {
		return err
	}
	fmt.Fprintln(p.out, "ready")
	return nil
}

// await calls ask until it returns no error, or one that time does not mend, or the time is over.
func await(most time.Duration, ask func() (again bool, err error)) error {
	for end := time.Now().Add(most); ; time.Sleep(readyEvery) {
		if again, err := ask(); err == nil || !again || !time.Now().Before(end) {
			return err
		}
	}
}

// asks returns the function that asks the listener once.
func (c *readyCmd) asks() (ask func() error, err error) {
	if host, _, err := net.SplitHostPort(c.Target); err == nil && listen.Local(host) {
		// Nothing secret is sent to this machine, and a health check does not know how its listener is configured.
		any := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
		}}
		return func() error {
			err := probe(any, "http://"+c.Target+edge.ReadyPath)
			if errors.Is(err, errPlain) {
				err = probe(any, "https://"+c.Target+edge.ReadyPath)
			}
			return err
		}, nil
	}
	target, err := url.Parse(c.Target)
	if err != nil || target.Host == "" {
		return nil, usage("%q is not a URL such as http://127.0.0.1:8080, or HOST:PORT of this machine", c.Target)
	}
	transport, err := c.transport(&c.keyFlag)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: transport}
	return func() error { return remedied(probe(client, target.JoinPath(edge.ReadyPath).String())) }, nil
}

// errPlain reports an answer to plain HTTP that a listener with TLS may have given.
var errPlain = errors.New("the listener may speak TLS")

func probe(client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 1024))
	if err != nil {
		return err
	}
	err = fmt.Errorf("%s: %s: %s", url, res.Status, body)
	if res.StatusCode == http.StatusBadRequest {
		err = fmt.Errorf("%w: %w", errPlain, err)
	}
	return err
}
