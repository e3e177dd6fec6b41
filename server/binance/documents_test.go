package binance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/server/binance"
)

// document is a request of the documentation with the shape of its answer.
type document struct {
	request string
	want    string // what the documentation answers
	here    string // what the exchange answers, where that differs
	why     string // of a difference, or of an absent route
	absent  bool
}

// documents reads testdata/documents.txt.
func documents(t *testing.T) (list []document) {
	t.Helper()
	text, err := os.ReadFile("testdata/documents.txt")
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	part := regexp.MustCompile(`\$[a-zA-Z0-9]+`)
	whole := func(line string) string {
		return part.ReplaceAllStringFunc(line, func(name string) string {
			if text, known := parts[name[1:]]; known {
				return text
			}
			return name
		})
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		shape, indented := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "let "):
			name, shape, _ := strings.Cut(line[len("let "):], "=")
			parts[strings.TrimSpace(name)] = whole(strings.TrimSpace(shape))
		case strings.HasPrefix(line, "absent "):
			name, why, _ := strings.Cut(line[len("absent "):], " = ")
			list = append(list, document{request: name, why: why, absent: true})
		case !indented:
			list = append(list, document{request: line})
		case strings.HasPrefix(shape, "+ "):
			list[len(list)-1].here = whole(shape[2:])
		case strings.HasPrefix(shape, "= "):
			list[len(list)-1].why = shape[2:]
		default:
			list[len(list)-1].want = whole(shape)
		}
	}
	for _, d := range list {
		if (d.absent || d.here != "") != (d.why != "") || d.absent != (d.want == "") {
			t.Fatalf("%+v", d)
		}
	}
	return list
}

// check compares an answer with the documentation's. A difference that the document does not name is an error, and so
// is one that it names and that is not there.
func (d document) check(t *testing.T, status int, text string) {
	t.Helper()
	fits := func(want string) string {
		code := "200"
		if first, rest, _ := strings.Cut(want, " "); len(first) == 3 && first[0] == '4' {
			code, want = first, rest
		}
		if strconv.Itoa(status) != code {
			return fmt.Sprintf("status %d, want %s", status, code)
		}
		p := &pattern{text: want, d: json.NewDecoder(strings.NewReader(text))}
		p.d.UseNumber()
		return p.whole()
	}
	differs := fits(d.want)
	switch {
	case d.here == "" && differs != "":
		t.Errorf("%s: %s\nthe documentation has %s\nhere it is           %s", d.request, differs, d.want, text)
	case d.here != "" && differs == "":
		t.Errorf("%s is as documented: the difference has gone", d.request)
	case d.here != "" && fits(d.here) != "":
		t.Errorf("%s: %s\nthe difference is %s\nhere it is        %s", d.request, fits(d.here), d.here, text)
	}
}

// checkMessage compares a message of a stream; "": there is none.
func (d document) checkMessage(t *testing.T, text string) {
	t.Helper()
	if d.absent != (text == "") {
		t.Errorf("%s is absent: %t; here it is %q", d.request, d.absent, text)
	} else if !d.absent {
		d.check(t, 200, text)
	}
}

// pattern compares a JSON text with a shape.
type pattern struct {
	text string
	d    *json.Decoder
}

func (p *pattern) whole() string {
	var raw json.RawMessage
	if err := p.d.Decode(&raw); err != nil {
		return err.Error()
	}
	want, rest := cut(p.text)
	if rest != "" {
		return fmt.Sprintf("the shape has a tail: %q", rest)
	}
	return differs("", want, raw)
}

// cut returns the first shape of a text, and the rest.
func cut(text string) (first, rest string) {
	depth := 0
	for i, c := range text {
		switch {
		case strings.ContainsRune("{[(", c):
			depth++
		case strings.ContainsRune("}])", c):
			depth--
		}
		if depth == 0 && (i+1 == len(text) || text[i+1] == ' ') {
			return text[:i+1], strings.TrimPrefix(text[i+1:], " ")
		}
	}
	return text, ""
}

// pieces returns the shapes in a text.
func pieces(text string) (list []string) {
	for text != "" {
		var first string
		first, text = cut(text)
		list = append(list, first)
	}
	return list
}

// differs says where a value is not of a shape; "": it is.
func differs(path, want string, raw json.RawMessage) string {
	inner := func() []string { return pieces(want[1 : len(want)-1]) }
	kind := strings.Trim(shapeKind(raw), " ")
	switch {
	case want == "*":
		return ""
	case want[0] == '{' && kind == "{":
		return members(path, inner(), raw)
	case want[0] == '[' && kind == "[":
		return elements(path, inner(), raw)
	case want[0] == '(' && kind == "[":
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil || len(list) != len(inner()) {
			return fmt.Sprintf("%s has %d elements, want %d (%v)", path, len(list), len(inner()), err)
		}
		for i, shape := range inner() {
			if d := differs(fmt.Sprintf("%s[%d]", path, i), shape, list[i]); d != "" {
				return d
			}
		}
		return ""
	case want == kind:
		return ""
	}
	return fmt.Sprintf("%s is %s, want %s", path, kind, want)
}

// shapeKind returns the type of a value, as the document writes it.
func shapeKind(raw json.RawMessage) string {
	switch c := bytes.TrimSpace(raw)[0]; c {
	case '{', '[':
		return string(c)
	case '"':
		return "s"
	case 't', 'f':
		return "b"
	case 'n':
		return "0"
	}
	return "n"
}

// members compares an object's members and their order.
func members(path string, want []string, raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return err.Error()
	}
	for i := 0; d.More(); i++ {
		name, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return err.Error()
		}
		if i >= len(want) {
			return fmt.Sprintf("%s has %v beyond the documented members", path, name)
		}
		documented, shape, _ := strings.Cut(want[i], ":")
		if name != documented {
			return fmt.Sprintf("%s has %v where %s is documented", path, name, documented)
		}
		if diff := differs(path+"."+documented, shape, value); diff != "" {
			return diff
		}
		if i+1 < len(want) && !d.More() {
			return fmt.Sprintf("%s lacks %v", path, want[i+1:])
		}
	}
	if len(want) > 0 && string(raw) == "{}" {
		return path + " has no members"
	}
	return ""
}

// elements compares a list: each element has one of the shapes, and each shape is there.
func elements(path string, want []string, raw json.RawMessage) string {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err.Error()
	}
	seen := make([]bool, len(want))
	for i, element := range list {
		var all []string
		fits := false
		for k, shape := range want {
			diff := differs(fmt.Sprintf("%s[%d]", path, i), shape, element)
			if diff == "" {
				seen[k], fits = true, true
			} else {
				all = append(all, diff)
			}
		}
		if !fits {
			return fmt.Sprintf("%s[%d] has none of %d shapes: %s", path, i, len(want), strings.Join(all, "; "))
		}
	}
	for k, shape := range want {
		if !seen[k] && shape != "*" {
			return fmt.Sprintf("%s has no %s", path, shape)
		}
	}
	return ""
}

// documented is the exchange on which the requests are made.
type documented struct {
	*rig
	anna   *user
	key    *signer // of Ed25519, which a session needs
	api    *socket
	events *socket // the user data stream of anna
	signed map[string]bool
	ids    map[string]string // of the answers before
}

func newDocumented(t *testing.T) *documented {
	r := traded(t, func(o *exchange.Options) { o.Rate.Allow = []string{"127.0.0.0/8"} })
	r.Limit("ETH_BTC", "sell", "0.05", "1")
	r.Limit("ETH_BTC", "buy", "0.05", "0.5")
	r.Limit("ETH_BTC", "buy", "0.04", "0.5")
	d := &documented{rig: r, anna: r.user("anna"), signed: map[string]bool{}, ids: map[string]string{}}
	d.key = d.anna.signers()["Ed25519"]
	d.api, d.events = r.socket("/ws-api/v3"), r.socket("/ws-api/v3")
	for _, e := range binance.SignedRoutes() {
		d.signed[e.Method+" "+e.Path], d.signed[e.API] = true, true
	}
	if a := d.events.request(subscribe, d.anna.stamped(d.anna.sign, nil)); a.Status != 200 {
		t.Fatalf("%+v", a)
	}
	return d
}

const subscribe = "userDataStream.subscribe.signature"

// ask makes a request of the documentation.
func (d *documented) ask(request string) (status int, body string) {
	d.t.Helper()
	request = os.Expand(request, func(name string) string { return d.ids[name] })
	name, query, _ := strings.Cut(request, "?")
	method, path, route := strings.Cut(name, " ")
	switch {
	case route && d.signed[name]:
		status, body = d.anna.raw(method, path, query)
	case route:
		status, body = d.anna.send(method, strings.TrimSuffix(path+"?"+escaped(query), "?"))
	default:
		status, body = d.call(name, query)
	}
	for _, id := range []string{"orderId", "orderListId"} {
		if m := regexp.MustCompile(`"` + id + `":(\d+)`).FindStringSubmatch(body); m != nil {
			d.ids[id] = m[1]
		}
	}
	return status, body
}

// call sends a request of the WebSocket API. The key of a session signs where nothing else does.
func (d *documented) call(method, query string) (status int, body string) {
	d.t.Helper()
	params := map[string]any{}
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, found := strings.Cut(pair, "="); found && value[0] == '[' {
			params[name] = json.RawMessage(value)
		} else if found {
			params[name] = value
		}
	}
	if d.signed[method] {
		params = d.key.stamped(d.key.sign, params)
	}
	a := d.api.request(method, params)
	if a.Status != 200 {
		return a.Status, fmt.Sprintf(`{"code":%d,"msg":%q}`, a.Error.Code, a.Error.Msg)
	}
	return a.Status, string(a.Result)
}

// escaped returns a query whose values are escaped.
func escaped(query string) string {
	var out []string
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, found := strings.Cut(pair, "="); found {
			out = append(out, name+"="+url.QueryEscape(value))
		}
	}
	return strings.Join(out, "&")
}

// stream returns a message of a stream while the market moves; "": it sends nothing before the trades of the same pair.
// Updates of a book begin with those that have touched both sides.
func (d *documented) stream(name string) string {
	d.t.Helper()
	s := d.socket("/ws/" + name + "/btcusdt@trade")
	defer func() { _ = s.Close() }()
	for {
		d.Limit("BTC_USDT", "sell", "101.25", "0.1")
		d.Limit("BTC_USDT", "buy", "101.25", "0.05")
		d.Limit("BTC_USDT", "buy", "99.5", "0.1")
		d.advance("1s")
		text := s.next()
		if strings.HasPrefix(text, `{"e":"trade"`) && name != "btcusdt@trade" {
			return ""
		}
		if !strings.Contains(text, `"b":[]`) && !strings.Contains(text, `"a":[]`) {
			return text
		}
	}
}

// happened returns the events of the requests, by their kind and execution. A deposit comes last, and the end of the
// stream ends them.
func (d *documented) happened() map[string]string {
	d.t.Helper()
	d.Call("POST", "/users/"+d.anna.id+"/deposits", `{"currencyCode":"BTC","amount":"1"}`)
	kinds := map[string]string{}
	note := func(text string) (ended bool) {
		var frame struct {
			SubscriptionID int             `json:"subscriptionId"`
			Event          json.RawMessage `json:"event"`
		}
		var event userEvent
		if json.Unmarshal([]byte(text), &frame) != nil || json.Unmarshal(frame.Event, &event) != nil {
			d.t.Fatal(text)
		}
		kind := strings.TrimSpace(event.text("e") + " " + event.text("x"))
		if _, known := kinds[kind]; !known {
			kinds[kind] = string(frame.Event)
		}
		return kind == "balanceUpdate"
	}
	for !note(d.events.next()) {
	}
	d.events.request("userDataStream.unsubscribe", map[string]any{})
	for _, text := range d.events.events {
		note(text)
	}
	return kinds
}

// Each request of the documentation is answered in the documented form: the members in their order, and their types.
// A difference has a reason in testdata/documents.txt.
func TestTheDocumentationsExamples(t *testing.T) {
	d := newDocumented(t)
	var events map[string]string
	for _, doc := range documents(t) {
		name, isStream := strings.CutPrefix(doc.request, "stream ")
		kind, isEvent := strings.CutPrefix(doc.request, "event ")
		switch {
		case isStream:
			doc.checkMessage(t, d.stream(name))
		case isEvent:
			if events == nil {
				events = d.happened()
			}
			doc.checkMessage(t, events[kind])
		case doc.absent:
			if status, body := d.ask(doc.request); status/100 != 4 || !strings.HasPrefix(body, `{"code":-1020,`) {
				t.Errorf("%s: %d %s, want -1020", doc.request, status, body)
			}
		default:
			status, body := d.ask(doc.request)
			doc.check(t, status, body)
		}
	}
}

// The documentation has 48 routes and 55 methods. Every one that is there is asked above, and every one that is not is
// named with its reason.
func TestHowMuchOfTheDocumentationIsThere(t *testing.T) {
	has, lacks := map[string]bool{}, map[string]bool{}
	for _, doc := range documents(t) {
		name, _, _ := strings.Cut(doc.request, "?")
		if strings.HasPrefix(name, "stream ") || strings.HasPrefix(name, "event ") {
			continue
		}
		if has[name] = true; doc.absent {
			lacks[name] = true
		}
	}
	routes, methods := 0, 0
	for name := range has {
		if _, _, route := strings.Cut(name, " "); route {
			routes++
		} else {
			methods++
		}
	}
	if routes != 48 || methods != 55 || len(lacks) != 4 {
		t.Errorf("%d routes and %d methods, of which these are absent: %v", routes, methods, lacks)
	}
	for _, name := range binance.Interface() {
		if lacks[name] {
			t.Errorf("%s is there", name)
		}
		delete(has, name)
	}
	for name := range has {
		if !lacks[name] {
			t.Errorf("%s is not there", name)
		}
	}
}

// Each clause of the documentation is run by a test that exists, or has a reason why it is not.
func TestEachClauseIsRun(t *testing.T) {
	text, err := os.ReadFile("testdata/clauses.txt")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var here []byte
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		here = append(here, source...)
	}
	clauses := 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		clauses++
		clause, tests, run := strings.Cut(line, " | ")
		if _, why, excused := strings.Cut(line, " = "); run == (excused && why != "") {
			t.Errorf("%q has no test, or a test and a reason", clause)
		}
		for _, name := range strings.Fields(tests) {
			source := here
			if file, of, other := strings.Cut(name, ":"); other {
				if source, err = os.ReadFile(filepath.Join("../..", file)); err != nil {
					t.Error(err)
				}
				name = of
			}
			if !strings.Contains(string(source), "\nfunc "+name+"(t *testing.T) {") {
				t.Errorf("%s: no test %s", clause, name)
			}
		}
	}
	if clauses < 51 {
		t.Errorf("%d clauses", clauses)
	}
}
