package web_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/servertest"
	"github.com/tickhive/tickhive/server/web"
)

// The collection has a request for each route of the OpenAPI document; those that need a key are signed, no other is.
func TestThePostmanCollectionHasEveryRoute(t *testing.T) {
	routes := servertest.Table(web.PublicParts...)
	raw, err := web.Postman(routes)
	if err != nil {
		t.Fatal(err)
	}
	type pair struct{ Key, Value string }
	var doc struct {
		Info  struct{ Name, Schema string }
		Event []struct {
			Listen string
			Script struct{ Exec []string }
		}
		Item []struct {
			Name string
			Item []struct {
				Name    string
				Request struct {
					Method string
					Header []pair
					URL    struct {
						Raw             string
						Host, Path      []string
						Query, Variable []pair
					}
					Body *struct{ Mode, Raw string }
				}
			}
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(doc.Info.Schema, "/v2.1.0/collection.json") || len(doc.Event) != 1 ||
		doc.Event[0].Listen != "prerequest" || !strings.Contains(doc.Event[0].Script.Exec[0], "API-PublicKey") {
		t.Errorf("%+v %+v", doc.Info, doc.Event)
	}
	have := map[string]bool{}
	variable := regexp.MustCompile(`\{([^}]*)\}`)
	for _, folder := range doc.Item {
		for _, item := range folder.Item {
			r := item.Request
			if r.URL.Raw != "{{base}}/"+strings.Join(r.URL.Path, "/") || item.Name == "" || folder.Name == "" ||
				strings.Count(r.URL.Raw, "/:") != len(r.URL.Variable) {
				t.Errorf("%+v", item)
			}
			if r.Body != nil && !strings.HasPrefix(r.Body.Raw, "{") {
				t.Errorf("%s %s has no example of its body: %q", r.Method, r.URL.Raw, r.Body.Raw)
			}
			signed := ""
			for _, h := range r.Header {
				signed += h.Key + "=" + h.Value
			}
			have[r.Method+" /"+strings.Join(r.URL.Path, "/")+" "+signed] = true
		}
	}
	wanted := 0
	for _, r := range routes {
		if r.Name == "" {
			continue
		}
		wanted++
		name := r.Method + " " + variable.ReplaceAllString(r.Path, ":$1") + " "
		if r.Auth == edge.AuthRequired {
			name += "API-PublicKey={{publicKey}}"
		}
		if !have[name] {
			t.Errorf("no request %s", name)
		}
	}
	if len(have) != wanted || wanted < 50 {
		t.Errorf("%d requests for %d routes", len(have), wanted)
	}
}
