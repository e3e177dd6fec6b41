package exchange

import (
	"fmt"
)

// Shares of the process's file descriptors. A limit of 1,024 is a common default, and who opens connections needs no
// credentials: a shortage would reach the journal, and end a listener of fasthttp.
const (
	// reservedFiles descriptors are reserved for everything except connections: standard
	// streams, the poller, listeners, and four logs with the next segment, snapshots and
	// readers of each. A program under load uses 18 to 30 of them.
	reservedFiles = 64
	// internalFloor is the number of connections that the internal listener keeps when descriptors are short.
	internalFloor = 1000
	// minConnections is the smallest number of connections with which a start makes sense.
	minConnections = 32
)

// connLimits holds the largest number of open connections of each listener.
type connLimits struct {
	public, internal int
}

// shareDescriptors divides files descriptors between the reserve and the connections. When there are too few,
// it first reduces the internal listener's connections, down to internalFloor (at most a quarter), then the
// public listener's. Thus neither listener can take the descriptors of the other or of the journal. files 0:
// the limit is unknown.
func shareDescriptors(files uint64, public int) (connLimits, error) {
	want := connLimits{public: public, internal: internalConnections}
	if files == 0 || files >= uint64(want.public+want.internal+reservedFiles) {
		return want, nil
	}
	left := int(files) - reservedFiles
	if left < minConnections {
		return connLimits{}, fmt.Errorf("the open-files limit is %d; %d descriptors are reserved for the journal and "+
			"other files, "+
			"and at least %d connections are needed: raise the limit to %d or more "+
			"(ulimit -n %d, LimitNOFILE=%d in a unit)", files, reservedFiles, minConnections,
			reservedFiles+minConnections,
			want.files(), want.files())
	}
	internal := min(want.internal, max(left-want.public, min(internalFloor, left/4)))
	return connLimits{public: min(want.public, left-internal), internal: internal}, nil
}

// files returns the number of descriptors that these connections and the reserve need.
func (p connLimits) files() int { return p.public + p.internal + reservedFiles }

// shareConnections applies shareDescriptors and logs a warning if the configuration wants more
// connections than the descriptors allow.
func (b *base) shareConnections() (connLimits, error) {
	want := b.o.Server.Connections
	room, err := shareDescriptors(b.o.Files, want)
	if err != nil {
		return room, err
	}
	if room.public < want {
		need := connLimits{want, internalConnections}.files()
		b.log.Warn("server.connections lowered: the open-files limit is too small for it",
			"files", b.o.Files, "configured", want, "public", room.public, "internal", room.internal,
			"reserved", reservedFiles,
			"remedy", fmt.Sprintf("ulimit -n %d, or LimitNOFILE=%d in a unit", need, need))
	}
	return room, nil
}
