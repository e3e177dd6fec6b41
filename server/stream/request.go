package stream

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// Limits of one operation.
const (
	maxSubscriptions = 1000 // subscriptions of one connection (docs/contract/limits.md#streams)
	maxPairs         = 8192 // pairs of one operation: no more fit into a message
	maxWordBytes     = 32
	maxTextBytes     = 128
	defaultGraceMs   = 5_000   // time after which the orders of a guarded socket that is gone are canceled
	maxGraceMs       = 600_000 // ten minutes; a client that is away for longer has its dead man's switch
)

// request is one operation of a client, decoded (docs/contract/streams.md#operations).
type request struct {
	op      string
	id      string // JSON text as sent; empty: none
	channel string
	pairs   []string

	depth, every       *int // nil: the default
	fromSeq, fromTrade *uint64
	epoch              string
	text               bool // decimals=string

	publicKey, timestamp, nonce, signature string
	cancelOnDisconnect                     bool
	graceMs                                *int64 // nil: the default
}

// requestForm holds the members of every operation.
var requestForm = body.Of(
	body.Text("op", maxWordBytes, func(q *request, v string) { q.op = v }).Need(),
	body.Value("id", edge.KindAny, readID, func(q *request, v string) { q.id = v }),
	body.Text("channel", maxWordBytes, func(q *request, v string) { q.channel = v }),
	body.Read("pairs", edge.KindArray, readPairs),
	choice("depth", func(q *request, v int) { q.depth = &v }, 10, 25, 100, 1000, 0),
	choice("interval", func(q *request, v int) { q.every = &v }, 0, 100, 1000),
	body.Integer("fromSeq", 0, 1<<62, func(q *request, v int64) { q.fromSeq = stored(v) }),
	body.Text("epoch", maxWordBytes, func(q *request, v string) { q.epoch = v }),
	body.Integer("fromTradeId", 1, 1<<62, func(q *request, v int64) { q.fromTrade = stored(v) }),
	body.Value("decimals", edge.KindWord, readDecimals, func(q *request, v bool) { q.text = v }),
	body.Text("publicKey", maxTextBytes, func(q *request, v string) { q.publicKey = v }),
	body.Value("timestamp", edge.KindAny, readTimestamp, func(q *request, v string) { q.timestamp = v }),
	body.Text("nonce", maxTextBytes, func(q *request, v string) { q.nonce = v }),
	body.Text("signature", maxTextBytes, func(q *request, v string) { q.signature = v }),
	body.Flag("cancelOnDisconnect", func(q *request, v bool) { q.cancelOnDisconnect = v }),
	body.Integer("graceMs", 0, maxGraceMs, func(q *request, v int64) { q.graceMs = &v }),
)

// parseRequest parses one operation strictly. It reports the first wrong member of the text. On
// an error req holds the id if it came before.
func parseRequest(raw []byte) (req request, bad *body.Error) {
	var r body.Reader
	r.Reset(raw)
	requestForm.Fill(&r, &req)
	return req, r.Finish()
}

func stored(v int64) *uint64 {
	u := uint64(v)
	return &u
}

func readPairs(r *body.Reader, req *request) bool {
	if !r.Array() {
		return false
	}
	for r.Element() {
		if len(req.pairs) == maxPairs {
			r.Fail("must have at most 8192 elements.")
			break
		}
		req.pairs = append(req.pairs, string(r.Text(maxWordBytes)))
	}
	return true
}

// readID reads the id as JSON text, for the echo in the answer.
func readID(r *body.Reader) (id string, given bool) {
	if r.Peek() == '"' {
		if s := r.Text(maxTextBytes); s != nil {
			id = string(encode.AppendString(nil, string(s)))
		}
	} else if v, given := r.Integer(-1<<62, 1<<62); given {
		id = strconv.FormatInt(v, 10)
	}
	return id, id != ""
}

func readDecimals(r *body.Reader) (text, given bool) {
	switch string(r.Text(maxWordBytes)) {
	case "string":
		return true, true
	case "number", "":
	default:
		r.Bad("must be number or string.")
	}
	return false, true
}

func readTimestamp(r *body.Reader) (text string, given bool) {
	if r.Peek() == '"' {
		text = string(r.Text(maxWordBytes))
	} else if v, given := r.Integer(0, 1<<62); given {
		text = strconv.FormatInt(v, 10)
	}
	return text, text != ""
}

// choice returns a member that is an integer, one of allowed.
func choice(name string, set func(*request, int), allowed ...int) body.Member[request] {
	return body.Value(name, edge.KindInteger, func(r *body.Reader) (int, bool) {
		v, given := r.Integer(0, 1000)
		if given && !slices.Contains(allowed, int(v)) {
			list := strings.Trim(strings.ReplaceAll(fmt.Sprint(allowed), " ", ", "), "[]")
			r.Bad("must be one of " + list + ".")
			return 0, false
		}
		return int(v), given
	}, set)
}
