package binance

import (
	"slices"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/server/json"
)

// The calls of the wallet that programs make at their start. They say of a Spot account here what is true of it: there
// are no networks over which money comes and goes, no dividends and no conversions, so those lists are empty.

// key returns the caller's key.
func (q *call) key() (accounts.APIKeyView, *failure) {
	keys := q.f.opt.Users.Keys(q.account())
	i := slices.IndexFunc(keys, func(k accounts.APIKeyView) bool { return k.PublicKey == q.Principal.PublicKey })
	if i < 0 {
		return accounts.APIKeyView{}, rejectedKey // deleted just now
	}
	return keys[i], nil
}

// restrictions serves GET /sapi/v1/account/apiRestrictions: what the caller's key permits.
func restrictions(q *call) ([]byte, *failure) {
	k, err := q.key()
	if err != nil {
		return nil, err
	}
	var w json.Writer
	w.Object()
	w.Name("ipRestrict").Bool(len(k.IPWhitelist) > 0)
	w.Name("createTime").Ms(k.CreatedNs)
	w.Name("enableReading").Bool(true)
	w.Name("enableWithdrawals").Bool(k.CanWithdraw)
	for _, none := range []string{
		"enableInternalTransfer", "enableMargin", "enableFutures", "permitsUniversalTransfer", "enableVanillaOptions",
		"enableFixApiTrade", "enableFixReadOnly",
	} {
		w.Name(none).Bool(false)
	}
	w.Name("enableSpotAndMarginTrading").Bool(k.CanTrade)
	w.Name("enablePortfolioMarginTrading").Bool(false)
	w.EndObject()
	return w.Bytes(), nil
}

// accountState serves GET /sapi/v1/account/status.
func accountState(*call) ([]byte, *failure) { return []byte(`{"data":"Normal"}`), nil }

// tradingState serves GET /sapi/v1/account/apiTradingStatus: no figures lock an account, an operator may.
func tradingState(q *call) ([]byte, *failure) {
	var w json.Writer
	w.Object()
	w.Name("data").Object()
	w.Name("isLocked").Bool(q.f.opt.Users.Halted(q.account()))
	w.Name("plannedRecoverTime").Int(0)
	w.Name("triggerCondition").Object()
	w.EndObject()
	w.Name("indicators").Object()
	w.EndObject()
	w.Name("updateTime").Ms(q.f.opt.Clock.NowNs())
	w.EndObject()
	w.EndObject()
	return w.Bytes(), nil
}

// accountInfo serves GET /sapi/v1/account/info.
func accountInfo(*call) ([]byte, *failure) {
	return []byte(`{"vipLevel":0,"isMarginEnabled":false,"isFutureEnabled":false,"isOptionsEnabled":false,` +
		`"isPortfolioMarginRetailEnabled":false}`), nil
}

// moves serves the lists of deposits and withdrawals over a network: there is none.
func moves(q *call) ([]byte, *failure) {
	q.skip("coin", "status", "startTime", "endTime", "offset", "limit", "txId", "includeSource", "withdrawOrderId",
		"idList")
	return []byte("[]"), nil
}

// dividends serves GET /sapi/v1/asset/assetDividend.
func dividends(q *call) ([]byte, *failure) {
	q.skip("asset", "startTime", "endTime", "limit")
	return []byte(`{"rows":[],"total":0}`), nil
}

// conversions serves GET /sapi/v1/asset/dribblet.
func conversions(q *call) ([]byte, *failure) {
	q.skip("accountType", "startTime", "endTime")
	return []byte(`{"total":0,"userAssetDribblets":[]}`), nil
}

// earnings serves the positions of savings under /sapi/v1/simple-earn: there are no savings.
func earnings(q *call) ([]byte, *failure) {
	q.skip("asset", "productId", "positionId", "projectId", "current", "size")
	return []byte(`{"rows":[],"total":0}`), nil
}

// fundingAssets serves POST /sapi/v1/asset/get-funding-asset: an account has no second wallet.
func fundingAssets(q *call) ([]byte, *failure) {
	q.skip("asset", "needBtcValuation")
	return []byte(`[]`), nil
}

// skip reads parameters that choose from a list without entries.
func (q *call) skip(names ...string) {
	for _, name := range names {
		q.text(name)
	}
}

// userAssets serves POST /sapi/v3/asset/getUserAsset: the balances above zero.
func userAssets(q *call) ([]byte, *failure) {
	asset, chosen := q.text("asset")
	if _, err := q.word("needBtcValuation", "false"); err != nil {
		return nil, err
	}
	w := json.Quoted(nil)
	w.List()
	for _, row := range q.f.opt.Users.Balances(q.account()) {
		if chosen && row.CurrencyCode != asset {
			continue
		}
		w.Object()
		writeBalance(&w, "asset", "free", "locked", &row)
		for _, none := range []string{"freeze", "withdrawing", "ipoable", "btcValuation"} {
			w.Name(none).Word("0")
		}
		w.EndObject()
	}
	w.EndList()
	return w.Bytes(), nil
}

// assetDetails serves GET /sapi/v1/asset/assetDetail: no currency can be deposited or withdrawn over a network.
func assetDetails(q *call) ([]byte, *failure) {
	asset, chosen := q.text("asset")
	w := json.Quoted(nil)
	w.Object()
	for _, row := range q.balances(q.f.opt.Board.Load(), true) {
		if chosen && row.CurrencyCode != asset {
			continue
		}
		w.Name(row.CurrencyCode).Object()
		w.Name("minWithdrawAmount").Word("0")
		w.Name("depositStatus").Bool(false)
		w.Name("withdrawFee").Word("0")
		w.Name("withdrawStatus").Bool(false)
		w.EndObject()
	}
	w.EndObject()
	return w.Bytes(), nil
}

// snapshots serves GET /sapi/v1/accountSnapshot: no daily snapshots are kept.
func snapshots(q *call) ([]byte, *failure) {
	kind, err := q.required("type")
	if err == nil && kind != "SPOT" {
		err = invalid("type")
	}
	if err != nil {
		return nil, err
	}
	q.skip("startTime", "endTime", "limit")
	return []byte(`{"code":200,"msg":"","snapshotVos":[]}`), nil
}
