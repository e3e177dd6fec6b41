package engine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/wire"
)

// fullAsset has a value in each member, other than in all members of its type.
func fullAsset() engine.Asset {
	return engine.Asset{
		Symbol: "XYZ", Name: "Ex", Digits: 6, UnifiedCryptoassetID: -7, HasUnifiedID: true, CanDeposit: true,
		MinWithdraw: fixed.I128{Hi: -1, Lo: 5}, HasMinWithdraw: true, MaxWithdraw: fixed.I128{Hi: 3, Lo: 6},
		MakerFee: fixed.I128{Lo: 8}, TakerFee: fixed.I128{Lo: 9}, HasTakerFee: true,
	}
}

// A core with restored registers answers as the one that wrote them: assets, the next seq.
func TestRegistersAreRestored(t *testing.T) {
	c := richCore(t)
	full := fullAsset()
	c.Apply(&engine.Command{Kind: engine.SetAsset, Control: &engine.ControlRecord{Asset: &full}}, nil)
	state := c.EncodeControl(nil)
	back := engine.NewCore(engine.Options{})
	if err := back.DecodeControl(state); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.EncodeControl(nil), state) || back.HashControl() != c.HashControl() {
		t.Error("the restored registers have another state")
	}
	if d := differ.Diff(c.Assets(), back.Assets()); d != "" || len(c.Assets()) != 3 {
		t.Errorf("%d assets, restored: %s", len(c.Assets()), d)
	}
	if a, ok := back.Asset("XYZ"); !ok || *a != full {
		t.Errorf("%+v, want %+v", a, full)
	}
	cmd := engine.Command{Kind: engine.SetAsset, Control: &engine.ControlRecord{Asset: &full}}
	if e := back.Apply(&cmd, nil)[0]; e.Kind != engine.EventAsset || e.Seq != c.LastSeq(engine.ControlPair)+1 {
		t.Errorf("the next asset: %+v", e)
	}
}

// registers returns the state of registers by the drawing of EncodeControl: format, seq, assets.
func registers(format, seq uint64, assets []engine.Asset) (b []byte) {
	b = binary.AppendUvarint(binary.AppendUvarint(nil, format), seq)
	b = binary.AppendUvarint(b, uint64(len(assets)))
	for _, a := range assets {
		for _, s := range []string{a.Symbol, a.Name} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
		b = append(b, byte(a.Digits))
		b = binary.AppendUvarint(b, uint64(a.UnifiedCryptoassetID))
		for _, v := range []fixed.I128{a.MinWithdraw, a.MaxWithdraw, a.MakerFee, a.TakerFee} {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(v.Hi)), v.Lo)
		}
		for _, yes := range []bool{
			a.HasMinWithdraw, a.HasMaxWithdraw, a.HasMakerFee, a.HasTakerFee, a.Fiat, a.HasUnifiedID, a.CanWithdraw,
			a.CanDeposit,
		} {
			if b = append(b, 0); yes {
				b[len(b)-1] = 1
			}
		}
	}
	return b
}

// Registers are restored at the bounds of their members and refused beyond them; a refused state changes nothing.
func TestRegistersHaveBounds(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		name  string
		state []byte
		says  string
	}{
		{"empty", registers(5, 0, nil), ""},
		{"full", registers(5, 5, []engine.Asset{fullAsset()}), ""},
		{"format 4", registers(4, 0, nil), "registers of state format 4"},
		{"format 6", registers(6, 0, nil), "registers of state format 6"},
		{"seq", registers(5, math.MaxInt64, nil), ""},
		{"seq beyond", registers(5, math.MaxInt64+1, nil), "is above"},
		{"symbol", registers(5, 0, []engine.Asset{{Symbol: text(1 << 16)}}), ""},
		{"long symbol", registers(5, 0, []engine.Asset{{Symbol: text(1<<16 + 1)}}), "at most 65536"},
		{"name", registers(5, 0, []engine.Asset{{Name: text(1 << 16)}}), ""},
		{"long name", registers(5, 0, []engine.Asset{{Name: text(1<<16 + 1)}}), "at most 65536"},
		{"digits beyond", registers(5, 0, []engine.Asset{{Digits: 19}}), "19 is above 18"},
		{"asset twice", registers(5, 0, []engine.Asset{{Symbol: "A"}, {Symbol: "A"}}), `asset "A" is there twice`},
		{"too many bytes", append(registers(5, 0, nil), 9), "1 bytes left over"},
		{"half an asset", registers(5, 0, []engine.Asset{{Symbol: "A"}})[:12], wire.ErrShort.Error()},
		{"no bytes", nil, wire.ErrShort.Error()},
	} {
		back := engine.NewCore(engine.Options{})
		err := back.DecodeControl(c.state)
		switch {
		case c.says == "":
			if err != nil || !bytes.Equal(back.EncodeControl(nil), c.state) {
				t.Errorf("%s: %v, or it is written as another state", c.name, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.says):
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		case !bytes.Equal(back.EncodeControl(nil), registers(5, 0, nil)):
			t.Errorf("%s: the refused registers are there", c.name)
		}
	}
	if err := engine.NewCore(engine.Options{}).DecodeControl(nil); !errors.Is(err, wire.ErrShort) {
		t.Error(err)
	}
}
