// The generated clients of both documents against a running exchange; EXCHANGE has the line that
// `tickhive serve --ephemeral` prints. The packages public and operator are generated for each run.
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"generated/operator"
	"generated/public"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// exact has more digits than a float64 keeps.
const exact = "0.123456789012345678"

var exchange struct{ Public, Internal, PublicKey, PrivateKey string }

func main() {
	check(json.Unmarshal([]byte(os.Getenv("EXCHANGE")), &exchange))
	ctx := context.Background()

	inner, err := operator.NewClientWithResponses(exchange.Internal)
	check(err)
	fee := operator.DecimalInput("0.00012345")
	added, err := inner.AddPairWithResponse(ctx, operator.AddPair{
		Code: "EXACT_FINE", DigitsPrice: 0, DigitsAmount: 18, MakerFee: &fee,
	})
	check(err)
	if added.JSON200 == nil || added.JSON200.MakerFee != fee {
		panic("the pair: " + string(added.Body))
	}

	x, err := public.NewClientWithResponses(exchange.Public, public.WithRequestEditorFn(sign))
	check(err)
	amount, price := public.DecimalInput(exact), public.NullableDecimalInput("7")
	placed, err := x.CreateOrderWithResponse(ctx, public.CreateOrderRequest{
		CurrencyPairCode: "EXACT_FINE", Side: "buy", Amount: &amount, Price: &price,
	})
	check(err)
	if placed.JSON200 == nil {
		panic("the order: " + string(placed.Body))
	}
	for _, form := range []public.GetOrderParamsDecimals{"number", "string"} {
		read, err := x.GetOrderWithResponse(ctx, *placed.JSON200, &public.GetOrderParams{Decimals: &form})
		check(err)
		if read.JSON200 == nil || read.JSON200.Amount.String() != exact {
			panic("the order that was placed: " + string(read.Body))
		}
		fmt.Println(form, read.JSON200.Amount)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// sign adds the credentials, as docs/contract/signing.md has them.
func sign(_ context.Context, r *http.Request) error {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	at, nonce, hash := strconv.FormatInt(time.Now().UnixMilli(), 10), rand.Text(), sha256.Sum256(body)
	mac := hmac.New(sha256.New, []byte(exchange.PrivateKey))
	signed := []string{at, nonce, r.Method, r.URL.RequestURI(), hex.EncodeToString(hash[:])}
	mac.Write([]byte(strings.Join(signed, "\n")))
	for name, value := range map[string]string{
		"API-PublicKey": exchange.PublicKey, "API-Timestamp": at, "API-Nonce": nonce,
		"API-Signature": hex.EncodeToString(mac.Sum(nil)),
	} {
		r.Header.Set(name, value)
	}
	return nil
}
