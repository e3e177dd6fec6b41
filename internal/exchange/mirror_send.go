package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tickhive/accounts"
	"tickhive/internal/seal"
	"tickhive/internal/stream"
	"tickhive/internal/wal"
	"tickhive/marketdata/replica"
)

// last returns the last record of a log that a power cut spares.
func (m *mirror) last(log stream.Log) uint64 {
	if m.durableAll {
		return m.logs[log-1].LastSeq()
	}
	return m.logs[log-1].DurableSeq()
}

// send hands what is durable to the appender. The logs are looked at in the order in which they refer to each
// other: the hive to the launchpad, both to the accounts, all to the market.
func (m *mirror) send(work context.Context) error {
	var to stream.Positions
	for log := stream.Hive; log > stream.Accounts; log-- {
		to[log-1] = m.last(log)
	}
	now := m.x.clock.NowNs()
	idle := to[stream.Launchpad-1] == m.sent[stream.Launchpad-1] && to[stream.Hive-1] == m.sent[stream.Hive-1] &&
		m.last(stream.Accounts) == m.sent[stream.Accounts-1] && m.last(stream.Engine) == m.sent[stream.Engine-1]
	if idle && now-m.lookedNs < int64(mirrorIdle) {
		return nil
	}
	m.lookedNs = now
	pos, sealed, err := m.look(now)
	if err != nil {
		return nil //nolint:nilerr // the loop has stopped: what it left is sent by the next start
	}
	if to[stream.Accounts-1], to[stream.Engine-1], err = m.barrier(); err != nil {
		return nil //nolint:nilerr // the store has stopped
	}
	if m.digestPos != 0 {
		to[stream.Engine-1] = min(to[stream.Engine-1], m.digestPos)
	}
	if err := m.merge(work, to); err != nil {
		return err
	}
	for log := stream.Launchpad; log <= stream.Hive; log++ {
		if err := m.sendTo(work, log, to[log-1]); err != nil {
			return err
		}
	}
	if m.sent[stream.Engine-1] >= pos {
		m.appender.SealedNs.Store(max(m.appender.SealedNs.Load(), sealed))
	}
	if m.digestPos != 0 && m.sent[stream.Engine-1] == m.digestPos {
		return m.sendDigest(work)
	}
	return nil
}

// look asks the loop for its position, and for a time before which it stamps no further command. Once in a while it
// asks for a digest of the market at that position, too.
func (m *mirror) look(now int64) (pos uint64, sealed int64, err error) {
	err = m.x.loop.Query(func() {
		pos, sealed = m.x.loop.Position(), m.x.clock.NowNs()
		if m.digestPos == 0 && now-m.digestNs >= int64(digestEvery) && pos > 0 {
			m.digestNs, m.digestPos, m.digest = now, pos, replica.Digest(m.x.core)
		}
	})
	return pos, sealed, err
}

// barrier returns a position of the market and one of the accounts: every record of the accounts behind the second
// one names a position of the market that is not before the first one.
func (m *mirror) barrier() (accountsTo, marketTo uint64, err error) {
	a := m.x.accounts
	err = a.store.Fold(func() { accountsTo, marketTo = a.store.Log().LastSeq(), a.state.EnginePos() })
	return accountsTo, min(marketTo, m.last(stream.Engine)), err
}

// merge sends the records of the accounts, each behind the record of the market that it names, and the market's.
func (m *mirror) merge(work context.Context, to stream.Positions) error {
	for {
		if m.next == nil {
			rec, ok, err := m.read(stream.Accounts, to[stream.Accounts-1])
			if err != nil {
				return err
			}
			if !ok {
				return m.sendTo(work, stream.Engine, to[stream.Engine-1])
			}
			next, err := m.x.decodeAccounts(rec.Payload)
			if err != nil {
				return err
			}
			if rec.Seq <= m.aheadTo {
				next.EnginePos = min(next.EnginePos, m.aheadPos)
			}
			m.next, m.nextRaw = &next, append(m.nextRaw[:0], rec.Payload...)
		}
		if m.next.EnginePos > to[stream.Engine-1] {
			return m.sendTo(work, stream.Engine, to[stream.Engine-1])
		}
		if err := m.sendTo(work, stream.Engine, m.next.EnginePos); err != nil {
			return err
		}
		if err := m.add(work, stream.Accounts, m.nextRaw); err != nil {
			return err
		}
		m.next = nil
	}
}

// decodeAccounts decodes a record of the accounts, sealed or not.
func (b *base) decodeAccounts(raw []byte) (rec accounts.Record, err error) {
	if b.secrets != nil {
		if raw, err = b.secrets.Open(raw, seal.Record); err != nil {
			return rec, err
		}
	}
	return accounts.DecodeRecord(raw)
}

// sendTo sends the records of a log up to a position.
func (m *mirror) sendTo(work context.Context, log stream.Log, to uint64) error {
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
func (m *mirror) read(log stream.Log, to uint64) (rec wal.Record, ok bool, err error) {
	r := m.readers[log-1]
	if m.sent[log-1] >= to {
		return rec, false, nil
	}
	if rec, err = r.Next(); errors.Is(err, io.EOF) {
		if err = r.Extend(m.logs[log-1], to); err == nil {
			rec, err = r.Next()
		}
	}
	return rec, err == nil, err
}

// add hands a record to the appender. When its queue is full, it waits.
func (m *mirror) add(work context.Context, log stream.Log, record []byte) error {
	for {
		pos, err := m.appender.Add(log, record)
		switch {
		case err == nil && pos != m.sent[log-1]+1:
			return fmt.Errorf("BUG: record %d of log %d became %d", m.sent[log-1]+1, log, pos)
		case err == nil:
			m.sent[log-1] = pos
			return nil
		case !errors.Is(err, stream.ErrBusy):
			return err
		}
		if err := m.pause(work); err != nil {
			return err
		}
	}
}

// pause waits until the stream has confirmed something.
func (m *mirror) pause(work context.Context) error {
	select {
	case <-work.Done():
		return context.Cause(work)
	case <-m.appender.Wake():
	case <-time.After(mirrorEvery):
	}
	m.note()
	return m.failure()
}

// sendDigest waits until everything is confirmed. Then the next message begins behind the digest's position, so
// a reader can compare.
func (m *mirror) sendDigest(work context.Context) error {
	for {
		_, at := m.appender.Status()
		if at.Pos == m.sent && m.appender.Open() == 0 {
			break
		}
		if err := m.pause(work); err != nil {
			return err
		}
	}
	m.appender.SetDigest(m.digestPos, m.digest)
	m.digestPos = 0
	return nil
}
