package engine

import (
	"crypto/sha256"
	"fmt"

	"tickhive/internal/fixed"
)

// EncodeControl appends everything that belongs to no pair: assets by symbol, accounts by
// number. Canonical as EncodePair.
func (c *Core) EncodeControl(dst []byte) []byte {
	w := &stateWriter{buf: dst}
	k := &c.control
	w.uint(StateFormat)
	w.uint(uint64(k.seq))
	assets := c.Assets()
	w.uint(uint64(len(assets)))
	for _, a := range assets {
		a.write(w)
	}
	w.uint(uint64(len(k.uuids) - 1))
	for _, id := range k.uuids[1:] {
		w.buf = append(w.buf, id[:]...)
	}
	return w.buf
}

// HashControl is the SHA-256 of EncodeControl.
func (c *Core) HashControl() [32]byte { return sha256.Sum256(c.EncodeControl(nil)) }

// DecodeControl replaces the registers of an empty core by those that EncodeControl
// wrote. An error says why the bytes are none, and leaves the core as it was.
func (c *Core) DecodeControl(data []byte) error {
	r := &stateReader{buf: data}
	if v := r.uint(1<<64 - 1); v != StateFormat && r.err == nil {
		return fmt.Errorf("engine: registers of state format %d cannot be read by this version, which has %d", v, StateFormat)
	}
	var k control
	k.Init()
	k.seq = Seq(r.uint(1<<63 - 1))
	for range r.count() {
		a := readAsset(r)
		if k.assets[a.Symbol] != nil {
			r.fail("asset %q is there twice", a.Symbol)
		}
		k.assets[a.Symbol] = a
	}
	n := r.count()
	if n > len(r.buf)/16 {
		r.fail("%d accounts do not fit into %d bytes", n, len(r.buf))
	}
	for i := 0; i < n && r.err == nil; i++ {
		id := [16]byte(r.buf)
		r.buf = r.buf[16:]
		if _, ok := k.accounts[id]; ok {
			r.fail("account %x is there twice", id)
		}
		k.accounts[id] = AccountID(len(k.uuids))
		k.uuids = append(k.uuids, id)
	}
	if r.err == nil && len(r.buf) > 0 {
		r.fail("%d bytes are left", len(r.buf))
	}
	if r.err != nil {
		return fmt.Errorf("engine: state of the registers: %w", r.err)
	}
	c.control = k
	return nil
}

// numbers are the asset's figures that may be absent, in the order of the encoding.
func (a *Asset) numbers() ([]*fixed.I128, []*bool) {
	return []*fixed.I128{&a.MinWithdraw, &a.MaxWithdraw, &a.MakerFee, &a.TakerFee},
		[]*bool{
			&a.HasMinWithdraw, &a.HasMaxWithdraw, &a.HasMakerFee, &a.HasTakerFee,
			&a.Fiat, &a.HasUnifiedID, &a.CanWithdraw, &a.CanDeposit,
		}
}

func (a *Asset) write(w *stateWriter) {
	w.text(a.Symbol)
	w.text(a.Name)
	w.int(a.UnifiedCryptoassetID)
	values, flags := a.numbers()
	for _, v := range values {
		w.int(v.Hi)
		w.uint(v.Lo)
	}
	for _, f := range flags {
		w.bool(*f)
	}
}

func readAsset(r *stateReader) *Asset {
	a := &Asset{Symbol: r.text(), Name: r.text(), UnifiedCryptoassetID: r.any64()}
	values, flags := a.numbers()
	for _, v := range values {
		v.Hi, v.Lo = r.any64(), r.uint(1<<64-1)
	}
	for _, f := range flags {
		*f = r.bool()
	}
	return a
}
