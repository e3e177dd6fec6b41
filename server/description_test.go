package server_test

import (
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/tickhive/tickhive/server/servertest"
)

// The description has every public market-data route.
func TestDescriptionEqualsRouter(t *testing.T) {
	m := servertest.NewMarket(t)
	servertest.Undescribed(t, m.Server.Routes())
}

// Every response schema lists its required members and allows no others, except objects that
// are free-form by contract (metadata, payloads, params, maps).
func TestResponseSchemasAreClosed(t *testing.T) {
	var bodies map[string]bool
	free := regexp.MustCompile(`(?i)(metadata|payload|params)$`)
	var walk func(name string, s *openapi3.Schema)
	walk = func(name string, s *openapi3.Schema) {
		if s == nil {
			return
		}
		if s.Type.Is("object") && len(s.AllOf) == 0 && !free.MatchString(name) && s.AdditionalProperties.Schema == nil {
			if s.AdditionalProperties.Has == nil || *s.AdditionalProperties.Has {
				t.Errorf("%s lets unknown members in", name)
			}
			root, _, _ := strings.Cut(name, ".")
			if s.Required == nil && len(s.Properties) > 0 && !bodies[root] {
				t.Errorf("%s requires nothing", name)
			}
		}
		for n, p := range s.Properties {
			walk(name+"."+n, p.Value)
		}
		if s.Items != nil {
			walk(name+"[]", s.Items.Value)
		}
	}
	for _, c := range servertest.Contracts(t) {
		bodies = map[string]bool{} // every member of a request may be optional
		for _, item := range c.Doc.Paths.Map() {
			for _, op := range item.Operations() {
				if op.RequestBody != nil {
					bodies[path.Base(op.RequestBody.Value.Content.Get("application/json").Schema.Ref)] = true
				}
			}
		}
		for name, s := range c.Doc.Components.Schemas {
			walk(name, s.Value)
		}
	}
}

// The check finds a planted extra, missing or wrongly typed member (this tests the check).
func TestPlantedFaultsAreFound(t *testing.T) {
	c, err := servertest.TheContract()
	if err != nil {
		t.Fatal(err)
	}
	const good = `{"timestamp":1,"currencyPairCode":"BTC_USDT","price":1.0,"price24hAgo":1.0,` +
		`"priceChangePercentage24h":0.0,"volume24h":1.0,"bidPrice":1.0,"askPrice":1.0}`
	h := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	if err := c.Check("GET", "/api/tickers?currencyPairCode=BTC_USDT", 200, h, good); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"extra":   strings.Replace(good, `{`, `{"more":1,`, 1),
		"missing": strings.Replace(good, `"bidPrice":1.0,`, ``, 1),
		"type":    strings.Replace(good, `"timestamp":1`, `"timestamp":"1"`, 1),
		"decimal": strings.Replace(good, `"price":1.0`, `"price":"one"`, 1),
	} {
		if c.Check("GET", "/api/tickers", 200, h, bad) == nil {
			t.Errorf("%s member passes", name)
		}
	}
	if c.Check("GET", "/api/tickers", 418, h, good) == nil {
		t.Error("a status that is not described passes")
	}
}
