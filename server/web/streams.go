package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// streamsPage is the path of the page of the AsyncAPI document.
const streamsPage = docsPath + "/streams"

// renderStreams renders the AsyncAPI document.
func renderStreams() *rendered {
	text, err := streamsText()
	if err != nil {
		panic("BUG: " + err.Error()) // a constant of the build
	}
	return parsePage("streams.md", text).render()
}

// streamsText returns the AsyncAPI document in Markdown: the operations of a client with their answers, the messages of
// the server, the objects in them.
func streamsText() ([]byte, error) {
	raw, err := AsyncAPI()
	if err != nil {
		return nil, err
	}
	doc, err := decode(raw)
	if err != nil {
		return nil, err
	}
	w := &streamsWriter{
		messages: child(child(doc, "components"), "messages"),
		schemas:  child(child(doc, "components"), "schemas"),
	}
	w.line("# Messages of the streams\n\n%s\n\n[Streams](contract/streams.md) has the rules; the "+
		"[AsyncAPI 3 document](%s%s), of which this page is made, the schemas.\n",
		child(doc, "info")["description"], exchangeAddress, streamsPath)
	ws := child(child(doc, "channels"), "ws")
	w.line("The address is `ws://127.0.0.1:8080%s`.\n", ws["address"])
	w.members(child(child(child(ws, "bindings"), "ws"), "query"))
	w.line("## What a client sends\n")
	operations := child(doc, "operations")
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		op := child(operations, name)
		if op["action"] != "receive" {
			continue
		}
		w.message(name)
		var answers []string
		for _, one := range list(child(op, "reply")["messages"]) {
			answers = append(answers, fmt.Sprintf("[%[1]s](#%[2]s)", refName(one), strings.ToLower(refName(one))))
		}
		w.line("The answer is %s.\n", strings.Join(answers, " or "))
	}
	w.line("## What the server sends\n")
	for _, name := range slices.Sorted(maps.Keys(w.messages)) {
		if child(operations, name) == nil {
			w.message(name)
		}
	}
	w.line("## Objects\n")
	for _, name := range slices.Sorted(maps.Keys(w.schemas)) {
		if s := child(w.schemas, name); s["properties"] != nil {
			w.line("### %s\n", name)
			w.says(s["description"])
			w.members(s)
		}
	}
	return w.Bytes(), nil
}

type streamsWriter struct {
	bytes.Buffer
	messages, schemas object
}

func (w *streamsWriter) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *streamsWriter) says(text any) {
	if text != nil {
		w.line("%s\n", text)
	}
}

func (w *streamsWriter) message(name string) {
	m := child(w.messages, name)
	w.line("### %s\n", name)
	w.says(m["summary"])
	w.members(child(m, "payload"))
	for _, one := range list(m["examples"]) {
		text, err := json.Marshal(one.(object)["payload"])
		if err != nil {
			panic("BUG: " + err.Error())
		}
		w.line("```json\n%s\n```\n", text)
	}
}

// members writes the table of an object's members, those that are required first and in their order.
func (w *streamsWriter) members(s object) {
	properties := child(s, "properties")
	var names []string
	for _, one := range list(s["required"]) {
		names = append(names, one.(string))
	}
	required := len(names)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	w.line("| Member | Type | Meaning |\n|---|---|---|")
	for i, name := range names {
		p := child(properties, name)
		says, ok := p["description"].(string)
		if !ok {
			says, _ = child(w.schemas, refName(p))["description"].(string)
		}
		if i >= required {
			says = strings.TrimSpace("Optional. " + says)
		}
		w.line("| `%s` | %s | %s |", name, w.kind(p), strings.ReplaceAll(says, "|", "\\|"))
	}
	w.line("")
}

// kind returns the type of a schema in words.
func (w *streamsWriter) kind(s object) string {
	if name := refName(s); name != "" {
		target := child(w.schemas, name)
		if target["properties"] == nil {
			return w.kind(target)
		}
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	}
	var words []string
	switch kind := s["type"].(type) {
	case []any:
		for _, one := range kind {
			words = append(words, fmt.Sprint(one))
		}
	case string:
		words = []string{kind}
	}
	switch {
	case s["const"] != nil:
		return fmt.Sprintf("`%s`", s["const"])
	case s["enum"] != nil:
		words = nil
		for _, one := range list(s["enum"]) {
			words = append(words, fmt.Sprintf("`%v`", one))
		}
		return strings.ReplaceAll(strings.Join(words, ", "), "<nil>", "null")
	case s["items"] != nil:
		return "array of " + w.kind(child(s, "items"))
	}
	for _, one := range list(s["oneOf"]) {
		if o := one.(object); o["required"] == nil {
			words = append(words, w.kind(o))
		}
	}
	return strings.Join(words, " or ")
}

// refName returns the last name of a reference, empty for another value.
func refName(v any) string {
	o, _ := v.(object)
	at, _ := o["$ref"].(string)
	return at[strings.LastIndexByte(at, '/')+1:]
}

func list(v any) []any {
	all, _ := v.([]any)
	return all
}
