package agents

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/refuse"
)

// explained checks that a refused body has a message in UTF-8 with a bounded field.
func explained(t *testing.T, body []byte, err *refuse.Refusal) {
	t.Helper()
	if err.Message == "" || !utf8.ValidString(err.Message) || len(err.Field) > 400 {
		t.Fatalf("%q is refused by %q in %q", body, err.Message, err.Field)
	}
}

// No body of a spawn panics; one that is taken is JSON with members in their bounds.
func FuzzSpawnBody(f *testing.F) {
	f.Add([]byte(`{"name":"My Token","symbol":"ALPHA"}`))
	f.Add([]byte(`{"name":"é","symbol":"ABC","totalSupply":"1000000000","decimals":18,"poolSide":"NATIVE",` +
		`"metadata":{"logoUri":"https://a.example/x.png","website":"https://b.example","description":"d"}}`))
	f.Add([]byte(`{"name":"a\u202eb","symbol":"abc","metadata":{"a":[1,{"b":null}]}}`))
	f.Add([]byte(`{"n\u0061me":"x","name":"y"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var q spawnRequest
		if err := spawnForm.Decode(body, &q); err != nil {
			explained(t, body, err)
			return
		}
		if !json.Valid(body) {
			t.Fatalf("taken: %q", body)
		}
		cmd, err := q.Parse()
		if err != nil {
			explained(t, body, err)
			return
		}
		if n := utf8.RuneCountInString(cmd.Name); n < 1 || n > 50 || len(cmd.Symbol) < 3 || len(cmd.Symbol) > 5 {
			t.Fatalf("%q is the token %q, %q", body, cmd.Name, cmd.Symbol)
		}
	})
}

// No body of a vote panics; one that is taken is JSON with a vote and a bounded comment.
func FuzzVoteBody(f *testing.F) {
	f.Add([]byte(`{"proposalId":"prop-1","vote":"yes"}`))
	f.Add([]byte(`{"proposalId":"prop-1","vote":"abstain","comment":"\ud83d\ude00 \u0000"}`))
	f.Add([]byte(`{"proposalId":1,"vote":"Yes","comment":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var form hive.VoteForm
		if err := voteForm.Decode(body, &form); err != nil {
			explained(t, body, err)
			return
		}
		if !json.Valid(body) {
			t.Fatalf("taken: %q", body)
		}
		cast, err := form.Parse()
		if err != nil {
			explained(t, body, err)
			return
		}
		if cast.ProposalID == "" || utf8.RuneCountInString(cast.Comment) > hive.MaxComment {
			t.Fatalf("%q is a vote on %q with a comment of %d bytes", body, cast.ProposalID, len(cast.Comment))
		}
	})
}
