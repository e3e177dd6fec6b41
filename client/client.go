package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxAnswer limits the bytes that are read of one response. A book of 100,000 levels has 5 MB.
const maxAnswer = 256 << 20

// Client calls one exchange with one key pair. Base is required; only signed routes require the keys.
type Client struct {
	Base       string // for example http://127.0.0.1:8080
	PublicKey  string
	PrivateKey string       // the secret of an HMAC key, or an Ed25519 or RSA key in PEM
	HTTP       *http.Client // nil: http.DefaultClient
	// nil: the machine's clock; an exchange with a virtual clock needs its time (GET /api/time)
	Now func() time.Time
}

// APIError is the error object of a response with a status other than 2xx.
type APIError struct {
	Status    int    `json:"-"`
	Code      string `json:"code"`
	Message   string `json:"message"`
	Field     string `json:"field"`
	RequestID string `json:"requestId"`
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%d %s: %s (request %s)", e.Status, e.Code, e.Message, e.RequestID)
}

// IsCode reports whether err is an APIError with this code.
func IsCode(err error, code string) bool {
	var api *APIError
	return errors.As(err, &api) && api.Code == code
}

// startWait limits the wait for an exchange that has just started.
const startWait = 2 * time.Second

// Do sends one request and decodes a 2xx response into out; nil discards the response. It sends body as JSON
// unless it is nil. It signs the request when the keys are set. Directly after its start the exchange accepts no signed
// request for a second, and carries out none; Do waits then, and sends the request once more.
func (c *Client) Do(ctx context.Context, method, target string, body, out any) (http.Header, error) {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("client: encode %s %s: %w", method, target, err)
		}
	}
	header, err := c.once(ctx, method, target, raw, body != nil, out)
	var api *APIError
	if !errors.As(err, &api) || api.Status != http.StatusUnauthorized {
		return header, err
	}
	seconds, _ := strconv.Atoi(header.Get("Retry-After"))
	wait := time.Duration(seconds) * time.Second
	if wait <= 0 || wait > startWait {
		return header, err
	}
	select {
	case <-ctx.Done():
		return header, err
	case <-time.After(wait):
	}
	return c.once(ctx, method, target, raw, body != nil, out)
}

// once signs and sends a request.
func (c *Client) once(ctx context.Context, method, target string, raw []byte, hasBody bool, out any) (
	http.Header, error,
) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.Base, "/")+target, bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if hasBody {
		req.Header.Set("Content-Type", "application/json")
	}
	if err := c.authorize(req, method, target, raw); err != nil {
		return nil, err
	}
	return c.send(req, out)
}

func (c *Client) authorize(req *http.Request, method, target string, body []byte) error {
	if c.PublicKey == "" {
		return nil
	}
	cr, err := credentials(c.PublicKey, c.PrivateKey, c.now(), method, target, body)
	if err != nil {
		return err
	}
	req.Header["API-PublicKey"] = []string{cr.PublicKey}
	req.Header["API-Timestamp"] = []string{cr.Timestamp}
	req.Header["API-Nonce"] = []string{cr.Nonce}
	req.Header["API-Signature"] = []string{cr.Signature}
	return nil
}

func (c *Client) send(req *http.Request, out any) (http.Header, error) {
	hc := c.HTTP
	if hc == nil {
		hc = http.DefaultClient
	}
	resp, err := hc.Do(req)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("client: read answer: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		api := &APIError{Status: resp.StatusCode}
		if err := json.Unmarshal(raw, api); err != nil {
			api.Message = string(raw)
		}
		return resp.Header, api
	}
	if out == nil {
		return resp.Header, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(out); err != nil {
		return resp.Header, fmt.Errorf("client: decode answer of %s: %w", req.URL.Path, err)
	}
	return resp.Header, nil
}

func (c *Client) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}
