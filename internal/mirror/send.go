package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/stream"
	"tickhive/internal/wal"
)

// last returns the last record of a log that a power cut spares.
func (m *Mirror) last(log stream.Log) uint64 {
	if m.source.DurableAll {
		return m.source.Logs[log-1].Log.LastSeq()
	}
	return m.source.Logs[log-1].Log.DurableSeq()
}

// send hands what is durable to the appender. The accounts, which refer to the market, are looked at
// first.
func (m *Mirror) send(work context.Context) error {
	wanted := m.waiting.Load() > 0 || m.wanted.Load() > m.sent[stream.Engine-1]
	if wanted && !m.source.DurableAll { // not later, as journal.sync = interval would
		if m.source.MakeDurable() != nil {
			return nil // the journal has stopped, and the loop with it
		}
	}
	var to stream.Positions
	now := m.source.NowNs()
	idle := m.last(stream.Accounts) == m.sent[stream.Accounts-1] && m.last(stream.Engine) == m.sent[stream.Engine-1]
	if idle && now-m.lookedNs < int64(mirrorIdle) {
		return nil
	}
	if now-m.lookedNs >= int64(mirrorEvery) && m.look(now) != nil {
		return nil // the loop has stopped: what it left is sent by the next start
	}
	var err error
	if to[stream.Accounts-1], to[stream.Engine-1], err = m.barrier(); err != nil {
		return nil //nolint:nilerr // the store has stopped
	}
	if m.digestPos != 0 {
		to[stream.Engine-1] = min(to[stream.Engine-1], m.digestPos)
	}
	before, sinceNs := m.sent, clock.MachineNs()
	if err := m.sendAll(work, to); err != nil {
		return err
	}
	if m.sent != before {
		m.time(sinceNs)
	}
	if m.sent[stream.Engine-1] >= m.looked.Pos {
		m.appender.SealedNs.Store(max(m.appender.SealedNs.Load(), m.looked.SealedNs))
	}
	if m.digestPos != 0 && m.sent[stream.Engine-1] == m.digestPos {
		return m.sendDigest(work)
	}
	return nil
}

// sendAll sends the records of every log up to a position.
func (m *Mirror) sendAll(work context.Context, to stream.Positions) error {
	before := m.sent
	if err := m.merge(work, to); err != nil {
		return err
	}
	if m.sent != before {
		m.appender.Send()
	}
	return nil
}

// look asks the loop for its position, and for a time before which it stamps no further command. Once in a while it
// asks for a digest of the market at that position, too.
func (m *Mirror) look(now int64) (err error) {
	m.lookedNs = now
	wanted := m.digestPos == 0 && now-m.digestNs >= int64(digestEvery)
	if m.looked, err = m.source.Look(wanted); wanted && err == nil && m.looked.Pos > 0 {
		m.digestNs, m.digestPos, m.digest = now, m.looked.Pos, m.looked.Digest
	}
	return err
}

// barrier returns a position of the market and one of the accounts: every record of the accounts behind the second
// one names a position of the market that is not before the first one.
func (m *Mirror) barrier() (accountsTo, marketTo uint64, err error) {
	accountsTo, marketTo, err = m.source.Barrier()
	return accountsTo, min(marketTo, m.last(stream.Engine)), err
}

// merge sends the records of the accounts, each behind the record of the market that it names, and the market's.
func (m *Mirror) merge(work context.Context, to stream.Positions) error {
	for {
		if !m.waits {
			rec, ok, err := m.read(stream.Accounts, to[stream.Accounts-1])
			if err != nil {
				return err
			}
			if !ok {
				return m.sendTo(work, stream.Engine, to[stream.Engine-1])
			}
			pos, err := m.source.MarketPos(rec.Payload)
			if err != nil {
				return err
			}
			if rec.Seq <= m.source.AheadTo {
				pos = min(pos, m.source.AheadPos)
			}
			m.nextPos, m.next, m.waits = pos, append(m.next[:0], rec.Payload...), true
		}
		if m.nextPos > to[stream.Engine-1] {
			return m.sendTo(work, stream.Engine, to[stream.Engine-1])
		}
		if err := m.sendTo(work, stream.Engine, m.nextPos); err != nil {
			return err
		}
		if err := m.add(work, stream.Accounts, m.next); err != nil {
			return err
		}
		m.waits = false
	}
}

// sendTo sends the records of a log up to a position.
func (m *Mirror) sendTo(work context.Context, log stream.Log, to uint64) error {
	for {
		rec, ok, err := m.read(log, to)
		if err != nil || !ok {
			return err
		}
		if err := m.add(work, log, rec.Payload); err != nil {
			return err
		}
	}
}

// read returns the next record of a log, which is at or before to. ok is false when there is none.
func (m *Mirror) read(log stream.Log, to uint64) (rec wal.Record, ok bool, err error) {
	r := m.readers[log-1]
	if m.sent[log-1] >= to {
		return rec, false, nil
	}
	if rec, err = r.Next(); errors.Is(err, io.EOF) {
		if err = r.Extend(m.source.Logs[log-1].Log, to); err == nil {
			rec, err = r.Next()
		}
	}
	return rec, err == nil, err
}

// add hands a record to the appender. When its queue is full, it waits.
func (m *Mirror) add(work context.Context, log stream.Log, record []byte) error {
	for {
		pos, err := m.appender.Collect(log, record)
		switch {
		case err == nil && pos != m.sent[log-1]+1:
			return fmt.Errorf("BUG: record %d of log %d became %d", m.sent[log-1]+1, log, pos)
		case err == nil:
			m.sent[log-1] = pos
			return nil
		case !errors.Is(err, stream.ErrBusy):
			return err
		}
		_, changed, _ := m.confirmed()
		if err := m.pause(work, changed); err != nil {
			return err
		}
	}
}

// pause waits until the stream has confirmed something, or for a moment.
func (m *Mirror) pause(work context.Context, changed <-chan struct{}) error {
	select {
	case <-work.Done():
		return context.Cause(work)
	case <-changed:
	case <-time.After(mirrorEvery):
	}
	return m.Failure()
}

// sendDigest waits until everything is confirmed. Then the next message begins behind the digest's position, so
// a reader can compare.
func (m *Mirror) sendDigest(work context.Context) error {
	for {
		_, changed, _ := m.confirmed() // before the look
		_, at := m.appender.Status()
		if at.Pos == m.sent && m.appender.Unconfirmed() == 0 {
			break
		}
		if err := m.pause(work, changed); err != nil {
			return err
		}
	}
	m.appender.SetDigest(m.digestPos, m.digest)
	m.digestPos = 0
	return nil
}
