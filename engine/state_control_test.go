package engine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"tickhive/engine"
	"tickhive/internal/differ"
	"tickhive/internal/fixed"
	"tickhive/internal/wire"
)

// fullAsset has a value in each member, other than in all members of its type.
func fullAsset() engine.Asset {
	return engine.Asset{
		Symbol: "XYZ", Name: "Ex", UnifiedCryptoassetID: -7, HasUnifiedID: true, CanDeposit: true,
		MinWithdraw: fixed.I128{Hi: -1, Lo: 5}, HasMinWithdraw: true, MaxWithdraw: fixed.I128{Hi: 3, Lo: 6},
		MakerFee: fixed.I128{Lo: 8}, TakerFee: fixed.I128{Lo: 9}, HasTakerFee: true,
	}
}

// A core with restored registers answers as the one that wrote them: assets, accounts in both directions, the number of
// the next account, the next seq.
func TestRegistersAreRestored(t *testing.T) {
	c := richCore(t)
	full := fullAsset()
	c.Apply(&engine.Command{Kind: engine.SetAsset, Asset: &full}, nil)
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
	for i, uuid := range [][16]byte{{}, {1, 2, 3}, {9}} {
		if id, ok := back.Account(uuid); !ok || id != engine.AccountID(i) || back.AccountUUID(id) != uuid {
			t.Errorf("account %x has number %d", uuid, id)
		}
	}
	// 3 is the first unknown number: one more account would have it.
	if n := back.Accounts(); n != 3 || back.AccountUUID(engine.AccountID(n)) != [16]byte{} {
		t.Errorf("%d accounts", n)
	}
	cmd := engine.Command{Kind: engine.OpenAccount, UUID: &[16]byte{8}}
	e := back.Apply(&cmd, nil)[0]
	if e.Account != 3 || e.Seq != c.LastSeq(engine.ControlPair)+1 || back.AccountUUID(3) != [16]byte{8} {
		t.Errorf("the next account: %+v", e)
	}
}

// registers returns the state of registers by the drawing of EncodeControl: format, seq, assets, accounts.
func registers(format, seq uint64, assets []engine.Asset, accounts ...[16]byte) (b []byte) {
	b = binary.AppendUvarint(binary.AppendUvarint(nil, format), seq)
	b = binary.AppendUvarint(b, uint64(len(assets)))
	for _, a := range assets {
		for _, s := range []string{a.Symbol, a.Name} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
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
	b = binary.AppendUvarint(b, uint64(len(accounts)))
	for _, id := range accounts {
		b = append(b, id[:]...)
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
		{"empty", registers(1, 0, nil), ""},
		{"full", registers(1, 5, []engine.Asset{fullAsset()}, [16]byte{1}, [16]byte{2}), ""},
		{"format 0", registers(0, 0, nil), "registers of state format 0"},
		{"format 2", registers(2, 0, nil), "registers of state format 2"},
		{"seq", registers(1, math.MaxInt64, nil), ""},
		{"seq beyond", registers(1, math.MaxInt64+1, nil), "is above"},
		{"symbol", registers(1, 0, []engine.Asset{{Symbol: text(1 << 16)}}), ""},
		{"long symbol", registers(1, 0, []engine.Asset{{Symbol: text(1<<16 + 1)}}), "at most 65536"},
		{"name", registers(1, 0, []engine.Asset{{Name: text(1 << 16)}}), ""},
		{"long name", registers(1, 0, []engine.Asset{{Name: text(1<<16 + 1)}}), "at most 65536"},
		{"asset twice", registers(1, 0, []engine.Asset{{Symbol: "A"}, {Symbol: "A"}}), `asset "A" is there twice`},
		{"account twice", registers(1, 0, nil, [16]byte{1}, [16]byte{1}), "account 010000000000000000000000"},
		{"built-in account", registers(1, 0, nil, [16]byte{}), "is there twice"},
		{"too many accounts", append(registers(1, 0, nil, [16]byte{1}), 9), "1 bytes left over"},
		{"half an account", registers(1, 0, nil, [16]byte{1})[:12], wire.ErrShort.Error()},
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
		case !bytes.Equal(back.EncodeControl(nil), registers(1, 0, nil)):
			t.Errorf("%s: the refused registers are there", c.name)
		}
	}
	if err := engine.NewCore(engine.Options{}).DecodeControl(nil); !errors.Is(err, wire.ErrShort) {
		t.Error(err)
	}
}
