package accounts

import (
	"encoding/binary"
	"errors"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// snapshotReader builds a state; see snapshot.go for the format.
type snapshotReader struct {
	reader
	s       *State
	version byte
	total   int // users in the snapshot, by its header
}

// sum reads a sum; version 1 wrote sums as money.
func (r *snapshotReader) sum() fixed.I192 {
	if r.version < 2 {
		return r.money().Wide()
	}
	if len(r.b) < 24 {
		r.fail()
		return fixed.I192{}
	}
	v := fixed.I192{
		W0: binary.LittleEndian.Uint64(r.b), W1: binary.LittleEndian.Uint64(r.b[8:]), W2: binary.LittleEndian.Uint64(r.b[16:]),
	}
	r.b = r.b[24:]
	return v
}

func (r *snapshotReader) currency() uint32 {
	n := r.uint32()
	if int(n) >= len(r.s.currencies) {
		r.fail()
		return 0
	}
	return n
}

// userNo reads the number of a user who is in the snapshot.
func (r *snapshotReader) userNo() uint32 {
	n := r.uint32()
	if int(n) >= r.total {
		r.fail()
		return 0
	}
	return n
}

func (r *snapshotReader) currencies() {
	for n := r.count(49); n > 0 && !r.bad; n-- {
		code := r.text()
		if _, twice := r.s.currencyNo[code]; twice {
			r.fail()
			return
		}
		t := &r.s.totals
		no := r.s.currency(code)
		(*t)[no].fees, (*t)[no].deposited, (*t)[no].withdrawn = r.sum(), r.sum(), r.sum()
	}
}

func (r *snapshotReader) pairs() {
	for n := r.count(6); n > 0 && !r.bad; n-- {
		p := &pairTerms{id: r.uint32(), base: r.currency(), quote: r.currency()}
		p.digitsPrice, p.digitsAmount = int(r.below(fixed.Scale+1)), int(r.below(fixed.Scale+1))
		p.seq = r.uint()
		if p.digitsTotal() > fixed.Scale {
			r.fail()
		}
		if !r.bad {
			r.s.pairs[p.id] = p
		}
	}
}

func (r *snapshotReader) users() {
	r.total = r.count(10)
	if r.total < 1 || r.total > MaxUsers+1 {
		r.fail()
		return
	}
	for n := 0; n < r.total && !r.bad; n++ {
		u := &user{n: uint32(n), profile: r.profile(), createdNs: r.int(), inviter: r.userNo()}
		r.user(u)
		if r.bad {
			return
		}
		if n == 0 {
			r.s.users[0] = u
			continue
		}
		if _, twice := r.s.byName[u.profile.Nickname]; twice {
			r.fail()
			return
		}
		r.s.enroll(u)
	}
}

func (r *snapshotReader) user(u *user) {
	for n := r.count(3); n > 0 && !r.bad; n-- {
		u.links = append(u.links, link{number: r.uint(), rate: r.rate(), createdNs: r.int()})
	}
	for n := r.count(9); n > 0 && !r.bad; n-- {
		if rec := r.key(); !r.bad {
			u.keys = append(u.keys, r.s.keys.newKey(u.n, rec))
		}
	}
	for n := r.count(3); n > 0 && !r.bad; n-- {
		u.levelChanges = append(u.levelChanges, levelChange{r.int(), r.below(StakingLevels), r.below(StakingLevels)})
	}
	for n := r.count(33); n > 0 && !r.bad; n-- {
		c, free, held := r.currency(), r.sum(), r.sum()
		if r.bad || u.find(c) != nil {
			r.fail()
			return
		}
		at := u.row(c)
		at.free, at.held = free, held
	}
}

func (r *snapshotReader) received() {
	for n := r.count(4); n > 0 && !r.bad; n-- {
		u := r.s.users[r.userNo()]
		if len(u.deals)+len(u.others)+len(u.archive) > 0 {
			r.fail()
			return
		}
		u.deals, u.others = r.accruals(), r.accruals()
		r.s.commandAccruals += len(u.others)
		for i := 1; i < len(u.deals); i++ {
			u.dealsMixed = u.dealsMixed || u.deals[i-1].timeNs > u.deals[i].timeNs
		}
		for k := r.count(21); k > 0 && !r.bad; k-- {
			if u.archive == nil {
				u.archive = map[archiveKey]fixed.I192{}
			}
			key := archiveKey{day: r.int(), from: r.userNo(), currency: r.currency(), level: r.uint32(), typ: ProfitType(r.byte())}
			u.archive[key] = r.sum()
		}
	}
}

func (r *snapshotReader) accruals() (list []accrual) {
	n := r.count(21)
	for i := 0; i < n && !r.bad; i++ {
		a := accrual{timeNs: r.int(), amount: r.money(), from: r.userNo(), currency: r.currency(), level: r.uint32(), typ: ProfitType(r.byte())}
		if a.typ == StakeAccrual {
			a.applied, a.source = r.rate(), r.money()
			a.received, a.bonus = r.below(StakingLevels), r.bool()
		}
		list = append(list, a)
	}
	return list
}

func (r *snapshotReader) orders() {
	for n := r.count(40); n > 0 && !r.bad; n-- {
		o := &orderHold{id: r.uint(), account: r.userNo(), pair: r.uint32(), side: engine.Side(r.below(2)), typ: engine.OrderType(r.below(4))}
		o.byQuote, o.capped, o.waiting = r.bool(), r.bool(), r.bool()
		o.price, o.open, o.filled = r.int(), r.int(), r.int()
		q := r.money()
		o.quote = fixed.U128{Hi: uint64(q.Hi), Lo: q.Lo}
		o.rates = Rates{Maker: r.rate(), Taker: r.rate(), Discount: r.rate()}
		o.held = r.money()
		var limit fixed.I128
		if r.version >= 2 && r.bool() {
			o.limited, limit = true, r.money()
		}
		if r.bad || r.s.pairs[o.pair] == nil || o.held.Cmp(MaxMoney) > 0 || limit.Sign() < 0 || limit.Cmp(MaxMoney) > 0 || o.price < 0 || o.open < 0 || o.filled < 0 {
			r.fail()
			return
		}
		r.s.orders[o.id] = o
		r.s.expectOf(o, r.s.pairs[o.pair], limit)
	}
}

// complete derives the state that is not stored: sums, tree counts, link owners, the key index.
func (s *State) complete() error {
	links := 0
	for _, u := range s.users {
		links += len(u.links)
	}
	s.linkOwner = make([]linkRef, links)
	for _, u := range s.users {
		for i, l := range u.links {
			if l.number < 1 || l.number > uint64(links) || s.linkOwner[l.number-1].owner != 0 || u.n == 0 {
				return errors.New("link numbers are not dense")
			}
			s.linkOwner[l.number-1] = linkRef{owner: u.n, index: i}
		}
	}
	s.sumUp()
	for _, o := range s.orders {
		s.expectRest(o, s.pairs[o.pair])
	}
	if err := s.countTree(); err != nil {
		return err
	}
	kept := make([]int, len(s.users))
	for _, n := range s.dealQueue {
		kept[n]++
	}
	for _, u := range s.users {
		if kept[u.n] != len(u.deals) {
			return errors.New("the queue of deal accruals does not match them")
		}
	}
	s.keys.build(s.users)
	return s.check()
}

// sumUp fills the totals from the balances.
func (s *State) sumUp() {
	for _, u := range s.users {
		for i := range u.rows {
			r := &u.rows[i]
			t := &s.totals[r.currency]
			t.free, t.held = t.free.Add(r.free), t.held.Add(r.held)
		}
	}
}

// countTree counts the users below each user and refuses a cycle.
func (s *State) countTree() error {
	seen := make([]uint32, len(s.users)) // the walk in which a user was passed
	done := make([]bool, len(s.users))   // leads to a root
	for n := range s.users {
		for up := uint32(n); up != 0 && !done[up]; up = s.users[up].inviter {
			if seen[up] == uint32(n)+1 {
				return errors.New("the inviter relation has a cycle")
			}
			seen[up] = uint32(n) + 1
		}
		for up := uint32(n); up != 0 && !done[up]; up = s.users[up].inviter {
			done[up] = true
		}
	}
	for n := range s.users {
		up := s.users[n]
		for level := 0; level < MaxReferralLevels && up.inviter != 0; level++ {
			up = s.users[up.inviter]
			up.descendants[level]++
		}
	}
	return nil
}

// build bulk-loads the index. Inserting one key at a time copies a shard for each, O(n^2).
func (x *KeyIndex) build(users []*user) {
	shards := map[int]map[string]*apiKey{}
	for _, u := range users {
		for _, k := range u.keys {
			i := shardOf(k.rec.PublicKey)
			if shards[i] == nil {
				shards[i] = map[string]*apiKey{}
			}
			shards[i][k.rec.PublicKey] = k
		}
	}
	for i := range shards {
		m := shards[i]
		x.shards[i].Store(&m)
	}
}
