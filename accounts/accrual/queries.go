package accrual

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
)

// The limits of the figures.
const (
	// MaxLevels bounds the levels of accrual-groups, and the configured ones.
	MaxLevels = 10
	// MaxPageSize bounds pageSize of the accruals.
	MaxPageSize = 100
	// MaxPeriodNs is the longest span of breakdown and explain: 366 days.
	MaxPeriodNs = 366 * dayNs
)

// CurrencyAmount is one entry of a map currency -> amount on the wire, in 10^-18. Lists of them
// are sorted by code.
type CurrencyAmount struct {
	CurrencyCode string
	Amount       fixed.I192
}

// sums adds up units by currency.
type sums map[uint32]fixed.I192

func (m sums) add(currency uint32, amount fixed.I192) { m[currency] = m[currency].Add(amount) }

func (m sums) list(currencies []Currency) []CurrencyAmount {
	out := make([]CurrencyAmount, 0, len(m))
	for c, amount := range m {
		out = append(out, CurrencyAmount{currencies[c].Code, currencies[c].Money(amount)})
	}
	slices.SortFunc(out, func(a, b CurrencyAmount) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}

// Filter selects accruals. An empty CurrencyCode selects every currency. Profits, unless empty,
// overrides Profit; Profit 0 selects every type.
type Filter struct {
	CurrencyCode string
	Profit       Type
	Profits      []Type
}

func (f *Filter) takes(currency string, typ Type) bool {
	if f.CurrencyCode != "" && f.CurrencyCode != currency {
		return false
	}
	if len(f.Profits) > 0 {
		return slices.Contains(f.Profits, typ)
	}
	return f.Profit == 0 || f.Profit == typ
}

// Item is one row of GET accruals.
type Item struct {
	DateNs          int64 // date
	ProfitType      Type
	Amount          fixed.I192 // 10^-18
	CurrencyCode    string
	IsToUserBonuses bool
}

// Page is the answer of GET accruals.
type Page struct {
	Items           []Item // never nil
	CurrentPage     int64
	PageSize        int64
	TotalCount      int64
	TotalPages      int64
	HasPreviousPage bool
	HasNextPage     bool
	Next            Cursor // behind the last row, zero on the last page
	// Truncated reports that older accruals are retained only as sums.
	Truncated bool
}

// Page returns a page of the accruals, newest first. page counts from 1; size is 1
// to 100. With a cursor, page counts from behind it.
func (s *Set) Page(f Filter, at Cursor, page, size int64) (Page, *refuse.Refusal) {
	if page < 1 {
		return Page{}, refuse.Param("pageNumber", "pageNumber must be at least 1.")
	}
	if size < 1 || size > MaxPageSize {
		return Page{}, refuse.Param("pageSize", "pageSize must be 1 to %d.", MaxPageSize)
	}
	out := Page{Items: []Item{}, CurrentPage: page, PageSize: size, Truncated: s.Archive.Len() > 0}
	rows := int64(0)
	s.behind(at, func(a *Accrual, next Cursor) bool {
		c := s.Currencies[a.Currency]
		if !f.takes(c.Code, a.Type) {
			return true
		}
		if rows/size == page-1 {
			out.Items = append(out.Items, Item{a.TimeNs, a.Type, c.Money(a.Amount.Wide()), c.Code, a.Bonus})
			out.Next = next
		}
		rows++
		return true
	})
	out.HasPreviousPage = page > 1 || at != (Cursor{})
	if out.HasNextPage = page < (rows+size-1)/size; !out.HasNextPage {
		out.Next = Cursor{}
	}
	if out.TotalCount = rows; at != (Cursor{}) {
		out.TotalCount = 0
		for a := range s.newestFirst {
			if f.takes(s.Currencies[a.Currency].Code, a.Type) {
				out.TotalCount++
			}
		}
		out.CurrentPage = (out.TotalCount-rows)/size + page
	}
	out.TotalPages = (out.TotalCount + size - 1) / size
	return out, nil
}

// Summary returns the sums of the accruals, by currency.
func (s *Set) Summary(f Filter) []CurrencyAmount {
	total := sums{}
	for a := range s.newestFirst {
		if f.takes(s.Currencies[a.Currency].Code, a.Type) {
			total.add(a.Currency, a.Amount.Wide())
		}
	}
	for k, amount := range s.Archive.All() {
		if f.takes(s.Currencies[k.Currency].Code, k.Type) {
			total.add(k.Currency, amount)
		}
	}
	return total.list(s.Currencies)
}

// Filters is the answer of accruals/filters: the values that occur among the accruals.
type Filters struct {
	Currencies  []string // by code, never nil
	ProfitTypes []Type   // ascending, never nil; names on the wire
}

// Filters returns the currencies and types that occur among the accruals.
func (s *Set) Filters() Filters {
	currencies, types := map[string]bool{}, map[Type]bool{}
	for a := range s.newestFirst {
		currencies[s.Currencies[a.Currency].Code], types[a.Type] = true, true
	}
	for k := range s.Archive.All() {
		currencies[s.Currencies[k.Currency].Code], types[k.Type] = true, true
	}
	out := Filters{Currencies: []string{}, ProfitTypes: []Type{}}
	for c := range currencies {
		out.Currencies = append(out.Currencies, c)
	}
	slices.Sort(out.Currencies)
	for _, t := range Types {
		if types[t] {
			out.ProfitTypes = append(out.ProfitTypes, t)
		}
	}
	return out
}

// Group is the sum of one UTC day, type and currency.
type Group struct {
	DateNs       int64 // date: midnight UTC
	ProfitType   Type
	Amount       fixed.I192
	CurrencyCode string
}

// Groups returns the sums by day, ascending, of levels 1 to maxLevel (1 to 10) and of accruals
// printed at since to end, both inclusive (Unix ns). truncated reports that since or end is within a day for
// which only the sum is retained; the result does not contain that day.
func (s *Set) Groups(
	sinceNs, endNs, maxLevel int64,
) (groups []Group, truncated bool, reject *refuse.Refusal) {
	if maxLevel < 1 || maxLevel > MaxLevels {
		return nil, false, refuse.Param("maxLevel", "maxLevel must be 1 to %d.", MaxLevels)
	}
	if sinceNs > endNs {
		return nil, false, refuse.Param("sinceDate", "sinceDate must not be after endDate.")
	}
	type key struct {
		day      int64
		typ      Type
		currency uint32
	}
	total := map[key]fixed.I192{}
	for a := range s.newestFirst {
		if t := printedNs(a.TimeNs); t >= sinceNs && t <= endNs && int64(a.Level) <= maxLevel {
			k := key{a.TimeNs / dayNs, a.Type, a.Currency}
			total[k] = total[k].Plus(a.Amount)
		}
	}
	for ak, amount := range s.Archive.All() {
		first := ak.Day * dayNs
		last := first + dayNs - msNs
		switch {
		case int64(ak.Level) > maxLevel || last < sinceNs || first > endNs:
		case first < sinceNs || last > endNs:
			truncated = true
		default:
			k := key{ak.Day, ak.Type, ak.Currency}
			total[k] = total[k].Add(amount)
		}
	}
	groups = []Group{}
	for k, amount := range total {
		c := s.Currencies[k.currency]
		groups = append(groups, Group{k.day * dayNs, k.typ, c.Money(amount), c.Code})
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.DateNs, b.DateNs), cmp.Compare(a.ProfitType, b.ProfitType),
			strings.Compare(a.CurrencyCode, b.CurrencyCode))
	})
	return groups, truncated, nil
}

// Total holds the sums of the accruals from one user below the receiver.
type Total struct {
	FromUserID             string
	FromUsername           string
	Name                   *string
	SecondName             *string
	Level                  int
	TotalAmountsByCurrency []CurrencyAmount
}

// Totals returns the accruals by the user they came from, sorted by that user's id.
func (s *Set) Totals() []Total {
	totals, levels := map[uint32]sums{}, map[uint32]uint32{}
	add := func(from, level, currency uint32, amount fixed.I192) {
		if totals[from] == nil {
			totals[from] = sums{}
		}
		totals[from].add(currency, amount)
		levels[from] = level
	}
	for a := range s.newestFirst {
		add(a.From, a.Level, a.Currency, a.Amount.Wide())
	}
	for k, amount := range s.Archive.All() {
		add(k.From, k.Level, k.Currency, amount)
	}
	out := make([]Total, 0, len(totals))
	for from, total := range totals {
		who := s.Person(from)
		out = append(out, Total{
			FromUserID: who.ID, FromUsername: who.Nickname, Name: who.Name, SecondName: who.SecondName,
			Level: int(levels[from]), TotalAmountsByCurrency: total.list(s.Currencies),
		})
	}
	slices.SortFunc(out, func(a, b Total) int { return strings.Compare(a.FromUserID, b.FromUserID) })
	return out
}

// ByLevel returns the sums by the level of the user they came from, over all currencies as if they were worth the
// same, and the sum over all levels.
func (s *Set) ByLevel() (byLevel map[uint32]fixed.I192, total fixed.I192) {
	byLevel = map[uint32]fixed.I192{}
	for a := range s.newestFirst {
		amount := s.Currencies[a.Currency].Money(a.Amount.Wide())
		byLevel[a.Level], total = byLevel[a.Level].Add(amount), total.Add(amount)
	}
	for k, amount := range s.Archive.All() {
		amount = s.Currencies[k.Currency].Money(amount)
		byLevel[k.Level], total = byLevel[k.Level].Add(amount), total.Add(amount)
	}
	return byLevel, total
}
