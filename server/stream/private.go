package stream

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/private"
)

// privateStreams are the streams that need credentials, and the keys that opened them. Owner: the
// hub's goroutine, except where keySockets says otherwise.
type privateStreams struct {
	keySockets
	hub      *Hub
	accounts []watched  // by account, so that a driver can repeat a run
	taken    []happened // the memory of sendMessages, which runs at every publication
}

// happened is what sendMessages has taken of an account.
type happened struct {
	account engine.AccountID
	events  []*private.Event
	lost    bool
}

// watched is an account with private streams.
type watched struct {
	account engine.AccountID
	events  *private.Subscription
}

// sendMessages sends what has happened to the watched accounts.
func (p *privateStreams) sendMessages() {
	if len(p.accounts) == 0 {
		p.endKeys()
		return
	}
	all := p.taken
	for _, w := range p.accounts {
		events, lost := w.events.Take(private.MaxQueued)
		all = append(all, happened{w.account, events, lost})
	}
	p.endKeys() // behind Take: events after the end of a key must not reach its connections
	for _, h := range all {
		if h.lost {
			p.startOver(h.account)
		}
		for _, m := range p.hub.opts.Private.Messages(h.account, h.events) {
			key, _ := parseChannel(m.Channel)
			key.account = h.account
			for _, text := range [...]bool{false, true} {
				key.text = text
				if s := p.hub.streams[key]; s != nil && len(s.subs) > 0 {
					p.send(s, m)
				}
			}
		}
	}
	clear(all)
	p.taken = all[:0]
}

// startOver begins the streams of an account again, because events of it were dropped.
func (p *privateStreams) startOver(account engine.AccountID) {
	for _, s := range p.hub.opened {
		if !s.key.private() || s.key.account != account {
			continue
		}
		for _, sub := range slices.Clone(s.subs) { // startPending delivers messages, which may shrink s.subs
			p.hub.awaitSnapshot(sub, "slow")
			p.hub.startPending(sub.conn)
		}
	}
}

// send sends an update. Its seq counts the updates of the channel, so a client sees that one is missing. The seqs of
// the pairs would not do, because two pairs have the same ones.
func (p *privateStreams) send(s *stream, m PrivateMessage) {
	w := json.On(p.hub.buf[:0])
	writeHead(&w, "update", "", m.Channel, "")
	w.Name("prevSeq").Uint(s.seq)
	s.seq++
	writeSeqTime(&w, s.seq, p.hub.opts.nowMs())
	m.Write(&w)
	w.EndObject()
	p.hub.send(s, w.Bytes())
}

// appendSnapshot appends the snapshot of a private channel. Each subscriber gets its own.
func (p *privateStreams) appendSnapshot(dst []byte, s *stream, nowMs int64) []byte {
	w := json.On(dst)
	writeHead(&w, "snapshot", "", s.key.name(), "")
	writeSeqTime(&w, s.seq, nowMs)
	p.hub.opts.Private.Snapshot(&w, s.key.name(), s.key.account)
	w.EndObject()
	return w.Bytes()
}

// watch subscribes to the events of the accounts that have private streams, and to no others.
func (p *privateStreams) watch() {
	wanted := make(map[engine.AccountID]bool)
	for key, s := range p.hub.streams {
		if key.private() && len(s.subs) > 0 {
			wanted[key.account] = true
		}
	}
	p.accounts = slices.DeleteFunc(p.accounts, func(w watched) bool {
		if wanted[w.account] {
			delete(wanted, w.account)
			return false
		}
		w.events.End()
		p.hub.opts.Private.Forget(w.account)
		return true
	})
	for account := range wanted {
		p.accounts = append(p.accounts, watched{account, p.hub.opts.Feed.Subscribe(account, p.hub.Wake)})
	}
	slices.SortFunc(p.accounts, func(a, b watched) int { return cmp.Compare(a.account, b.account) })
}

// keySockets maps keys to their sockets. When a key ends, the hub finds the key's sockets here, so
// no message needs a check of its key.
type keySockets struct {
	mu      sync.Mutex
	sockets map[uint64]map[*session]struct{} // by key; only the hub's goroutine changes it
	deleted []uint64                         // deleted keys whose sockets the hub must end

	nextExpiryNs int64 // no key expires before this time; owner: the hub's goroutine
}

// keyDeleted records a deleted key for the hub. It runs on the goroutine that deletes the key and does not
// wait.
func (k *keySockets) keyDeleted(number uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sockets[number] != nil {
		k.deleted = append(k.deleted, number)
	}
}

// bind records that a key signed for a socket.
func (k *keySockets) bind(c *session, key SocketKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sockets == nil {
		k.sockets, k.nextExpiryNs = make(map[uint64]map[*session]struct{}), math.MaxInt64
	}
	if k.sockets[key.Number] == nil {
		k.sockets[key.Number] = make(map[*session]struct{})
	}
	k.sockets[key.Number][c] = struct{}{}
	if key.ExpiresNs != 0 {
		k.nextExpiryNs = min(k.nextExpiryNs, key.ExpiresNs)
	}
	c.hub.key, c.hub.authed = key, true
}

// unbind removes the key of a socket.
func (k *keySockets) unbind(c *session) {
	if !c.hub.authed {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	number := c.hub.key.Number
	c.hub.key, c.hub.authed = SocketKey{}, false
	delete(k.sockets[number], c)
	if len(k.sockets[number]) == 0 {
		delete(k.sockets, number)
	}
}

// takeDeleted returns the sockets of the keys deleted since the last call.
func (k *keySockets) takeDeleted() (ended []*session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, number := range k.deleted {
		for c := range k.sockets[number] {
			ended = append(ended, c)
		}
	}
	k.deleted = k.deleted[:0]
	return ended
}

// takeExpired returns the sockets of expired keys. It scans the keys only when one has expired.
func (k *keySockets) takeExpired(nowNs int64) (ended []*session) {
	if len(k.sockets) == 0 || nowNs < k.nextExpiryNs {
		return nil
	}
	k.nextExpiryNs = math.MaxInt64
	for _, sockets := range k.sockets {
		for c := range sockets {
			switch at := c.hub.key.ExpiresNs; {
			case at == 0:
			case at <= nowNs:
				ended = append(ended, c)
			default:
				k.nextExpiryNs = min(k.nextExpiryNs, at)
			}
		}
	}
	return ended
}

// endKeys ends the private subscriptions of all connections whose key is no longer valid.
func (p *privateStreams) endKeys() {
	for _, c := range p.takeDeleted() {
		p.endKey(c, "The API key of this socket was deleted; auth with another one.")
	}
	for _, c := range p.takeExpired(p.hub.opts.Clock.NowNs()) {
		p.endKey(c, "The API key of this socket has expired; auth with another one.")
	}
}

// endKey notifies a client which of its subscriptions have ended, or that its key has.
func (p *privateStreams) endKey(c *session, message string) {
	p.unguard(c, false)
	p.unbind(c)
	subs, ended := p.endPrivate(c), refuse.New(refuse.Unauthorized, "", "%s", message)
	for _, key := range subs {
		operation{p.hub, c, request{channel: key.name()}}.refuse("", ended)
	}
	if len(subs) == 0 {
		operation{hub: p.hub, conn: c}.refuse("", ended)
	}
}

// endPrivate removes a connection from its private streams, withdraws its queued private
// messages and returns the keys of the streams.
func (p *privateStreams) endPrivate(c *session) (ended []streamKey) {
	for key, sub := range c.hub.subs {
		if key.private() {
			p.hub.endSubscription(sub)
			ended = append(ended, key)
		}
	}
	if len(ended) == 0 {
		return nil
	}
	slices.SortFunc(ended, func(a, b streamKey) int { return cmp.Compare(a.channel, b.channel) })
	p.watch()
	c.backlog.withdrawPrivate()
	return ended
}

// authenticate binds a key to the connection. Private subscriptions belong to the key that
// signed for them: a different key ends them, the same key keeps them.
func (o operation) authenticate() {
	if o.hub.opts.NotWriter != nil {
		o.refuse("", o.hub.opts.NotWriter())
		return
	}
	if o.hub.opts.Private == nil {
		o.refuse("", refuse.New(refuse.Unauthorized, "", "The key is unknown or the signature is wrong."))
		return
	}
	if o.req.graceMs != nil && !o.req.cancelOnDisconnect {
		o.refuse("", refuse.Param("graceMs", "graceMs needs cancelOnDisconnect."))
		return
	}
	key, err := o.hub.opts.Private.Verify(o.conn.remote, o.req.credentials)
	if err != nil {
		o.refuse("", err)
		return
	}
	key.PublicKey = o.req.credentials.PublicKey
	if o.req.cancelOnDisconnect && !key.CanTrade {
		o.refuse("", refuse.New(refuse.Forbidden, "cancelOnDisconnect",
			"cancelOnDisconnect needs a key with canTrade."))
		return
	}
	o.guard(key)
	if !o.conn.hub.authed || o.conn.hub.key.Number != key.Number {
		o.hub.private.unbind(o.conn)
		for _, ended := range o.hub.private.endPrivate(o.conn) {
			operation{hub: o.hub, conn: o.conn}.acknowledge("unsubscribed", ended, nil)
		}
		o.hub.private.bind(o.conn, key)
	}
	var w json.Writer
	w.Object()
	w.Name("type").Word("authenticated")
	writeIDOrNull(&w, o.req.id)
	if o.conn.hub.guarded {
		w.Name("cancelOnDisconnect").Bool(true)
		w.Name("graceMs").Int(o.conn.hub.graceNs / int64(time.Millisecond))
	}
	w.EndObject()
	o.hub.answer(o.conn, newFrame(opText, w.Bytes()))
}

// guard sets whether the orders of the key's account are canceled when the socket closes. If the socket guarded another
// account before, the guard of that account acts as if the socket had closed now.
func (o operation) guard(key SocketKey) {
	c, feed := o.conn, o.hub.opts.Private
	if o.req.cancelOnDisconnect {
		feed.Join(key.Account) // before Leave, so that a repeat does not begin the grace
	}
	o.hub.private.unguard(c, c.hub.key.Account == key.Account)
	if c.hub.guarded = o.req.cancelOnDisconnect; !c.hub.guarded {
		return
	}
	c.hub.graceNs = defaultGraceMs * int64(time.Millisecond)
	if ms := o.req.graceMs; ms != nil {
		c.hub.graceNs = *ms * int64(time.Millisecond)
	}
	c.SetSpare()
}

// unguard ends what guard began. withdrawn: the socket itself asked for it.
func (p *privateStreams) unguard(c *session, withdrawn bool) {
	if c.hub.guarded {
		c.hub.guarded = false
		p.hub.opts.Private.Leave(c.hub.key.Account, c.hub.graceNs, withdrawn)
	}
}
