package stream

import (
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/tickhive/tickhive/marketdata"
)

// BenchmarkFanOut measures one publication through Run until its message is queued for every
// subscriber of a book; the writers write to /dev/null.
func BenchmarkFanOut(b *testing.B) {
	for _, clients := range []int{1, 256} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) { benchFanOut(b, clients) })
	}
}

func benchFanOut(b *testing.B, clients int) {
	x := newManualHub(b, marketdata.Options{}, "AA_BB")
	for range clients {
		f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		c := x.connect()
		c.socket, _ = net.Pipe() // its deadlines are set when the hub stops
		if c.raw, err = f.SyscallConn(); err != nil {
			b.Fatal(err)
		}
		x.ask(c, `{"op":"subscribe","channel":"book","pairs":["AA_BB"],"interval":0}`)
	}
	go x.Run()
	defer x.Shutdown()
	reached := make(chan uint64)
	delivery := func() uint64 {
		x.Do(func() { reached <- x.deliveries })
		return <-reached
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		before := delivery()
		x.bid(0, 100+int64(i%50))
		x.Publish(0)
		for delivery() == before {
		}
	}
}
