package web

import "encoding/json"

// streamsPath is the path of the AsyncAPI document.
const streamsPath = "/swagger/v1/asyncapi.json"

// AsyncAPI returns the AsyncAPI 3 document of /ws. Its objects are those of the public OpenAPI
// document, so that both describe them once.
func AsyncAPI() ([]byte, error) {
	doc, err := readPart("streams")
	if err != nil {
		return nil, err
	}
	if err := borrow(doc); err != nil {
		return nil, err
	}
	jsonSchema(doc["components"])
	return json.Marshal(doc)
}

// jsonSchema turns what OpenAPI 3.0 writes its own way into JSON Schema, which AsyncAPI has:
// nullable becomes a type or a value of an enum, example becomes examples.
func jsonSchema(v any) {
	switch v := v.(type) {
	case object:
		if v["nullable"] == true {
			delete(v, "nullable")
			if kind, ok := v["type"].(string); ok {
				v["type"] = []any{kind, "null"}
			}
			if words, ok := v["enum"].([]any); ok {
				v["enum"] = append(words, nil)
			}
		}
		if one, ok := v["example"]; ok {
			delete(v, "example")
			v["examples"] = []any{one}
		}
		for _, member := range v {
			jsonSchema(member)
		}
	case []any:
		for _, one := range v {
			jsonSchema(one)
		}
	}
}
