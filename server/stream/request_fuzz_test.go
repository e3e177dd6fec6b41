package stream

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
)

// No operation of a client panics. One that is taken is JSON with bounded members, and the error that answers
// any other is JSON too, whatever its id was.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"op":"subscribe","id":"a\"b\u0000","channel":"book","pairs":["BTC_USDT"],"depth":10,"interval":0,` +
		`"fromSeq":1,"epoch":"x","fromTradeId":2,"decimals":"string"}`))
	f.Add([]byte(`{"op":"auth","publicKey":"a","timestamp":1,"nonce":"b","signature":"c","id":-9}`))
	f.Add([]byte(`{"id":1e400,"op":"list","op":"list"}`))
	f.Add([]byte(`{"op":"ping","id":"` + "\xff" + `"}`))
	f.Add([]byte(`{"op":"0000000000","id":"0\b00000","channel":"000000000"}`)) // answer: 123 bytes, {
	f.Fuzz(func(t *testing.T, sent []byte) {
		req, bad := parseRequest(sent)
		message := "taken"
		if bad != nil {
			message = bad.Message
		} else if !json.Valid(sent) {
			t.Fatalf("taken: %q", sent)
		}
		if req.id != "" && !json.Valid([]byte(req.id)) {
			t.Fatalf("%q has the id %q", sent, req.id)
		}
		if len(req.pairs) > maxPairs || len(req.op) > maxWordBytes || len(req.credentials.PublicKey) > maxTextBytes {
			t.Fatalf("%q is beyond the limits: %d pairs", sent, len(req.pairs))
		}
		answer := errorFrame(req, "", refuse.Param("op", "%s", message))
		if at := bytes.Index(answer, []byte(`{"`)); at < 0 || !json.Valid(answer[at:]) {
			t.Fatalf("%q is answered by %q", sent, answer)
		}
	})
}
