package jet_test

import (
	"bytes"
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

const (
	benchGroup   = 256 // commands in a message
	benchFlight  = 8   // messages in flight
	benchCommand = 100 // bytes
)

// cpuNs returns the processor time of this process, which holds the server too.
func cpuNs(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkPublish compares the appender with loops that publish the same bytes by nats.go alone, with the expected
// number. An operation is a group of 256 commands, and eight groups are open. The appender joins the groups that wait,
// about all eight of them, so there are two references: eight messages of a group, and one of eight groups.
func BenchmarkPublish(b *testing.B) {
	s, err := jet.StartServer(jet.ServerOptions{Dir: b.TempDir(), Seed: testSeed, Listen: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Stop()
	n := 0
	for _, c := range []struct {
		name string
		run  func(b *testing.B, c *jet.Conn, epoch string)
	}{
		{"bare-8x256", func(b *testing.B, c *jet.Conn, epoch string) { bare(b, c, epoch, 1) }},
		{"bare-1x2048", func(b *testing.B, c *jet.Conn, epoch string) { bare(b, c, epoch, benchFlight) }},
		{"appender", throughAppender},
	} {
		b.Run(c.name, func(b *testing.B) {
			n++
			conn, err := jet.Connect(jet.Remote{URLs: []string{s.URL()}})
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			epoch := fmt.Sprintf("b%d", n)
			before := cpuNs(b)
			c.run(b, conn, epoch)
			b.StopTimer()
			b.ReportMetric(float64(cpuNs(b)-before)/float64(b.N)/benchGroup, "cpu-ns/command")
			b.ReportMetric(float64(b.N)*benchGroup/b.Elapsed().Seconds(), "commands/s")
			if err := conn.JetStream().DeleteStream(b.Context(), "TICKHIVE_"+epoch); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// bare publishes messages of so many groups, and has eight groups in flight.
func bare(b *testing.B, c *jet.Conn, epoch string, groups int) {
	l, err := c.Log(b.Context(), epoch, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	subject := jet.Subject(l)
	data := bytes.Repeat([]byte("x"), 64+16+groups*benchGroup*(benchCommand+1))
	var flight []jetstream.PubAckFuture
	wait := func() {
		select {
		case <-flight[0].Ok():
		case err := <-flight[0].Err():
			b.Fatal(err)
		}
		flight = flight[1:]
	}
	for i := range (b.N + groups - 1) / groups {
		if len(flight) == benchFlight/groups {
			wait()
		}
		f, err := c.JetStream().PublishMsgAsync(&nats.Msg{Subject: subject, Data: data},
			jetstream.WithExpectLastSequence(uint64(i)))
		if err != nil {
			b.Fatal(err)
		}
		flight = append(flight, f)
	}
	for len(flight) > 0 {
		wait()
	}
}

// throughAppender adds groups while fewer than eight of them are not confirmed.
func throughAppender(b *testing.B, c *jet.Conn, epoch string) {
	l, err := c.Log(b.Context(), epoch, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	w, err := stream.Campaign(&stream.Candidate{
		Node: 1, Rules: 1, Keys: testKeys, Found: stream.Founding{History: [16]byte{1}},
		Limits: stream.Limits{InFlight: benchFlight, Queue: 8 << 20},
	}, 0)
	if err != nil {
		b.Fatal(err)
	}
	a := jet.NewAppender(l, w, jet.Timing{NowNs: clock.MachineNs, BeatAfter: 200e6, AckTimeout: 2e9})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	for status := stream.Campaigning; status != stream.Leading; status, _ = a.Status() {
		<-a.Wake()
	}
	records := make([][]byte, benchGroup)
	for i := range records {
		records[i] = bytes.Repeat([]byte("x"), benchCommand)
	}
	b.ResetTimer()
	added := uint64(0)
	wait := func(open uint64) {
		for {
			_, s := a.Status()
			if added-s.End.Seq <= open {
				return
			}
			<-a.Wake()
		}
	}
	for range b.N {
		wait((benchFlight - 1) * benchGroup)
		if added, err = a.Add(records...); err != nil {
			b.Fatal(err)
		}
	}
	wait(0)
	_, at := a.Status()
	b.ReportMetric(float64(added)/float64(at.Seq), "commands/message")
	cancel()
	<-done
}
