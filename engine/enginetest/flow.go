package enginetest

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// DayNs is the length of a day in nanoseconds, and the time at which tests begin.
const DayNs = 86_400_000_000_000

// Instrument returns a pair with two price digits and whole lots, which takes every price and amount that int64 holds.
func Instrument() engine.Instrument {
	return engine.Instrument{
		Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 0,
		MaxPrice: math.MaxInt64, MaxAmount: math.MaxInt64,
	}
}

// PastEndSec is the second at which Past ends.
const PastEndSec = 20_459*86_400 + 8*3600 + 90

// Past returns a past of three lengths, whose last candle is not over when it ends.
func Past() (past []engine.PastCandle) {
	price := int64(200)
	for _, part := range [][3]int64{
		{20_455 * 86_400, 86_400, 3}, {20_458 * 86_400, 14_400, 8}, {20_459*86_400 + 8*3600, 60, 2},
	} {
		for i := range part[2] {
			past = append(past, engine.PastCandle{
				Start: part[0] + i*part[1], Length: part[1], Open: price, High: price + 9, Low: price - 3,
				Close: price + i, Average: price + 1, Trades: 4 + i, Volume: 100 + 7*i, TakerVolume: 14 * i,
			})
			price += i
		}
	}
	return past
}

// NewFlow returns a generator that gives the same commands for the same seed.
func NewFlow(seed uint64) *Flow {
	return &Flow{R: rand.New(rand.NewPCG(seed, 7)), Reader: NewReader(0), mid: 200, inst: Instrument()}
}

// ClientID returns a client order id with the hashes of text and of content.
func ClientID(account engine.AccountID, text, content string) *engine.ClientID {
	return &engine.ClientID{
		Text: text, Hash: hash128(text, uint64(account)), Content: hash128(content, 0),
	}
}

func hash128(text string, salt uint64) [2]uint64 {
	h := fnv.New64a()
	h.Write([]byte{byte(salt), byte(salt >> 8)})
	h.Write([]byte(text))
	a := h.Sum64()
	h.Write([]byte{1})
	return [2]uint64{a, h.Sum64()}
}

// Flow generates random commands of every kind. Prices stay near a middle that moves, accounts are few and
// limits small, so that most commands have an effect.
type Flow struct {
	R      *rand.Rand
	Reader *Reader
	mid    int64
	Last   engine.OrderID
	inst   engine.Instrument
	texts  int
	Limits bool // some SetPair commands set largest orders, prices and amounts, and a price band
	Lists  bool // a part of the orders are placed in order lists
	deep   bool // a spell of patient orders, so that books and limits fill up
}

// RandomOptions returns limits that are small enough to be reached.
func RandomOptions() engine.Options {
	return engine.Options{
		Limits: engine.Limits{OpenOrders: 70, AccountOrders: 20, AccountStops: 5, AccountLists: 4}, PairStops: 16,
		ClientIDs: 50, AccountClientIDs: 12, IcebergSlices: 20, PairSlices: 60,
	}
}

// Next returns the next command, unstamped.
func (f *Flow) Next() engine.Command {
	if f.R.IntN(40) == 0 {
		f.mid = max(80, f.mid+f.R.Int64N(5)-2)
	}
	if f.R.IntN(1000) == 0 || f.deep && f.R.IntN(400) == 0 {
		f.deep = !f.deep
	}
	switch x := f.R.IntN(1000); {
	case x < 180 && f.Lists:
		return f.list()
	case x < 720:
		return f.place()
	case x < 810:
		c := engine.Command{Kind: engine.Cancel, Order: f.pick(), Account: f.account(), Flags: f.anyone()}
		if c.Order%4 == 0 {
			c.Client = &engine.ClientID{Text: fmt.Sprint("cancel of ", c.Order)}
		}
		switch f.R.IntN(20) {
		case 0:
			c.Flags |= engine.FlagOnlyNew
		case 1:
			c.Flags |= engine.FlagOnlyPartial
		case 2:
			c.Flags |= engine.FlagOperator
		}
		return c
	case x < 982:
		return f.replace()
	case x < 984:
		c := engine.Command{Kind: engine.CancelAll, Account: f.account(), Order: f.Last - engine.OrderID(f.R.IntN(30))}
		if f.R.IntN(8) == 0 {
			c.Flags = engine.FlagAllAccount | engine.FlagOperator
		}
		return c
	case x < 985:
		f.inst.State = engine.PairState(f.R.IntN(4))
		f.inst.HasMinQuote = f.R.IntN(3) == 0
	default: // other states: a closed market opens again
		f.inst.State = engine.Online
	}
	f.inst.MinQuote = fixed.FromU64(uint64(f.mid * 3))
	inst := f.inst
	inst.MakerFee, inst.TakerFee = f.R.Uint32N(1000), f.R.Uint32N(1000)
	if f.Limits {
		f.limits(&inst)
	}
	return engine.Command{Kind: engine.SetPair, Instrument: &inst}
}

// limits sets some limits of orders, near what orders have.
func (f *Flow) limits(in *engine.Instrument) {
	switch f.R.IntN(12) {
	case 0:
		in.MaxPrice = f.mid + 25
	case 1:
		in.MaxAmount = 17
	case 2:
		in.BandUp, in.BandDown = engine.RateOne*6/5, engine.RateOne*5/6
	case 3:
		if !in.HasMinQuote {
			in.MaxQuote = fixed.FromU64(uint64(f.mid * 18))
		}
	}
}

func (f *Flow) account() engine.AccountID { return engine.AccountID(f.R.IntN(5)) }

// anyone returns random flags for a cancel or replace: most name no account, as an operator would.
func (f *Flow) anyone() uint8 {
	if f.R.IntN(6) == 0 {
		return 0
	}
	return engine.FlagAllAccount
}

// pick returns the id of an order, most of the time of an open one.
func (f *Flow) pick() engine.OrderID {
	var id engine.OrderID
	for range 12 {
		id = f.Last + 1 - engine.OrderID(f.R.Uint64N(min(uint64(f.Last)+1, 250)))
		if f.Reader.Orders[id] != nil {
			break
		}
	}
	return id
}

func (f *Flow) price(side engine.Side) int64 {
	d := f.R.Int64N(40) - 9 // a quarter of the orders cross the other side or come close to it
	if f.deep {
		d = f.R.Int64N(60)
	}
	if side == engine.Buy {
		d = -d
	}
	return f.mid + d
}

func (f *Flow) place() engine.Command {
	c := engine.Command{
		Kind: engine.Place, Account: f.account(), Side: engine.Side(f.R.IntN(2)),
		Type: []engine.OrderType{
			engine.Limit, engine.Limit, engine.Limit, engine.Limit, engine.Limit, engine.Limit, engine.Limit,
			engine.Limit, engine.Limit, engine.Limit, engine.Market, engine.Market, engine.StopLimit, engine.StopLimit,
			engine.StopLimit, engine.StopMarket, engine.TakeLimit, engine.TakeLimit, engine.TakeLimit,
			engine.TakeMarket,
		}[f.R.IntN(20)],
		STP: engine.SelfTrade(f.R.IntN(5)), Amount: 1 + f.R.Int64N(20),
	}
	if f.R.IntN(3) == 0 {
		c.Flags = engine.FlagExpire
	}
	c.Price = f.price(c.Side)
	if c.Type.AtMarket() {
		f.market(&c)
	} else {
		f.limit(&c)
	}
	if c.Type.Waits() {
		c.Stop = f.mid + f.R.Int64N(13) - 6
		if f.deep {
			rises := (c.Type >= engine.TakeLimit) == (c.Side == engine.Sell)
			if c.Stop += 10; !rises {
				c.Stop -= 20
			}
		}
		if f.R.IntN(10) == 0 {
			c.Flags |= engine.FlagStrict
		}
		if f.R.IntN(3) == 0 {
			if c.Trail = f.trail(); f.R.IntN(2) == 0 {
				c.Stop = 0
			}
		}
		if f.R.IntN(30) == 0 {
			c.Stop = 0
		}
	}
	if f.R.IntN(5) == 0 {
		f.texts++
		text := fmt.Sprint(f.texts - f.R.IntN(20)*f.R.IntN(2))
		content := ""
		if f.R.IntN(3) == 0 {
			content = "other"
		}
		c.Client = ClientID(c.Account, text, content)
		c.Client.Reusable = f.texts%2 == 0
	}
	switch f.R.IntN(60) {
	case 0:
		c.Amount = -f.R.Int64N(2)
	case 1:
		c.Refuse = engine.PriceOffTick
	}
	return c
}

// trail returns a trail of up to about ten ticks, now and then one beyond the limits.
func (f *Flow) trail() uint16 {
	if f.R.IntN(40) == 0 {
		return uint16(f.R.IntN(4) * 1000)
	}
	return uint16(engine.MinTrail + f.R.IntN(500))
}

// list returns an order list: most of the time one that is placed.
func (f *Flow) list() engine.Command {
	c := engine.Command{Kind: engine.PlaceList, Account: f.account()}
	l := &engine.List{Kind: engine.ListKind(1 + f.R.IntN(5))}
	c.List = l
	legs := func(side engine.Side, amount int64) (stop, other engine.Command) {
		stop = f.orderOf(c.Account, engine.StopLimit, engine.StopMarket)
		other = f.orderOf(c.Account, engine.Limit, engine.TakeLimit, engine.TakeMarket)
		stop.Side, other.Side, stop.Amount, other.Amount = side, side, amount, amount
		stop.Display, other.Display = 0, 0
		far := 1 + f.R.Int64N(12)
		if stop.Stop = f.mid - 1 - f.R.Int64N(6); side == engine.Buy {
			stop.Stop, far = f.mid+1+f.R.Int64N(6), -far
		}
		if other.Type == engine.Limit {
			other.Price, other.TIF, other.Flags = f.mid+far, engine.GTC, engine.FlagPostOnly
			if f.R.IntN(4) == 0 {
				other.Display = 1 + f.R.Int64N(max(1, amount))
			}
		} else {
			other.Stop = f.mid + far
		}
		return stop, other
	}
	side := engine.Side(f.R.IntN(2))
	if l.Kind >= engine.OPO {
		side = engine.Sell
	}
	if l.Kind != engine.OCO {
		works := f.orderOf(c.Account, engine.Limit)
		if l.Kind >= engine.OPO || f.R.IntN(2) == 0 {
			works.Side = engine.Buy
		}
		l.Orders = append(l.Orders, works)
	}
	amount := 1 + f.R.Int64N(20)
	if l.Kind >= engine.OPO {
		amount = 0
	}
	switch l.Kind {
	case engine.OTO, engine.OPO:
		o := f.orderOf(c.Account, engine.Limit, engine.Market,
			engine.StopLimit, engine.StopMarket, engine.TakeLimit, engine.TakeMarket)
		if l.Kind == engine.OPO {
			o.Side, o.Amount, o.Display = engine.Sell, 0, 0
		}
		l.Orders = append(l.Orders, o)
	default:
		stop, other := legs(side, amount)
		if f.R.IntN(2) == 0 {
			stop, other = other, stop
		}
		l.Orders = append(l.Orders, stop, other)
	}
	if f.R.IntN(4) == 0 {
		f.texts++
		c.Client = ClientID(c.Account, fmt.Sprint("list ", f.texts-f.R.IntN(10)*f.R.IntN(2)), "")
		c.Client.Reusable = f.texts%2 == 0
	}
	return c
}

// orderOf returns an order of account for a list, of one of the types. Its client id, if it has one, belongs to
// account and has no content.
func (f *Flow) orderOf(account engine.AccountID, types ...engine.OrderType) engine.Command {
	for {
		o := f.place()
		if o.Flags&engine.FlagQuote != 0 || o.Refuse != 0 && f.R.IntN(4) > 0 {
			continue
		}
		for _, t := range types {
			if o.Type == t {
				if o.Account = account; o.Client.Named() {
					id := ClientID(account, o.Client.Text, "")
					id.Reusable = o.Client.Reusable
					o.Client = id
				}
				return o
			}
		}
	}
}

func (f *Flow) market(c *engine.Command) {
	c.TIF, c.Price = engine.IOC, 0
	if f.R.IntN(2) == 0 {
		c.Flags |= engine.FlagQuote
		c.Amount = 0
		c.Quote = fixed.FromU64(uint64(f.R.Int64N(20 * f.mid)))
	}
}

func (f *Flow) limit(c *engine.Command) {
	c.TIF = []engine.TimeInForce{engine.GTC, engine.GTC, engine.GTC, engine.IOC, engine.FOK}[f.R.IntN(5)]
	if c.Type.Waits() {
		c.TIF = engine.TimeInForce(f.R.IntN(3))
	}
	if c.TIF == engine.FOK && f.R.IntN(4) > 0 { // a limit that lets some of the orders be filled
		c.Amount = 1 + f.R.Int64N(6)
	}
	if c.TIF != engine.GTC {
		d := f.R.Int64N(12)
		if c.Side == engine.Sell {
			d = -d
		}
		c.Price = f.mid + d
	} else if f.R.IntN(8) == 0 {
		c.Flags |= engine.FlagPostOnly
	}
	if c.TIF == engine.GTC && f.R.IntN(5) == 0 {
		c.Display = 1 + f.R.Int64N(c.Amount+1)
	}
	if f.R.IntN(400) == 0 {
		c.Price = 1<<62 + f.R.Int64N(1<<61)
		c.Amount = 1 + f.R.Int64N(1<<62)
	}
	if f.R.IntN(600) == 0 { // a price of one tick allows the largest amounts, which only the side's sum can refuse
		c.Side, c.Price, c.Display = engine.Buy, 1, 0
		c.Amount = 1<<62 + f.R.Int64N(1<<62)
	}
}

func (f *Flow) replace() engine.Command {
	c := engine.Command{Kind: engine.Replace, Order: f.pick(), Account: f.account(), Flags: f.anyone()}
	if f.R.IntN(3) > 0 {
		c.Flags |= engine.FlagHasAmount
		c.Amount = f.R.Int64N(25)
	}
	if f.R.IntN(2) > 0 {
		c.Flags |= engine.FlagHasPrice
		side := engine.Buy
		if o := f.Reader.Orders[c.Order]; o != nil {
			side = o.side
		}
		c.Price = f.price(side)
	}
	if o := f.Reader.Orders[c.Order]; o != nil && o.waits || f.R.IntN(30) == 0 {
		if f.R.IntN(3) == 0 {
			c.Flags |= engine.FlagHasStop
			c.Stop = f.mid + f.R.Int64N(25) - 12
		}
		if f.R.IntN(4) == 0 {
			c.Flags |= engine.FlagHasTrail
			c.Trail = f.trail()
		}
		if f.R.IntN(2) == 0 { // alone, which no waiting order refuses
			c.Flags &^= engine.FlagHasPrice | engine.FlagHasAmount
			c.Price, c.Amount = 0, 0
		}
	}
	if o := f.Reader.Orders[c.Order]; o != nil && f.R.IntN(3) == 0 {
		f.amend(&c, o)
	}
	return c
}

// amend makes a replace an amendment of its order's account, which may give the order another client id.
func (f *Flow) amend(c *engine.Command, o *readOrder) {
	if f.R.IntN(8) > 0 {
		c.Flags = engine.FlagHasAmount
		c.Price, c.Stop, c.Trail = 0, 0, 0
		c.Amount = o.traded + max(0, o.now-f.R.Int64N(3))
	}
	c.Flags = c.Flags&^engine.FlagAllAccount | engine.FlagSmallerOnly
	if c.Account = o.account; f.R.IntN(2) == 0 {
		f.texts++
		c.Client = ClientID(c.Account, fmt.Sprint(f.texts-f.R.IntN(20)*f.R.IntN(2)), "")
		c.Client.Reusable = f.texts%2 == 0
	}
}

// NewRand returns a source of random numbers for a seed.
func NewRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// Init fills in what a flow without a market needs.
func (f *Flow) Init() {
	f.mid, f.inst = 200, Instrument()
	if f.Reader == nil {
		f.Reader = NewReader(0)
	}
}

// EqualEvents reports whether two event lists are equal; instruments are compared by value.
func EqualEvents(a, b []engine.Event) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if x.Instrument != nil && y.Instrument != nil && *x.Instrument == *y.Instrument {
			y.Instrument = x.Instrument
		}
		if x != y {
			return false
		}
	}
	return true
}
