package web

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// builder makes the operations and the schemas of bodies of one document from a route table.
type builder struct {
	inner     bool   // the internal API: one media type, and other refusals
	responses object // components/responses: answers by the names of routes, refusals by E and their status
	examples  object // components/examples: bodies by the names of routes
	schemas   object // of the bodies
}

// describe adds to doc the paths of the routes that have a name, and the schemas of their bodies. It moves the answer
// and the example of each route from the components to the operation.
func describe(doc object, table []*edge.Route, inner bool) error {
	components := child(doc, "components")
	b := &builder{inner, child(components, "responses"), child(components, "examples"), object{}}
	paths := object{}
	for _, r := range table {
		if r.Name == "" {
			continue
		}
		op, err := b.operation(r)
		if err != nil {
			return err
		}
		if paths[r.Path] == nil {
			paths[r.Path] = object{}
		}
		child(paths, r.Path)[strings.ToLower(r.Method)] = op
	}
	doc["paths"] = paths
	delete(components, "examples")
	maps.DeleteFunc(b.responses, func(name string, _ any) bool { return !isRefusal(name) })
	if !inner {
		components["parameters"] = object{edge.Decimals.Name(): parameter(edge.Params(edge.Decimals)[0], false)}
	}
	return merge(components, object{"schemas": b.schemas}, "bodies")
}

// isRefusal reports whether a response of the components is that of a status, E and three digits.
func isRefusal(name string) bool {
	_, err := strconv.Atoi(strings.TrimPrefix(name, "E"))
	return err == nil && name[0] == 'E'
}

func ref(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

func (b *builder) operation(r *edge.Route) (object, error) {
	responses, err := b.answers(r)
	op := object{
		"operationId": r.Name, "tags": []any{r.Tag}, "summary": r.Summary, "parameters": parameters(r),
		"responses": responses,
	}
	if r.Text != "" {
		op["description"] = r.Text
	}
	if r.Auth == edge.AuthRequired {
		op["security"] = []object{{
			"ApiPublicKey": []string{}, "ApiTimestamp": []string{}, "ApiNonce": []string{}, "ApiSignature": []string{},
		}}
	}
	if r.Schema != "" {
		op["requestBody"] = b.body(r)
	}
	return op, err
}

// body describes the body of a request, in each of its media types.
func (b *builder) body(r *edge.Route) object {
	b.name(r.Schema, r.Members)
	kinds := []string{"application/json", "application/json-patch+json", "text/json", "application/*+json"}
	if b.inner {
		kinds = kinds[:1]
	}
	content := object{}
	for _, kind := range kinds {
		media := object{"schema": ref("schemas", r.Schema)}
		if example := child(b.examples, r.Name); example != nil {
			media["example"] = example["value"]
		}
		content[kind] = media
	}
	needed := slices.ContainsFunc(r.Members, func(f json.Field) bool { return f.Required })
	return object{"required": needed, "content": content}
}

// parameters describes the parameters of the path, in its order, and then those of the query.
func parameters(r *edge.Route) []any {
	list := []any{}
	inPath := map[string]bool{}
	for part := range strings.SplitSeq(r.Path, "{") {
		name, _, found := strings.Cut(part, "}")
		if !found {
			continue
		}
		f := &json.Field{Name: name}
		if i := slices.IndexFunc(r.Params, func(f *json.Field) bool { return f.Name == name }); i >= 0 {
			f = r.Params[i]
		}
		inPath[name] = true
		list = append(list, parameter(f, true))
	}
	for _, f := range r.Params {
		switch {
		case f.Name == edge.Decimals.Name():
			list = append(list, ref("parameters", f.Name))
		case !inPath[f.Name]:
			list = append(list, parameter(f, false))
		}
	}
	return list
}

func parameter(f *json.Field, inPath bool) object {
	schema := (&builder{}).value(f)
	p := object{"name": f.Name, "in": "query", "required": f.Required, "schema": schema}
	if inPath {
		p["in"], p["required"] = "path", true
	}
	if f.Kind == json.KindArray {
		p["explode"] = true
	}
	if f.Text != "" {
		p["description"] = f.Text
	}
	if f.Form != "" {
		schema["description"] = f.Form
	}
	if f.Example != nil {
		p["example"] = f.Example
	}
	return p
}

// answers gives the statuses that the row of the table implies, and what the components say about the route's own.
func (b *builder) answers(r *edge.Route) (object, error) {
	id := object{"X-Request-Id": ref("headers", "RequestId")}
	headers := maps.Clone(id)
	ok := object{"headers": headers}
	out := object{"200": ok}
	if r.Class == edge.ClassLimited {
		for name, component := range map[string]string{
			"Limit": "RateLimit", "Remaining": "RateRemaining", "Reset": "RateReset",
		} {
			headers["X-RateLimit-"+name] = ref("headers", component)
		}
	}
	if r.Tagged {
		headers["ETag"], headers["X-Seq"] = ref("headers", "ETag"), ref("headers", "Seq")
		out["304"] = object{
			"description": "The document has not changed since the ETag in If-None-Match.", "headers": id,
		}
	}
	for _, status := range b.refusals(r) {
		name := strconv.Itoa(status)
		out[name] = ref("responses", "E"+name)
	}
	name := r.Name
	if r.Answers != "" {
		name = r.Answers
	}
	own := child(b.responses, name)
	if own == nil {
		return nil, fmt.Errorf("web: openapi: there is no response %s for %s %s", name, r.Method, r.Path)
	}
	for component, v := range b.responses {
		if status, found := strings.CutPrefix(component, name+"_"); found {
			out[status] = v
		}
	}
	err := merge(ok, own, "responses."+name)
	if err == nil && r.Rows != nil {
		child(ok, "content")["text/csv"] = object{
			"schema": object{"type": "string"}, "example": strings.Join(r.Rows.Columns, ",") + "\n",
		}
	}
	return out, err
}

// refusals returns the statuses of the refusals that a route may answer.
func (b *builder) refusals(r *edge.Route) []int {
	statuses := append([]int{400, 401, 404, 405, 408, 414, 431, 500, 503}, r.Refuses...)
	if !b.inner {
		statuses = append(statuses, 429)
	}
	if b.inner || r.Class == edge.ClassAccount || r.Class == edge.ClassLimited {
		statuses = append(statuses, 403)
	}
	if r.Body != edge.BodyNone {
		statuses = append(statuses, 413)
	}
	if r.Body == edge.BodyJSON {
		statuses = append(statuses, 415)
	}
	if r.Trade || b.inner && r.Method != fasthttp.MethodGet {
		statuses = append(statuses, 504)
	}
	return statuses
}

// name adds the schema of a body to the components.
func (b *builder) name(schema string, members []json.Field) {
	if b.schemas[schema] == nil {
		b.schemas[schema] = b.object(members)
	}
}

func (b *builder) object(members []json.Field) object {
	properties, required := object{}, []string{}
	for i := range members {
		f := &members[i]
		properties[f.Name] = b.value(f)
		if f.Default != nil {
			// apart from the member, because generators of TypeScript take a member with a default for
			// required, which is right for answers only
			properties[f.Name] = object{"allOf": []any{properties[f.Name]}}
		}
		if f.Text != "" {
			properties[f.Name] = object{"allOf": []any{properties[f.Name]}, "description": f.Text}
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
func (b *builder) value(f *json.Field) object {
	o := object{}
	switch f.Kind {
	case json.KindDecimal:
		return ref("schemas", map[bool]string{true: "NullableDecimalInput", false: "DecimalInput"}[f.Nullable])
	case json.KindOrderID:
		return object{"oneOf": []any{
			object{"type": "string", "pattern": "^[0-9]{1,16}$"},
			object{"type": "integer", "format": "int64", "minimum": f.Range[0], "maximum": f.Range[1]},
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
			b.name(f.Schema, f.Fields)
			return ref("schemas", f.Schema)
		}
		if o = b.object(f.Fields); len(f.Fields) == 0 {
			o = object{"type": "object", "additionalProperties": true}
		}
	default:
		o["type"] = types[f.Kind][0]
		if format := types[f.Kind][1]; format != "" {
			o["format"] = format
		}
	}
	if f.Kind == json.KindArray {
		o["items"] = b.value(f.Element)
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
