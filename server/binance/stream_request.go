package binance

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/tickhive/tickhive/server/json"
)

// request is a message of the client, on a socket with streams and in the WebSocket API.
type request struct {
	method, params, id stdjson.RawMessage
	methodEnd          int // offset behind the method
}

// problem is the reason why a request is refused. The code and the text are the other exchange's.
type problem struct {
	code int
	text string
}

// The codes of problems.
const (
	unknownProperty = 0
	notBoolean      = 1
	wrongRequest    = 2
	notJSON         = 3
)

func badRequest(format string, args ...any) *problem {
	return &problem{wrongRequest, "Invalid request: " + fmt.Sprintf(format, args...)}
}

var (
	tooManyParams = badRequest("too many parameters")
	badProperty   = badRequest("property name must be a string")
	badID         = badRequest("request ID must be an unsigned integer")
)

// answer carries out a request and returns the answer.
func (s *socket) answer(text []byte) []byte {
	r, bad := parseRequest(text)
	var result []byte
	if bad == nil {
		result, bad = s.perform(r)
	}
	return answerOf(result, bad, r.id)
}

// null is the id of an answer to no request.
var null = stdjson.RawMessage("null")

// answerOf returns an answer: a result, or a problem.
func answerOf(result []byte, bad *problem, id stdjson.RawMessage) []byte {
	var w json.Writer
	w.Object()
	if bad != nil {
		w.Name("error").Object()
		w.Name("code").Int(int64(bad.code))
		w.Name("msg").Text(bad.text)
		w.EndObject()
	} else {
		w.Name("result").Raw(result)
	}
	w.Name("id").Raw(id)
	w.EndObject()
	return w.Bytes()
}

// parseRequest reads a request. The id is valid, null while none was read.
func parseRequest(text []byte) (r request, bad *problem) {
	if at, ok := syntaxError(text); !ok {
		line, column := position(text, at)
		bad = &problem{notJSON, fmt.Sprintf("Invalid JSON: expected value at line %d column %d", line, column)}
		return request{id: null}, bad
	}
	r, wrong := readRequest(text)
	switch {
	case wrong != "":
		bad = badRequest("%s", wrong)
	case r.method == nil:
		line, column := position(text, len(text))
		bad = badRequest("missing field `method` at line %d column %d", line, column)
	}
	if len(r.id) == 0 || !validID(r.id) {
		r.id, bad = null, cmp.Or(bad, badID)
	}
	return r, bad
}

// readRequest reads the members of a request, whose text is valid JSON. wrong says why it is none.
func readRequest(text []byte) (r request, wrong string) {
	d := stdjson.NewDecoder(bytes.NewReader(text))
	if start, _ := d.Token(); start != stdjson.Delim('{') {
		return r, "a request is one object"
	}
	members := map[string]*stdjson.RawMessage{"method": &r.method, "params": &r.params, "id": &r.id}
	for d.More() {
		token, _ := d.Token()
		name, _ := token.(string)
		member, known := members[name]
		switch {
		case !known:
			member, wrong = new(stdjson.RawMessage), "too many parameters"
		case *member != nil:
			wrong = "duplicate field `" + name + "`"
		}
		_ = d.Decode(member)
		if member == &r.method {
			r.methodEnd = int(d.InputOffset())
		}
	}
	return r, wrong
}

// textID matches the texts that are ids of requests.
var textID = regexp.MustCompile(`^"[a-zA-Z0-9_-]{1,36}"$`)

// validID reports whether an id is a 64-bit integer, a short word or null, as the other exchange permits.
func validID(id stdjson.RawMessage) bool {
	_, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil || string(id) == "null" || textID.Match(id)
}

// syntaxError returns the offset at which a text stops being JSON; ok reports that it is JSON.
func syntaxError(text []byte) (at int, ok bool) {
	var value stdjson.RawMessage
	err := stdjson.Unmarshal(text, &value)
	if bad := (*stdjson.SyntaxError)(nil); errors.As(err, &bad) {
		return int(bad.Offset), false
	}
	return len(text), err == nil
}

// position returns the line and the column of an offset, both from 1 on.
func position(text []byte, at int) (line, column int) {
	before := text[:at]
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - bytes.LastIndexByte(before, '\n') - 1
}

// perform carries out a request and returns the JSON text of its result. A request that it refuses changes nothing.
func (s *socket) perform(r request) ([]byte, *problem) {
	var method string
	_ = stdjson.Unmarshal(r.method, &method) // another type is an unknown method
	switch method {
	case "SUBSCRIBE", "UNSUBSCRIBE":
		return s.changeStreams(r.params, method == "SUBSCRIBE")
	case "LIST_SUBSCRIPTIONS":
		if list, ok := elements(r.params); !ok || len(list) > 0 {
			return nil, tooManyParams
		}
		var w json.Writer
		w.List()
		for _, one := range s.streams {
			w.Text(one.name)
		}
		w.EndList()
		return w.Bytes(), nil
	case "SET_PROPERTY":
		return s.setProperty(r.params)
	case "GET_PROPERTY":
		list, ok := elements(r.params)
		if bad := property(list, ok, 1); bad != nil {
			return nil, bad
		}
		var w json.Writer
		w.Bool(s.combined)
		return w.Bytes(), nil
	default:
		return nil, badRequest("unknown variant `%s`, expected one of `SUBSCRIBE`, `UNSUBSCRIBE`, "+
			"`LIST_SUBSCRIPTIONS`, `SET_PROPERTY`, `GET_PROPERTY` at line 1 column %d", method, r.methodEnd)
	}
}

// elements returns the elements of a list; without params there are none.
func elements(params stdjson.RawMessage) (list []stdjson.RawMessage, ok bool) {
	return list, len(params) == 0 || stdjson.Unmarshal(params, &list) == nil
}

// property checks the parameters of a property: its name, and want-1 others, which may be missing.
func property(list []stdjson.RawMessage, isList bool, want int) *problem {
	var name string
	switch {
	case !isList || len(list) == 0 || list[0][0] != '"' || stdjson.Unmarshal(list[0], &name) != nil:
		return badProperty
	case len(list) > want:
		return tooManyParams
	case name != "combined":
		return &problem{unknownProperty, "Unknown property"}
	}
	return nil
}

func (s *socket) setProperty(params stdjson.RawMessage) ([]byte, *problem) {
	list, ok := elements(params)
	if bad := property(list, ok, 2); bad != nil {
		return nil, bad
	}
	on := len(list) == 2 && string(list[1]) == "true"
	if !on && (len(list) != 2 || string(list[1]) != "false") {
		return nil, &problem{notBoolean, "Invalid value type: expected Boolean"}
	}
	s.combined = on
	return []byte("null"), nil
}

// changeStreams adds or removes streams.
func (s *socket) changeStreams(params stdjson.RawMessage, adds bool) ([]byte, *problem) {
	var names []*string
	if stdjson.Unmarshal(params, &names) != nil || len(names) == 0 || slices.Contains(names, nil) {
		return nil, badRequest("params must be a list of names of streams")
	}
	if !adds {
		s.drop(func(one *stream) bool {
			return slices.ContainsFunc(names, func(name *string) bool { return *name == one.name })
		})
		return []byte("null"), nil
	}
	before := len(s.streams)
	for _, name := range names {
		if !s.add(*name) {
			s.dropFrom(before)
			return nil, badRequest("a connection has at most %d streams", maxStreams)
		}
	}
	return []byte("null"), nil
}
