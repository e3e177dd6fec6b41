package edge

import (
	"strconv"

	"tickhive/internal/refuse"
)

// cursorName is the parameter that continues a list behind a row; its values are the header X-Next-Cursor.
const cursorName = "cursor"

var hdrNextCursor = []byte("X-Next-Cursor")

// ParamCursor returns the parameter that Ctx.Cursor reads.
func ParamCursor(pattern string) Field { return Field{Name: cursorName, Pattern: pattern} }

// ParamRow is the parameter that Ctx.Row reads.
var ParamRow = ParamCursor("^[1-9][0-9]{0,18}$")

// Cursor returns the parameter cursor, empty when it is missing. A list that moves on by cursor neither loses nor repeats
// a row while rows arrive, because the cursor names the last row, and the number of a page counts from the newest.
func (c *Ctx) Cursor(pageName string) (string, *refuse.Refusal) {
	text, err := c.Str(cursorName)
	if err != nil || text == "" {
		return "", err
	}
	number, err := c.Str(pageName)
	if err == nil && number != "" {
		err = refuse.Param(cursorName, "The parameters cursor and %s must not be given together.", pageName)
	}
	return text, err
}

// BadCursor returns the refusal of a cursor that no answer has named.
func BadCursor() *refuse.Refusal {
	return refuse.Param(cursorName, "The parameter cursor must be the X-Next-Cursor of the page before.")
}

// Row returns the cursor of a list whose rows have numbers: the number of the row behind which it continues; 0: none.
func (c *Ctx) Row(pageName string) (uint64, *refuse.Refusal) {
	text, err := c.Cursor(pageName)
	if err != nil || text == "" {
		return 0, err
	}
	row, bad := strconv.ParseUint(text, 10, 63)
	if bad != nil || row == 0 || text[0] == '0' {
		return 0, BadCursor()
	}
	return row, nil
}

// NextCursor sets the header of a page that is not the last.
func (c *Ctx) NextCursor(text []byte) { c.Response.Header.SetCanonical(hdrNextCursor, text) }

// NextRow sets the header of a page that ends with the row of this number; 0: it is the last page.
func (c *Ctx) NextRow(row uint64) {
	if row != 0 {
		c.NextCursor(strconv.AppendUint(c.number[:0], row, 10))
	}
}
