package launchpad

import (
	"errors"
	"fmt"
	"math"

	"github.com/tidwall/btree"

	"github.com/tickhive/tickhive/internal/fifo"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/internal/wire"
)

// State is the ledger: every token, pool and balance as a function of the commands carried out, their times and the
// settings in force. Owner: the goroutine of the machine. Trees marked shared are copy-on-write, and the
// objects in them are never changed, because Views hold them too.
type State struct {
	opt Options

	begun         bool
	seed          uint64
	genesisNs     int64
	nowNs         int64  // time of the last change, Unix ns
	seq           uint64 // number of commands carried out and of checkpoints made
	position      uint64 // number of ledger transactions so far
	lastListBlock int64
	faults        uint64 // number of coming spawns that injected faults will refuse
	totals        [currencies]Total

	idents    identList                   // by workerId - 1; shared, append-only
	tokens    *btree.Map[uint32, *Token]  // by workerId; shared
	byAddress *btree.Map[string, uint32]  // token address -> workerId; shared
	balances  *btree.Map[string, Amount]  // key: balanceKey; shared
	spawners  *btree.Map[string, spawner] // key: address; shared
	index     index                       // shared
	symbols   map[string]uint32
	window    window
	boostEnds *btree.Map[uint64, struct{}] // running boosts; key: boostKey

	checkpoints fifo.Queue[*checkpoint]    // those that last, oldest first; they end in this order
	newest      map[uint32]*checkpoint     // the newest of them of each token
	past        *btree.Map[string, Amount] // holdings that they remember; key: pastKey; shared
	maxPast     int                        // MaxPast
	maxMarks    int                        // MaxWindowMarks
	candles     int                        // of all tokens
	maxCandles  int                        // MaxCandles

	digest uint64 // of everything but the head (digest.go)
}

// degree is small, because each change after a publish copies the nodes on its path.
const degree = 16

// New returns an empty ledger. opt must be valid.
func New(opt Options) *State {
	s := &State{
		opt:       opt,
		tokens:    btree.NewMap[uint32, *Token](degree),
		byAddress: btree.NewMap[string, uint32](degree),
		balances:  btree.NewMap[string, Amount](degree),
		spawners:  btree.NewMap[string, spawner](degree),
		index:     newIndex(),
		symbols:   map[string]uint32{},
		boostEnds: btree.NewMap[uint64, struct{}](degree),
		newest:    map[uint32]*checkpoint{},
		past:      btree.NewMap[string, Amount](degree),
		maxPast:   MaxPast,
		maxMarks:  MaxWindowMarks,

		maxCandles: MaxCandles,
	}
	for c := range Currency(currencies) {
		s.totals[c].Currency = c
	}
	return s
}

// SetOptions sets the settings in force. What a later command reads of them is what counts: a spawn pays the fee and
// waits for the cooldown that are in force when it comes, also when the spawn before it was made under others. What has
// got its end already keeps it: boosts, checkpoints, marks of the windows. USD figures have the new rate at once.
func (s *State) SetOptions(opt Options) {
	rate := s.opt.NativeUSD
	if s.opt = opt; rate == opt.NativeUSD {
		return
	}
	for i := range s.idents.n {
		t := s.edit(s.idents.at(i).No)
		t.derive(&s.opt)
		s.put(t)
	}
}

// LastNs returns the time of the last change, Unix nanoseconds.
func (s *State) LastNs() int64 { return s.nowNs }

// nextTxHash counts a ledger transaction and returns its hash.
func (s *State) nextTxHash() Hash {
	s.position++
	return derive("tx", s.seed, s.position)
}

// edit returns a copy of a token to be changed; put then stores it. Views keep the previous version.
func (s *State) edit(no uint32) *Token {
	t, ok := s.tokens.Get(no)
	if !ok {
		panic("BUG: launchpad: no such token")
	}
	c := *t
	return &c
}

func (s *State) put(t *Token) {
	before, _ := s.tokens.Set(t.No, t)
	s.digest += t.mix() - before.mix()
	s.index.change(before, t)
}

// nextDue returns the second of the next change that time alone causes, and the function that carries it out: a swap
// leaves its window, a boost ends, a checkpoint is forgotten. The second is 0 when there is none.
func (s *State) nextDue() (sec int64, carryOut func(*State)) {
	first := func(at int64, f func(*State)) {
		if sec == 0 || at < sec {
			sec, carryOut = at, f
		}
	}
	if s.window.Len() > 0 {
		first(s.window.nextExpiry(), (*State).slideOne)
	}
	if k, _, ok := s.boostEnds.Min(); ok {
		first(int64(k>>20), (*State).endOneBoost)
	}
	if s.checkpoints.Len() > 0 {
		first((*s.checkpoints.At(0)).endSec, (*State).forgetOne)
	}
	return sec, carryOut
}

// carryOut makes the changes that are due by nowNs, each at its own time, in the order of their times, at most most of
// them. It returns their number.
func (s *State) carryOut(nowNs int64, most int) (n int) {
	for ; n < most; n++ {
		sec, change := s.nextDue()
		if sec == 0 || sec > floorSec(nowNs) {
			break
		}
		s.nowNs = max(s.nowNs, sec*secondNs)
		change(s)
	}
	return n
}

// NextNs returns the time of the next change that time alone causes, 0 when there is none.
func (s *State) NextNs() int64 {
	sec, _ := s.nextDue()
	return sec * secondNs
}

// Begun reports whether Begin was applied.
func (s *State) Begun() bool { return s.begun }

// The launchpad's limits.
const (
	// MaxTokens bounds memory: about 2 KB a token with its index entries.
	MaxTokens = 1 << 20
	// MaxWindowMarks bounds the marks of the 24 h windows: one mark of 48 bytes per token and second with a
	// swap. When it is reached, swaps are refused until marks have left.
	MaxWindowMarks = 1 << 22
	// MaxTokenCandles is the number of candles that a token keeps: one answer has them all.
	MaxTokenCandles = 1000
	// MaxCandles bounds the candles of all tokens, 200 bytes each. When it is reached, a token's new candle takes the
	// place of its oldest one, and only the first candle of a token is one more.
	MaxCandles = 1 << 20
	// MaxCheckpoints bounds the checkpoints that last. One takes about 150 bytes.
	MaxCheckpoints = 1 << 20
	// MaxPast bounds the holdings that all checkpoints remember, 150 bytes each. When it is reached, commands that
	// change holdings of a token with a checkpoint are refused until a checkpoint ends.
	MaxPast = 1 << 22
	// CheckpointSec is the time for which a checkpoint lasts. It is a day longer than a proposal of the hive.
	CheckpointSec = 8 * 86400
	// maxDue bounds the changes that a Tick carries out. The rest waits for the next one.
	maxDue = 256
	// MaxMetadata is the largest size of a token's metadata in bytes (docs/contract/launchpad.md#spawn).
	MaxMetadata = 4096
	// MaxBoostAheadSec limits how far ahead repeated boosts can extend a boost: ten years.
	MaxBoostAheadSec = 10 * 366 * 86400
	// MaxFaults limits the injected faults that have not been used yet.
	MaxFaults = 1_000_000
	// MaxPageSize is the largest page of the token list.
	MaxPageSize = 100
	// fullSec is the Retry-After, in seconds, of a refusal because a limit is reached. Only time or an operator
	// resolves it.
	fullSec = 60
	// DefaultPageSize is the page size of the token list (docs/contract/launchpad.md#tokens).
	DefaultPageSize = 20
)

// Config is the section launchpad of the configuration.
type Config struct {
	Fee       setting.Decimal  `toml:"fee" default:"100" help:"spawn fee in the native currency"`
	Cooldown  setting.Duration `toml:"cooldown" default:"24h" help:"time between two spawns of one address"`
	NativeUSD setting.Decimal  `toml:"native_usd" default:"1" help:"price of the native currency in USD"`
}

// Options returns the settings of the launchpad, or what is wrong with the first invalid key.
func (c *Config) Options() (o Options, err error) {
	if o.Fee, err = ParseAmount(string(c.Fee)); err != nil {
		return o, fmt.Errorf("launchpad.fee: %w", err)
	}
	if o.NativeUSD, err = ParseAmount(string(c.NativeUSD)); err != nil {
		return o, fmt.Errorf("launchpad.native_usd: %w", err)
	}
	o.CooldownNs = int64(c.Cooldown)
	return o, o.Validate()
}

// Check reports the first invalid key.
func (c *Config) Check() error {
	_, err := c.Options()
	return err
}

// Options holds the settings of the launchpad (State.SetOptions). A snapshot does not contain them.
type Options struct {
	Fee        Amount // NATIVE that a spawn costs (launchpad.fee)
	CooldownNs int64  // minimum time between two spawns of an address (launchpad.cooldown)
	NativeUSD  Amount // price of one NATIVE in 10^-18 USD (launchpad.native_usd)
}

// DefaultOptions returns fee 100, cooldown 24 h, 1 USD per NATIVE.
func DefaultOptions() Options {
	return Options{Fee: AmountOf(100), CooldownNs: 86400 * secondNs, NativeUSD: AmountOf(1)}
}

// Validate reports an option that is out of range.
func (o *Options) Validate() error {
	switch {
	case o.CooldownNs < 0 || o.CooldownNs > 366*86400*secondNs:
		return errors.New("launchpad.cooldown is not within 0 and 366 days")
	case maxBalance.Less(o.Fee):
		return errors.New("launchpad.fee is above 10^20, the largest balance")
	case AmountOf(1_000_000_000).Less(o.NativeUSD):
		return errors.New("launchpad.native_usd is above 10^9")
	}
	return nil
}

// Code encodes or decodes the options.
func (o *Options) Code(c *wire.Coder) {
	o.Fee.code(c)
	c.I63(&o.CooldownNs)
	o.NativeUSD.code(c)
}

// maxBalance is the largest balance of NATIVE or USBI that a deposit may lead to.
var maxBalance, _ = ParseAmount("100000000000000000000")

// Do carries out what is due by nowNs, then the command at nowNs. An error is a *refuse.Refusal; then nothing has
// changed but what was due. So what a command does never depends on the Ticks before it; they only keep what it finds
// due small.
func (s *State) Do(nowNs int64, cmd Command) (res Result, err error) {
	res.Due = s.carryOut(nowNs, math.MaxInt)
	lastNs := s.nowNs
	s.nowNs = max(s.nowNs, nowNs)
	if rej := s.do(cmd, &res); rej != nil {
		s.nowNs = lastNs
		return res, rej
	}
	s.seq++
	return res, nil
}

// Tick carries out what is due by nowNs, at most maxDue changes.
func (s *State) Tick(nowNs int64) Result { return Result{Due: s.carryOut(nowNs, maxDue)} }

// do validates a command and carries it out at s.nowNs. It changes nothing when it refuses.
func (s *State) do(cmd Command, res *Result) *refuse.Refusal {
	if _, begin := cmd.(Begin); begin == s.begun {
		return refuse.New(refuse.Conflict, "", "The ledger begins once, with its first command.")
	}
	switch cmd := cmd.(type) {
	case Begin:
		s.begun, s.seed, s.genesisNs = true, cmd.Seed, s.nowNs
	case Spawn:
		return s.spawn(&cmd, res)
	case Deposit:
		return s.deposit(&cmd, res)
	case Withdraw:
		return s.withdraw(&cmd, res)
	case Transfer:
		return s.transfer(&cmd, res)
	case AddLiquidity:
		return s.addLiquidity(&cmd, res)
	case Swap:
		return s.swap(&cmd, res)
	case BuyBoost:
		return s.buyBoost(&cmd, res)
	case InjectFault:
		if cmd.Count == 0 || cmd.Count > MaxFaults || s.faults+cmd.Count > MaxFaults {
			return refuse.Param("count", "count is 1 to %d, those still to fail included.", MaxFaults)
		}
		s.faults += cmd.Count
	default:
		panic("BUG: launchpad: unknown command")
	}
	return nil
}

// Check walks the whole state and reports the first broken invariant of doc.go. Recovery and tests call it; its
// cost grows with the state.
func (s *State) Check() error {
	supply := make([]Amount, s.idents.n+currencies)
	s.balances.Scan(func(k string, v Amount) bool {
		as := int(k[20])<<24 | int(k[21])<<16 | int(k[22])<<8 | int(k[23])
		supply[as] = supply[as].Add(v)
		return true
	})
	if err := s.checkPast(); err != nil {
		return err
	}
	var pooled [currencies]Amount
	candles := 0
	for i := range s.idents.n {
		id := s.idents.at(i)
		t, ok := s.tokens.Get(id.No)
		if !ok || int(id.No) != i+1 {
			return fmt.Errorf("token %d is not at its place", i+1)
		}
		if sum := supply[id.asset()].Add(t.ReserveToken); sum != id.Supply {
			return fmt.Errorf("token %d: holdings and reserve are %s, the supply is %s", id.No, sum, id.Supply)
		}
		if t.ReserveToken.IsZero() != t.ReserveQuote.IsZero() {
			return fmt.Errorf("token %d: half a pool", id.No)
		}
		coin := id.Side.Currency()
		pooled[coin] = pooled[coin].Add(t.ReserveQuote)
		if err := t.checkCandles(s.nowNs); err != nil {
			return fmt.Errorf("token %d: %w", id.No, err)
		}
		candles += t.candles()
		if i > 0 && id.ListBlock <= s.idents.at(i-1).ListBlock {
			return fmt.Errorf("token %d: list blocks do not rise", id.No)
		}
		if err := s.index.check(t); err != nil {
			return err
		}
	}
	for c, t := range s.totals {
		in, out := t.Held.Add(t.Pooled).Add(t.Fees).Add(t.Withdrawn), t.Deposited
		if supply[c] != t.Held || pooled[c] != t.Pooled || in != out {
			return fmt.Errorf("%s does not add up: held %s of %s, pooled %s of %s, all %s of %s",
				t.Currency, t.Held, supply[c], t.Pooled, pooled[c], in, out)
		}
	}
	if candles != s.candles {
		return fmt.Errorf("there are %d candles, not %d", candles, s.candles)
	}
	if err := s.CheckDigest(); err != nil {
		return err
	}
	if s.tokens.Len() != s.idents.n || len(s.symbols) != s.idents.n || s.byAddress.Len() != s.idents.n {
		return errors.New("two tokens share a symbol or an address")
	}
	return nil
}

// checkPast compares the checkpoints with the holdings that they remember.
func (s *State) checkPast() error {
	kept, last := 0, &checkpoint{}
	for i := range s.checkpoints.Len() {
		c := *s.checkpoints.At(i)
		if c.seq <= last.seq || c.endSec < last.endSec || c.seq > s.seq {
			return fmt.Errorf("checkpoint %d follows checkpoint %d", c.seq, last.seq)
		}
		for j := range c.changed.Len() {
			if _, ok := s.past.Get(pastKey(tokenAsset(c.token), *c.changed.At(j), c.seq)); !ok {
				return fmt.Errorf("checkpoint %d remembers no holding of account %s", c.seq, c.changed.At(j))
			}
		}
		kept, last = kept+c.changed.Len(), c
	}
	if kept != s.past.Len() {
		return fmt.Errorf("checkpoints have %d holdings, %d are remembered", kept, s.past.Len())
	}
	return nil
}

// check reports a token that is missing from a filter that matches it, or that is in a filter that does not
// match.
func (ix *index) check(t *Token) error {
	for by := range Sort(sorts) {
		for c := range filter(filters) {
			if _, ok := ix[by][c].Get(placeOf(t, by)); ok != c.matches(t) {
				return fmt.Errorf("token %d: sort %s, cell %d: in the index %v", t.No, by, c, ok)
			}
		}
	}
	return nil
}
