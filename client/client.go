package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
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

// FromKeyFile returns a client with the key of a file that `tickhive demo-key FILE` wrote.
func FromKeyFile(base, file string) (*Client, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("client: key file: %w", err)
	}
	c := &Client{Base: base}
	key := struct{ PublicKey, PrivateKey *string }{&c.PublicKey, &c.PrivateKey}
	err = json.Unmarshal(text, &key)
	if err == nil && (c.PublicKey == "" || c.PrivateKey == "") {
		err = errors.New("a member is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("client: key file %s: want the JSON that `tickhive demo-key FILE` writes, an object "+
			"with publicKey and privateKey: %w", file, err)
	}
	return c, nil
}

// APIError is the error object of a response with a status other than 2xx.
type APIError struct {
	Status int `json:"-"`
	// RetryAfter is the time after which a repetition makes sense (Status 429 and 503); 0: the exchange does not say.
	RetryAfter time.Duration `json:"-"`

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
	if api.RetryAfter <= 0 || api.RetryAfter > startWait {
		return header, err
	}
	select {
	case <-ctx.Done():
		return header, err
	case <-time.After(api.RetryAfter):
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
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		api := &APIError{Status: resp.StatusCode, RetryAfter: time.Duration(max(seconds, 0)) * time.Second}
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
