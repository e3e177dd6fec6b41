package engine

import (
	"crypto/sha256"
	"fmt"

	"tickhive/internal/fixed"
	"tickhive/internal/wire"
)

// EncodeControl appends everything that belongs to no pair: assets by symbol. Like EncodePair, it is canonical.
func (c *Core) EncodeControl(dst []byte) []byte {
	w := walker{wire.Writer(dst)}
	k := &c.control
	w.U64(new(uint64(StateFormat)))
	w.U64((*uint64)(&k.seq))
	assets := c.Assets()
	w.Len(len(assets))
	for _, a := range assets {
		w.asset(a)
	}
	return w.Bytes()
}

// HashControl returns the SHA-256 of EncodeControl.
func (c *Core) HashControl() [32]byte { return sha256.Sum256(c.EncodeControl(nil)) }

// DecodeControl replaces the registers of an empty core by the ones that EncodeControl wrote. After an error
// the core is unchanged.
func (c *Core) DecodeControl(data []byte) error {
	w := walker{wire.Reader(data)}
	if err := w.format("registers"); err != nil {
		return err
	}
	k := control{assets: map[string]*Asset{}}
	w.UpTo((*uint64)(&k.seq), 1<<63-1)
	for range w.Len(0) {
		a := &Asset{}
		w.asset(a)
		if k.assets[a.Symbol] != nil {
			w.Fail("asset %q is there twice", a.Symbol)
		}
		k.assets[a.Symbol] = a
	}
	if err := w.End(); err != nil {
		return fmt.Errorf("engine: state of the registers: %w", err)
	}
	c.control = k
	return nil
}

func (w walker) asset(a *Asset) {
	w.Text(&a.Symbol, maxStateText)
	w.Text(&a.Name, maxStateText)
	w.bits64(&a.UnifiedCryptoassetID)
	for _, v := range [...]*fixed.I128{&a.MinWithdraw, &a.MaxWithdraw, &a.MakerFee, &a.TakerFee} {
		w.i128(v)
	}
	for _, b := range [...]*bool{
		&a.HasMinWithdraw, &a.HasMaxWithdraw, &a.HasMakerFee, &a.HasTakerFee,
		&a.Fiat, &a.HasUnifiedID, &a.CanWithdraw, &a.CanDeposit,
	} {
		w.Bool(b)
	}
}
