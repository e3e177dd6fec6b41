package exchange

import (
	"cmp"
	"fmt"
)

// Shares of the process's file descriptors.
const (
	// reservedFiles descriptors are reserved for everything except connections: standard
	// streams, the poller, listeners, and four logs with the next segment, snapshots and
	// readers of each. A program under load uses 18 to 30 of them.
	reservedFiles = 64
	// internalFloor connections of the internal listener have priority over the public listener's.
	internalFloor = 1000
	// leastPlaces is the smallest number of connections that justifies a start.
	leastPlaces = 32
)

// places holds the largest number of open connections of each listener.
type places struct {
	public, internal int
}

// sharePlaces divides files descriptors: the reserve first, then the wanted connections. A
// shortage reduces the internal listener first, down to its floor (a quarter at most), then the
// public one. Neither can then starve the other or the journal. files 0: the limit is unknown.
func sharePlaces(files uint64, public int) (places, error) {
	want := places{public: cmp.Or(public, publicConnections), internal: internalConnections}
	if files == 0 || files >= uint64(want.public+want.internal+reservedFiles) {
		return want, nil
	}
	left := int(files) - reservedFiles
	if left < leastPlaces {
		return places{}, fmt.Errorf("the limit of open files is %d; %d are kept for the journal and everything else "+
			"that is no connection, and at least %d connections are needed: raise it to %d or more "+
			"(ulimit -n %d, LimitNOFILE=%d in a unit)", files, reservedFiles, leastPlaces, reservedFiles+leastPlaces,
			want.files(), want.files())
	}
	internal := min(want.internal, max(left-want.public, min(internalFloor, left/4)))
	return places{public: min(want.public, left-internal), internal: internal}, nil
}

// files returns the descriptor limit that these places need.
func (p places) files() int { return p.public + p.internal + reservedFiles }

// shareConnections applies sharePlaces and logs a warning if the configuration wants more
// connections than the descriptors allow.
func (b *base) shareConnections() (places, error) {
	room, err := sharePlaces(b.o.Files, b.o.Public.Connections)
	if err != nil {
		return room, err
	}
	if want := cmp.Or(b.o.Public.Connections, publicConnections); room.public < want {
		need := places{want, internalConnections}.files()
		b.log.Warn("server.connections is more than the limit of open files leaves room for, so it is lowered",
			"files", b.o.Files, "configured", want, "public", room.public, "internal", room.internal,
			"reserved", reservedFiles,
			"remedy", fmt.Sprintf("ulimit -n %d, or LimitNOFILE=%d in a unit", need, need))
	}
	return room, nil
}
