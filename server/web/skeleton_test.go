package web_test

import (
	"bytes"
	stdjson "encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"tickhive/server/edge"
	"tickhive/server/json"
	"tickhive/server/servertest"
	"tickhive/server/web"
)

var update = flag.Bool("update", false, "write the skeletons of the OpenAPI documents")

type object = map[string]any

// Each skeleton is the file that the route table gives.
func TestSkeletonsAreCurrent(t *testing.T) {
	for part, table := range servertest.Tables(t) {
		name := "openapi/skeleton/" + string(part) + ".json"
		want := skeletonOf(part, table)
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not what the route table gives (go generate ./server/web): %v", name, err)
		}
	}
}

// The description of the internal API and its listener have the same routes, and a row for each
// body.
func TestInternalDescriptionEqualsRouter(t *testing.T) {
	table := servertest.Tables(t)[web.PartInternal]
	servertest.SameRoutes(t, table, web.PartInternal)
	for _, r := range table {
		if (r.Schema != "") != (r.Method == fasthttp.MethodPost || r.Method == fasthttp.MethodPatch) {
			t.Errorf("%s %s: the schema of the body is %q", r.Method, r.Path, r.Schema)
		}
	}
}

// skeleton collects one document.
type skeleton struct {
	inner     bool
	paths     map[string]object // by path and method
	responses object
	schemas   object
}

func skeletonOf(part web.Part, table []*edge.Route) []byte {
	s := &skeleton{inner: part == web.PartInternal, paths: map[string]object{}, responses: object{}, schemas: object{}}
	for _, r := range table {
		if s.paths[r.Path] == nil {
			s.paths[r.Path] = object{}
		}
		s.paths[r.Path][strings.ToLower(r.Method)] = s.operation(r)
	}
	components := object{}
	if len(s.schemas) > 0 {
		components["schemas"] = s.schemas
	}
	if len(s.responses) > 0 {
		components["responses"] = s.responses
	}
	if part == web.PartMarket {
		components["parameters"] = object{"decimals": parameter(*edge.Params(edge.Decimals)[0], false)}
	}
	return s.print(components)
}

// print writes one member of an operation or component on a line.
func (s *skeleton) print(components object) []byte {
	var b bytes.Buffer
	lines := func(indent string, o object) {
		for i, name := range slices.Sorted(maps.Keys(o)) {
			raw, err := stdjson.Marshal(o[name])
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(&b, "%s%s%q: %s", map[bool]string{true: ",\n"}[i > 0], indent, name, raw)
		}
	}
	groups := func(o map[string]object, indent string, inner func(o object, indent string)) {
		for i, name := range slices.Sorted(maps.Keys(o)) {
			fmt.Fprintf(&b, "%s%s%q: {\n", map[bool]string{true: ",\n"}[i > 0], indent, name)
			inner(o[name], indent+" ")
			fmt.Fprintf(&b, "\n%s}", indent)
		}
	}
	objects := func(o object) map[string]object {
		out := map[string]object{}
		for k, v := range o {
			out[k] = v.(object)
		}
		return out
	}
	b.WriteString("{\n \"components\": {\n")
	groups(objects(components), "  ", func(o object, indent string) { lines(indent, o) })
	b.WriteString("\n },\n \"paths\": {\n")
	groups(s.paths, "  ", func(methods object, indent string) {
		groups(objects(methods), indent, func(op object, indent string) { lines(indent, op) })
	})
	b.WriteString("\n }\n}\n")
	return b.Bytes()
}

func ref(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

func (s *skeleton) operation(r *edge.Route) object {
	op := object{"parameters": parameters(r), "responses": s.answers(r)}
	if r.Auth == edge.AuthRequired {
		op["security"] = []object{{
			"ApiPublicKey": []string{}, "ApiTimestamp": []string{}, "ApiNonce": []string{}, "ApiSignature": []string{},
		}}
	}
	if r.Schema != "" {
		s.name(r.Schema, r.Members)
		media := object{}
		kinds := []string{"application/json", "application/json-patch+json", "text/json", "application/*+json"}
		if s.inner {
			kinds = kinds[:1]
		}
		for _, kind := range kinds {
			media[kind] = object{"schema": ref("schemas", r.Schema)}
		}
		op["requestBody"] = object{"required": slices.ContainsFunc(r.Members,
			func(f json.Field) bool { return f.Required }), "content": media}
	}
	return op
}

var pathParameter = regexp.MustCompile(`\{([^}]*)\}`)

func parameters(r *edge.Route) []any {
	list := []any{}
	named := map[string]bool{}
	for _, m := range pathParameter.FindAllStringSubmatch(r.Path, -1) {
		f := json.Field{Name: m[1]}
		if i := slices.IndexFunc(r.Params, func(f *json.Field) bool { return f.Name == m[1] }); i >= 0 {
			f = *r.Params[i]
		}
		named[f.Name] = true
		list = append(list, parameter(f, true))
	}
	for _, f := range r.Params {
		switch {
		case f.Name == edge.Decimals.Name():
			list = append(list, ref("parameters", f.Name))
		case !named[f.Name]:
			list = append(list, parameter(*f, false))
		}
	}
	return list
}

func parameter(f json.Field, inPath bool) object {
	p := object{"name": f.Name, "in": "query", "required": f.Required, "schema": (&skeleton{}).value(&f)}
	if inPath {
		p["in"], p["required"] = "path", true
	}
	if f.Kind == json.KindArray {
		p["explode"] = true
	}
	return p
}

// answers gives the statuses that the row of the table implies.
func (s *skeleton) answers(r *edge.Route) object {
	headers := object{"X-Request-Id": ref("headers", "RequestId")}
	out := object{"200": object{"headers": headers}}
	statuses := []int{400, 401, 404, 405, 408, 414, 431, 500, 503}
	if !s.inner {
		statuses = append(statuses, 429)
	}
	if s.inner || r.Class == edge.ClassAccount || r.Class == edge.ClassLimited {
		statuses = append(statuses, 403)
	}
	if r.Class == edge.ClassLimited {
		for name, component := range map[string]string{
			"Limit":     "RateLimit",
			"Remaining": "RateRemaining", "Reset": "RateReset",
		} {
			headers["X-RateLimit-"+name] = ref("headers", component)
		}
	}
	if r.Body != edge.BodyNone {
		statuses = append(statuses, 413)
	}
	if r.Body == edge.BodyJSON {
		statuses = append(statuses, 415)
	}
	if r.Trade || s.inner && r.Method != fasthttp.MethodGet {
		statuses = append(statuses, 504)
	}
	if r.Tagged {
		headers["ETag"], headers["X-Seq"] = ref("headers", "ETag"), ref("headers", "Seq")
		out["304"] = object{
			"description": "The document has not changed since the ETag in If-None-Match.",
			"headers":     object{"X-Request-Id": ref("headers", "RequestId")},
		}
	}
	for _, status := range statuses {
		name := strconv.Itoa(status)
		out[name] = ref("responses", "E"+name)
	}
	return out
}

// name adds the schema of a body to the components.
func (s *skeleton) name(schema string, members []json.Field) {
	if s.schemas[schema] == nil {
		s.schemas[schema] = s.object(members)
	}
}

func (s *skeleton) object(members []json.Field) object {
	properties, required := object{}, []string{}
	for i := range members {
		f := &members[i]
		properties[f.Name] = s.value(f)
		if f.Default != nil {
			// apart from the member, because generators of TypeScript take a member with a default for
			// required, which is right for answers only
			properties[f.Name] = object{"allOf": []any{properties[f.Name]}}
		}
		if f.Required {
			required = append(required, f.Name)
		}
	}
	o := object{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// types are the OpenAPI types and formats of the plain kinds.
var types = map[json.Kind][2]string{
	json.KindText: {"string"}, json.KindInteger: {"integer"}, json.KindInt32: {"integer", "int32"},
	json.KindInt64: {"integer", "int64"}, json.KindBoolean: {"boolean"}, json.KindWord: {"string"},
	json.KindUUID: {"string", "uuid"}, json.KindArray: {"array"},
}

// value gives the schema of a field's value.
func (s *skeleton) value(f *json.Field) object {
	o := object{}
	switch f.Kind {
	case json.KindDecimal:
		return ref("schemas", map[bool]string{true: "NullableDecimalInput", false: "DecimalInput"}[f.Nullable])
	case json.KindOrderID:
		return object{"oneOf": []any{
			object{"type": "string", "pattern": "^[0-9]{1,16}$"},
			object{"type": "integer", "format": "int64", "minimum": 0, "maximum": f.Range[1]},
		}}
	case json.KindPairCode:
		return ref("schemas", "PairCode")
	case json.KindDate:
		return ref("schemas", "IsoDate")
	case json.KindDateTime:
		return ref("schemas", "IsoDateTime")
	case json.KindAny:
		return o
	case json.KindObject:
		if f.Schema != "" {
			s.name(f.Schema, f.Fields)
			return ref("schemas", f.Schema)
		}
		if o = s.object(f.Fields); len(f.Fields) == 0 {
			o = object{"type": "object", "additionalProperties": true}
		}
	default:
		o["type"] = types[f.Kind][0]
		if format := types[f.Kind][1]; format != "" {
			o["format"] = format
		}
	}
	if f.Kind == json.KindArray {
		o["items"] = s.value(f.Element)
	}
	limit(o, f)
	if len(f.Words) > 0 {
		o["enum"] = f.Words
	}
	if f.Pattern != "" {
		o["pattern"] = f.Pattern
	}
	if f.Default != nil {
		o["default"] = f.Default
	}
	if f.Nullable {
		o["nullable"] = true
	}
	return o
}

// limit adds the field's range under the names of its type.
func limit(o object, f *json.Field) {
	names := [2]string{"minimum", "maximum"}
	switch f.Kind {
	case json.KindText:
		names = [2]string{"minLength", "maxLength"}
	case json.KindArray:
		names = [2]string{"minItems", "maxItems"}
	default:
	}
	for i, n := range f.Range {
		if i > 0 || n > 0 || names[i] == "minimum" {
			o[names[i]] = n
		}
	}
}
