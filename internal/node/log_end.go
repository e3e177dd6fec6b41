package node

import (
	"tickhive/internal/stream"
	"tickhive/internal/wal"
)

// logName is the log's folder in a copy, as in a data directory, and the name with which its checksum chain begins.
const logName = "engine"

// NextEnd returns the end of the log behind a message that counts. end is the one before the message.
func NextEnd(end wal.Position, m *stream.Message) wal.Position {
	if m.Kind == stream.Base {
		end = wal.Begins(m.History, logName)
	}
	for _, record := range m.All() {
		end = end.Next(record)
	}
	return end
}
