package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/wal"
)

// journalDumpCmd prints the records of a journal.
type journalDumpCmd struct {
	Dir  string `arg:"" help:"Data directory, or its engine directory."`
	From uint64 `help:"First record." default:"0"`
	To   uint64 `help:"Last record; 0 means the end." default:"0"`
}

// Run prints one JSON object per record. At a damaged record it prints file, offset and reason, and ends.
func (c *journalDumpCmd) Run(p *program) error {
	if c.To != 0 && c.To < c.From {
		return cmdline.UsageError{Err: fmt.Errorf("--to %d is before --from %d", c.To, c.From)}
	}
	dir, err := engineDir(c.Dir)
	if err != nil {
		return err
	}
	log := exchange.EngineLog(dir)
	rd, err := wal.OpenReader(log.FS, log.Dir, log.Options, c.From)
	if err != nil {
		return exchange.ExplainDamage(err)
	}
	defer func() { _ = rd.Close() }()
	enc := json.NewEncoder(p.out)
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) || err == nil && c.To != 0 && rec.Seq > c.To {
			return nil
		}
		if err != nil {
			return exchange.ExplainDamage(err)
		}
		var cmd engine.Command
		line := map[string]any{
			"record": rec.Seq, "file": filepath.Base(rec.File), "offset": rec.Offset,
			"bytes": len(rec.Payload),
		}
		if err := engine.DecodeCommand(rec.Payload, &cmd); err != nil {
			line["error"] = err.Error()
		} else {
			line["command"] = dumpCommand(&cmd)
		}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
}

var commandNames = map[engine.CommandKind]string{
	engine.Place: "place", engine.Cancel: "cancel", engine.Replace: "replace", engine.CancelAll: "cancel_all",
	engine.PlaceList: "place_list",
	engine.AddPair:   "add_pair", engine.SetPair: "set_pair", engine.SetAsset: "set_asset",
	engine.Skip: "skip", engine.Continue: "continue", engine.SetSettings: "set_settings",
	engine.Other: "other",
}

// dumpOrder adds the members of a new order.
func dumpOrder(m map[string]any, c *engine.Command) {
	m["side"], m["type"] = c.Side.String(), c.Type.String()
	m["timeInForce"], m["selfTradePrevention"], m["flags"] = c.TIF.String(), c.STP.String(), c.Flags
	m["priceTicks"], m["amountLots"] = c.Price, c.Amount
	m["stopTicks"], m["displayLots"] = c.Stop, c.Display
	if c.Trail != 0 {
		m["trail"] = c.Trail
	}
	if c.Client.Named() {
		m["clientOrderId"], m["clientIdReusable"] = c.Client.Text, c.Client.Reusable
	}
	if c.Client != nil && c.Client.Strategy != nil {
		m["strategyId"] = *c.Client.Strategy
	}
	if c.Client != nil && c.Client.StrategyType != nil {
		m["strategyType"] = *c.Client.StrategyType
	}
}

// dumpCommand returns the members of a command that help a reader. Prices are ticks, amounts lots.
func dumpCommand(c *engine.Command) map[string]any {
	m := map[string]any{"kind": commandNames[c.Kind], "timeNs": c.TimeNs, "rules": engine.RulesVersion}
	if c.First {
		m["first"] = true
	}
	if c.Pair != engine.ControlPair && c.Kind != engine.Skip && c.Kind != engine.Other {
		m["pair"] = c.Pair
	}
	switch c.Kind {
	case engine.Skip:
		m["record"] = c.Order
	case engine.Place:
		m["account"] = c.Account
		dumpOrder(m, c)
	case engine.PlaceList:
		m["account"], m["list"] = c.Account, c.List.Kind.String()
		orders := make([]map[string]any, len(c.List.Orders))
		for i := range orders {
			orders[i] = map[string]any{}
			dumpOrder(orders[i], &c.List.Orders[i])
		}
		m["orders"] = orders
		if c.Client != nil {
			m["clientOrderId"], m["clientIdReusable"] = c.Client.Text, c.Client.Reusable
		}
	case engine.Cancel, engine.CancelAll, engine.Replace:
		m["account"], m["order"], m["flags"] = c.Account, c.Order, c.Flags
		if c.Client != nil {
			m["clientOrderId"] = c.Client.Text
		}
		if c.Kind == engine.Replace {
			m["priceTicks"], m["amountLots"] = c.Price, c.Amount
			m["stopTicks"], m["trail"] = c.Stop, c.Trail
		}
	case engine.AddPair, engine.SetPair:
		m["code"], m["state"] = c.Instrument.Code, c.Instrument.State.String()
		if c.Control != nil {
			m["pastCandles"] = len(c.Control.Past)
		}
	case engine.SetAsset:
		m["symbol"] = c.Control.Asset.Symbol
	case engine.SetSettings:
		m["settings"] = dumpSettings(c.Control.Settings)
	case engine.Other:
		m["part"], m["command"] = machine.Part(c.Control.Part).String(), dumpOther(c.Control)
	case engine.Continue: // its command is the pair's last one before it
	}
	if c.Refuse != engine.NotRejected {
		m["refuse"] = c.Refuse.String()
	}
	return m
}
