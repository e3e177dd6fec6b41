package server

import (
	"slices"

	"tickhive/engine"
)

// private sends the messages of the private feed.
func (h *Hub) private() {
	if h.opts.Private == nil {
		return
	}
	// The order matters: events after a key's end must not reach the key's sockets.
	messages, all := h.opts.Private.Take()
	h.endKeys()
	if all {
		for _, s := range h.streams {
			if s.key.private() {
				h.startOver(s)
			}
		}
	}
	for _, m := range messages {
		key, _ := parseChannel(m.Channel)
		key.account = m.Account
		for _, text := range [...]bool{false, true} {
			key.text = text
			if s := h.streams[key]; s != nil && len(s.subs) > 0 {
				h.sendPrivate(s, m)
			}
		}
	}
}

func (h *Hub) startOver(s *wsStream) {
	for _, sub := range slices.Clone(s.subs) { // feed delivers, which may shrink s.subs
		h.wait(sub, "slow")
		h.feed(sub.conn)
	}
}

func (h *Hub) sendPrivate(s *wsStream, m PrivateMessage) {
	s.seq = m.Seq
	dst := appendWSHead(h.buf[:0], "update", "", m.Channel, "")
	dst = appendSeqTime(dst, m.Seq, h.nowMs())
	h.send(s, append(append(append(dst, ','), m.Members...), '}'))
}

// appendPrivateSnapshot appends the snapshot of a private channel. Each subscriber gets its own.
func (h *Hub) appendPrivateSnapshot(dst []byte, s *wsStream, nowMs int64) []byte {
	dst = appendWSHead(dst, "snapshot", "", s.key.name(), "")
	dst = appendSeqTime(dst, s.seq, nowMs)
	dst = h.opts.Private.Snapshot(append(dst, ','), s.key.name(), s.key.account)
	return append(dst, '}')
}

// watch notifies the feed which accounts have subscribers.
func (h *Hub) watch() {
	accounts := make(map[engine.AccountID]bool)
	for key, s := range h.streams {
		if key.private() && len(s.subs) > 0 {
			accounts[key.account] = true
		}
	}
	h.opts.Private.Watch(accounts)
}

func appendIDOrNull(dst []byte, id string) []byte {
	if id == "" {
		return append(dst, "null"...)
	}
	return append(dst, id...)
}
