package main

import (
	"cmp"
	"fmt"

	"tickhive/server"
)

// Shares of the descriptors that the process may have.
const (
	// reservedFiles are kept for everything that is no connection: standard streams, the
	// poller, listeners, four logs with the next segment, snapshots and readers of each.
	// A program at work has 18 to 30 of them.
	reservedFiles = 64
	// internalFloor connections of the internal listener go before those of the public one.
	internalFloor = 1000
	// leastPlaces is the smallest number of connections that is worth a start.
	leastPlaces = 32
)

// places are the connections that the listeners may have open at once.
type places struct {
	public, internal int
}

// sharePlaces divides files descriptors: the reserve first, then as many connections as
// are wanted. What is missing is missing at the internal listener down to its floor (a
// quarter at most), then at the public one, so that neither can starve the other or the
// journal. No files: the limit is not known.
func sharePlaces(files uint64, public int) (places, error) {
	want := places{public: cmp.Or(public, server.DefaultConns), internal: server.DefaultInternalConns}
	if files == 0 || files >= uint64(want.public+want.internal+reservedFiles) {
		return want, nil
	}
	left := int(files) - reservedFiles
	if left < leastPlaces {
		return places{}, fmt.Errorf("the limit of open files is %d; %d are kept for the journal and everything else that is no connection, "+
			"and at least %d connections are needed: raise it to %d or more (ulimit -n %d, LimitNOFILE=%d in a unit)",
			files, reservedFiles, leastPlaces, reservedFiles+leastPlaces, want.files(), want.files())
	}
	internal := min(want.internal, max(left-want.public, min(internalFloor, left/4)))
	return places{public: min(want.public, left-internal), internal: internal}, nil
}

// files is the limit that these places need.
func (p places) files() int { return p.public + p.internal + reservedFiles }

// limitConnections shares files descriptors out, and says so where the configuration asks
// for more connections than there is room for.
func (x *exchange) limitConnections(files uint64) error {
	var err error
	if x.places, err = sharePlaces(files, x.cfg.Server.Connections); err != nil {
		return err
	}
	if want := cmp.Or(x.cfg.Server.Connections, server.DefaultConns); x.places.public < want {
		need := places{want, server.DefaultInternalConns}.files()
		x.log.Warn("server.connections is more than the limit of open files leaves room for, so it is lowered",
			"files", files, "configured", want, "public", x.places.public, "internal", x.places.internal, "reserved", reservedFiles,
			"remedy", fmt.Sprintf("ulimit -n %d, or LimitNOFILE=%d in a unit", need, need))
	}
	return nil
}
