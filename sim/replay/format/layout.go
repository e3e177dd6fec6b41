package format

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // --timezone must work where the machine has no database of zones

	"github.com/pelletier/go-toml/v2"

	"github.com/tickhive/tickhive/internal/fixed"
)

// Layout says where the values of a table stand and what they mean. An empty field leaves the answer to the file. The
// fields are the flags of tickhive replay and the keys of a layout file, under the same names.
type Layout struct {
	Columns       string `toml:"columns" placeholder:"NAME=COLUMN,..." help:"Columns of trades or bars, by name or number: time=3,price=1,amount=2,side=5."`
	TimeFormat    string `toml:"time-format" placeholder:"FORMAT" help:"s, ms, us, ns, dotnet, excel, day-s, day-ms, or the time 2006-01-02 15:04:05 written as in the file."`
	Timezone      string `toml:"timezone" placeholder:"ZONE" help:"Zone of times that name none, also of lobster: America/New_York, +02:00. Default: UTC."`
	Decimal       string `toml:"decimal" placeholder:"point|comma" help:"Decimal mark of the numbers; the other one groups thousands."`
	PriceScale    string `toml:"price-scale" placeholder:"N" help:"A price is the number of the file divided by this power of ten."`
	Amount        string `toml:"amount" placeholder:"UNIT" help:"What amounts count: base, quote or contracts."`
	ContractValue string `toml:"contract-value" placeholder:"VALUE" help:"Value of a contract in the quote currency (100), or in the base currency (0.01base)."`
	Side          string `toml:"side" placeholder:"WHOSE" help:"Whose side the file names: taker or maker; sign: an amount below 0 was sold; buy=1,sell=2: the values."`
	BarVolume     string `toml:"bar-volume" placeholder:"N" help:"Volume of bars that have none although their price moves."`
	Venue         string `toml:"venue" placeholder:"ID" help:"Take the rows of this venue alone (publisher_id of Databento)."`
	SkipBad       string `toml:"skip-bad" placeholder:"PERCENT" help:"Leave out rows that are wrong by themselves, up to this share of all."`
}

// option is a field of a Layout under the name of its flag.
type option struct {
	name  string
	value *string
}

// options returns the fields in the order of their declaration.
func (l *Layout) options() []option {
	return []option{
		{"columns", &l.Columns},
		{"time-format", &l.TimeFormat},
		{"timezone", &l.Timezone},
		{"decimal", &l.Decimal},
		{"price-scale", &l.PriceScale},
		{"amount", &l.Amount},
		{"contract-value", &l.ContractValue},
		{"side", &l.Side},
		{"bar-volume", &l.BarVolume},
		{"venue", &l.Venue},
		{"skip-bad", &l.SkipBad},
	}
}

// Over returns l with the fields of under where l has none.
func (l Layout) Over(under Layout) Layout {
	below := under.options()
	for i, o := range l.options() {
		if *o.value == "" {
			*o.value = *below[i].value
		}
	}
	return l
}

// Flags returns the command line flags that give this layout.
func (l Layout) Flags() string {
	var out []string
	for _, o := range l.options() {
		switch v := *o.value; {
		case v == "":
		case strings.ContainsAny(v, " '<>|$&;()#*"):
			out = append(out, "--"+o.name+" '"+strings.ReplaceAll(v, "'", `'\''`)+"'")
		default:
			out = append(out, "--"+o.name+" "+v)
		}
	}
	return strings.Join(out, " ")
}

// maxLayoutFile bounds a layout file, in bytes.
const maxLayoutFile = 64 << 10

// ReadLayout reads a layout file.
func ReadLayout(path string) (l Layout, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return l, fmt.Errorf("replay: layout: %w", err)
	}
	if len(text) > maxLayoutFile {
		return l, fmt.Errorf("replay: layout %s: longer than %d bytes", path, maxLayoutFile)
	}
	err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&l)
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		return l, fmt.Errorf("replay: layout %s: unknown keys:\n%s", path, strict.String())
	}
	if err != nil {
		return l, fmt.Errorf("replay: layout %s: %w", path, err)
	}
	return l, nil
}

// amountUnit is what the amounts of a table count.
type amountUnit uint8

const (
	unitUnknown   amountUnit = iota // taken as base
	unitBase                        // the base currency
	unitQuote                       // the quote currency: divided by the price
	unitContracts                   // contracts of a value in the quote currency, or in the base currency
)

var unitNames = []string{"", "base", "quote", "contracts"}

// plan is a layout that was checked, as the reader of a table runs it.
type plan struct {
	columns   [columnKinds]string // name or number of each column; "": by the names of the file
	only      bool                // the file has no other columns than these
	format    string              // layout of written times, for package time; "": any that is known
	kind      timeKind            // notation of the times; timeNone: by their values
	zone      *time.Location
	comma     bool // the decimal mark is a comma
	decorated bool // numbers may have grouped thousands, a currency sign, or K, M or B behind them
	scale     int  // a price is the number of the file divided by 10^scale
	unit      amountUnit
	value     Decimal // value of one contract
	inBase    bool    // it is in the base currency
	whose     string  // taker, maker, sign, or "": the taker, because nothing says otherwise
	buys      string  // value of a side that bought; "": buy, b, bid ...
	sells     string
	barVolume Decimal
	hasVolume bool
	venue     string // identifier of the venue whose rows are taken; "": of all
	skip      int    // share of wrong rows to leave out, in thousandths of a percent; 0: none
}

// compile checks the fields of a layout.
func (l *Layout) compile() (p plan, err error) {
	p.zone = time.UTC
	for i, parse := range []func(*plan, string) error{
		(*plan).setColumns, (*plan).setTimeFormat, (*plan).setZone, (*plan).setDecimal, (*plan).setScale,
		(*plan).setAmount, (*plan).setContract, (*plan).setSide, (*plan).setVolume, (*plan).setVenue,
		(*plan).setSkip,
	} {
		o := l.options()[i]
		if *o.value == "" {
			continue
		}
		if err := parse(&p, *o.value); err != nil {
			return p, fmt.Errorf("replay: %s %q: %w", o.name, *o.value, err)
		}
	}
	switch {
	case p.unit == unitContracts && p.value.V.Sign() == 0:
		err = errors.New("replay: amount contracts: give the value of one contract as --contract-value")
	case p.unit != unitContracts && l.ContractValue != "":
		err = errors.New("replay: contract-value: it needs --amount contracts")
	}
	return p, err
}

// Check reports the first field that cannot be used.
func (l *Layout) Check() error {
	_, err := l.compile()
	return err
}

func (p *plan) setColumns(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		name, where, ok := strings.Cut(part, "=")
		name, where = strings.TrimSpace(name), strings.TrimSpace(where)
		if name == "volume" {
			name = columnNames[colAmount][0]
		}
		c := column(slices.IndexFunc(columnNames[:colAction], func(names []string) bool { return names[0] == name }))
		switch {
		case !ok || where == "" || c != noColumn && p.has(c):
			return errors.New("want NAME=COLUMN once for each name, with commas between them")
		case c == noColumn:
			return fmt.Errorf("%q is none of time, clock, price, amount, quote, side, is_buyer_maker, id, open, "+
				"high, low, close, volume, symbol", name)
		}
		p.columns[c] = where
	}
	return nil
}

// has reports whether the layout names the column.
func (p *plan) has(c column) bool { return p.columns[c] != "" }

// indexOf returns the index of the column that the layout gives for c by its number, -1 when it gives a name.
func (p *plan) indexOf(c column) int {
	n, err := strconv.Atoi(p.columns[c])
	if err != nil || n < 1 || n > maxColumns {
		return -1
	}
	return n - 1
}

// numbered reports whether the layout gives columns by their numbers.
func (p *plan) numbered() bool {
	for c := range p.columns {
		if p.indexOf(column(c)) >= 0 {
			return true
		}
	}
	return false
}

// timeFormats lists the notations of times that have a name.
var timeFormats = map[string]timeKind{
	"s": timeUnix, "ms": timeMs, "us": timeUs, "ns": timeNs, "dotnet": timeDotnet, "excel": timeExcel,
	"day-s": timeDayS, "day-ms": timeDayMs,
}

func (p *plan) setTimeFormat(text string) error {
	if kind, ok := timeFormats[text]; ok {
		p.kind = kind
		return nil
	}
	if !strings.Contains(text, "06") && !strings.Contains(text, "15") && !strings.Contains(text, "3:04") {
		return errors.New("want s, ms, us, ns, dotnet, excel, day-s, day-ms, or the time 2006-01-02 15:04:05 as the " +
			"file would write it, such as 02.01.2006 15:04")
	}
	p.kind, p.format = timeWritten, text
	return nil
}

func (p *plan) setZone(text string) (err error) {
	if text[0] == '+' || text[0] == '-' {
		t, err := time.Parse("-07:00", text)
		if err != nil {
			return errors.New("want +02:00 or a name such as America/New_York")
		}
		p.zone = t.Location()
		if _, offset := t.Zone(); offset != 0 {
			p.zone = time.FixedZone(text, offset)
		}
		return nil
	}
	if p.zone, err = time.LoadLocation(text); err != nil || text == "Local" {
		return errors.New("want a name of the zone database such as America/New_York, or +02:00")
	}
	return nil
}

func (p *plan) setDecimal(text string) error {
	if text != "point" && text != "comma" {
		return errors.New("want point or comma")
	}
	p.comma, p.decorated = text == "comma", true
	return nil
}

func (p *plan) setScale(text string) error {
	for n := range fixed.Scale + 1 {
		if text == strconv.FormatUint(fixed.Pow10[n], 10) {
			p.scale = n
			return nil
		}
	}
	return fmt.Errorf("want a power of ten up to 10^%d, such as 10000", fixed.Scale)
}

func (p *plan) setAmount(text string) error {
	i := slices.Index(unitNames, text)
	if i < 0 {
		return errors.New("want base, quote or contracts")
	}
	p.unit = amountUnit(i)
	return nil
}

func (p *plan) setContract(text string) (err error) {
	number, inBase := strings.CutSuffix(strings.TrimSuffix(text, "quote"), "base")
	p.inBase = inBase
	if p.value, err = positive("value", []byte(number)); err != nil {
		return errors.New("want a number above 0, in the quote currency, or with base behind it: 100, 0.01base")
	}
	return nil
}

func (p *plan) setSide(text string) error {
	if slices.Contains([]string{"taker", "maker", "sign"}, text) {
		p.whose = text
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch {
		case name == "buy" && value != "":
			p.buys = strings.ToLower(value)
		case name == "sell" && value != "":
			p.sells = strings.ToLower(value)
		default:
			return errors.New("want taker, maker, sign, or the values of the taker's side: buy=1,sell=2")
		}
	}
	if p.buys == "" || p.sells == "" || p.buys == p.sells {
		return errors.New("want two values of the taker's side: buy=1,sell=2")
	}
	p.whose = "taker"
	return nil
}

func (p *plan) setVolume(text string) (err error) {
	p.hasVolume = true
	p.barVolume, err = positive("volume", []byte(text))
	return err
}

func (p *plan) setVenue(text string) error {
	p.venue = text
	return nil
}

func (p *plan) setSkip(text string) error {
	n, err := ParseDecimal([]byte(strings.TrimSuffix(text, "%")))
	var v int64
	if err == nil {
		v, err = n.Units(3)
	}
	if err != nil || v <= 0 || v > 100_000 {
		return errors.New("want a share above 0 and up to 100, in percent, with at most three decimals")
	}
	p.skip = int(v)
	return nil
}
