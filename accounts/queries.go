package accounts

import (
	"cmp"
	"slices"
	"strings"

	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// CurrencyAmount is one entry of a map currency -> amount on the wire. Lists of them
// are sorted by code.
type CurrencyAmount struct {
	CurrencyCode string
	Amount       fixed.I192
}

// sums adds up amounts by currency.
type sums map[uint32]fixed.I192

func (m sums) add(currency uint32, amount fixed.I192) { m[currency] = m[currency].Add(amount) }

func (m sums) list(currencies []string) []CurrencyAmount {
	out := make([]CurrencyAmount, 0, len(m))
	for c, amount := range m {
		out = append(out, CurrencyAmount{currencies[c], amount})
	}
	slices.SortFunc(out, func(a, b CurrencyAmount) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}

// AccrualFilter selects accruals. An empty CurrencyCode selects every currency. Profits, unless empty,
// overrides Profit; Profit 0 selects every type.
type AccrualFilter struct {
	CurrencyCode string
	Profit       ProfitType
	Profits      []ProfitType
}

func (f *AccrualFilter) takes(currency string, typ ProfitType) bool {
	if f.CurrencyCode != "" && f.CurrencyCode != currency {
		return false
	}
	if len(f.Profits) > 0 {
		return slices.Contains(f.Profits, typ)
	}
	return f.Profit == 0 || f.Profit == typ
}

// AccrualItem is one row of GET accruals.
type AccrualItem struct {
	DateNs          int64 // date
	ProfitType      ProfitType
	Amount          fixed.I128
	CurrencyCode    string
	IsToUserBonuses bool
}

// AccrualPage is the answer of GET accruals.
type AccrualPage struct {
	Items           []AccrualItem // never nil
	CurrentPage     int64
	PageSize        int64
	TotalCount      int64
	TotalPages      int64
	HasPreviousPage bool
	HasNextPage     bool
	// Truncated reports that older accruals are retained only as sums.
	Truncated bool
}

// Accruals returns a page of the accruals of user n, newest first. page counts from 1; size is 1
// to 100.
func (v *View) Accruals(n uint32, f AccrualFilter, page, size int64) (AccrualPage, *refuse.Refusal) {
	if page < 1 {
		return AccrualPage{}, invalid("pageNumber", "pageNumber must be at least 1.")
	}
	if size < 1 || size > MaxPageSize {
		return AccrualPage{}, invalid("pageSize", "pageSize must be 1 to %d.", MaxPageSize)
	}
	set := v.accruals(n)
	out := AccrualPage{Items: []AccrualItem{}, CurrentPage: page, PageSize: size, Truncated: len(set.archive) > 0}
	for a := range set.newestFirst {
		code := set.currencies[a.currency]
		if !f.takes(code, a.typ) {
			continue
		}
		if out.TotalCount/size == page-1 {
			out.Items = append(out.Items, AccrualItem{a.timeNs, a.typ, a.amount, code, a.bonus})
		}
		out.TotalCount++
	}
	out.TotalPages = (out.TotalCount + size - 1) / size
	out.HasPreviousPage = page > 1
	out.HasNextPage = page < out.TotalPages
	return out, nil
}

// AccrualSummary returns the sums of the accruals of user n, by currency.
func (v *View) AccrualSummary(n uint32, f AccrualFilter) []CurrencyAmount {
	set, total := v.accruals(n), sums{}
	for a := range set.newestFirst {
		if f.takes(set.currencies[a.currency], a.typ) {
			total.add(a.currency, a.amount.Wide())
		}
	}
	for k, amount := range set.archive {
		if f.takes(set.currencies[k.currency], k.typ) {
			total.add(k.currency, amount)
		}
	}
	return total.list(set.currencies)
}

// AccrualFilters is the answer of accruals/filters: the values that occur among the accruals.
type AccrualFilters struct {
	Currencies  []string     // by code, never nil
	ProfitTypes []ProfitType // ascending, never nil; names on the wire
}

// AccrualFilters returns the currencies and types that occur among the accruals of user n.
func (v *View) AccrualFilters(n uint32) AccrualFilters {
	set := v.accruals(n)
	currencies, types := map[string]bool{}, map[ProfitType]bool{}
	for a := range set.newestFirst {
		currencies[set.currencies[a.currency]], types[a.typ] = true, true
	}
	for k := range set.archive {
		currencies[set.currencies[k.currency]], types[k.typ] = true, true
	}
	out := AccrualFilters{Currencies: []string{}, ProfitTypes: []ProfitType{}}
	for c := range currencies {
		out.Currencies = append(out.Currencies, c)
	}
	slices.Sort(out.Currencies)
	for _, t := range profitTypes {
		if types[t] {
			out.ProfitTypes = append(out.ProfitTypes, t)
		}
	}
	return out
}

// AccrualGroup is the sum of one UTC day, type and currency.
type AccrualGroup struct {
	DateNs       int64 // date: midnight UTC
	ProfitType   ProfitType
	Amount       fixed.I192
	CurrencyCode string
}

// AccrualGroups returns the sums of user n by day, ascending, of levels 1 to maxLevel (1 to 10) and of accruals
// printed at since to end, both inclusive (Unix ns). truncated reports that since or end is within a day for
// which only the sum is retained; the result does not contain that day.
func (v *View) AccrualGroups(
	n uint32, sinceNs, endNs, maxLevel int64,
) (groups []AccrualGroup, truncated bool, reject *refuse.Refusal) {
	if maxLevel < 1 || maxLevel > MaxReferralLevels {
		return nil, false, invalid("maxLevel", "maxLevel must be 1 to %d.", MaxReferralLevels)
	}
	if sinceNs > endNs {
		return nil, false, invalid("sinceDate", "sinceDate must not be after endDate.")
	}
	set := v.accruals(n)
	type key struct {
		day      int64
		typ      ProfitType
		currency string
	}
	total := map[key]fixed.I192{}
	for a := range set.newestFirst {
		if t := printedNs(a.timeNs); t >= sinceNs && t <= endNs && int64(a.level) <= maxLevel {
			k := key{a.timeNs / dayNs, a.typ, set.currencies[a.currency]}
			total[k] = total[k].Plus(a.amount)
		}
	}
	for ak, amount := range set.archive {
		first := ak.day * dayNs
		last := first + dayNs - msNs
		switch {
		case int64(ak.level) > maxLevel || last < sinceNs || first > endNs:
		case first < sinceNs || last > endNs:
			truncated = true
		default:
			k := key{ak.day, ak.typ, set.currencies[ak.currency]}
			total[k] = total[k].Add(amount)
		}
	}
	groups = []AccrualGroup{}
	for k, amount := range total {
		groups = append(groups, AccrualGroup{k.day * dayNs, k.typ, amount, k.currency})
	}
	slices.SortFunc(groups, func(a, b AccrualGroup) int {
		return cmp.Or(cmp.Compare(a.DateNs, b.DateNs), cmp.Compare(a.ProfitType, b.ProfitType),
			strings.Compare(a.CurrencyCode, b.CurrencyCode))
	})
	return groups, truncated, nil
}

// TotalAccrual holds the sums of the accruals from one user below the receiver.
type TotalAccrual struct {
	FromUserID             string
	FromUsername           string
	Name                   *string
	SecondName             *string
	Level                  int
	TotalAmountsByCurrency []CurrencyAmount
}

// TotalAccruals returns the accruals of user n by the user they came from, sorted by that
// user's id.
func (v *View) TotalAccruals(n uint32) []TotalAccrual {
	set := v.accruals(n)
	totals, levels := map[uint32]sums{}, map[uint32]uint32{}
	add := func(from, level, currency uint32, amount fixed.I192) {
		if totals[from] == nil {
			totals[from] = sums{}
		}
		totals[from].add(currency, amount)
		levels[from] = level
	}
	for a := range set.newestFirst {
		add(a.from, a.level, a.currency, a.amount.Wide())
	}
	for k, amount := range set.archive {
		add(k.from, k.level, k.currency, amount)
	}
	out := make([]TotalAccrual, 0, len(totals))
	v.s.mu.RLock()
	for from, total := range totals {
		p := &v.s.dir.mustFind(from).profile
		out = append(out, TotalAccrual{
			FromUserID: UserID(from).String(), FromUsername: p.Nickname, Name: p.Name, SecondName: p.SecondName,
			Level: int(levels[from]), TotalAmountsByCurrency: total.list(set.currencies),
		})
	}
	v.s.mu.RUnlock()
	slices.SortFunc(out, func(a, b TotalAccrual) int { return strings.Compare(a.FromUserID, b.FromUserID) })
	return out
}
