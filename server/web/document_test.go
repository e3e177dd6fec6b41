package web_test

import (
	"encoding/json"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/servertest"
	"github.com/tickhive/tickhive/server/web"
)

var update = flag.Bool("update", false, "write the sums of the bundles")

// table is the route table of a document, with the parts of its components.
type table struct {
	routes []*edge.Route
	parts  []web.Part
}

func tables(t *testing.T) []table {
	t.Helper()
	return []table{
		{servertest.Table(web.PublicParts...), web.PublicParts},
		{servertest.InternalTable(t), []web.Part{web.PartInternal}},
	}
}

// Every answer, example and refusal of the components belongs to a route, and every route of a document has a summary,
// a group and an answer.
func TestComponentsDescribeRoutes(t *testing.T) {
	for _, doc := range tables(t) {
		named := map[string]bool{}
		for _, r := range doc.routes {
			if r.Name != "" && (r.Summary == "" || r.Tag == "") {
				t.Errorf("%s %s: summary %q, tag %q", r.Method, r.Path, r.Summary, r.Tag)
			}
			named[r.Name] = true
		}
		for _, part := range doc.parts {
			raw, err := web.Files.ReadFile("openapi/" + string(part) + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var file struct {
				Components struct{ Responses, Examples map[string]any }
			}
			if err := json.Unmarshal(raw, &file); err != nil {
				t.Fatal(err)
			}
			for _, of := range []map[string]any{file.Components.Responses, file.Components.Examples} {
				for name := range of {
					route, _, _ := strings.Cut(name, "_")
					refusal := len(name) == 4 && name[0] == 'E'
					if !refusal && !named[route] {
						t.Errorf("openapi/%s.json describes %s, which no route is named", part, name)
					}
				}
			}
		}
	}
}

// The internal routes have a row for each body.
func TestInternalBodiesHaveASchema(t *testing.T) {
	table := servertest.InternalTable(t)
	servertest.Undescribed(t, table)
	for _, r := range table {
		if (r.Schema != "") != (r.Method == fasthttp.MethodPost || r.Method == fasthttp.MethodPatch) {
			t.Errorf("%s %s: the schema of the body is %q", r.Method, r.Path, r.Schema)
		}
	}
}

// Each parameter of a path is listed, except names that a handler looks up itself, and no name is listed twice.
func TestRoutesListTheirParameters(t *testing.T) {
	for _, doc := range tables(t) {
		for _, r := range doc.routes {
			var names []string
			for _, f := range r.Params {
				if slices.Contains(names, f.Name) {
					t.Errorf("%s %s lists %s twice", r.Method, r.Path, f.Name)
				}
				names = append(names, f.Name)
			}
			for part := range strings.SplitSeq(r.Path, "{") {
				name, _, found := strings.Cut(part, "}")
				if found && r.Name != "getProfile" && !slices.Contains(names, name) {
					t.Errorf("%s %s does not list %s", r.Method, r.Path, name)
				}
			}
		}
	}
}
