package launchpad

import (
	"math/big"

	"tickhive/internal/fifo"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// swapOut returns the amount that a pool pays for in (docs/contract/launchpad.md#pools), in units of 10^-18:
// in' = in - ceil(in x feeTier / 10^6), out = floor(reserveOut x in' / (reserveIn + in')).
func swapOut(reserveIn, reserveOut, in Amount) Amount {
	v := in.Big()
	fee := new(big.Int).Mul(v, big.NewInt(FeeTier))
	fee.Add(fee, big.NewInt(999_999))
	fee.Quo(fee, big.NewInt(1_000_000))
	after := v.Sub(v, fee)
	num := new(big.Int).Mul(reserveOut.Big(), after)
	den := after.Add(after, reserveIn.Big())
	out, ok := AmountFromBig(num.Quo(num, den))
	if !ok {
		panic("BUG: launchpad: a swap gives more than the reserve")
	}
	return out
}

// planSwap makes its checks in the order of the contract's error table: amounts, token, pool, funds, minOut.
func (s *State) planSwap(nowNs int64, cmd Swap) (Record, *refuse.Refusal) {
	if cmd.AmountIn.IsZero() {
		return Record{}, amountWrong("amountIn")
	}
	t, ok := s.tokens.Get(cmd.Token)
	if !ok {
		return Record{}, unknownToken()
	}
	if t.Empty() {
		return Record{}, refuse.New(refuse.Conflict, "", "The pool is empty: add liquidity first.")
	}
	payIn, name := t.Side.Currency().asset(), t.Side.Currency().String()
	reserveIn, reserveOut := t.ReserveQuote, t.ReserveToken
	if cmd.Sell {
		payIn, name = t.asset(), t.Symbol
		reserveIn, reserveOut = reserveOut, reserveIn
	}
	if s.balance(cmd.From, payIn).Less(cmd.AmountIn) {
		return Record{}, insufficient("amountIn", name)
	}
	out := swapOut(reserveIn, reserveOut, cmd.AmountIn)
	if out.IsZero() {
		return Record{}, refuse.Param("amountIn", "amountIn is too small: nothing would come out.")
	}
	if out.Less(cmd.MinOut) {
		return Record{}, refuse.New(refuse.Conflict, "minOut", "The swap gives %s, less than minOut.", out)
	}
	if s.window.fullAt(floorSec(nowNs), MaxWindowMarks) {
		return Record{}, refuse.Later(fullSec, "The 24 h windows hold %d swaps, their limit.", MaxWindowMarks)
	}
	if rej := s.mayMove(t.No); rej != nil {
		return Record{}, rej
	}
	return Record{
		Kind: RecSwap, Token: cmd.Token, From: cmd.From, Sell: cmd.Sell, In: cmd.AmountIn, Out: out,
	}, nil
}

func (s *State) applySwap(rec *Record, res *Result) {
	res.TxHash = s.nextTxHash()
	id := s.idents.at(int(rec.Token) - 1)
	coin := id.Side.Currency()
	payIn, payOut, quote := coin.asset(), id.asset(), rec.In
	if rec.Sell {
		payIn, payOut, quote = payOut, payIn, rec.Out
	}
	s.debit(rec.From, payIn, rec.In)
	s.credit(rec.From, payOut, rec.Out)

	t := s.edit(rec.Token)
	pooled := &s.totals[coin].Pooled
	if rec.Sell {
		t.ReserveToken, t.ReserveQuote = t.ReserveToken.Add(rec.In), t.ReserveQuote.Sub(rec.Out)
		*pooled = pooled.Sub(rec.Out)
	} else {
		t.ReserveToken, t.ReserveQuote = t.ReserveToken.Sub(rec.Out), t.ReserveQuote.Add(rec.In)
		*pooled = pooled.Add(rec.In)
	}
	t.LastTradeSec = floorSec(rec.TimeNs)
	t.Window = t.Window.Add(quote)
	s.window.push(mark{sec: t.LastTradeSec, token: t.No, quote: quote})
	t.derive(&s.opt)
	s.put(t)

	tokens := rec.Out
	if rec.Sell {
		tokens = rec.In
	}
	res.Token, res.In, res.Out, res.Price = t, rec.In, rec.Out, quotient(quote, tokens)
	res.Block = blockAt(s.genesisNs, rec.TimeNs)
	res.Fact = t.fact()
}

// planLiquidity accepts both amounts of the first liquidity in full. For later liquidity it lowers one amount
// to the pool's ratio, rounded down; the payer keeps the difference.
func (s *State) planLiquidity(cmd AddLiquidity) (Record, *refuse.Refusal) {
	if cmd.TokenAmount.IsZero() {
		return Record{}, amountWrong("tokenAmount")
	}
	if cmd.QuoteAmount.IsZero() {
		return Record{}, amountWrong("quoteAmount")
	}
	t, ok := s.tokens.Get(cmd.Token)
	if !ok {
		return Record{}, unknownToken()
	}
	tokens, quote := cmd.TokenAmount, cmd.QuoteAmount
	if !t.Empty() {
		tokens, quote = inRatio(t, tokens, quote)
		if tokens.IsZero() || quote.IsZero() {
			return Record{}, refuse.Param("tokenAmount", "The amounts are too small for the pool's ratio.")
		}
	}
	if s.balance(cmd.From, t.asset()).Less(tokens) {
		return Record{}, insufficient("tokenAmount", t.Symbol)
	}
	coin := t.Side.Currency()
	if s.balance(cmd.From, coin.asset()).Less(quote) {
		return Record{}, insufficient("quoteAmount", coin.String())
	}
	if rej := s.mayMove(t.No); rej != nil {
		return Record{}, rej
	}
	return Record{Kind: RecLiquidity, Token: cmd.Token, From: cmd.From, In: tokens, Out: quote}, nil
}

func (s *State) applyLiquidity(rec *Record, res *Result) {
	res.TxHash = s.nextTxHash()
	id := s.idents.at(int(rec.Token) - 1)
	coin := id.Side.Currency()
	s.debit(rec.From, id.asset(), rec.In)
	s.debit(rec.From, coin.asset(), rec.Out)
	s.totals[coin].Pooled = s.totals[coin].Pooled.Add(rec.Out)
	t := s.edit(rec.Token)
	t.ReserveToken, t.ReserveQuote = t.ReserveToken.Add(rec.In), t.ReserveQuote.Add(rec.Out)
	t.derive(&s.opt)
	s.put(t)
	res.Token = t
}

// inRatio lowers one of the two amounts so that they have the pool's ratio, rounded down.
func inRatio(t *Token, tokens, quote Amount) (Amount, Amount) {
	wanted := tokens.Big()
	wanted.Mul(wanted, t.ReserveQuote.Big()).Quo(wanted, t.ReserveToken.Big())
	if wanted.Cmp(quote.Big()) <= 0 {
		quote, _ = AmountFromBig(wanted)
		return tokens, quote
	}
	// quote is less than the tokens need, so the result is at most tokens and fits.
	return mulDiv(quote, t.ReserveToken, t.ReserveQuote), quote
}

// WindowSec is the length of the volume window: at second T a swap at t counts while
// T - 86400 < floor(t) <= T (docs/contract/market-data.md#ticker).
const WindowSec = 86400

// mark holds the amount of quote currency that one token traded in one second.
type mark struct {
	sec   int64
	token uint32
	quote Amount
}

// window holds the marks of all tokens that are within the 24 h, oldest first. The length is the same for every
// token, so one first-in, first-out queue serves all.
type window struct{ fifo.Queue[mark] }

// fullAt reports whether there are limit marks at nowSec. Marks that have left by then do not count, whether or not
// they have been removed.
func (w *window) fullAt(nowSec int64, limit int) bool {
	return w.Len() >= limit && w.At(w.Len()-limit).sec+WindowSec > nowSec
}

func (w *window) push(m mark) {
	if n := w.Len(); n > 0 {
		if last := w.At(n - 1); last.sec == m.sec && last.token == m.token {
			last.quote = last.quote.Add(m.quote)
			return
		}
	}
	w.Push(m)
}

// nextExpiry returns the second at which the oldest mark leaves the window.
func (w *window) nextExpiry() int64 { return w.At(0).sec + WindowSec }

// slideOne removes the oldest mark and lowers its token's window.
func (s *State) slideOne() {
	m := s.window.Pop()
	t := s.edit(m.token)
	t.Window = t.Window.Sub(m.quote)
	t.derive(&s.opt)
	s.put(t)
}

// cents is an amount in hundredths of a USD, rounded half to even (docs/contract/launchpad.md#pools). Lists
// sort by this rounded figure, so that rows which print the same figure are ordered by address.
type cents = fixed.U128

var maxCents = cents{Hi: 1<<64 - 1, Lo: 1<<64 - 1}

// usdCents returns times x quote in USD. 1 USBI is 1 USD, 1 wNATIVE is NativeUSD.
func (o *Options) usdCents(quote Amount, side Side, times int64) cents {
	if quote.IsZero() {
		return cents{}
	}
	v := quote.Big()
	v.Mul(v, big.NewInt(times))
	unit := pow10(Decimals - 2)
	if side == WNative {
		v.Mul(v, o.NativeUSD.Big())
		unit.Mul(unit, pow10(Decimals))
	}
	v = quoHalfEven(v, unit)
	if v.BitLen() > 128 {
		return maxCents // above 10^36 USD all figures are equal, so only the order among them is lost
	}
	lo := new(big.Int).And(v, new(big.Int).SetUint64(1<<64-1)).Uint64()
	return cents{Hi: v.Rsh(v, 64).Uint64(), Lo: lo}
}
