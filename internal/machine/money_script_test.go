package machine_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/audit"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/internal/seal"
)

// moneyScript sends random records to a state: orders of every kind in pairs of random digits, changes of them,
// deposits, withdrawals and halts in between. After each record the books, the balances and a second ledger must agree.
type moneyScript struct {
	seed    uint64
	r       *rand.Rand
	opts    machine.Options
	state   *machine.State
	shown   *machine.Shown
	records [][]byte
	nowNs   int64

	digits map[string]int
	pairs  []*engine.Instrument // as they were added, with their numbers
	mids   []int64              // prices around which a pair trades
	users  []uint32
	ledger *secondLedger
	events []engine.Event           // of the last record
	mix    map[string]int           // what happened
	texts  int                      // of client order ids
	halted map[uint32]bool          // users
	asked  map[engine.PairID]*asked // by the commands under way
	// discounts has the discounts of the users by side of their orders.
	discounts map[engine.AccountID][2]uint32
	noFees    map[engine.AccountID]bool
	invite    bool // some users have inviters
}

var (
	moneySeeds = flag.Uint64("money.seeds", 60, "number of seeds of TestMoneyFollowsTheBooks")
	moneyFirst = flag.Uint64("money.first", 0, "the first seed")
)

// moneySteps is the number of commands of a seed.
const moneySteps = 350

// limitedUsers is the number of users that must pay what they buy; two more are unlimited.
const limitedUsers = 4

func newMoneyScript(seed uint64) *moneyScript {
	m := &moneyScript{
		seed: seed, r: rand.New(rand.NewPCG(seed, 41)), nowNs: markettest.StartNs, digits: map[string]int{},
		ledger: newSecondLedger(), mix: map[string]int{}, halted: map[uint32]bool{}, asked: map[engine.PairID]*asked{},
		discounts: map[engine.AccountID][2]uint32{}, noFees: map[engine.AccountID]bool{},
	}
	m.opts = machine.Options{Secrets: &seal.Key{}, Sinks: []func([]engine.Event, uint64){
		func(events []engine.Event, _ uint64) { m.events = append(m.events, events...) },
	}}
	if m.opts.Engine.PartEvents = []int{0, engine.MinPartEvents}[seed%2]; seed%2 == 1 {
		m.opts.Engine.IcebergSlices = 50
	}
	m.state = machine.New(m.opts)
	m.shown = machine.NewShown(m.state)
	m.invite = seed%4 >= 2
	return m
}

// apply sends a command, and what is left of it, and checks the money after each record.
func (m *moneyScript) apply(cmd *engine.Command) (events []engine.Event, err error) {
	m.nowNs += m.r.Int64N(1e6)
	cmd.TimeNs, cmd.First = m.nowNs, m.r.IntN(3) > 0
	if !cmd.First && m.state.Core.Void(cmd) {
		if err := m.record(cmd); err != nil {
			return nil, err
		}
		cmd.First = true
	}
	if err := m.record(cmd); err != nil {
		return nil, err
	}
	events = slices.Clone(m.events)
	for m.state.Core.Unfinished(cmd.Pair) {
		m.mix["parts"]++
		switch n := m.r.IntN(40); {
		case n < 4:
			err = m.restart()
		case n < 12:
			m.mix["between parts"]++
			_, err = m.apply(m.moveMoney())
		case n < 16:
			if between := m.place(); !m.state.Core.Unfinished(between.Pair) {
				m.mix["between parts"]++
				_, err = m.apply(between)
			}
		case n == 16:
			err = m.crash()
			continue
		default:
		}
		if err == nil && m.state.Core.Unfinished(cmd.Pair) { // a crash in between may have finished it
			err = m.record(&engine.Command{Kind: engine.Continue, Pair: cmd.Pair, TimeNs: m.nowNs, First: true})
		}
		if err != nil {
			return nil, err
		}
	}
	return events, nil
}

// record applies one record.
func (m *moneyScript) record(cmd *engine.Command) error {
	applied := cmd.First || !m.state.Core.Void(cmd)
	if applied {
		m.ask(cmd)
	}
	if applied && cmd.Kind == engine.Other {
		if err := m.transfer(cmd.Control.Record); err != nil {
			return err
		}
	}
	m.events = m.events[:0]
	payload := engine.AppendCommand(nil, cmd)
	m.records = append(m.records, payload)
	if err := m.state.Apply(&machine.Record{Pos: m.state.Pos + 1, Payload: payload}); err != nil {
		return err
	}
	return m.settle()
}

// settle checks the money after a record.
func (m *moneyScript) settle() error {
	m.shown.Follow()
	for i := range m.events {
		e := &m.events[i]
		m.mix[kindWords[e.Kind]]++
		if e.Kind == engine.EventRejected {
			m.mix["refused: "+e.Reason.String()]++
		}
		if e.Kind == engine.EventCanceled && e.Cause == engine.CauseFunds {
			m.mix["ended by funds"]++
		}
		m.ledger.fold(e)
		if err := m.judge(e); err != nil {
			return err
		}
	}
	if err := audit.Check(m.state.Core, m.shown.Accounts); err != nil {
		return err
	}
	if err := m.state.Money.Check(); err != nil {
		return err
	}
	if err := m.ledger.compare(m.shown.Accounts, m.invite); err != nil {
		return err
	}
	return m.ledger.compareFees(m.state.Feed.History())
}

// transfer books a command of the accounts in the second ledger, as far as it moves money.
func (m *moneyScript) transfer(record []byte) error {
	c, err := accounts.DecodeCommand(record)
	if err != nil {
		return err
	}
	amount := audit.Big(c.Amount.Wide())
	whole := new(big.Int).Rem(amount, power(fixed.Scale-m.digits[c.Currency])).Sign() == 0
	switch u := engine.AccountID(c.User); {
	case c.Kind == accounts.SetHalt:
		m.halted[c.User] = c.Halted
	case c.Kind == accounts.PatchUser:
		m.patch(u, &c.Profile)
	case c.Kind == accounts.Deposit && whole:
		m.ledger.add(u, c.Currency, amount)
	case c.Kind == accounts.Withdraw && whole && (m.unlimited(u) || m.free(u, c.Currency).Cmp(amount) >= 0):
		m.ledger.add(u, c.Currency, amount.Neg(amount))
	case c.Kind == accounts.Withdraw:
		m.mix["withdrawals refused"]++
	default: // moves no money
	}
	return nil
}

// patch notes the discounts of a user.
func (m *moneyScript) patch(u engine.AccountID, p *accounts.ProfilePatch) {
	d := m.discounts[u]
	for side, set := range [2]*fixed.I128{p.DealBidDiscount, p.DealAskDiscount} {
		if set != nil {
			d[side] = uint32(set.Lo / 1e10) // 10^-18 to 10^-8
		}
	}
	m.discounts[u] = d
	if p.NoTradeCommissions != nil {
		m.noFees[u] = *p.NoTradeCommissions
	}
}

// unlimited reports whether an account may go below zero: the built-in one, and the last users.
func (m *moneyScript) unlimited(a engine.AccountID) bool { return a == 0 || a > limitedUsers }

var kindWords = [...]string{
	engine.EventAccepted: "accepted", engine.EventRejected: "rejected", engine.EventTrade: "trades",
	engine.EventLevel: "levels", engine.EventCanceled: "canceled", engine.EventReplaced: "replaced",
	engine.EventTriggered: "triggered", engine.EventRefilled: "refilled", engine.EventReduced: "reduced",
	engine.EventPair: "pairs", engine.EventNothing: "nothing", engine.EventAsset: "assets",
	engine.EventList: "lists", engine.EventListEnded: "lists ended", engine.EventReleased: "released",
	engine.EventActivated: "activated", engine.EventPrevented: "prevented",
}

// restart goes on with the state that a snapshot has.
func (m *moneyScript) restart() error {
	var body bytes.Buffer
	if err := m.state.Write(&body, nil); err != nil {
		return err
	}
	next := machine.New(m.opts)
	if err := next.Read(&body); err != nil {
		return err
	}
	if is, was := fmt.Sprintf("%+v", next.Hash()), fmt.Sprintf("%+v", m.state.Hash()); is != was {
		return fmt.Errorf("a snapshot has the state\n%s, it was taken of\n%s", is, was)
	}
	if parts := next.Digest().Diff(m.state.Digest()); parts != "" {
		return fmt.Errorf("a snapshot has another digest of %s than the state that it was taken of", parts)
	}
	m.state, m.shown = next, machine.NewShown(next)
	m.mix["snapshots"]++
	return nil
}

// crash goes on with the state that the log gives, after what it ends in the middle of is finished.
func (m *moneyScript) crash() error {
	m.mix["crashes"]++
	was, sums := fmt.Sprintf("%+v", m.state.Hash()), m.state.Digest()
	m.state = machine.New(m.opts)
	for i, payload := range m.records {
		if err := m.state.Apply(&machine.Record{Pos: uint64(i) + 1, Payload: payload}); err != nil {
			return err
		}
	}
	if is := fmt.Sprintf("%+v", m.state.Hash()); is != was {
		return fmt.Errorf("the log gives the state\n%s, the run had\n%s", is, was)
	}
	if parts := m.state.Digest().Diff(sums); parts != "" {
		return fmt.Errorf("the log gives another digest of %s than the run had", parts)
	}
	m.shown, m.events = machine.NewShown(m.state), m.events[:0]
	err := m.state.Finish(func(cmd *engine.Command) error {
		err := m.settle()
		m.ask(cmd)
		m.events = m.events[:0]
		m.records = append(m.records, engine.AppendCommand(nil, cmd))
		return err
	})
	if err != nil {
		return err
	}
	return m.settle()
}

// setUp adds currencies, pairs and users with money.
func (m *moneyScript) setUp() error {
	codes := []string{"AA", "BB", "CC"}
	for _, c := range codes {
		m.digits[c] = m.r.IntN(fixed.Scale + 1)
		if _, err := m.apply(&engine.Command{
			Kind: engine.SetAsset, Pair: engine.ControlPair, Control: &engine.ControlRecord{Asset: &engine.Asset{
				Symbol: c, Name: c, Digits: m.digits[c], CanDeposit: true, CanWithdraw: true,
			}},
		}); err != nil {
			return err
		}
	}
	for _, p := range [][2]string{{"AA", "BB"}, {"CC", "BB"}, {"AA", "CC"}} {
		amount := m.r.IntN(min(m.digits[p[0]], m.digits[p[1]], 6) + 1)
		price := m.r.IntN(min(m.digits[p[1]]-amount, 6) + 1)
		in := &engine.Instrument{
			Code: p[0] + "_" + p[1], Base: p[0], Quote: p[1], DigitsPrice: price, DigitsAmount: amount,
			MakerFee: m.rate(), TakerFee: m.rate(),
		}
		events, err := m.apply(&engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: in})
		if err != nil {
			return err
		}
		if len(events) != 1 || events[0].Kind != engine.EventPair {
			return fmt.Errorf("the pair %+v of assets with the digits %v was refused", in, m.digits)
		}
		m.pairs = append(m.pairs, events[0].Instrument)
		m.mids = append(m.mids, 30+m.r.Int64N(1<<uint(m.r.IntN(20))))
	}
	for i := range limitedUsers + 2 {
		create := &accounts.Command{Kind: accounts.CreateUser}
		if i >= limitedUsers {
			create.Profile.Unlimited = new(true)
		}
		if err := m.account(create); err != nil {
			return err
		}
		m.users = append(m.users, uint32(i)+1)
		discount := fixed.FromI64(int64(m.r.IntN(50)) * 1e16)
		if err := m.account(&accounts.Command{
			Kind: accounts.PatchUser, User: uint32(i) + 1, Profile: accounts.ProfilePatch{
				DealBidDiscount: &discount, NoTradeCommissions: new(m.r.IntN(8) == 0),
			},
		}); err != nil {
			return err
		}
		if m.invite && i > 0 {
			if err := m.account(&accounts.Command{
				Kind: accounts.SetInviter, User: uint32(i) + 1, Code: accounts.InviteCode(uint32(i)),
			}); err != nil {
				return err
			}
		}
		for _, c := range codes {
			if i == limitedUsers { // it begins with nothing
				break
			}
			if err := m.account(&accounts.Command{
				Kind: accounts.Deposit, User: uint32(i) + 1, Currency: c, Amount: m.purse(uint32(i)+1, c),
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *moneyScript) account(cmd *accounts.Command) error {
	_, err := m.apply(accountCommand(cmd))
	return err
}

func accountCommand(cmd *accounts.Command) *engine.Command {
	return &engine.Command{Kind: engine.Other, Pair: engine.ControlPair, Control: machine.OfAccounts(cmd, nil)}
}

// rate returns a fee rate: mostly an odd one, sometimes nothing or everything.
func (m *moneyScript) rate() uint32 {
	switch m.r.IntN(8) {
	case 0:
		return 0
	case 1:
		return engine.RateOne
	case 2:
		return engine.RateOne / 1000
	}
	return uint32(m.r.IntN(engine.RateOne / 20))
}

// purse returns an amount of a currency that buys or sells some orders of the pairs, in 10^-18. The first users are
// poor.
func (m *moneyScript) purse(u uint32, currency string) fixed.I128 {
	worth, most := new(big.Int), int64(20_000)
	if u <= 2 {
		most = 400
	}
	for i, p := range m.pairs {
		lots := big.NewInt(1 + m.r.Int64N(most))
		switch currency {
		case p.Base:
			lots.Mul(lots, power(fixed.Scale-p.DigitsAmount))
		case p.Quote:
			lots.Mul(lots, power(fixed.Scale-p.DigitsTotal()))
			lots.Mul(lots, big.NewInt(m.mids[i]))
		default:
			continue
		}
		worth.Add(worth, lots)
	}
	if m.r.IntN(3) == 0 { // odd units
		unit := power(fixed.Scale - m.digits[currency])
		worth.Add(worth, new(big.Int).Mul(unit, big.NewInt(m.r.Int64N(1000))))
	}
	return fixedOf(worth)
}

func power(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func fixedOf(v *big.Int) fixed.I128 {
	low := new(big.Int).And(v, new(big.Int).SetUint64(1<<64-1))
	return fixed.I128{Hi: new(big.Int).Rsh(v, 64).Int64(), Lo: low.Uint64()}
}

func u128Of(v *big.Int) fixed.U128 { return fixedOf(v).Abs() }

// step sends one command that the seed chooses.
func (m *moneyScript) step() error {
	var cmd *engine.Command
	switch n := m.r.IntN(100); {
	case n < 16:
		cmd = m.rest()
	case n < 50:
		cmd = m.place()
	case n < 62:
		cmd = m.list()
	case n < 65 && m.lift() != nil:
		cmd = m.lift()
	case n < 72:
		cmd = &engine.Command{Kind: engine.Cancel, Order: m.someOrder(), Flags: engine.FlagAllAccount}
	case n < 86:
		cmd = m.replace()
	case n < 88:
		cmd = &engine.Command{Kind: engine.CancelAll, Account: m.someAccount()}
		if m.r.IntN(4) == 0 {
			cmd.Flags = engine.FlagAllAccount
		}
		cmd.Pair = m.pairs[m.r.IntN(len(m.pairs))].ID
	case n < 97:
		cmd = m.moveMoney()
	case n < 99:
		cmd = m.changePair()
	default:
		return m.restart()
	}
	if cmd.Kind == engine.Cancel || cmd.Kind == engine.Replace {
		cmd.Pair = cmd.Order.Pair()
	}
	_, err := m.apply(cmd)
	return err
}

func (m *moneyScript) someAccount() engine.AccountID {
	return engine.AccountID(m.r.IntN(len(m.users) + 1))
}

// someOrder returns the id of an order, mostly an open one.
func (m *moneyScript) someOrder() engine.OrderID {
	p := m.pairs[m.r.IntN(len(m.pairs))].ID
	var open []engine.OrderID
	for side := range engine.Side(2) {
		for o := range m.state.Core.Resting(p, side, 0) {
			open = append(open, o.ID)
		}
	}
	for o := range m.state.Core.Stops(p) {
		open = append(open, o.ID)
	}
	for l := range m.state.Core.Lists(p) {
		open = append(open, l.Orders...)
	}
	if len(open) > 0 && m.r.IntN(12) > 0 {
		return open[m.r.IntN(len(open))]
	}
	return engine.MakeOrderID(p, m.r.Uint64N(m.state.Core.LastOrderID(p).N()+2))
}

func (m *moneyScript) price(pair int) int64 {
	mid := m.mids[pair]
	spread := max(mid/10, 6)
	return max(1, mid+m.r.Int64N(2*spread+1)-spread)
}

func (m *moneyScript) amount() int64 { return 1 + m.r.Int64N(int64(4)<<uint(m.r.IntN(10))) }

// rest returns a limit order away from the middle, so that books have something to trade with.
func (m *moneyScript) rest() *engine.Command {
	pair := m.r.IntN(len(m.pairs))
	c := &engine.Command{
		Kind: engine.Place, Pair: m.pairs[pair].ID, Side: engine.Side(m.r.IntN(2)), Amount: 4 * m.amount(),
		STP: engine.SelfTrade(m.r.IntN(5)), Price: m.price(pair),
	}
	if off := max(m.mids[pair]/20, 3); c.Side == engine.Sell {
		c.Price += off
	} else {
		c.Price = max(1, c.Price-off)
	}
	if m.r.IntN(3) == 0 {
		c.Account = m.someAccount()
	}
	if m.r.IntN(4) == 0 {
		c.Display = max(1, c.Amount/(1+m.r.Int64N(8)))
	}
	return c
}

// lift ends the halt of an account, or of a pair; nil: there is none.
func (m *moneyScript) lift() *engine.Command {
	for _, u := range m.users {
		if m.halted[u] {
			return accountCommand(&accounts.Command{Kind: accounts.SetHalt, User: u})
		}
	}
	for _, p := range m.pairs {
		if in, _ := m.state.Core.Pair(p.ID); in.State != engine.Online {
			set := *in
			set.State = engine.Online
			return &engine.Command{Kind: engine.SetPair, Pair: p.ID, Instrument: &set}
		}
	}
	return nil
}

// place returns an order of any kind.
func (m *moneyScript) place() *engine.Command {
	pair := m.r.IntN(len(m.pairs))
	c := &engine.Command{
		Kind: engine.Place, Pair: m.pairs[pair].ID, Account: m.someAccount(), Side: engine.Side(m.r.IntN(2)),
		STP: engine.SelfTrade(m.r.IntN(5)), Amount: m.amount(),
		Type: []engine.OrderType{
			engine.Limit, engine.Limit, engine.Limit, engine.Limit, engine.Limit, engine.Limit, engine.Market,
			engine.Market, engine.Market, engine.StopLimit, engine.StopMarket, engine.StopMarket,
		}[m.r.IntN(12)],
	}
	if c.Type >= engine.StopLimit {
		c.Stop = m.price(pair)
	}
	switch atMarket := c.Type == engine.Market || c.Type == engine.StopMarket; {
	case atMarket:
		c.TIF = engine.IOC
		if m.r.IntN(3) == 0 {
			c.Flags, c.Amount = engine.FlagQuote, 0
			c.Quote = fixed.Mul64(uint64(m.amount()), uint64(m.price(pair)))
			c.Quote = c.Quote.Add(fixed.FromU64(uint64(m.r.IntN(30))))
		}
	default:
		if c.Price = m.price(pair); m.r.IntN(6) == 0 {
			c.Display = max(1, c.Amount/(1+m.r.Int64N(8)))
		}
	}
	if c.Type == engine.Limit {
		switch m.r.IntN(10) {
		case 0:
			c.TIF = engine.IOC
		case 1:
			c.TIF, c.Display = engine.FOK, 0
		case 2:
			c.Flags = engine.FlagPostOnly
		}
	}
	if m.r.IntN(4) == 0 {
		m.texts++
		c.Client = &engine.ClientID{
			Text: fmt.Sprint("c", m.texts%20), Hash: [2]uint64{uint64(m.texts%20) + 1, uint64(c.Account)},
			Content: [2]uint64{uint64(m.texts), 0}, Reusable: m.r.IntN(4) > 0,
		}
	}
	if m.r.IntN(100) == 0 {
		c.Refuse = engine.PriceOffTick
	}
	m.edge(c, pair)
	return c
}

// list returns an order list of any kind, whose prices embrace the last trade.
func (m *moneyScript) list() *engine.Command {
	pair := m.r.IntN(len(m.pairs))
	id, account := m.pairs[pair].ID, m.someAccount()
	_, last := m.state.Core.LastTrade(id)
	last = max(last, 4)
	order := func(side engine.Side, typ engine.OrderType, lots int64) engine.Command {
		c := engine.Command{
			Kind: engine.Place, Pair: id, Account: account, Side: side, Type: typ, Amount: lots,
			STP: engine.SelfTrade(m.r.IntN(5)),
		}
		if c.Price = m.price(pair); typ.AtMarket() {
			c.Price, c.TIF = 0, engine.IOC
		}
		if typ.Waits() {
			c.Stop = m.price(pair)
		}
		return c
	}
	l := &engine.List{Kind: engine.ListKind(1 + m.r.IntN(5))}
	side, lots := engine.Side(m.r.IntN(2)), m.amount()
	works := order(side.Opposite(), engine.Limit, m.amount())
	if l.Kind >= engine.OPO {
		works.Side, side, lots = engine.Buy, engine.Sell, 0
	}
	out := 1 - 2*int64(side) // away from the market, for the stop of a buy
	stop := order(side, engine.StopLimit+engine.OrderType(m.r.IntN(2)), lots)
	stop.Stop = max(1, last+out*(1+m.r.Int64N(max(last/20, 2))))
	aim := order(side, engine.Limit, lots)
	if aim.Price, aim.Flags = max(1, last-out*(1+m.r.Int64N(max(last/20, 2)))), engine.FlagPostOnly; m.r.IntN(3) == 0 {
		aim.Type, aim.Stop, aim.Flags = engine.TakeLimit, aim.Price, 0
	}
	switch l.Kind {
	case engine.OCO:
		l.Orders = []engine.Command{aim, stop}
	case engine.OTO, engine.OPO:
		l.Orders = []engine.Command{works, order(side, engine.OrderType(m.r.IntN(6)), lots)}
	default:
		l.Orders = []engine.Command{works, stop, aim}
	}
	return &engine.Command{Kind: engine.PlaceList, Pair: id, Account: account, List: l}
}

// edge makes some orders cost exactly what the account has, or a little more.
func (m *moneyScript) edge(c *engine.Command, pair int) {
	waits := c.Type == engine.StopMarket && c.Side == engine.Buy && m.r.IntN(2) == 0
	if c.Account == 0 || m.r.IntN(4) > 0 && !waits {
		return
	}
	if waits { // of the poor, just above the last trade: it is reached soon, and finds higher prices
		c.Account = engine.AccountID(m.users[m.r.IntN(2)])
		_, last := m.state.Core.LastTrade(c.Pair)
		c.Stop = last + 1 + m.r.Int64N(3)
	}
	in := m.pairs[pair]
	var lots *big.Int
	switch {
	case c.Side == engine.Sell && c.Flags&engine.FlagQuote != 0: // it never holds more than there is
		return
	case c.Side == engine.Sell:
		lots = new(big.Int).Quo(m.free(c.Account, in.Base), power(fixed.Scale-in.DigitsAmount))
	default:
		money := new(big.Int).Quo(m.free(c.Account, in.Quote), power(fixed.Scale-in.DigitsTotal()))
		if c.Flags&engine.FlagQuote != 0 {
			if money.Add(money, big.NewInt(m.r.Int64N(3)-1)); money.Sign() > 0 && money.BitLen() < 90 {
				c.Quote = u128Of(money)
			}
			return
		}
		price := max(c.Price, c.Stop)
		if price == 0 {
			price = m.mids[pair]
		}
		lots = new(big.Int).Quo(money, big.NewInt(price))
	}
	if lots.Add(lots, big.NewInt(m.r.Int64N(3)-1)); lots.Sign() > 0 && lots.IsInt64() {
		c.Amount = min(lots.Int64(), 1<<40)
		c.Display = 0
	}
}

// free returns what an account has free of a currency, in 10^-18.
func (m *moneyScript) free(a engine.AccountID, currency string) *big.Int {
	return audit.Big(m.shown.Accounts.Balance(uint32(a), currency).Free)
}

func (m *moneyScript) replace() *engine.Command {
	c := &engine.Command{Kind: engine.Replace, Order: m.someOrder(), Flags: engine.FlagAllAccount}
	pair := slices.IndexFunc(m.pairs, func(in *engine.Instrument) bool { return in.ID == c.Order.Pair() })
	if m.r.IntN(3) > 0 {
		c.Flags |= engine.FlagHasPrice
		c.Price = m.price(pair)
	}
	if c.Flags&engine.FlagHasPrice == 0 || m.r.IntN(2) == 0 {
		c.Flags |= engine.FlagHasAmount
		if c.Amount = m.amount(); m.r.IntN(2) == 0 {
			if o, open := m.state.Core.Order(c.Order); open {
				c.Amount = max(1, o.Total+m.r.Int64N(7)-3)
			}
		}
	}
	return c
}

// moveMoney deposits, withdraws, halts an account or lifts its halt, or changes a discount.
func (m *moneyScript) moveMoney() *engine.Command {
	u := m.users[m.r.IntN(len(m.users))]
	code := []string{"AA", "BB", "CC"}[m.r.IntN(3)]
	c := &accounts.Command{Kind: accounts.Deposit, User: u, Currency: code, Amount: m.purse(u, code)}
	switch m.r.IntN(10) {
	case 0, 1, 2:
		c.Kind = accounts.Withdraw
	case 3:
		*c = accounts.Command{Kind: accounts.SetHalt, User: u, Halted: !m.halted[u] && m.r.IntN(2) == 0}
	case 4:
		discount := fixed.FromI64(int64(m.r.IntN(50)) * 1e16)
		*c = accounts.Command{
			Kind: accounts.PatchUser, User: u, Profile: accounts.ProfilePatch{DealAskDiscount: &discount},
		}
	case 5:
		if m.digits[code] < fixed.Scale { // half a unit
			c.Amount = fixedOf(new(big.Int).Div(power(fixed.Scale-m.digits[code]), big.NewInt(2)))
			c.Kind = []accounts.Kind{accounts.Deposit, accounts.Withdraw}[m.r.IntN(2)]
			m.mix["halves of units"]++
		}
	default:
	}
	if c.Kind <= accounts.Withdraw && c.Kind >= accounts.Deposit && c.Amount.Sign() == 0 {
		c.Amount = fixedOf(power(fixed.Scale))
	}
	return accountCommand(c)
}

// changePair changes what may change of a pair. A pair that takes no orders is open again soon.
func (m *moneyScript) changePair() *engine.Command {
	in, _ := m.state.Core.Pair(m.pairs[m.r.IntN(len(m.pairs))].ID)
	set := *in
	if set.State = engine.Online; m.r.IntN(4) == 0 {
		set.State = engine.PairState(m.r.IntN(4))
	}
	set.MakerFee, set.TakerFee = m.rate(), m.rate()
	return &engine.Command{Kind: engine.SetPair, Pair: in.ID, Instrument: &set}
}

// Money follows the books: after every record of a random run, held is what the open orders need, nothing is lost or
// made, and each balance is what a second ledger computes. The log alone gives the same state.
func TestMoneyFollowsTheBooks(t *testing.T) {
	sum := map[string]int{}
	for n := range *moneySeeds {
		seed := *moneyFirst + n
		m := newMoneyScript(seed)
		if err := m.run(moneySteps); err != nil {
			t.Fatalf("seed %d (-money.seeds 1 -money.first %d), record %d, digits %v: %v", seed, seed, len(m.records),
				m.digits, err)
		}
		for what, n := range m.mix {
			sum[what] += n
		}
	}
	t.Logf("%d seeds: %v", *moneySeeds, sum)
	if *moneySeeds < 50 {
		return
	}
	for _, what := range []string{
		"accepted", "trades", "canceled", "replaced", "triggered", "refilled", "reduced", "parts", "between parts",
		"snapshots", "crashes", "ended by funds", "halves of units", "refused: insufficient_funds",
		"lists", "released", "lists ended",
		"refused: account_halted",
		"market buys at the edge", "market buys refused", "replaces refused",
	} {
		if sum[what] < 5 {
			t.Errorf("%s: %d", what, sum[what])
		}
	}
	if sum["accepted"]*10 < 6*(sum["accepted"]+sum["rejected"]) || sum["trades"]*100 < 15*sum["accepted"] {
		t.Errorf("%d orders are accepted, %d commands refused, %d trades", sum["accepted"], sum["rejected"],
			sum["trades"])
	}
}

func (m *moneyScript) run(steps int) error {
	if err := m.setUp(); err != nil {
		return err
	}
	for range steps {
		if err := m.step(); err != nil {
			return err
		}
	}
	return m.crash()
}
