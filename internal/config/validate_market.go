package config

import (
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/setting"
)

const (
	// maxAssetName is the largest number of characters in a currency's display name, also in the API. A journal
	// record has room for 256 bytes.
	maxAssetName = 64
	// maxUnifiedID is the largest integer that every JSON parser represents exactly.
	maxUnifiedID = 1<<53 - 1
)

// validateMarket checks assets and pairs by converting them to the engine's form.
func (c *Config) validateMarket() error {
	var errs []error
	digits := engine.AssetDigits{}
	for i := range c.Assets {
		a := &c.Assets[i]
		if _, twice := digits[a.Symbol]; twice {
			errs = append(errs, fmt.Errorf("assets: %s is listed twice", a.Symbol))
		}
		digits[a.Symbol] = a.digits()
		for _, err := range a.validate() {
			errs = append(errs, fmt.Errorf("assets: %s: %w", a.Symbol, err))
		}
	}
	codes := map[string]bool{}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if codes[p.Code] {
			errs = append(errs, fmt.Errorf("pairs: %s is listed twice", p.Code))
		}
		codes[p.Code] = true
		ins, err := p.Instrument()
		if err == nil {
			digits.Give(ins)
			err = ins.Validate()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("pairs: %s: %w", p.Code, err))
		}
	}
	if len(c.Assets) > engine.DefaultAssets || len(c.Pairs) > engine.DefaultPairs {
		errs = append(errs, fmt.Errorf("assets, pairs: %d assets and %d pairs exceed the limits of %d and %d",
			len(c.Assets), len(c.Pairs), engine.DefaultAssets, engine.DefaultPairs))
	}
	if len(errs) > 0 {
		return errors.Join(errs...) // the code below requires valid assets and pairs
	}
	s := accounts.Settings{Commissions: c.commissions(), Referral: accounts.DefaultConfig()}
	if err := s.Validate(); err != nil {
		return fmt.Errorf("assets: %w", err)
	}
	if c.Simulated() {
		_, err := c.SimPairs()
		return err
	}
	return nil
}

// validate checks a currency against the limits of the API and of a journal record.
func (a *AssetConfig) validate() (errs []error) {
	if !engine.ValidCurrencyCode(a.Symbol) {
		errs = append(errs, fmt.Errorf("symbol %q must be %s", a.Symbol, engine.CurrencyForm))
	}
	if utf8.RuneCountInString(a.Name) > maxAssetName {
		errs = append(errs, fmt.Errorf("name: must have at most %d characters", maxAssetName))
	}
	if d := a.digits(); d < 0 || d > fixed.Scale {
		errs = append(errs, fmt.Errorf("digits: %d must be from 0 to %d", d, fixed.Scale))
	}
	if a.UnifiedID < 0 || a.UnifiedID > maxUnifiedID {
		errs = append(errs, fmt.Errorf("unified_cryptoasset_id: %d must be from 0 to %d", a.UnifiedID, maxUnifiedID))
	}
	for _, k := range setting.Keys("", reflect.ValueOf(*a)) {
		if k.Tag.Get("unit") != "rate" {
			continue
		}
		if _, err := k.Value.Interface().(setting.Decimal).Rate(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", k.Name, err))
		}
	}
	if a.MinWithdraw.Given() && a.MaxWithdraw.Given() && a.MinWithdraw.Value().Cmp(a.MaxWithdraw.Value()) > 0 {
		errs = append(errs, fmt.Errorf("min_withdraw: %s must not exceed max_withdraw %s", a.MinWithdraw,
			a.MaxWithdraw))
	}
	return errs
}
