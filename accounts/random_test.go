package accounts

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// simulation drives a State as the running exchange does: handlers reserve and set aside, the market emits, commands
// are applied. It retains the log for restarts. Beside it may run a replay of the log, which knows neither reservations
// nor what is set aside: its snapshot has the same bytes after each step.
type simulation struct {
	t       *testing.T
	rng     *rand.Rand
	s       *State
	now     int64
	pos     uint64
	markets []*market
	naive   ledger
	users   uint32

	log      []record // since the snapshot
	current  []engine.Event
	snapshot []byte
	replay   *State // nil: none
	late     int    // orders that wait for the engine before the oldest is sent
	waiting  []sent

	commands, accepted, trading, trades, refused, restarts, replaces, reduces int
}

// record is what one record of the log brings: the events of a command of the market, or a command.
type record struct {
	pos     uint64
	events  []engine.Event
	timeNs  int64
	command []byte
}

// apply replays a record.
func (rec *record) apply(t *testing.T, s *State) {
	s.FoldEvents(rec.events, rec.pos)
	if rec.command == nil {
		return
	}
	cmd, err := DecodeCommand(rec.command)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = s.Do(rec.timeNs, &cmd) // a refused command is a record, too
}

// append adds a record that was applied to the log.
func (m *simulation) append(rec record) {
	m.t.Helper()
	m.log = append(m.log, rec)
	if m.replay == nil {
		return
	}
	rec.apply(m.t, m.replay)
	if !bytes.Equal(m.replay.AppendSnapshot(nil), m.s.AppendSnapshot(nil)) {
		m.t.Fatalf("after %d commands: the replay has another state", m.commands)
	}
}

func (m *simulation) emit(e engine.Event, f fold) {
	m.current = append(m.current, e)
	f.event(&e)
}

// trade folds a trade and books it in the naive ledger, whose fee must be the State's.
func (m *simulation) trade(mk *market, t engine.Event, f fold) {
	m.current = append(m.current, t)
	short := m.s.Counts().Shortfalls
	got := f.trade(&t)
	m.trades++
	buyer, seller := uint32(t.Account), uint32(t.MakerAccount)
	worth := mk.money(mk.total(t.Price, t.Amount))
	fee := func(account, rate, discount uint32, got *big.Int, buys bool) *big.Int {
		want := new(big.Int)
		if account != 0 {
			want = naiveFee(worth, rate, discount)
		}
		if want.Cmp(got) != 0 {
			if less := new(big.Int).Sub(want, got); !buys || m.s.Counts().Shortfalls == short ||
				less.Sign() < 0 || less.Cmp(big.NewInt(1000)) > 0 {
				m.t.Fatalf("fee %s, want %s", got, want)
			}
		}
		return got
	}
	takerFee := fee(uint32(t.Account), t.TakerFee, t.TakerDiscount, toBig(got.taker), t.Side == engine.Buy)
	makerFee := fee(uint32(t.MakerAccount), t.MakerFee, t.MakerDiscount, toBig(got.maker), t.Side == engine.Sell)
	if buyer == 0 && seller == 0 {
		return
	}
	if t.Side == engine.Sell {
		buyer, seller = seller, buyer
	}
	goods := new(big.Int).Mul(big.NewInt(t.Amount), pow10(18-mk.da))
	m.naive.add(mk.base, buyer, goods)
	m.naive.add(mk.base, seller, new(big.Int).Neg(goods))
	m.naive.add(mk.quote, seller, worth)
	m.naive.add(mk.quote, buyer, new(big.Int).Neg(worth))
	if t.Side == engine.Buy { // the buyer's fee is booked first
		m.naive.fee(mk.quote, uint32(t.Account), takerFee)
		m.naive.fee(mk.quote, uint32(t.MakerAccount), makerFee)
	} else {
		m.naive.fee(mk.quote, uint32(t.MakerAccount), makerFee)
		m.naive.fee(mk.quote, uint32(t.Account), takerFee)
	}
}

func (m *simulation) fold(run func(fold)) {
	m.pos++
	m.s.FoldEvents(nil, m.pos)
	m.s.mu.Lock()
	run(fold{m.s})
	m.s.mu.Unlock()
	m.append(record{pos: m.pos, events: m.current})
	m.current = nil
}

func (m *simulation) do(cmd Command) (Result, bool) {
	aside, reject := m.s.SetAside(&cmd)
	defer aside.Release()
	if reject != nil || m.rng.IntN(50) == 0 { // the log could not be written: no answer and no change
		m.refused++
		return Result{}, false
	}
	return m.withoutAside(cmd)
}

func (m *simulation) withoutAside(cmd Command) (Result, bool) {
	m.pos++
	res, err := m.s.Do(m.now, &cmd)
	m.s.FoldEvents(nil, m.pos)
	m.append(record{pos: m.pos, timeNs: m.now, command: AppendCommand(nil, &cmd)})
	if err != nil {
		m.refused++
		return Result{}, false
	}
	m.accepted++
	return res, true
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	m := &simulation{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), s: New(testSettings()), now: t0,
		naive: ledger{
			map[string]map[uint32]*big.Int{},
			map[string]*big.Int{},
			map[uint32]uint32{},
			map[uint32]uint32{},
		},
	}
	for i, p := range []market{
		{base: "BTC", quote: "USDT", dp: 2, da: 6},
		{base: "ETH", quote: "BTC", dp: 5, da: 4},
		{base: "ATOM", quote: "USDT", dp: 9, da: 9}, // fees beyond 18 digits: they round
	} {
		p.r, p.pair = m, uint32(i)
		m.markets = append(m.markets, &p)
		e := engine.Event{
			Kind: engine.EventPair, Pair: engine.PairID(p.pair), Seq: m.markets[i].next(),
			Instrument: &engine.Instrument{Base: p.base, Quote: p.quote, DigitsPrice: p.dp, DigitsAmount: p.da},
		}
		m.fold(func(f fold) { m.emit(e, f) })
	}
	m.takeSnapshot()
	for range 40 {
		if _, ok := m.do(Command{Kind: CreateUser, Profile: ProfilePatch{Unlimited: ptr(m.users >= 36)}}); ok {
			m.users++
		}
	}
	return m
}

func (m *simulation) someone() uint32 { return uint32(m.rng.IntN(int(m.users))) + 1 }

// step runs one random command.
func (m *simulation) step() {
	m.commands++
	m.now += m.rng.Int64N(1_000_000_000)
	switch n := m.rng.IntN(100); {
	case n < 62:
		m.order()
	case n < 76:
		mk := m.markets[m.rng.IntN(len(m.markets))]
		if o := mk.pick(m.rng); o != nil {
			m.fold(func(f fold) { mk.cancel(f, o) })
			m.accepted++
		}
	case n < 84:
		m.replaceOne()
	case n < 86:
		mk := m.markets[m.rng.IntN(len(m.markets))]
		if o := mk.pick(m.rng); o != nil {
			m.fold(func(f fold) { mk.reduce(f, o, m.rng.Int64N(o.open)+1) })
			m.reduces++
			m.accepted++
		}
	default:
		m.account(n)
	}
}

func (m *simulation) account(n int) {
	u, currency := m.someone(), []string{"BTC", "USDT", "ETH", "ATOM"}[m.rng.IntN(4)]
	amount := dec([]string{"0.5", "12.25", "1000", "0.000000000000000007"}[m.rng.IntN(4)])
	switch {
	case n < 93:
		if _, ok := m.do(Command{Kind: Deposit, User: u, Currency: currency, Amount: amount}); ok {
			m.naive.add(currency, u, toBig(amount))
		}
	case n < 96:
		if res, ok := m.do(Command{Kind: Withdraw, User: u, Currency: currency, Amount: amount}); ok {
			m.naive.add(currency, u, new(big.Int).Neg(toBig(amount)))
			m.naive.fee(currency, u, toBig(res.Commission))
		}
	case n < 98:
		if by := m.someone(); m.naive.inviter[u] == 0 {
			if _, ok := m.do(Command{Kind: SetInviter, User: u, Code: InviteCode(by)}); ok {
				m.naive.inviter[u] = by
			}
		}
	default:
		m.terms(u)
	}
}

func (m *simulation) terms(u uint32) {
	p := ProfilePatch{
		IsAmbassador: ptr(m.rng.IntN(2) == 0), SecondLevelPercent: decp([]string{"20", "3.25"}[m.rng.IntN(2)]),
		DealBidDiscount: decp([]string{"0", "0.1", "0.33333333"}[m.rng.IntN(3)]), DealAskDiscount: decp("0.5"),
		NoTradeCommissions: ptr(m.rng.IntN(8) == 0),
	}
	if _, ok := m.do(Command{Kind: PatchUser, User: u, Profile: p}); !ok {
		return
	}
	delete(m.naive.boss, u)
	if *p.IsAmbassador {
		m.naive.boss[u], _ = percentRate(*p.SecondLevelPercent, RateOne)
	}
}

// order places one random order: it reserves, then runs the order in the market.
func (m *simulation) order() {
	mk := m.markets[m.rng.IntN(len(m.markets))]
	p := OrderParams{Pair: mk.pair, Side: engine.Side(m.rng.IntN(2))}
	if m.rng.IntN(10) > 0 {
		p.Account = m.someone()
	}
	t := m.s.View().Terms(p.Account)
	p.Rates = Rates{Maker: RateOne / 1000, Taker: RateOne / 500, Discount: t.Discount(p.Side)}
	if mk.pair == 2 {
		p.Rates.Maker, p.Rates.Taker = 123_457, 234_561
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(mk.da)), nil).Int64()
	p.Price = 1_000 + m.rng.Int64N(60)
	p.Amount = m.rng.Int64N(unit) + 1
	if m.rng.IntN(8) == 0 {
		p.Amount = m.rng.Int64N(20) + 1
	}
	ioc := m.rng.IntN(6) == 0
	switch m.rng.IntN(6) {
	case 0:
		p.Type, p.Price = engine.Market, 0
	case 1:
		if p.Side == engine.Buy {
			p.Type, p.ByQuote, p.Price = engine.Market, true, 0
			p.Quote = bigQuote(mk.total(1_000, p.Amount))
			p.Amount = 0
		}
	}
	res, reason := m.s.Reserve(p)
	if reason != engine.NotRejected {
		m.refused++
		return
	}
	m.waiting = append(m.waiting, sent{mk, p, res, ioc})
	for len(m.waiting) > m.late {
		m.send(m.waiting[0])
		m.waiting = m.waiting[1:]
	}
}

// sent is an order on its way to the engine.
type sent struct {
	mk  *market
	p   OrderParams
	res Reservation
	ioc bool
}

func (m *simulation) send(o sent) {
	var ok, traded bool
	m.fold(func(f fold) { ok, traded = o.mk.place(f, o.p, o.res, o.ioc) })
	if !ok {
		m.s.Release(o.res)
		m.refused++
		return
	}
	m.accepted++
	if traded {
		m.trading++
	}
}

func (m *simulation) replaceOne() {
	mk := m.markets[m.rng.IntN(len(m.markets))]
	o := mk.pick(m.rng)
	if o == nil {
		return
	}
	p := ReplaceParams{
		Order: o.id, Price: o.price + m.rng.Int64N(11) - 5,
		Amount: o.total + m.rng.Int64N(o.total+1) - o.total/2, HasPrice: true, HasAmount: true,
	}
	res, reason := m.s.ReserveReplace(p)
	if reason != engine.NotRejected {
		m.refused++
		return
	}
	done := false
	m.fold(func(f fold) { done = mk.replace(f, o, p.Price, p.Amount, res) })
	if !done {
		m.s.Release(res)
		m.refused++
		return
	}
	m.replaces++
	m.accepted++
}

func (m *simulation) takeSnapshot() {
	m.snapshot = m.s.AppendSnapshot(nil)
	m.log = nil
}

// restart rebuilds the state from the last snapshot and the log, and goes on with it.
func (m *simulation) restart() {
	s, err := DecodeSnapshot(m.snapshot)
	if err != nil {
		m.t.Fatal(err)
	}
	for i := range m.log {
		m.log[i].apply(m.t, s)
	}
	if !bytes.Equal(s.AppendSnapshot(nil), m.s.AppendSnapshot(nil)) {
		m.t.Fatalf("after %d commands: the state after a restart is another", m.commands)
	}
	m.s = s
	m.restarts++
}

// compare checks every invariant and every balance against the naive ledger.
func (m *simulation) compare() {
	m.t.Helper()
	if err := m.s.Check(); err != nil {
		m.t.Fatalf("after %d commands: %v", m.commands, err)
	}
	if c := m.s.Counts(); c.Overdrafts != 0 || len(m.s.holds.pending) != 0 {
		m.t.Fatalf("after %d commands: %+v, %d reservations", m.commands, c, len(m.s.holds.pending))
	}
	for currency, owners := range m.naive.owns {
		for account, want := range owners {
			b := m.s.View().Balance(account, currency)
			if toBig(b.Free.Add(b.Held)).Cmp(want) != 0 || b.Total != b.Free.Add(b.Held) {
				m.t.Fatalf("after %d commands: account %d has %s %s, the naive ledger %s", m.commands, account,
					toBig(b.Total), currency, want)
			}
		}
	}
	for _, v := range m.s.View().Totals() {
		if want := m.naive.fees[v.CurrencyCode]; want != nil && toBig(v.Fees).Cmp(want) != 0 {
			m.t.Fatalf("after %d commands: fees of %s are %s, the naive ledger's %s", m.commands, v.CurrencyCode,
				toBig(v.Fees), want)
		}
	}
	m.compareHolds()
}

func TestRandomCommandsAgreeWithANaiveLedger(t *testing.T) {
	commands := 100_000
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		commands = 1_000_000
	}
	const seed = 20260101
	m := newSimulation(t, seed)
	for m.commands < commands {
		m.step()
		if m.commands%2_000 == 0 {
			m.compare()
		}
		if m.commands%7_919 == 0 {
			m.restart()
			if m.rng.IntN(2) == 0 {
				m.takeSnapshot()
			}
		}
	}
	m.restart()
	m.compare()
	t.Logf("seed %d: %d commands, %d %% accepted, %d %% of them traded, %d trades, %d replaces, "+
		"%d reductions, %d refused, %d restarts, %d accruals, %+v",
		seed, m.commands, 100*m.accepted/m.commands, 100*m.trading/m.accepted, m.trades, m.replaces,
		m.reduces, m.refused, m.restarts, m.s.referral.dealQueue.Len(), m.s.Counts())
	if m.accepted*100 < m.commands*60 || m.trading*100 < m.accepted*15 || m.restarts < 10 || m.replaces < 1000 ||
		m.reduces < 1000 {
		t.Fatal("the mix shows too little")
	}
}

// What the edge keeps for orders and commands on their way decides nothing: a replay that knows none of it has the same
// state after each record, refused ones included.
func TestAReplayKnowsNoReservations(t *testing.T) {
	const seed = 20260102
	m := newSimulation(t, seed)
	var err error
	if m.replay, err = DecodeSnapshot(m.s.AppendSnapshot(nil)); err != nil {
		t.Fatal(err)
	}
	m.s.referral.maxDealAccruals, m.replay.referral.maxDealAccruals = 50, 50 // snapshots stay small
	m.late = 12
	refused := 0
	for m.commands < 6_000 {
		m.step()
		if m.rng.IntN(4) == 0 { // at the edge it would be refused, or it exceeds what is free
			before := m.refused
			m.withoutAside(Command{
				Kind: Withdraw, User: m.someone(), Currency: "USDT",
				Amount: MaxMoney.Sub(fixed.FromI64(m.rng.Int64N(9))),
			})
			refused += m.refused - before
		}
	}
	if m.trades < 500 || m.replaces < 50 || refused < 500 || len(m.waiting) != m.late {
		t.Fatalf("seed %d: %d trades, %d replaces, %d refused, %d wait", seed, m.trades, m.replaces, refused,
			len(m.waiting))
	}
}
