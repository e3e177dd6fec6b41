package refuse

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of the contract and the codes of the Go client")

const root = "../../"

// codeTable returns the table of docs/contract/errors.md#codes. Codes with one status and one text share a row.
func codeTable() string {
	var b strings.Builder
	b.WriteString("| Code | Status | When | Binance |\n|---|---|---|---|\n")
	for i := 0; i < len(Table); i++ {
		if Table[i].When == "" {
			continue
		}
		row, codes := Table[i], []string{string(Table[i].Code)}
		for i+1 < len(Table) && Table[i+1].Status == row.Status && Table[i+1].When == row.When {
			i++
			codes = append(codes, string(Table[i].Code))
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %d |\n", strings.Join(codes, ", "), row.Status, row.When, row.Binance.Number)
	}
	return b.String()
}

// reasonTable returns the table of docs/contract/errors.md#order-refusals.
func reasonTable() string {
	var b strings.Builder
	b.WriteString("| Reason | Status | When | Binance |\n|---|---|---|---|\n")
	for _, row := range Table {
		if row.Order == "" {
			continue
		}
		status := strconv.Itoa(row.Status)
		if row.Instead != "" {
			status += ", code " + string(row.Instead)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %d |\n", strings.ToLower(string(row.Code)), status, row.Order,
			row.Binance.Number)
	}
	return b.String()
}

// numberTable returns the table of docs/contract/binance.md#errors.
func numberTable() string {
	var b strings.Builder
	b.WriteString("| Code | Status | When |\n|---|---|---|\n")
	for _, row := range BinanceTable {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", row.Number, row.Status, row.When)
	}
	return b.String()
}

// clientCodes returns the constants of the Go client, which imports nothing of this module.
func clientCodes() string {
	var b strings.Builder
	b.WriteString("package client\n\n" +
		"// The codes of APIError (docs/contract/errors.md#codes).\n" +
		"// go test ./internal/refuse -run TestTables -update writes them.\nconst (\n")
	for _, row := range Table {
		if row.Instead != "" {
			continue
		}
		name := "Code"
		for word := range strings.SplitSeq(strings.ToLower(string(row.Code)), "_") {
			switch word {
			case "uri", "id", "fok":
				word = strings.ToUpper(word)
			}
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		fmt.Fprintf(&b, "\t%s = %q\n", name, row.Code)
	}
	b.WriteString(")\n")
	return aligned(b.String())
}

// scriptCodes returns the codes as members of an object or a class of another language, a line each.
func scriptCodes(line string) string {
	var b strings.Builder
	for _, row := range Table {
		if row.Instead == "" {
			b.WriteString(strings.ReplaceAll(line, "CODE", string(row.Code)))
		}
	}
	return b.String()
}

// aligned puts the signs of the constants below each other, as gofmt does.
func aligned(text string) string {
	widest := 0
	names := regexp.MustCompile(`(?m)^\t(\w+) = `)
	for _, m := range names.FindAllStringSubmatch(text, -1) {
		widest = max(widest, len(m[1]))
	}
	return names.ReplaceAllStringFunc(text, func(found string) string {
		return fmt.Sprintf("\t%-*s = ", widest, names.FindStringSubmatch(found)[1])
	})
}

// The contract and the clients have what the table has.
func TestTables(t *testing.T) {
	for _, c := range []struct{ file, begin, end, want string }{
		{"docs/contract/errors.md", "<!-- codes: internal/refuse/table.go -->\n", "<!-- end -->", codeTable()},
		{"docs/contract/errors.md", "<!-- reasons: internal/refuse/table.go -->\n", "<!-- end -->", reasonTable()},
		{"docs/contract/binance.md", "<!-- numbers: internal/refuse/table.go -->\n", "<!-- end -->", numberTable()},
		{"client/codes.go", "", "", clientCodes()},
		{
			"client/js/tickhive.mjs", "export const Code = Object.freeze({\n", "});\n",
			scriptCodes("  CODE: 'CODE',\n"),
		},
		{
			"client/python/tickhive/errors.py", "    # the codes: internal/refuse/table.go\n", "    # end\n",
			scriptCodes("    CODE = 'CODE'\n"),
		},
	} {
		text, err := os.ReadFile(root + c.file)
		if err != nil && !*update {
			t.Fatal(err)
		}
		before, rest, found := strings.Cut(string(text), c.begin)
		got, after, ended := strings.Cut(rest, c.end)
		if c.begin == "" {
			before, got, after = "", string(text), ""
		} else if !found || !ended {
			t.Fatalf("%s has no place for its table: %s", c.file, c.begin)
		}
		if got == c.want {
			continue
		}
		if *update {
			if err := os.WriteFile(root+c.file, []byte(before+c.begin+c.want+c.end+after), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, want := strings.Split(got, "\n"), strings.Split(c.want, "\n")
		for i := range max(len(have), len(want)) {
			if i >= len(have) || i >= len(want) || have[i] != want[i] {
				t.Errorf("%s differs from internal/refuse/table.go, which makes\n%s\nwhere it has\n%s\n"+
					"go test ./internal/refuse -run TestTables -update writes it", c.file,
					strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""),
					strings.Join(have[min(i, len(have)):min(i+1, len(have))], ""))
				break
			}
		}
	}
}

// Each code has one row with a status of HTTP, and each of its numbers a row of its own.
func TestEveryCodeHasARow(t *testing.T) {
	source, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`Code = "([A-Z_]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(declared) < 27 {
		t.Fatalf("%d codes found in codes.go, at least 27 expected", len(declared))
	}
	for _, m := range declared {
		if RowOf(Code(m[1])).Code != Code(m[1]) {
			t.Errorf("%s has no row", m[1])
		}
	}
	if len(rows) != len(Table) {
		t.Errorf("%d rows of %d codes", len(Table), len(rows))
	}
	for _, row := range Table {
		if row.Status < 400 || row.Status > 599 || row.When == "" && row.Order == "" {
			t.Errorf("%s: status %d, when %q, order %q", row.Code, row.Status, row.When, row.Order)
		}
		if !slices.ContainsFunc(BinanceTable, func(b BinanceRow) bool { return b.Number == row.Binance.Number }) {
			t.Errorf("%s: %d has no row of its own", row.Code, row.Binance.Number)
		}
	}
	if status := New("NO_SUCH_CODE", "", "").Status(); status != 500 {
		t.Errorf("an unknown code has the status %d, want 500", status)
	}
}

// The codes that the client for ccxt names exist.
func TestTheCCXTClientNamesCodesOfTheTable(t *testing.T) {
	text, err := os.ReadFile(root + "client/js/ccxt.mjs")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "const errorClasses = {")
	list, _, _ := strings.Cut(rest, "};")
	named := regexp.MustCompile(`([A-Z_]+): '`).FindAllStringSubmatch(list, -1)
	if len(named) < 30 {
		t.Fatalf("%d codes found, at least 30 expected", len(named))
	}
	for _, m := range named {
		if row := RowOf(Code(m[1])); string(row.Code) != m[1] || row.Instead != "" {
			t.Errorf("client/js/ccxt.mjs names %s, which no request is refused with", m[1])
		}
	}
}

// The numbers that the Binance-compatible interface uses are the numbers of its table.
func TestTheNumbersOfBinance(t *testing.T) {
	text, err := os.ReadFile(root + "server/binance/facade.go")
	if err != nil {
		t.Fatal(err)
	}
	var used, told []int
	for _, m := range regexp.MustCompile(`(?m)^\tcode\w+ += (-[0-9]+)$`).FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[1])
		used = append(used, n)
	}
	for _, row := range Table {
		used = append(used, row.Binance.Number)
	}
	for _, row := range BinanceTable {
		told = append(told, row.Number)
	}
	slices.Sort(used)
	slices.Sort(told)
	if used = slices.Compact(used); !slices.Equal(used, told) {
		t.Errorf("used: %v\ntold: %v", used, told)
	}
}
