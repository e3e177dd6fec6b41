package vopr

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"
)

// answer is the response to a request.
type answer struct {
	status int
	body   []byte
	seq    string // X-Seq
}

func (a answer) ok() bool { return a.status == fasthttp.StatusOK }

// unknown reports whether the request may or may not have been carried out.
func (a answer) unknown() bool { return a.status == 0 || a.status == fasthttp.StatusGatewayTimeout }

// refused reports whether the answer says that nothing was changed.
func (a answer) refused() bool { return !a.ok() && !a.unknown() }

// code returns the code of an error.
func (a answer) code() string {
	var e struct{ Code string }
	_ = json.Unmarshal(a.body, &e)
	return e.Code
}

// into decodes a response that must be 200 and JSON.
func (a answer) into(v any) error {
	if !a.ok() {
		return fmt.Errorf("status %d: %.300s", a.status, a.body)
	}
	return a.json(v)
}

// json decodes a response of any status.
func (a answer) json(v any) error {
	if err := json.Unmarshal(a.body, v); err != nil {
		return fmt.Errorf("%w: %.300s", err, a.body)
	}
	return nil
}

// key signs requests.
type key struct{ PublicKey, PrivateKey string }

var clientAddr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 40_000}

// call sends a request to the internal listener, or with a key or a path outside of /internal to the
// public one. An answer with the status 0 says that the process ended before it.
func (w *world) call(k *key, method, target, body string) answer {
	w.nonce++
	return w.callStamped(k, w.clock.NowNs()/1_000_000, "n"+strconv.Itoa(w.nonce), method, target, body)
}

// callStamped is call with a timestamp and a nonce for the signature.
func (w *world) callStamped(k *key, stampMs int64, nonce, method, target, body string) answer {
	p, x := w.p, w.x
	if x == nil || p.dead {
		return answer{}
	}
	facing := strings.HasPrefix(target, facade)
	if facing {
		target = k.signQuery(target, stampMs, w.nonce)
	}
	var ctx fasthttp.RequestCtx
	r := fill(&ctx, method, target, body)
	handler := x.Internal().Handler()
	if facing {
		r.Header.Set("X-MBX-APIKEY", k.PublicKey)
	} else if k != nil {
		k.sign(r, stampMs, nonce, method, target, body)
	}
	if k != nil || target[1] == 'a' {
		handler = x.Public().Handler()
	}
	if facing {
		handler = x.Public().FacadeHandler()
	}
	handler(&ctx)
	if p.dead {
		return answer{}
	}
	if n := x.Public().Panics(); n > 0 {
		p.bug = fmt.Sprintf("a handler panicked: %s %s %s", method, target, body)
	}
	text, _, refused := bytes.Cut(ctx.Response.Body(), []byte(`,"requestId"`)) // which is random
	if refused {
		text = append(text, '}')
	}
	return answer{ctx.Response.StatusCode(), text, string(ctx.Response.Header.Peek("X-Seq"))}
}

// fill makes ctx a request of a client.
func fill(ctx *fasthttp.RequestCtx, method, target, body string) *fasthttp.Request {
	ctx.Init(&fasthttp.Request{}, clientAddr, nil)
	r := &ctx.Request
	r.Header.SetMethod(method)
	r.SetRequestURI(target)
	r.Header.SetHost("localhost")
	if body != "" {
		r.Header.SetContentType("application/json")
		r.SetBodyString(body)
	}
	return r
}

// signature signs a request.
func (k *key) signature(ts, nonce, method, target, body string) string {
	sum := sha256.Sum256([]byte(body))
	mac := hmac.New(sha256.New, []byte(k.PrivateKey))
	_, _ = mac.Write([]byte(ts + "\n" + nonce + "\n" + method + "\n" + target + "\n" + hex.EncodeToString(sum[:])))
	return hex.EncodeToString(mac.Sum(nil))
}

func (k *key) sign(r *fasthttp.Request, stampMs int64, nonce, method, target, body string) {
	ts := strconv.FormatInt(stampMs, 10)
	r.Header.Set("API-PublicKey", k.PublicKey)
	r.Header.Set("API-Timestamp", ts)
	r.Header.Set("API-Nonce", nonce)
	r.Header.Set("API-Signature", k.signature(ts, nonce, method, target, body))
}
