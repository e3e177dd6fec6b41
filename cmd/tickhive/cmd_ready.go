package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"tickhive/server/edge"
)

// readyCmd reports by its exit code whether an exchange serves clients. Health checks of containers run it,
// because an image without a shell has no other client.
type readyCmd struct {
	Target string        `arg:"" default:"http://127.0.0.1:8080" placeholder:"URL" help:"URL of the public or the internal listener (${default})."`
	Wait   time.Duration `placeholder:"DURATION" help:"Try again for this long before giving up (0)."`
	trustFlags
}

const (
	readyTimeout = 2 * time.Second // of one request
	readyEvery   = 100 * time.Millisecond
)

// Run prints "ready" when the exchange serves clients, else it returns the reason.
func (c *readyCmd) Run(p *program) error {
	target, err := url.Parse(c.Target)
	if err != nil || target.Host == "" {
		return usage("%q is not a URL such as http://127.0.0.1:8080", c.Target)
	}
	transport, err := c.transport()
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport}
	for end := time.Now().Add(c.Wait); ; time.Sleep(readyEvery) {
		err := remedied(probe(client, target.JoinPath(edge.ReadyPath).String()))
		if err == nil {
			fmt.Fprintln(p.out, "ready")
			return nil
		}
		if !time.Now().Before(end) {
			return err
		}
	}
}

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
	return fmt.Errorf("%s: %s: %s", url, res.Status, body)
}
