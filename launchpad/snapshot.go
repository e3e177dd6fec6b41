package launchpad

import (
	"fmt"

	"github.com/tickhive/tickhive/internal/wire"
)

// AppendSnapshot appends the encoding of the whole state. Equal states give equal bytes. Indexes, counts of
// holders and USD figures are derived, so they are not in it.
func (s *State) AppendSnapshot(dst []byte) []byte {
	c := wire.Writer(dst)
	s.codeHead(c)
	c.Len(s.idents.n)
	for i := range s.idents.n {
		id := s.idents.at(i)
		id.code(c)
		t, _ := s.tokens.Get(id.No)
		c2 := *t
		c2.code(c)
	}
	c.Len(s.balances.Len())
	s.balances.Scan(func(k string, v Amount) bool {
		codeBalance(c, &k, &v)
		return true
	})
	c.Len(s.spawners.Len())
	s.spawners.Scan(func(k string, v spawner) bool {
		codeSpawner(c, &k, &v)
		return true
	})
	c.Len(s.window.Len())
	for i := range s.window.Len() {
		s.window.At(i).code(c)
	}
	c.Len(s.checkpoints.Len())
	for i := range s.checkpoints.Len() {
		s.codeCheckpoint(c, *s.checkpoints.At(i))
	}
	return c.Bytes()
}

// DecodeSnapshot rebuilds a state from the bytes of AppendSnapshot and returns an error when Check finds it
// inconsistent. opt holds the options, which snapshots do not contain.
func DecodeSnapshot(b []byte, opt Options) (*State, error) {
	s := New(opt)
	c := wire.Reader(b)
	s.codeHead(c)
	for range c.Len(0) {
		s.readToken(c)
	}
	for range c.Len(0) {
		var k string
		var v Amount
		codeBalance(c, &k, &v)
		s.readBalance(c, k, v)
	}
	for range c.Len(0) {
		var k string
		var v spawner
		codeSpawner(c, &k, &v)
		s.spawners.Set(k, v)
	}
	for range c.Len(0) {
		var m mark
		m.code(c)
		s.readMark(c, m)
	}
	for range c.Len(0) {
		s.readCheckpoint(c)
	}
	if err := c.End(); err != nil {
		return nil, fmt.Errorf("launchpad: snapshot: %w", err)
	}
	for i := range s.idents.n {
		id := s.idents.at(i)
		t := s.edit(id.No)
		t.derive(&s.opt)
		s.tokens.Set(id.No, t)
		s.index.add(t)
	}
	s.digest = s.digestOf()
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("launchpad: snapshot: %w", err)
	}
	return s, nil
}

func (s *State) codeHead(c *wire.Coder) {
	c.Bool(&s.begun)
	c.U64(&s.seed)
	c.I64(&s.genesisNs)
	c.I64(&s.nowNs)
	c.U64(&s.seq)
	c.U64(&s.position)
	c.I64(&s.lastListBlock)
	c.U64(&s.faults)
	for i := range s.totals {
		t := &s.totals[i]
		t.Fees.code(c)
		t.Deposited.code(c)
		t.Withdrawn.code(c)
	}
}

// code encodes or decodes an Ident without its number, which its place in the list determines.
func (id *Ident) code(c *wire.Coder) {
	c.I64(&id.ListBlock)
	c.I64(&id.SpawnedSec)
	c.Fixed(id.Address[:])
	c.Fixed(id.Pool[:])
	c.Fixed(id.Owner[:])
	c.U8((*uint8)(&id.Side), sides-1)
	id.Supply.code(c)
	c.Text(&id.Name, maxText)
	c.Text(&id.Symbol, maxText)
	c.Text(&id.Metadata, maxText)
}

func (t *Token) code(c *wire.Coder) {
	t.ReserveToken.code(c)
	t.ReserveQuote.code(c)
	c.I64(&t.LastTradeSec)
	c.I64(&t.BoostUntilSec)
	c.U8((*uint8)(&t.BoostTier), uint8(tiers)-1)
	c.Bool(&t.Boosted)
	t.codeCandles(c)
	if t.BoostUntilSec < 0 || t.BoostUntilSec >= 1<<43 {
		c.Fail("boost until second %d", t.BoostUntilSec)
	}
}

func codeBalance(c *wire.Coder, k *string, v *Amount) {
	c.Text(k, 24)
	v.code(c)
}

func codeSpawner(c *wire.Coder, k *string, v *spawner) {
	c.Text(k, 20)
	c.I64(&v.LastSec)
	c.I64(&v.Count)
}

func (m *mark) code(c *wire.Coder) {
	c.I64(&m.sec)
	c.U32(&m.token)
	m.quote.code(c)
}

// codeCheckpoint encodes or decodes a checkpoint with the holdings that it remembers.
func (s *State) codeCheckpoint(c *wire.Coder, p *checkpoint) {
	c.U64(&p.seq)
	c.U32(&p.token)
	c.I64(&p.endSec)
	for i := range c.Len(p.changed.Len()) {
		var a Address
		var held Amount
		if !c.Reading() {
			a = *p.changed.At(i)
			held, _ = s.past.Get(pastKey(tokenAsset(p.token), a, p.seq))
		}
		c.Fixed(a[:])
		if held.code(c); c.Err() != nil {
			return
		}
		if c.Reading() {
			s.past.Set(pastKey(tokenAsset(p.token), a, p.seq), held)
			p.changed.Push(a)
		}
	}
}

func (s *State) readCheckpoint(c *wire.Coder) {
	p := new(checkpoint)
	s.codeCheckpoint(c, p)
	if c.Err() != nil || p.token == 0 || int(p.token) > s.idents.n || p.endSec < 0 || p.endSec >= 1<<43 {
		c.Fail("checkpoint of token %d", p.token)
		return
	}
	s.addCheckpoint(p)
}

func (s *State) readToken(c *wire.Coder) {
	id := &Ident{No: uint32(s.idents.n) + 1}
	id.code(c)
	t := &Token{Ident: id}
	t.code(c)
	if c.Err() != nil || s.idents.n >= MaxTokens {
		c.Fail("more than %d tokens", MaxTokens)
		return
	}
	s.idents.append(id)
	s.symbols[id.Symbol] = id.No
	s.byAddress.Set(key(id.Address), id.No)
	s.tokens.Set(id.No, t)
	s.candles += t.candles()
	coin := &s.totals[id.Side.Currency()]
	coin.Pooled = coin.Pooled.Add(t.ReserveQuote)
	if t.Boosted {
		s.boostEnds.Set(boostKey(t), struct{}{})
	}
}

func (s *State) readBalance(c *wire.Coder, k string, v Amount) {
	if c.Err() != nil || len(k) != 24 || v.IsZero() {
		c.Fail("balance of %d key bytes", len(k))
		return
	}
	s.balances.Set(k, v)
	as := asset(k[20])<<24 | asset(k[21])<<16 | asset(k[22])<<8 | asset(k[23])
	switch {
	case as <= usbiAsset:
		s.totals[as].Held = s.totals[as].Held.Add(v)
	case int(as) < s.idents.n+currencies:
		t := s.edit(as.token())
		t.Holders++
		s.tokens.Set(t.No, t)
	default:
		c.Fail("balance of an unknown token")
	}
}

func (s *State) readMark(c *wire.Coder, m mark) {
	if c.Err() != nil || m.token == 0 || int(m.token) > s.idents.n {
		c.Fail("window mark of token %d", m.token)
		return
	}
	s.window.Push(m)
	t := s.edit(m.token)
	t.Window = t.Window.Add(m.quote)
	s.tokens.Set(t.No, t)
}
