package fault

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"
)

// Document is a JSON answer of market data that rules edit. What they leave alone keeps its bytes. It belongs to one
// goroutine.
type Document struct {
	root *node
	one  string // the joined code of the only pair, empty for a document of several pairs
	// joined reports that members named symbol hold codes without a separator.
	joined bool
}

// ReadDocument returns the document that a body holds; ok is false when the body is no JSON object or array. one is the
// code of the pair that the request asked for, empty when it asked for several.
func ReadDocument(body []byte, one string, joined bool) (d *Document, ok bool) {
	if body = bytes.TrimSpace(body); len(body) == 0 || body[0] != '{' && body[0] != '[' || !json.Valid(body) {
		return nil, false
	}
	return &Document{root: &node{raw: body}, one: Joined(one), joined: joined}, true
}

// Bytes returns the document with the edits.
func (d *Document) Bytes() []byte { return d.root.appendTo(nil) }

// Edit lets a rule of an action that Edits decide about the document, and changes it. It reports whether the fault
// happened. A document that has nothing for the action to change is no match.
func (a *Active) Edit(d *Document, m *Match) bool {
	edits := a.edits(d)
	if len(edits) == 0 {
		a.idle.Add(1)
		return false
	}
	if !a.Decide(m).Happens {
		return false
	}
	for _, edit := range edits {
		edit()
	}
	return true
}

// edits returns the changes that the rule would make: to the entries of its pair, or else to one pair, which the seed
// chooses.
func (a *Active) edits(d *Document) (chosen []func()) {
	if d.one != "" {
		if a.Action == Missing || a.Pair != "" && Joined(a.Pair) != d.one {
			return nil // the listener answers as for an unknown pair
		}
		return a.editsWithin(d.root)
	}
	best := uint64(0)
	for _, e := range d.entries() {
		if a.Pair != "" && e.pair != Joined(a.Pair) {
			continue
		}
		edits := a.editsOf(e)
		switch rank := hash(a.Seed, a.identity, hashOf(e.pair)); {
		case len(edits) == 0:
		case a.Pair != "" || rank == best:
			chosen = append(chosen, edits...)
		case rank > best:
			best, chosen = rank, edits
		}
	}
	return chosen
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum64()
}

// editsOf returns the changes to an entry of a list.
func (a *Active) editsOf(e entry) []func() {
	switch a.Action {
	case Missing:
		return []func(){func() { e.list.remove(e.node) }}
	case Doubled:
		return []func(){func() { e.list.double(e.node) }}
	default:
		return a.editsWithin(e.node)
	}
}

// editsWithin returns the changes to the data of one pair.
func (a *Active) editsWithin(n *node) []func() {
	switch a.Action {
	case Null, Zero:
		return a.blanks(n)
	case Crossed:
		return crossings(n)
	case Doubled:
		return doublings(n)
	default:
		return nil
	}
}

// Joined returns a pair's code without its separator, in which all documents spell it alike.
func Joined(code string) string { return separators.Replace(code) }

var separators = strings.NewReplacer("_", "", "/", "")

// node is a value of a document. It is split into its items when the first of them is asked for.
type node struct {
	raw   json.RawMessage // the text while the node is whole
	split bool
	names []string // of an object's members
	items []*node
}

func (n *node) object() bool { return n.raw[0] == '{' }
func (n *node) array() bool  { return n.raw[0] == '[' }

// open returns the items of an object or array.
func (n *node) open() []*node {
	if n.split || !n.object() && !n.array() {
		return n.items
	}
	n.split = true
	read := json.NewDecoder(bytes.NewReader(n.raw))
	_, err := read.Token()
	for err == nil && read.More() {
		if n.object() {
			var name json.Token
			if name, err = read.Token(); err != nil {
				break
			}
			text, _ := name.(string)
			n.names = append(n.names, text)
		}
		item := &node{}
		err = read.Decode(&item.raw)
		n.items = append(n.items, item)
	}
	if err != nil {
		panic("BUG: fault: a valid document cannot be read: " + err.Error())
	}
	return n.items
}

func (n *node) appendTo(b []byte) []byte {
	if !n.split {
		return append(b, n.raw...)
	}
	b = append(b, n.raw[0])
	for i, item := range n.items {
		if i > 0 {
			b = append(b, ',')
		}
		if n.object() {
			name, _ := json.Marshal(n.names[i]) // text is always encoded
			b = append(append(b, name...), ':')
		}
		b = item.appendTo(b)
	}
	return append(b, n.raw[0]+2) // ] and } are two behind [ and {
}

func (n *node) remove(item *node) {
	if i := slices.Index(n.items, item); i >= 0 {
		n.items = slices.Delete(n.items, i, i+1)
		if n.object() {
			n.names = slices.Delete(n.names, i, i+1)
		}
	}
}

func (n *node) double(item *node) {
	if i := slices.Index(n.items, item); i >= 0 {
		n.items = slices.Insert(n.items, i, &node{raw: item.appendTo(nil)})
		if n.object() {
			n.names = slices.Insert(n.names, i, n.names[i])
		}
	}
}

// member returns a member of an object, nil when it has none of the name.
func (n *node) member(name string) *node {
	if !n.object() {
		return nil
	}
	items := n.open()
	if i := slices.Index(n.names, name); i >= 0 {
		return items[i]
	}
	return nil
}

// exchange exchanges two values.
func exchange(a, b *node) func() { return func() { *a, *b = *b, *a } }

// entry is what a document says of one pair.
type entry struct {
	list *node // what holds the entry
	node *node
	pair string // the joined code
}

// entries returns the entries of a document of several pairs.
func (d *Document) entries() (list []entry) {
	var visit func(n *node)
	visit = func(n *node) {
		for i, item := range n.open() {
			name := ""
			if n.object() {
				name = n.names[i]
			}
			if pair := d.pairOf(name, item); pair != "" {
				list = append(list, entry{n, item, pair})
			} else {
				visit(item)
			}
		}
	}
	visit(d.root)
	return list
}

// pairMembers are the members by which the documents name the pair of an entry.
var pairMembers = []string{"ticker_id", "trading_pairs", "market_pair", "currencyPairCode", "code", "n", "symbol"}

// pairOf returns the joined code of the pair that an object is about: its name, or a member of it, is the code.
func (d *Document) pairOf(name string, n *node) string {
	if !n.object() {
		return ""
	}
	if isPair(name) {
		return Joined(name)
	}
	for _, of := range pairMembers {
		v := n.member(of)
		if v == nil || v.raw[0] != '"' {
			continue
		}
		if text := string(bytes.Trim(v.raw, `"`)); isPair(text) || d.joined && of == "symbol" {
			return Joined(text)
		}
	}
	return ""
}

func isPair(text string) bool { return pairForm.MatchString(strings.Replace(text, "/", "_", 1)) }

// valueMembers are the names that documents have for a price and an amount; of several that an object has the first one
// counts. Any other member is itself.
var valueMembers = map[string][]string{
	"price":  {"price", "last_price", "lastPrice", "lp", "close", "c", "p"},
	"amount": {"volumeBase", "amount", "base_volume", "volume", "volume24h", "qty", "v", "q"},
}

// levelValue maps price and amount to their places in a level of a book, candleValue in a candle that is a list.
var (
	levelValue  = map[string]int{"price": 0, "amount": 1}
	candleValue = map[string]int{"price": 4, "amount": 5}
)

// candleValues is the number of values of a candle that is a list.
const candleValues = 12

// candle reports whether a value is a candle: an object, or a list as at the Binance-compatible listener.
func (n *node) candle() bool {
	if n.object() {
		return n.member("open") != nil && n.member("close") != nil
	}
	return len(n.open()) == candleValues &&
		!slices.ContainsFunc(n.items, func(v *node) bool { return v.object() || v.array() })
}

// blanking collects the changes of values to null or 0.
type blanking struct {
	*Active
	names []string // of the values
	edits []func()
}

// blanks returns the changes of values to null or 0: each member of the rule's name, of a list's first record only,
// or of the newest candle.
func (a *Active) blanks(n *node) []func() {
	b := blanking{Active: a, names: valueMembers[a.Member]}
	if b.names == nil {
		b.names = []string{a.Member}
	}
	b.visit(n)
	return b.edits
}

func (b *blanking) visit(n *node) {
	items := n.open()
	switch {
	case len(items) == 0:
	case n.object():
		b.visitObject(n)
	case n.candle():
		if place, ok := candleValue[b.Member]; ok {
			b.blank(items[place])
		}
	case items[0].candle():
		b.visit(items[len(items)-1])
	default:
		b.visit(items[0])
	}
}

func (b *blanking) visitObject(n *node) {
	chosen := -1
	for _, name := range b.names {
		if i := slices.Index(n.names, name); i >= 0 && !n.items[i].object() {
			chosen = i
			break
		}
	}
	place, ofLevel := levelValue[b.Member]
	for i, item := range n.items {
		switch name := n.names[i]; {
		case i == chosen && item.array(): // a column of candles
			if column := item.open(); len(column) > 0 {
				b.blank(column[len(column)-1])
			}
		case i == chosen:
			b.blank(item)
		case ofLevel && (name == "bids" || name == "asks") && item.array() && len(item.open()) > 0:
			if level := item.open()[0].open(); len(level) > place {
				b.blank(level[place])
			}
		default:
			b.visit(item)
		}
	}
}

// blank adds the change of a value, unless it is no number where it would become 0.
func (b *blanking) blank(v *node) {
	to := "null"
	if b.Action == Zero {
		to = "0"
		if v.raw[0] == '"' {
			to = `"0"`
		}
		if digits := bytes.Trim(v.raw, `"-`); len(digits) == 0 || digits[0]-'0' > 9 {
			return
		}
	}
	if !v.object() && !v.array() && string(v.raw) != to {
		b.edits = append(b.edits, func() { *v = node{raw: json.RawMessage(to)} })
	}
}

// sides are the members for the best bid and the best ask.
var sides = [][2]string{{"bid", "ask"}, {"highest_bid", "lowest_ask"}, {"bidPrice", "askPrice"}}

// crossings returns the changes that put the best bid above the best ask: the two change places.
func crossings(n *node) (edits []func()) {
	cross := func(bid, ask *node) {
		if !bytes.Equal(bid.appendTo(nil), ask.appendTo(nil)) {
			edits = append(edits, exchange(bid, ask))
		}
	}
	for _, names := range sides {
		if bid, ask := n.member(names[0]), n.member(names[1]); bid != nil && ask != nil {
			cross(bid, ask)
		}
	}
	if bids, asks := n.member("bids"), n.member("asks"); bids != nil && asks != nil {
		if len(bids.open()) > 0 && len(asks.open()) > 0 {
			cross(bids.items[0], asks.items[0])
		}
	}
	if bid, ask := firstOf(n, "true"), firstOf(n, "false"); bid != nil && ask != nil {
		edits = append(edits, exchange(bid, ask), func() { exchange(bid.member("isBid"), ask.member("isBid"))() })
	}
	if v := n.member("v"); v != nil {
		edits = append(edits, crossings(v)...)
	}
	return edits
}

// firstOf returns the first level of one side of a book that lists both sides together, nil when there is none.
func firstOf(n *node, isBid string) *node {
	if n.array() {
		for _, level := range n.open() {
			if v := level.member("isBid"); v != nil && string(v.raw) == isBid {
				return level
			}
		}
	}
	return nil
}

// doublings returns the changes that list the first record of each list twice, or the first candle of columns.
func doublings(n *node) (edits []func()) {
	items := n.open()
	if n.array() {
		if len(items) > 0 && (items[0].object() || items[0].array()) {
			edits = append(edits, func() { n.double(items[0]) })
		}
		return edits
	}
	for _, item := range items {
		if column := item.open(); n.member("t") != nil && item.array() && len(column) > 0 { // of candles
			edits = append(edits, func() { item.double(column[0]) })
			continue
		}
		edits = append(edits, doublings(item)...)
	}
	return edits
}
