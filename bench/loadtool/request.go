package loadtool

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tickhive/tickhive/bench/load"
)

// methods lists the methods of a run without a mix.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// ownHeaders lists the headers that the tool writes and no option may.
var ownHeaders = []string{"host", "content-length", "transfer-encoding", "connection", "expect"}

const maxHeaderLine = 8 << 10

var headerForm = regexp.MustCompile("^([A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}): ?([ -~]*)$")

// validateRequest checks the request of a run without a mix.
func (o *Options) validateRequest() error {
	switch {
	case o.Mix != "" && (o.Method != "" || o.Body != nil || len(o.Headers) > 0):
		return errors.New("--method, --body and --header are for one URL: a --mix has its own requests")
	case o.Method != "" && !slices.Contains(methods, o.Method):
		return fmt.Errorf("--method must be one of %s: %q", strings.Join(methods, ", "), o.Method)
	case o.Method == http.MethodGet && o.Body != nil:
		return errors.New("--body is for a request that has one: give --method POST, or leave --method out")
	case len(o.Body) > MaxBody:
		return fmt.Errorf("--body must have at most %d bytes: %d", MaxBody, len(o.Body))
	case len(o.Headers) > MaxHeaders:
		return fmt.Errorf("--header may be given %d times: %d", MaxHeaders, len(o.Headers))
	}
	for _, line := range o.Headers {
		parts := headerForm.FindStringSubmatch(line)
		switch {
		case parts == nil || len(line) > maxHeaderLine:
			return fmt.Errorf(`--header must be a name and a value such as "Accept: text/csv", at most %d bytes: %q`,
				maxHeaderLine, line)
		case slices.Contains(ownHeaders, strings.ToLower(parts[1])):
			return fmt.Errorf("--header must not be %s: the tool writes it", parts[1])
		case o.Key != (Key{}) && strings.HasPrefix(strings.ToLower(parts[1]), "api-"):
			return fmt.Errorf("--header must not be %s: --signed writes it", parts[1])
		}
	}
	return nil
}

// method returns the method of a run without a mix.
func (o *Options) method() string {
	if o.Body != nil {
		return cmp.Or(o.Method, http.MethodPost)
	}
	return cmp.Or(o.Method, http.MethodGet)
}

// request returns the request of a run without a mix, with more header lines.
func (o *Options) request(u *url.URL, more []string) *load.Request {
	headers := slices.Concat(o.Headers, more)
	for name, line := range map[string]string{
		"user-agent": "User-Agent: tickhive-load", "content-type": "Content-Type: application/json",
	} {
		named := func(h string) bool { return strings.HasPrefix(strings.ToLower(h), name+":") }
		if !slices.ContainsFunc(headers, named) && (name != "content-type" || o.Body != nil) {
			headers = append(headers, line)
		}
	}
	body, target := o.Body, u.RequestURI()
	if body == nil && o.method() != http.MethodGet {
		body = []byte{} // with a length, so that every server knows the end
	}
	return load.Of(o.method(), u.Host, o.method()+" "+u.Path, target, body, headers)
}

// runSigned sends the request of a run without a mix, signed each time it is sent.
func (o *Options) runSigned(ctx context.Context, u *url.URL, secure *tls.Config, live *load.Live) (*Report, error) {
	prepare, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	s, err := o.newSigner(prepare, u, secure)
	if err != nil {
		return nil, err
	}
	defer s.client.HTTP.CloseIdleConnections()
	defer s.clock.follow(ctx)()
	run := o.loop(ctx, u, secure, live)
	name := o.request(u, nil).Name
	run.Plan = func(int) string { return name }
	run.Next = func(_ int, dst []byte) ([]byte, error) {
		headers, err := s.headers(o.method(), u.RequestURI(), o.Body)
		if err != nil {
			return dst, err
		}
		return o.request(u, headers).Bytes(dst, nil), nil
	}
	return o.measureLoop(ctx, run)
}

// Limits of what a report takes from a refusal, in bytes.
const (
	maxCode    = 60
	maxMessage = 500
)

// refusal returns the status of an answer with the code of its body and the fault on demand that made it, and the
// message of the body, if it has them. fault is the header X-Fault.
func refusal(status int, body []byte, fault string) (reason, message string) {
	var e struct{ Code, Message string }
	reason = strconv.Itoa(status)
	if json.Unmarshal(body, &e) == nil && e.Code != "" && len(e.Code) <= maxCode {
		reason += " " + e.Code
	}
	if fault, _, _ = strings.Cut(fault, ";"); fault != "" && len(fault) <= maxCode {
		reason += ", X-Fault: " + fault
	}
	return reason, e.Message[:min(len(e.Message), maxMessage)]
}

// judge names the refusal of an answer that counts as an error.
func judge(_ int, a *load.Answer) (reason, message string) {
	if a.Status/100 == 2 || a.Status == http.StatusNotModified {
		return "", ""
	}
	return refusal(a.Status, a.Body, string(a.Fault))
}

// validateStages checks the stages.
func (o *Options) validateStages() error {
	if o.Stages == nil {
		return nil
	}
	if n := len(o.Stages); n == 0 || n > MaxStages {
		return fmt.Errorf("--stages must have 1 to %d stages: %d", MaxStages, n)
	}
	for _, part := range o.Stages {
		if part.For < 0 || part.For > MaxFor || !(part.PerSecond >= 0 && part.PerSecond <= MaxRPS) {
			return fmt.Errorf("--stages: a stage lasts up to %s at 0 to %d requests a second: %s:%g", MaxFor, MaxRPS,
				part.For, part.PerSecond)
		}
	}
	if all := o.Stages.Length(); all < time.Second || all > MaxFor {
		return fmt.Errorf("--stages must last from 1s to %s in all: %s", MaxFor, all)
	}
	if o.Stages.Count() == 0 {
		return errors.New("--stages sends no request: the rates and lengths come to less than one; give a higher rate " +
			"or a longer stage")
	}
	return nil
}

// ParseStages reads stages of the form 10s:100,30s:500,10s:0: a length and the rate at its end.
func ParseStages(text string) (all load.Stages, err error) {
	for part := range strings.SplitSeq(text, ",") {
		length, rate, ok := strings.Cut(part, ":")
		d, badLength := time.ParseDuration(length)
		perSecond, badRate := strconv.ParseFloat(rate, 64)
		if !ok || badLength != nil || badRate != nil {
			return nil, fmt.Errorf("--stages must have the form 10s:100,30s:500, each a length and the rate at "+
				"its end: %q", part)
		}
		all = append(all, load.Stage{For: d, PerSecond: perSecond})
	}
	return all, nil
}
