package json

import "testing"

// A table has the named members of each object, in its own order, and no text that a spreadsheet would execute.
func TestTable(t *testing.T) {
	t.Parallel()
	list := Table{Columns: []string{"b", "a", "c"}}
	inside := Table{In: "rows", Columns: []string{"a"}}
	for name, c := range map[string]struct {
		table    *Table
		in, want string
	}{
		"nothing": {&list, `[]`, "b,a,c\n"},
		"values": {
			&list, `[{"a":1.50,"b":"x","c":true},{"c":false,"d":[1,{"a":2}],"a":-0.5,"b":null}]`,
			"b,a,c\nx,1.50,true\n,-0.5,false\n",
		},
		"nested values": {&list, `[{"a":{"b":1},"b":[2],"c":3}]`, "b,a,c\n,,3\n"},
		"quotes":        {&list, `[{"a":"x,\"y\"\n"}]`, "b,a,c\n,\"x,\"\"y\"\"\n\",\n"},
		"formulas": {
			&list, `[{"a":"=1+1","b":"@x","c":"-x"},{"a":"+1","b":"\tx","c":"\rx"}]`,
			"b,a,c\n\"'@x\",\"'=1+1\",\"'-x\"\n\"'\tx\",\"'+1\",\"'\rx\"\n",
		},
		"a member": {&inside, `{"n":1,"rows":[{"a":1}],"m":{"rows":[]}}`, "a\n1\n"},
	} {
		if got, ok := c.table.AppendCSV(nil, []byte(c.in)); !ok || string(got) != c.want {
			t.Errorf("%s: %q %v, want %q", name, got, ok, c.want)
		}
	}
	for _, text := range []string{``, `{}`, `[{"a":1}`, `[1]`, `x`} {
		if got, ok := list.AppendCSV(nil, []byte(text)); ok {
			t.Errorf("%s: %q", text, got)
		}
	}
}
