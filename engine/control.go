package engine

// control holds the stream of assets and accounts, which belong to no pair
// (docs/contract/matching.md#sequence-numbers).
type control struct {
	seq      Seq
	assets   map[string]*Asset
	accounts map[[16]byte]AccountID
	uuids    [][16]byte // by AccountID; 0 is the built-in account, all zero
}

func (k *control) Init() {
	k.assets = map[string]*Asset{}
	k.accounts = map[[16]byte]AccountID{{}: 0}
	k.uuids = [][16]byte{{}}
}

func (k *control) event(cmd *Command, kind EventKind) Event {
	k.seq++
	return Event{Seq: k.seq, TimeNs: cmd.TimeNs, Pair: ControlPair, Kind: kind}
}

// refuse emits the refusal of a command that belongs to no existing pair.
func (k *control) refuse(cmd *Command, r Reason, dst []Event) []Event {
	e := k.event(cmd, EventRejected)
	e.Reason, e.Status = r, Rejected
	e.Side, e.Account, e.Client = cmd.Side, cmd.Account, cmd.Client
	if cmd.Kind == Cancel || cmd.Kind == Replace {
		e.Order = cmd.Order
	}
	return append(dst, e)
}

func (k *control) setAsset(cmd *Command, o *Options, dst []Event) []Event {
	a := *cmd.Asset
	if _, ok := k.assets[a.Symbol]; !ok && len(k.assets) >= o.Assets {
		return k.refuse(cmd, TooManyOrders, dst)
	}
	k.assets[a.Symbol] = &a
	e := k.event(cmd, EventAsset)
	e.Asset = &a
	return append(dst, e)
}

func (k *control) openAccount(cmd *Command, o *Options, dst []Event) []Event {
	uuid := *cmd.UUID
	id, ok := k.accounts[uuid]
	if !ok {
		if len(k.uuids) > o.Accounts {
			return k.refuse(cmd, TooManyOrders, dst)
		}
		id = AccountID(len(k.uuids))
		k.accounts[uuid] = id
		k.uuids = append(k.uuids, uuid)
	}
	e := k.event(cmd, EventAccountOpened)
	e.Account, e.UUID = id, &uuid
	return append(dst, e)
}
