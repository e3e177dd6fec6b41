package json

// Kind is the type of a parameter or of a member of a request body.
type Kind uint8

// The kinds of fields.
const (
	KindText    Kind = iota
	KindInteger      // an integer without a format
	KindInt32        // an integer of 32 bits
	KindInt64        // an integer of 64 bits
	KindDecimal      // a number or a string with a decimal
	KindBoolean
	KindWord     // one of Field.Words
	KindPairCode // BASE_QUOTE
	KindUUID
	KindOrderID  // an order id: digits in a string, or an integer
	KindDate     // an ISO 8601 date or date-time in UTC
	KindDateTime // the same with any offset
	KindObject   // an object of Field.Fields; any members when there are none
	KindArray    // elements of Field.Element
	KindAny      // a value of any type
)

// Field describes one parameter of a route or one member of a request body. The OpenAPI documents
// are generated from fields (server/web).
type Field struct {
	Name     string
	Kind     Kind
	Required bool
	// Nullable marks a member whose null is documented; a reader takes null as missing anyway.
	Nullable bool
	// Range holds the least and, if there is one, the greatest integer; the least and greatest
	// length of a text; the least and greatest number of elements.
	Range   []int64
	Default any      // nil: none
	Text    string   // what the value means
	Form    string   // how the value is written, when the kind does not say it
	Example any      // nil: none
	Words   []string // the values of a KindWord
	Pattern string   // a regular expression that a text matches
	Schema  string   // a KindObject: the name of its schema; empty: the schema is written in place
	Fields  []Field  // a KindObject: its members
	Element *Field   // a KindArray: its elements, without a name
}
