package stream

import (
	"strconv"

	"tickhive/server/body"
	"tickhive/server/encode"
)

// Limits of one operation.
const (
	maxSubscriptions = 1000 // subscriptions of one connection (docs/contract/limits.md#streams)
	maxPairs         = 8192 // pairs of one operation: no more fit into a message
	maxWordBytes     = 32
	maxTextBytes     = 128
)

// request is one operation of a client, decoded (docs/contract/streams.md#operations).
type request struct {
	op      string
	id      string // JSON text as sent; empty: none
	channel string
	pairs   []string

	depth, every       int
	hasDepth, hasEvery bool
	fromSeq            uint64
	hasFromSeq         bool
	epoch              string
	fromTrade          uint64
	hasFromTrade       bool
	text               bool // decimals=string

	publicKey, timestamp, nonce, signature string
}

// parseRequest parses one operation strictly. On an error req holds the id if it came before.
func parseRequest(raw []byte) (req request, bad *body.Error) {
	var r body.Reader
	r.Reset(raw)
	if r.Object() {
		for key, ok := r.Member(); ok; key, ok = r.Member() {
			req.member(&r, string(key))
		}
	}
	if bad = r.Finish(); bad == nil && req.op == "" {
		bad = &body.Error{Field: "op", Message: "The member op is required."}
	}
	return req, bad
}

func (req *request) member(r *body.Reader, key string) {
	switch key {
	case "op":
		req.op = string(r.Text(maxWordBytes))
	case "id":
		req.readID(r)
	case "channel":
		req.channel = string(r.Text(maxWordBytes))
	case "pairs":
		if r.Array() {
			for r.Element() {
				if len(req.pairs) == maxPairs {
					r.Fail("must have at most 8192 elements.")
					return
				}
				req.pairs = append(req.pairs, string(r.Text(maxWordBytes)))
			}
		}
	case "depth":
		req.depth, req.hasDepth = req.choice(r, 10, 25, 100, 1000, 0)
	case "interval":
		req.every, req.hasEvery = req.choice(r, 0, 100, 1000)
	case "fromSeq":
		v, given := r.Integer(0, 1<<62)
		req.fromSeq, req.hasFromSeq = uint64(v), given
	case "epoch":
		req.epoch = string(r.Text(maxWordBytes))
	case "fromTradeId":
		v, given := r.Integer(1, 1<<62)
		req.fromTrade, req.hasFromTrade = uint64(v), given
	case "decimals":
		switch string(r.Text(maxWordBytes)) {
		case "string":
			req.text = true
		case "number", "":
		default:
			r.Bad("must be number or string.")
		}
	default:
		req.credential(r, key)
	}
}

func (req *request) credential(r *body.Reader, key string) {
	switch key {
	case "publicKey":
		req.publicKey = string(r.Text(maxTextBytes))
	case "timestamp":
		if r.Peek() == '"' {
			req.timestamp = string(r.Text(maxWordBytes))
		} else if v, given := r.Integer(0, 1<<62); given {
			req.timestamp = strconv.FormatInt(v, 10)
		}
	case "nonce":
		req.nonce = string(r.Text(maxTextBytes))
	case "signature":
		req.signature = string(r.Text(maxTextBytes))
	default:
		r.Unknown()
	}
}

// readID stores the id as JSON text, for the echo in the answer.
func (req *request) readID(r *body.Reader) {
	if r.Peek() == '"' {
		if s := r.Text(maxTextBytes); s != nil {
			req.id = string(encode.AppendString(nil, string(s)))
		}
		return
	}
	if v, given := r.Integer(-1<<62, 1<<62); given {
		req.id = strconv.FormatInt(v, 10)
	}
}

// choice reads an integer that must be one of allowed.
func (req *request) choice(r *body.Reader, allowed ...int) (int, bool) {
	v, given := r.Integer(0, 1000)
	if !given {
		return 0, false
	}
	for _, a := range allowed {
		if int64(a) == v {
			return a, true
		}
	}
	list := strconv.Itoa(allowed[0])
	for _, a := range allowed[1:] {
		list += ", " + strconv.Itoa(a)
	}
	r.Bad("must be one of " + list + ".")
	return 0, false
}
