package agents

import (
	"encoding/json"
	"fmt"
	"strconv"

	"tickhive/internal/rawjson"
	"tickhive/launchpad"
	"tickhive/server/body"
	"tickhive/server/edge"
)

// The bodies of the launchpad's internal routes (docs/contract/internal.md).
type (
	liquidityRequest struct {
		launchpad.AddLiquidity
		user [16]byte
	}
	swapRequest struct {
		launchpad.Swap
		user [16]byte
	}
	transferRequest struct {
		launchpad.Transfer
		from, to [16]byte
	}
)

var (
	liquidityForm = body.Of(
		userID("userId", func(q *liquidityRequest) *[16]byte { return &q.user }),
		amountMember("tokenAmount", func(q *liquidityRequest) *launchpad.Amount { return &q.TokenAmount }),
		amountMember("quoteAmount", func(q *liquidityRequest) *launchpad.Amount { return &q.QuoteAmount }),
	)
	swapForm = body.Of(
		userID("userId", func(q *swapRequest) *[16]byte { return &q.user }),
		wordMember("side", "must be buy or sell.", func(q *swapRequest, s string) bool {
			q.Sell = s == "sell"
			return q.Sell || s == "buy"
		}).As(edge.Field{Words: []string{"buy", "sell"}}),
		amountMember("amountIn", func(q *swapRequest) *launchpad.Amount { return &q.AmountIn }),
		body.Value("minOut", edge.KindDecimal, readAmount, func(q *swapRequest, v launchpad.Amount) { q.MinOut = v }),
	)
	transferForm = body.Of(
		userID("fromUserId", func(q *transferRequest) *[16]byte { return &q.from }),
		userID("toUserId", func(q *transferRequest) *[16]byte { return &q.to }),
		amountMember("amount", func(q *transferRequest) *launchpad.Amount { return &q.Amount }),
	)
	boostForm = body.Of(
		wordMember("tier", "must be short, standard, extended or premium.",
			func(b *launchpad.BuyBoost, s string) (ok bool) {
				b.Tier, ok = launchpad.ParseTier(s)
				return ok
			}).As(edge.Field{Words: []string{"short", "standard", "extended", "premium"}}),
	)
	countRule = fmt.Sprintf("must be an integer from 1 to %d.", launchpad.MaxFaults)
	faultForm = body.Of(
		wordMember("kind", "must be spawner.", func(_ *launchpad.InjectFault, s string) bool { return s == "spawner" }).
			As(edge.Field{Words: []string{"spawner"}}),
		body.Read("count", edge.KindInteger, func(r *body.Reader, f *launchpad.InjectFault) bool {
			n, err := strconv.ParseUint(string(r.Anything()), 10, 64)
			f.Count = n
			return err == nil && n > 0 && n <= launchpad.MaxFaults
		}).Else(countRule).As(edge.Field{Range: []int64{1, launchpad.MaxFaults}}),
	)
)

// raw returns a member whose JSON text the domain parses.
func raw[T any](name string, kind edge.Kind, of func(*T) *json.RawMessage) body.Member[T] {
	return body.Read(name, kind, func(r *body.Reader, v *T) bool {
		*of(v) = r.Anything()
		return true
	})
}

// userID returns a required member that is a user's id.
func userID[T any](name string, of func(*T) *[16]byte) body.Member[T] {
	return body.Read(name, edge.KindUUID, func(r *body.Reader, v *T) (ok bool) {
		value := r.Anything()
		if rawjson.Absent(value) {
			return false
		}
		text, _ := rawjson.Text(value)
		if *of(v), ok = body.ParseUUID(text); !ok {
			r.Bad("must be a user's id, a UUID.")
		}
		return true
	}).Need()
}

// wordMember returns a required member that is a word; set stores it and returns false for an unknown word.
func wordMember[T any](name, rule string, set func(*T, string) bool) body.Member[T] {
	return body.Read(name, edge.KindWord, func(r *body.Reader, v *T) bool {
		text, _ := rawjson.Text(r.Anything())
		return set(v, text)
	}).Else(rule)
}

// amountMember returns a required member that is an amount above 0.
func amountMember[T any](name string, of func(*T) *launchpad.Amount) body.Member[T] {
	return body.Read(name, edge.KindDecimal, func(r *body.Reader, v *T) bool {
		a, given := readAmount(r)
		if *of(v) = a; given && a.IsZero() {
			r.Bad("must be above 0.")
		}
		return given
	}).Need()
}

// readAmount reads an amount of at least 0, a number or a string.
func readAmount(r *body.Reader) (a launchpad.Amount, given bool) {
	value := r.Anything()
	if rawjson.Absent(value) {
		return a, false
	}
	text := string(value)
	if value[0] == '"' {
		text, _ = rawjson.Text(value)
	}
	a, err := launchpad.ParseAmount(text)
	if err != nil {
		r.Bad("must be a decimal, at least 0, of at most 31 digits before and 18 after the point.")
	}
	return a, true
}
