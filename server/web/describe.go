package web

import (
	"encoding/json"
	"fmt"
	"maps"
)

// object is a JSON object.
type object = map[string]any

// describe moves into skeleton what prose says in a short form:
//
//   - x-parameters describes parameters by name; the document's apply to every operation that
//     has none,
//   - x-example is the example of a body in each of its media types,
//   - x-same-as names the path whose operation has the members that this one lacks,
//   - x-answer holds description, schema and example of the JSON answer with status 200,
//   - x-errors holds code and description of each error answer, and what differs in its example,
//   - x-refs describes a member whose schema is a reference.
func describe(skeleton, prose object) error {
	shared := take(prose, "x-parameters")
	if err := copySame(child(prose, "paths")); err != nil {
		return err
	}
	for path, item := range child(skeleton, "paths") {
		for method, v := range item.(object) {
			op, words := v.(object), child(child(child(prose, "paths"), path), method)
			if words == nil {
				return fmt.Errorf("%s %s is not described", method, path)
			}
			if err := describeParameters(op, take(words, "x-parameters"), shared); err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
			if example, ok := words["x-example"]; ok {
				delete(words, "x-example")
				for _, media := range child(child(op, "requestBody"), "content") {
					media.(object)["example"] = example
				}
			}
			answer(op, words)
		}
	}
	if errors := take(prose, "x-errors"); errors != nil {
		components, _ := prose["components"].(object)
		components["responses"] = errorAnswers(errors)
	}
	for schema, v := range take(prose, "x-refs") {
		for member, text := range v.(object) {
			properties := child(child(child(child(skeleton, "components"), "schemas"), schema), "properties")
			properties[member] = object{"allOf": []any{properties[member]}, "description": text}
		}
	}
	return nil
}

// copySame copies into operations with x-same-as the members that they lack.
func copySame(paths object) error {
	for path, item := range paths {
		for method, v := range item.(object) {
			op := v.(object)
			other, given := op["x-same-as"].(string)
			if !given {
				continue
			}
			source := child(child(paths, other), method)
			if source == nil {
				return fmt.Errorf("%s %s is the same as %s, which is not described", method, path, other)
			}
			raw, err := json.Marshal(source)
			if err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
			var same object // a copy, because answer changes it
			if err := json.Unmarshal(raw, &same); err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
			delete(op, "x-same-as")
			maps.Copy(same, op)
			maps.Copy(op, same)
		}
	}
	return nil
}

func describeParameters(op, own, shared object) error {
	for _, v := range op["parameters"].([]any) {
		p := v.(object)
		name, _ := p["name"].(string)
		words, ok := own[name].(object)
		if delete(own, name); !ok {
			words, _ = shared[name].(object)
		}
		if err := merge(p, words, name); err != nil {
			return err
		}
	}
	for name := range own {
		return fmt.Errorf("there is no parameter %s", name)
	}
	return nil
}

// answer makes the answer with status 200 from x-answer.
func answer(op, words object) {
	media := take(words, "x-answer")
	if media == nil {
		return
	}
	ok := child(child(op, "responses"), "200")
	ok["description"] = "The answer."
	if text, given := media["description"]; given {
		ok["description"] = text
		delete(media, "description")
	}
	ok["content"] = object{"application/json": media}
}

// errorAnswers makes the answers of errors from x-errors: the error object with an example.
func errorAnswers(errors object) object {
	out := object{}
	for name, v := range errors {
		e := v.(object)
		example := object{
			"code": e["code"], "message": e["description"], "field": e["field"], "requestId": "6f1c2b7a90d34e58",
		}
		if text, given := e["message"]; given {
			example["message"] = text
		}
		headers := object{"X-Request-Id": object{"$ref": "#/components/headers/RequestId"}}
		maps.Copy(headers, child(e, "headers"))
		out[name] = object{
			"description": e["description"], "headers": headers,
			"content": object{"application/json": object{
				"schema": object{"$ref": "#/components/schemas/Error"}, "example": example,
			}},
		}
	}
	return out
}

// child returns a member that is an object, nil otherwise.
func child(o object, name string) object {
	v, _ := o[name].(object)
	return v
}

// take removes and returns a member that is an object, nil otherwise.
func take(o object, name string) object {
	v := child(o, name)
	delete(o, name)
	return v
}
