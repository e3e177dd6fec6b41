package exchangetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Answer is the response to a request.
type Answer struct {
	Status int
	Body   string
	Header http.Header
}

// Do sends a request.
func (r *Rig) Do(method, url, body string) Answer {
	r.t.Helper()
	return r.DoWith(method, url, body, nil)
}

// DoWith sends a request with these headers, whose names it does not change.
func (r *Rig) DoWith(method, url, body string, header http.Header) Answer {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return Answer{resp.StatusCode, string(text), resp.Header}
}

// Call sends a request to the internal API and returns its JSON object. path follows
// /internal/v1; any status but 200 fails the test.
func (r *Rig) Call(method, path, body string) map[string]any {
	r.t.Helper()
	a := r.Do(method, r.Internal+path, body)
	if a.Status != http.StatusOK {
		r.t.Fatalf("%s %s %.300s: status %d: %s", method, path, body, a.Status, a.Body)
	}
	d := json.NewDecoder(strings.NewReader(a.Body))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		r.t.Fatalf("%v: %.300s", err, a.Body)
	}
	return m
}

// Hash returns the state hash as the internal API shows it.
func (r *Rig) Hash() string {
	r.t.Helper()
	return r.Do(http.MethodGet, r.Internal+"/state-hash", "").Body
}

// Pair adds a pair with 2 and 8 digits and no minimum order.
func (r *Rig) Pair(code string) {
	r.t.Helper()
	r.Call(http.MethodPost, "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":2,"digitsAmount":6}`, code))
}

// Limit places a limit order of the built-in account.
func (r *Rig) Limit(pair, side, price, amount string) map[string]any {
	r.t.Helper()
	return r.Call(http.MethodPost, "/orders", fmt.Sprintf(
		`{"currencyPairCode":%q,"side":%q,"type":"limit","price":%s,"amount":%s}`, pair, side, price, amount))
}
