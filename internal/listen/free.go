package listen

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports of Free. The kernel takes the ports of connections, and of listeners at port 0, from 32768 (Linux) or 49152
// (macOS) on.
const (
	firstFree = 20_000
	freePorts = 12_000
)

// Free returns n loopback addresses at which another process can listen, now and after a restart: no connection takes
// their ports meanwhile, as it may take one that a listener at port 0 has left. Until release, no other call of any
// process returns them: it holds the same ports of UDP.
func Free(n int) (all []string, release func(), err error) {
	var held []net.PacketConn
	release = func() {
		for _, c := range held {
			_ = c.Close()
		}
	}
	for begin, i := rand.IntN(freePorts), 0; len(all) < n; i++ {
		if i == freePorts {
			release()
			return nil, nil, fmt.Errorf("%d of %d addresses of 127.0.0.1 are free in %d to %d: end programs that "+
				"listen there", len(all), n, firstFree, firstFree+freePorts-1)
		}
		at := "127.0.0.1:" + strconv.Itoa(firstFree+(begin+i)%freePorts)
		c, err := net.ListenPacket("udp", at)
		if err != nil {
			continue // in use
		}
		ln, err := net.Listen("tcp", at)
		if err != nil {
			_ = c.Close()
			continue
		}
		_ = ln.Close()
		all, held = append(all, at), append(held, c)
	}
	return all, release, nil
}
