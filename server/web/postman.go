package web

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tickhive/tickhive/server/edge"
)

// postmanPath is the path of the Postman collection.
const postmanPath = "/swagger/v1/postman.json"

// postmanSigner signs the requests that have the header API-PublicKey (docs/contract/signing.md#signature).
const postmanSigner = `if (pm.request.headers.has('API-PublicKey')) {
  const CryptoJS = require('crypto-js');
  const fill = (text) => pm.variables.replaceIn(text || '');
  const hex = (words) => words.toString(CryptoJS.enc.Hex);
  const target = encodeURI(fill(pm.request.url.getPathWithQuery()));
  const body = fill(pm.request.body ? pm.request.body.toString() : '');
  const timestamp = String(Date.now()), nonce = fill('{{$guid}}');
  const text = [timestamp, nonce, pm.request.method, target, hex(CryptoJS.SHA256(body))].join('\n');
  const signature = hex(CryptoJS.HmacSHA256(text, pm.variables.get('privateKey')));
  const headers = { 'API-Timestamp': timestamp, 'API-Nonce': nonce, 'API-Signature': signature };
  for (const [key, value] of Object.entries(headers)) {
    pm.request.headers.upsert({ key, value });
  }
}`

// Postman returns the Postman collection (v2.1) of a route table: a folder for each tag, a request for each route, with
// the examples of the OpenAPI document. A request that needs a key is signed before it is sent.
func Postman(table []*edge.Route) ([]byte, error) {
	raw, err := OpenAPI(table, PublicParts...)
	if err != nil {
		return nil, err
	}
	doc, err := decode(raw)
	if err != nil {
		return nil, err
	}
	var folders []object
	at := map[string]int{} // of a tag in folders
	for _, r := range table {
		op := child(child(child(doc, "paths"), r.Path), strings.ToLower(r.Method))
		if op == nil {
			continue
		}
		if _, known := at[r.Tag]; !known {
			at[r.Tag] = len(folders)
			folders = append(folders, object{"name": r.Tag, "item": []object{}})
		}
		folder := folders[at[r.Tag]]
		folder["item"] = append(folder["item"].([]object), postmanItem(r, op))
	}
	info := child(doc, "info")
	return json.Marshal(object{
		"info": object{
			"name": info["title"], "description": info["description"],
			"schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
		},
		"variable": []object{
			{"key": "base", "value": exchangeAddress},
			{"key": "publicKey", "value": ""},
			{"key": "privateKey", "value": ""},
		},
		"event": []object{{"listen": "prerequest", "script": object{
			"type": "text/javascript", "exec": strings.Split(postmanSigner, "\n"),
		}}},
		"item": folders,
	})
}

// postmanItem returns the request of a route.
func postmanItem(r *edge.Route, op object) object {
	var path []string
	for part := range strings.SplitSeq(strings.TrimPrefix(r.Path, "/"), "/") {
		if name, found := strings.CutPrefix(part, "{"); found {
			part = ":" + strings.TrimSuffix(name, "}")
		}
		path = append(path, part)
	}
	url := object{"raw": "{{base}}/" + strings.Join(path, "/"), "host": []string{"{{base}}"}, "path": path}
	query, variables := []object{}, []object{}
	for _, one := range list(op["parameters"]) {
		p, _ := one.(object)
		if p["name"] == nil {
			continue // the form of decimals, which every route takes
		}
		value := ""
		if p["example"] != nil {
			value = fmt.Sprint(p["example"])
		}
		entry := object{"key": p["name"], "value": value, "description": p["description"]}
		if p["in"] == "path" {
			variables = append(variables, entry)
			continue
		}
		entry["disabled"] = p["required"] != true
		query = append(query, entry)
	}
	url["query"], url["variable"] = query, variables
	request := object{"method": r.Method, "url": url, "description": op["description"], "header": []object{}}
	if r.Auth == edge.AuthRequired {
		request["header"] = []object{{"key": "API-PublicKey", "value": "{{publicKey}}"}}
	}
	if content := child(child(child(op, "requestBody"), "content"), "application/json"); content != nil {
		text, err := json.MarshalIndent(content["example"], "", "  ")
		if err != nil {
			panic("BUG: " + err.Error())
		}
		request["body"] = object{
			"mode": "raw", "raw": string(text), "options": object{"raw": object{"language": "json"}},
		}
	}
	return object{"name": r.Summary, "request": request}
}
