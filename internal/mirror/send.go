package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/stream"
)

// last returns the last record that a power cut spares.
func (m *Mirror) last() uint64 {
	if m.source.DurableAll {
		return m.source.Log.LastSeq()
	}
	return m.source.Log.DurableSeq()
}

// send hands what is durable to the appender.
func (m *Mirror) send(work context.Context) error {
	wanted := m.waiting.Load() > 0 || m.wanted.Load() > m.sent
	if wanted && !m.source.DurableAll { // not later, as journal.sync = interval would
		if m.source.MakeDurable() != nil {
			return nil // the journal has stopped, and the loop with it
		}
	}
	now := m.source.NowNs()
	if m.last() == m.sent && now-m.lookedNs < int64(mirrorIdle) {
		return nil
	}
	if now-m.lookedNs >= int64(mirrorEvery) && m.look(now) != nil {
		return nil // the loop has stopped: what it left is sent by the next start
	}
	to := m.last()
	if m.digestPos != 0 {
		to = min(to, m.digestPos)
	}
	before, sinceNs := m.sent, clock.MachineNs()
	if err := m.sendTo(work, to); err != nil {
		return err
	}
	if m.sent != before {
		m.time(sinceNs)
	}
	if m.sent >= m.looked.Pos {
		m.appender.SealedNs.Store(max(m.appender.SealedNs.Load(), m.looked.SealedNs))
	}
	if m.digestPos != 0 && m.sent == m.digestPos {
		return m.sendDigest(work)
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

// sendTo sends the records up to a position.
func (m *Mirror) sendTo(work context.Context, to uint64) error {
	before := m.sent
	for m.sent < to {
		rec, err := m.reader.Next()
		if errors.Is(err, io.EOF) {
			if err = m.reader.Extend(m.source.Log, to); err == nil {
				rec, err = m.reader.Next()
			}
		}
		if err == nil {
			err = m.add(work, rec.Payload)
		}
		if err != nil {
			return err
		}
	}
	if m.sent != before {
		m.appender.Send()
	}
	return nil
}

// add hands a record to the appender. When its queue is full, it waits.
func (m *Mirror) add(work context.Context, record []byte) error {
	for {
		pos, err := m.appender.Collect(record)
		switch {
		case err == nil && pos != m.sent+1:
			return fmt.Errorf("BUG: record %d became %d", m.sent+1, pos)
		case err == nil:
			m.sent = pos
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
