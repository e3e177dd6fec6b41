package launchpad

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tickhive/internal/rawjson"
	"tickhive/internal/refuse"
)

// SpawnForm holds the members of a spawn's body as JSON text; nil for a missing member. The handler has already
// refused unknown and duplicate members.
type SpawnForm struct {
	Name, Symbol, TotalSupply, Decimals, PoolSide, Metadata json.RawMessage
}

// Parse reads the members in the order of docs/contract/api.md and refuses the first wrong one. The caller sets
// Owner of the result.
func (f SpawnForm) Parse() (Spawn, *refuse.Refusal) {
	var s Spawn
	var ok bool
	if s.Name, ok = rawjson.Text(f.Name); !ok {
		return s, nameWrong()
	}
	if rej := checkName(s.Name); rej != nil {
		return s, rej
	}
	if s.Symbol, ok = rawjson.Text(f.Symbol); !ok {
		return s, refuse.Param("symbol", "symbol is required: a string of 3 to 5 capital letters.")
	}
	if rej := checkSymbol(s.Symbol); rej != nil {
		return s, rej
	}
	if s.TotalSupply, _ = rawjson.Text(f.TotalSupply); s.TotalSupply == "" && !rawjson.Absent(f.TotalSupply) {
		return s, supplyWrong()
	}
	if rej := checkSupply(s.TotalSupply); rej != nil {
		return s, rej
	}
	if !rawjson.Absent(f.Decimals) && string(f.Decimals) != strconv.Itoa(Decimals) {
		return s, decimalsWrong()
	}
	if !rawjson.Absent(f.PoolSide) {
		name, _ := rawjson.Text(f.PoolSide)
		if s.PoolSide, ok = parseSide(name); !ok {
			return s, sideWrong()
		}
	}
	if !rawjson.Absent(f.Metadata) {
		s.Metadata = string(f.Metadata)
	}
	if rej := checkMetadata(s.Metadata); rej != nil {
		return s, rej
	}
	return s, nil
}

// check applies the rules of Parse to a Spawn that does not come from JSON (simulation).
func (s *Spawn) check() *refuse.Refusal {
	for _, rej := range []*refuse.Refusal{checkName(s.Name), checkSymbol(s.Symbol), checkSupply(s.TotalSupply)} {
		if rej != nil {
			return rej
		}
	}
	if s.Decimals != 0 && s.Decimals != Decimals {
		return decimalsWrong()
	}
	if s.PoolSide >= sides {
		return sideWrong()
	}
	return checkMetadata(s.Metadata)
}

func nameWrong() *refuse.Refusal {
	return refuse.Param("name", "name is required: a string of 1 to 50 characters without control and "+
		"format characters, and without spaces at its ends.")
}

func checkName(name string) *refuse.Refusal {
	n := utf8.RuneCountInString(name)
	if n < 1 || n > 50 || !utf8.ValidString(name) || strings.TrimSpace(name) != name {
		return nameWrong()
	}
	for _, r := range name {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return nameWrong()
		}
	}
	return nil
}

var symbolForm = regexp.MustCompile(`^[A-Z]{3,5}$`)

func checkSymbol(symbol string) *refuse.Refusal {
	if !symbolForm.MatchString(symbol) {
		return refuse.New(refuse.InvalidSymbol, "symbol", "symbol must be 3 to 5 capital letters, [A-Z]{3,5}.")
	}
	return nil
}

func supplyWrong() *refuse.Refusal {
	return refuse.Param("totalSupply", "totalSupply is a string of the form [1-9][0-9]*, at most 10^30.")
}

// DefaultSupply of a spawn, in whole tokens.
const DefaultSupply = "1000000000"

var maxSupply, _ = ParseAmount("1000000000000000000000000000000")

func checkSupply(supply string) *refuse.Refusal {
	if supply == "" {
		return nil
	}
	if a, err := ParseAmount(supply); err != nil || !isDigits(supply) || supply[0] == '0' || maxSupply.Less(a) {
		return supplyWrong()
	}
	return nil
}

func decimalsWrong() *refuse.Refusal { return refuse.Param("decimals", "decimals is fixed: 18.") }

func sideWrong() *refuse.Refusal { return refuse.Param("poolSide", "poolSide is USBI or wNATIVE.") }

// checkMetadata refuses metadata that is no object, is longer than 4 KiB, or has a known member of a wrong
// form.
func checkMetadata(raw string) *refuse.Refusal {
	if raw == "" {
		return nil
	}
	if len(raw) > MaxMetadata {
		return refuse.Param("metadata", "metadata is at most %d bytes.", MaxMetadata)
	}
	var members map[string]json.RawMessage
	if raw[0] != '{' || json.Unmarshal([]byte(raw), &members) != nil {
		return refuse.Param("metadata", "metadata is an object.")
	}
	for _, name := range []string{"description", "logoUri", "website"} {
		member := bytes.TrimSpace(members[name])
		if rawjson.Absent(member) {
			continue
		}
		text, ok := rawjson.Text(member)
		if !ok {
			return refuse.Param("metadata."+name, "metadata.%s is a string.", name)
		}
		if name != "description" && text != "" && !isPublicURI(text) {
			return refuse.Param("metadata."+name, "metadata.%s is an http, https or ipfs URI.", name)
		}
	}
	return nil
}

// isPublicURI reports whether text has the form of a public URI. The program never fetches it.
func isPublicURI(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return u.Host != ""
	case "ipfs":
		return u.Host != "" || u.Opaque != "" || len(u.Path) > 1
	}
	return false
}
