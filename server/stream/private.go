package stream

import (
	"slices"

	"tickhive/engine"
	"tickhive/server/private"
)

// privateStreams are the streams that need credentials, and the keys that opened them. Owner: the
// hub's goroutine, except where keySockets says otherwise.
type privateStreams struct {
	keySockets
	hub *Hub
}

// sendMessages sends the queued messages of the private channels.
func (p *privateStreams) sendMessages() {
	if p.hub.opts.Private == nil {
		return
	}
	// The order matters: events after the end of a key must not reach its connections.
	messages, all := p.hub.opts.Private.Take()
	p.endKeys()
	if all {
		for _, s := range p.hub.opened {
			if s.key.private() {
				p.startOver(s)
			}
		}
	}
	for _, m := range messages {
		key, _ := parseChannel(m.Channel)
		key.account = m.Account
		for _, text := range [...]bool{false, true} {
			key.text = text
			if s := p.hub.streams[key]; s != nil && len(s.subs) > 0 {
				p.send(s, m)
			}
		}
	}
}

func (p *privateStreams) startOver(s *stream) {
	for _, sub := range slices.Clone(s.subs) { // startPending delivers messages, which may shrink s.subs
		p.hub.awaitSnapshot(sub, "slow")
		p.hub.startPending(sub.conn)
	}
}

func (p *privateStreams) send(s *stream, m private.Message) {
	s.seq = m.Seq
	dst := appendHead(p.hub.buf[:0], "update", "", m.Channel, "")
	dst = appendSeqTime(dst, m.Seq, p.hub.opts.nowMs())
	p.hub.send(s, append(m.Append(append(dst, ',')), '}'))
}

// appendSnapshot appends the snapshot of a private channel. Each subscriber gets its own.
func (p *privateStreams) appendSnapshot(dst []byte, s *stream, nowMs int64) []byte {
	dst = appendHead(dst, "snapshot", "", s.key.name(), "")
	dst = appendSeqTime(dst, s.seq, nowMs)
	dst = p.hub.opts.Private.Snapshot(append(dst, ','), s.key.name(), s.key.account)
	return append(dst, '}')
}

// watch notifies the feed which accounts have subscribers.
func (p *privateStreams) watch() {
	accounts := make(map[engine.AccountID]bool)
	for key, s := range p.hub.streams {
		if key.private() && len(s.subs) > 0 {
			accounts[key.account] = true
		}
	}
	p.hub.opts.Private.Watch(accounts)
}

func appendIDOrNull(dst []byte, id string) []byte {
	if id == "" {
		return append(dst, "null"...)
	}
	return append(dst, id...)
}
