package accounts

import "fmt"

// RecordVersion is the version of the record format. SnapshotVersion is the version of the
// snapshot's body; older snapshots are still readable.
const (
	RecordVersion   = 1
	SnapshotVersion = 2
)

// RulesVersion is the version of the rules that new records are applied by:
//
//	0  the program before rules had versions
//	1  an accrual is paid as far as the receiver has room for it
const RulesVersion = 1

// rulesShift is the position of the rules version in the first byte of a record, above the kind.
const rulesShift = 4

// Format of a record (varints as in encoding/binary; texts and lists preceded by their length;
// money as 16 bytes, little endian):
//
//	kind and rules u8 | timeNs varint | enginePos uvarint | user uvarint | the members of the kind
//
// The members follow in the order of the Record's fields.

// AppendRecord appends the encoding of a record. It holds secrets: the log's files are 0600.
func AppendRecord(dst []byte, rec *Record) []byte {
	dst = append(dst, byte(rec.Kind)|rec.Rules<<rulesShift)
	dst = putInt(dst, rec.TimeNs)
	dst = putUint(dst, rec.EnginePos)
	dst = putUint(dst, uint64(rec.User))
	switch rec.Kind {
	case CreateUser, PatchUser:
		dst = putProfile(dst, &rec.Profile)
	case CreateKey:
		dst = putKey(dst, &rec.Key)
	case DeleteKey:
		dst = putText(dst, rec.PublicKey)
	case Deposit:
		dst = putMoney(putText(dst, rec.Currency), rec.Amount)
	case Withdraw:
		dst = putMoney(putMoney(putText(dst, rec.Currency), rec.Amount), rec.Commission)
	case AddProfit:
		dst = append(putMoney(putText(dst, rec.Currency), rec.Amount), byte(rec.Profit))
	case SetInviter:
		dst = putUint(putBool(putUint(dst, uint64(rec.Inviter)), rec.HasRate), uint64(rec.Rate))
	case CreateLink:
		dst = putUint(putUint(dst, rec.LinkNumber), uint64(rec.Rate))
	case Configure:
		dst = putConfig(dst, &rec.Config)
	}
	return dst
}

// DecodeRecord is the inverse of AppendRecord. The record shares nothing with b.
func DecodeRecord(b []byte) (Record, error) {
	r := &reader{b: b}
	first := r.byte()
	rec := Record{Kind: Kind(first & (1<<rulesShift - 1)), Rules: first >> rulesShift, TimeNs: r.int(), EnginePos: r.uint(), User: r.uint32()}
	if rec.Rules > RulesVersion {
		return Record{}, fmt.Errorf("%w: rules version %d, a newer program's; this one has %d", errCorrupt, rec.Rules, RulesVersion)
	}
	switch rec.Kind {
	case CreateUser, PatchUser:
		rec.Profile = r.profile()
	case CreateKey:
		rec.Key = r.key()
	case DeleteKey:
		rec.PublicKey = r.text()
	case Deposit:
		rec.Currency, rec.Amount = r.text(), r.money()
	case Withdraw:
		rec.Currency, rec.Amount, rec.Commission = r.text(), r.money(), r.money()
	case AddProfit:
		rec.Currency, rec.Amount, rec.Profit = r.text(), r.money(), ProfitType(r.byte())
	case SetInviter:
		rec.Inviter, rec.HasRate, rec.Rate = r.uint32(), r.bool(), r.rate()
	case CreateLink:
		rec.LinkNumber, rec.Rate = r.uint(), r.rate()
	case Configure:
		rec.Config = r.config()
	default:
		r.fail()
	}
	if err := r.end(); err != nil {
		return Record{}, err
	}
	return rec, nil
}

func putProfile(b []byte, p *Profile) []byte {
	b = putText(b, p.Nickname)
	b = putOptional(putOptional(b, p.Name), p.SecondName)
	b = append(b, p.Level, p.Staking)
	b = putUint(putBool(b, p.IsAmbassador), uint64(p.SecondLevel))
	b = putText(putBool(b, p.Unlimited), p.AvatarID)
	b = putBool(b, p.NoFees)
	return putUint(putUint(b, uint64(p.BidDiscount)), uint64(p.AskDiscount))
}

func (r *reader) profile() Profile {
	return Profile{
		Nickname: r.text(), Name: r.optional(), SecondName: r.optional(),
		Level: r.below(MaxLevel + 1), Staking: r.below(StakingLevels),
		IsAmbassador: r.bool(), SecondLevel: r.rate(), Unlimited: r.bool(), AvatarID: r.text(),
		NoFees: r.bool(), BidDiscount: r.rate(), AskDiscount: r.rate(),
	}
}

func putKey(b []byte, k *KeyRecord) []byte {
	b = putText(putText(putText(b, k.PublicKey), k.Secret.Reveal()), k.Name)
	b = putBool(putBool(b, k.CanTrade), k.CanWithdraw)
	b = putTexts(b, k.IPWhitelist)
	return putInt(putInt(b, k.CreatedNs), k.ExpiresNs)
}

func (r *reader) key() KeyRecord {
	k := KeyRecord{
		PublicKey: r.text(), Secret: NewSecret(r.text()), Name: r.text(), CanTrade: r.bool(), CanWithdraw: r.bool(),
		IPWhitelist: r.texts(), CreatedNs: r.int(), ExpiresNs: r.int(),
	}
	for _, text := range k.IPWhitelist {
		if _, ok := parsePrefix(text); !ok {
			r.fail()
		}
	}
	return k
}

func putConfig(b []byte, c *Config) []byte {
	b = putUint(b, uint64(len(c.Levels)))
	for _, v := range c.Levels {
		b = putUint(b, uint64(v))
	}
	for _, v := range c.Staking {
		b = putUint(b, uint64(v))
	}
	return putUint(b, uint64(c.BonusShare))
}

func (r *reader) config() (c Config) {
	n := r.count(1)
	for i := 0; i < n && !r.bad; i++ {
		c.Levels = append(c.Levels, r.rate())
	}
	for i := range c.Staking {
		c.Staking[i] = r.rate()
	}
	c.BonusShare = r.rate()
	if c.Validate() != nil {
		r.fail()
	}
	return c
}
