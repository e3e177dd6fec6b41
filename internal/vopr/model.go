package vopr

import (
	"fmt"
	"slices"
	"strings"
)

// model holds what the answers promised. It shares no code with the exchange.
type model struct {
	told
	incidents map[string]bool // those that an answer has shown

	pairs  []string
	paired map[string]int // tick at which a pair was made
	users  []*user
	orders map[uint64]*order
	ids    []uint64 // keys of orders, in the order of their answers
	quotes []*quote
	// maybe holds orders of unknown outcome: each was carried out or was not.
	maybe   []*order
	bookSeq map[string]uint64            // the highest seq of a book
	books   map[string]map[uint64]string // book by pair and seq
	seqs    map[string]map[uint64]uint64 // order by pair and seq of its answer
	tapes   map[string][]deal            // public trades by pair; trade n is at n-1
	money   map[string]*money
	passing []*passing

	tokens    []*token
	proposals []*proposal
	actions   map[uint64]string // entry of the hive's log by id
	lastEntry uint64

	readClockNs int64 // time at which the tapes were read
	reached     []reached
	latestNs    int64 // latest time at which the tapes were read before the present start
}

func newModel() *model {
	m := &model{
		money: map[string]*money{}, orders: map[uint64]*order{}, actions: map[uint64]string{},
		incidents: map[string]bool{}, paired: map[string]int{},
	}
	m.forgetEpoch()
	return m
}

// forgetEpoch drops what holds within one epoch only.
func (m *model) forgetEpoch() {
	m.forget()
	m.bookSeq, m.books = map[string]uint64{}, map[string]map[uint64]string{}
	m.seqs, m.tapes = map[string]map[uint64]uint64{}, map[string][]deal{}
}

// user is a user with its keys.
type user struct {
	ID      string
	keys    []key
	deleted []key

	purses  map[string]*purse // by currency
	dealsTo string            // time of the newest deal in purses
	latest  map[string]bool   // deals of this time
	lost    bool              // deals or records may be lost: purses begin at the next totals

	halt     halt
	halts    int   // changes of halt
	firesMs  int64 // of the dead man's switch, 0: none
	switched bool  // a change of the switch has an unknown outcome, or may be lost
}

// order holds the members of an order that never change, but for price and amount, which a replace changes.
type order struct {
	id                 uint64
	pair, side, client string
	account            string // user id; empty: the built-in account
	price, amount      string // empty: none, or changed by a replace
	stop               bool   // waits for a price at first, and may come into a book then
	kind               string // type; empty: not noted, nor are the next three
	stopPrice, quote   string // empty: none
	trail              int64  // basis points; 0: none
	found              bool   // after a restart, so that its client order id is not known
	tick               int    // when it was answered (world.answers)
}

// money holds whole units of a currency, modulo 2^64.
type money struct {
	in, out       int64   // acknowledged
	maybeIn, mayb []int64 // of unknown outcome
}

// token is a token of the launchpad.
type token struct {
	NFT, symbol string
	maker       string // user id
	pool        string // reserves in the last answer
	maybe       bool   // a change of the pool has an unknown outcome
}

// proposal is a vote of the hive.
type proposal struct {
	id     string
	token  string
	closes int64           // Unix seconds
	votes  map[string]bool // by user id; false: of unknown outcome
	unsure bool            // votes of an earlier epoch may count
}

func (m *model) of(currency string) *money {
	if m.money[currency] == nil {
		m.money[currency] = &money{}
	}
	return m.money[currency]
}

// note stores value under key; an error if the key has another value.
func note[K comparable](all map[string]map[K]string, pair string, k K, value string) error {
	if all[pair] == nil {
		all[pair] = map[K]string{}
	}
	if had, ok := all[pair][k]; ok && had != value {
		return fmt.Errorf("%s %v was %.400s and is %.400s", pair, k, had, value)
	}
	all[pair][k] = value
	return nil
}

// orderAnswer is an order in an answer of the internal API.
type orderAnswer struct {
	OrderID          uint64
	ClientOrderID    string
	AccountID        string
	CurrencyPairCode string
	Side, Status     string
	Type             string
	Price, Amount    jsonText
	StopPrice        jsonText
	QuoteAmount      jsonText
	FilledQuote      jsonText `json:"filledQuoteAmount"`
	TrailingDelta    int64
	CreatedAtNs      int64
	Seq              uint64
	RejectReason     string
	Fills            []struct {
		TradeID       uint64
		Price, Amount jsonText
	}
}

// jsonText is a number as it was sent, without zeros at its end.
type jsonText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *jsonText) UnmarshalJSON(b []byte) error {
	if s := string(b); s != "null" {
		*t = jsonText(shortest(s))
	}
	return nil
}

// shortest returns a decimal without zeros at its end.
func shortest(s string) string {
	s = strings.Trim(s, `"`)
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// acknowledged notes an order that an answer confirmed.
func (m *model) acknowledged(o *order) error {
	if had := m.orders[o.id]; had != nil {
		if had.pair != o.pair || had.side != o.side || had.account != o.account ||
			had.client != o.client && !had.found {
			return fmt.Errorf("order id %d twice: %+v and %+v", o.id, *had, *o)
		}
		return nil
	}
	m.orders[o.id] = o
	m.ids = append(m.ids, o.id)
	return nil
}

// answered checks an order's answer against the earlier ones, and notes it.
func (m *model) answered(a *orderAnswer) error {
	pair := a.CurrencyPairCode
	if m.seqs[pair] == nil {
		m.seqs[pair] = map[uint64]uint64{}
	}
	// The last event of a command belongs to no other command; a repeat answers with the first's.
	if had, ok := m.seqs[pair][a.Seq]; ok && had != a.OrderID {
		return fmt.Errorf("%s: seq %d twice: of the orders %d and %d", pair, a.Seq, had, a.OrderID)
	}
	m.seqs[pair][a.Seq] = a.OrderID
	m.shown[pair] = max(m.shown[pair], a.Seq)
	for _, f := range a.Fills {
		if err := note(m.trades, pair, f.TradeID, string(f.Price)+" x "+string(f.Amount)); err != nil {
			return fmt.Errorf("a trade changed: %w", err)
		}
	}
	return nil
}

// expects reports whether an order that the model does not know may exist: it takes one of unknown
// outcome.
func (m *model) expects(o *order) bool {
	at := slices.IndexFunc(m.maybe, func(may *order) bool {
		return may.pair == o.pair && may.side == o.side && may.account == o.account &&
			(may.client == "" || o.client == "" || may.client == o.client) &&
			(may.price == "" || o.price == "" || may.price == o.price)
	})
	if at < 0 {
		return false
	}
	m.maybe = slices.Delete(m.maybe, at, at+1)
	return true
}

// sums reports whether a total is the acknowledged one and any of the unknown ones, and takes it as
// acknowledged.
func sums(known *int64, maybe *[]int64, total int64) bool {
	rest := total - *known
	for set := range 1 << min(len(*maybe), 12) {
		sum := int64(0)
		for i, n := range *maybe {
			if i < 12 && set>>i&1 == 1 {
				sum += n
			}
		}
		if sum == rest {
			*known, *maybe = total, nil
			return true
		}
	}
	return false
}
