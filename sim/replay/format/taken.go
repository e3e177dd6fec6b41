package format

import (
	"fmt"
	"strings"
	"time"

	"github.com/tickhive/tickhive/engine"
)

// Taken says what the reader of a table takes from where, for one file.
type Taken struct {
	File   string   `json:"file"`
	Form   string   `json:"form"`
	Rows   int      `json:"rows"`
	Time   string   `json:"time"`
	Price  string   `json:"price"`
	Amount string   `json:"amount"`
	Side   string   `json:"side"`
	Order  string   `json:"order"`
	Unused []string `json:"unused"` // columns
	Left   []string `json:"left"`   // what was left out or filled in, with counts
	Flags  string   `json:"flags"`  // the layout as flags
}

// String returns the paragraph that a run prints.
func (t *Taken) String() string {
	text := fmt.Sprintf("%s: %s, %d rows; time: %s; price: %s; amount: %s; side: %s; order: %s", t.File, t.Form, t.Rows,
		t.Time, t.Price, t.Amount, t.Side, t.Order)
	if len(t.Unused) > 0 {
		text += "; columns not used: " + strings.Join(t.Unused, ", ")
	}
	if len(t.Left) > 0 {
		text += "; " + strings.Join(t.Left, "; ")
	}
	return text
}

// Takings returns what a reader takes from where, for each file of a table and for the two of LOBSTER; nil for a reader
// of another kind. Learn must have been called.
func Takings(r Reader) (out []Taken) {
	if l, ok := r.(*lobster); ok {
		return l.taken()
	}
	t, ok := r.(*trades)
	if !ok {
		return nil
	}
	for i := range t.files {
		out = append(out, t.files[i].taken)
	}
	return out
}

// manyTrades is a number of trades that are hardly all of one side.
const manyTrades = 100

// maxUnused bounds the listed columns that are not used.
const maxUnused = 20

// taken returns what the table takes from where. The file was read.
func (r *table) taken(f *tradeFile) Taken {
	p, first := r.plan, &r.fields.first
	t := Taken{
		File: r.in.File, Form: "an unknown form", Rows: f.rows, Order: "oldest first",
		Unused: []string{}, Left: []string{}, Side: "none: the tick rule decides",
		Price: first[colPrice].where(), Flags: r.flags().Flags(),
	}
	if r.set.form != nil {
		t.Form = "the form " + r.set.form.name
	}
	if f.newest {
		t.Order = "newest first, read from the end"
	}
	t.Time = r.timeTaken()
	if f.bars {
		t.Time += ", the start of a bar" + f.barText()
		t.Side = "none: bars have none"
		t.Price = fmt.Sprintf("%s, %s, %s, %s", first[colOpen].where(), first[colHigh].where(), first[colLow].where(),
			first[colClose].where())
	} else if v := &first[colSide]; p.whose == "sign" {
		t.Side = "the sign of the amount: below 0 the taker sold"
	} else if v.set && r.makers() {
		t.Side = v.where() + ", the maker's, turned round"
	} else if v.set && p.buys != "" {
		t.Side = fmt.Sprintf("%s, the taker's: %q bought, %q sold", v.where(), p.buys, p.sells)
	} else if v.set {
		t.Side = v.where() + ", the taker's"
	} else if m := &first[colMaker]; m.set {
		t.Side = m.where() + ", true: the taker sold"
	}
	if p.scale > 0 {
		t.Price += fmt.Sprintf(", divided by 10^%d", p.scale)
	}
	t.Amount = r.amountTaken()
	for _, name := range r.unused[:min(len(r.unused), maxUnused)] {
		if name != "" {
			t.Unused = append(t.Unused, clipTo([]byte(name), detectWide))
		}
	}
	other := []field{first[colQuote], r.fields.second[colTime], first[colExchange], first[colBid], first[colAsk]}
	for i, v := range other {
		if v.set && v.name != "" && (i != 1 || !first[colClock].set) && v.name != first[colAmount].name {
			t.Unused = append(t.Unused, v.name)
		}
	}
	t.Left = append(t.Left, r.ignored(f)...)
	for _, c := range f.counts() {
		t.Left = noted(t.Left, c.n, c.text)
	}
	for side, n := range f.sides {
		if n == f.rows && n >= manyTrades {
			t.Left = append(t.Left, fmt.Sprintf("all trades have the side %s", engine.Side(side)))
		}
	}
	if f.rows > 2 && f.first == f.last {
		t.Left = append(t.Left, "all rows have the same time")
	}
	if r.set.form != nil && r.set.form.why != "" {
		t.Left = append(t.Left, r.set.form.why)
	}
	return t
}

// barText returns the length of the bars of a file, the shortest time from one to the next: " of 1m".
func (f *tradeFile) barText() string {
	switch length := f.apart; {
	case length == 0:
		return ""
	case length >= 28*dayNs:
		return " of a month or more"
	case length%dayNs == 0:
		return fmt.Sprintf(" of %d d", length/dayNs)
	default:
		text := time.Duration(length).String() // 1h0m0s
		for _, zero := range []string{"m0s", "h0m"} {
			if strings.HasSuffix(text, zero) {
				text = text[:len(text)-2]
			}
		}
		return " of " + text
	}
}

// where names the column of a value.
func (v *field) where() string {
	if v.name != "" {
		return fmt.Sprintf("column %q", v.name)
	}
	return fmt.Sprintf("column %d", v.index+1)
}

// unit returns the notation of the times.
func (r *table) unit() timeKind {
	if r.fields.first[colClock].set {
		return timeWritten
	}
	return r.units[r.fields.first[colTime].rank]
}

// timeTaken says where the time is, its notation and its zone.
func (r *table) timeTaken() string {
	text := r.fields.first[colTime].where()
	for _, v := range []*field{&r.fields.first[colClock], &r.fields.clock, &r.fields.second[colTime]} {
		if v.set && (v.name != "" || v == &r.fields.first[colClock]) && isTimeOfDay(v.text) {
			text += " and " + v.where()
			break
		}
	}
	unit := r.unit()
	text += ", " + unit.String()
	if v := &r.fields.first[colReceived]; v.set && r.fields.first[colPrice].set {
		text += ", in order of " + v.where()
	}
	switch {
	case unit.isUnix() || unit == timeDotnet:
	case r.zoned():
		text += ", each with its zone"
	case r.times.zoned > 0 && r.plan.zone != time.UTC:
		text += ", in the zone " + r.plan.zone.String() + " where it names none"
	case r.plan.zone != time.UTC:
		text += ", in the zone " + r.plan.zone.String()
	case r.set.layout.Timezone != "":
		text += ", UTC"
	default:
		text += ", UTC where it names no zone"
	}
	return text
}

// zoned reports whether each time names its zone.
func (r *table) zoned() bool { return r.times.zoned > 0 && r.times.unzoned == 0 }

// ignored returns a sentence for each given option that the file leaves without effect.
func (r *table) ignored(f *tradeFile) (out []string) {
	unit, given := r.unit(), &r.set.given
	switch {
	case given.Timezone == "":
	case unit.isUnix() || unit == timeDotnet:
		out = append(out, "--timezone does not matter: the times are "+unit.String())
	case r.zoned():
		out = append(out, "--timezone does not matter: each time names its zone")
	}
	if side := &r.fields.first[colSide]; given.Side != "" && given.Side != "sign" && !side.set && !f.bars {
		if m := &r.fields.first[colMaker]; m.set {
			out = append(out, "--side does not matter: "+m.where()+" says which side was the maker's")
		} else {
			out = append(out, "--side does not matter: no column names a side")
		}
	}
	return out
}

// amountTaken says where the amount is and what it counts.
func (r *table) amountTaken() string {
	v := &r.fields.first[colAmount]
	if !v.set {
		return "none: the volume of --bar-volume"
	}
	text := v.where()
	switch r.plan.unit {
	case unitQuote:
		text += ", in the quote currency, divided by the price"
	case unitContracts:
		text += ", contracts of " + r.set.layout.ContractValue
	case unitBase:
		text += ", in the base currency"
	default:
		text += ", taken as base amounts"
	}
	if r.set.proof != "" {
		text += " (" + r.set.proof + ")"
	}
	return text
}

// flags returns the layout with the fields that the file filled, so that the flags give it again.
func (r *table) flags() Layout {
	l := r.set.layout
	var columns []string
	for c := range colAction {
		name := columnNames[c][0]
		v := &r.fields.first[c]
		if !v.set || c == colQuote {
			continue
		}
		where := v.name
		if where == "" || strings.ContainsAny(where, ",=") {
			where = fmt.Sprint(v.index + 1)
		}
		columns = append(columns, name+"="+where)
	}
	a, b := &r.fields.first[colTime], &r.fields.second[colTime]
	if clocks := isTimeOfDay(a.text); !r.fields.first[colClock].set && b.set && (clocks || isTimeOfDay(b.text)) {
		if clocks {
			a, b = b, a
		}
		columns[0] = "time=" + a.name + ",clock=" + b.name
	}
	l.Columns = strings.Join(columns, ",")
	unit := r.unit()
	for name, kind := range timeFormats {
		if l.TimeFormat == "" && kind == unit {
			l.TimeFormat = name
		}
	}
	if l.TimeFormat == "" && unit == timeWritten && len(r.times.dates) > 0 && r.times.last < len(r.times.dates) {
		if d := r.times.dates[r.times.last]; !d.day {
			l.TimeFormat = d.layout
		}
	}
	if l.Timezone == "" && !unit.isUnix() && unit != timeDotnet {
		l.Timezone = "UTC"
	}
	if l.Amount == "" {
		l.Amount = "base"
	}
	if v := &r.fields.first[colSide]; l.Side == "" && v.set {
		l.Side = "taker"
		if r.makers() {
			l.Side = "maker"
		}
	}
	return l
}
