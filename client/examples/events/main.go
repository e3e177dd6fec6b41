package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	server := flag.String("server", "nats://127.0.0.1:4222", "address of the NATS server")
	nkey := flag.String("nkey", "", "file with the server's credentials; "+
		"that of serve --journal embedded is stream.nk in its data directory")
	epoch := flag.String("epoch", "", "epoch of the exchange, from /api/status")
	pair := flag.String("pair", "BTC_USDT", "pair code")
	count := flag.Int("count", 10, "how many events to print")
	flag.Parse()
	if *epoch == "" {
		log.Fatal("-epoch is missing: /api/status tells it")
	}
	if err := follow(context.Background(), *server, *nkey, *epoch, *pair, *count); err != nil {
		log.Fatal(err)
	}
}

func follow(ctx context.Context, server, nkey, epoch, pair string, count int) error {
	var o []nats.Option
	if nkey != "" {
		user, err := nats.NkeyOptionFromSeed(nkey)
		if err != nil {
			return err
		}
		o = append(o, user)
	}
	nc, err := nats.Connect(server, o...)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	c, err := js.OrderedConsumer(ctx, "TICKHIVE_"+epoch+"_EVENTS", jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{"tickhive." + epoch + ".ev." + pair + ".*"},
	})
	if err != nil {
		return err
	}
	messages, err := c.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	seen := map[string]bool{} // an event can come twice: its id tells
	for len(seen) < count {
		m, err := messages.Next()
		if err != nil {
			return err
		}
		id := m.Headers().Get(jetstream.MsgIDHeader)
		if seen[id] {
			continue
		}
		seen[id] = true
		var event struct {
			Type   string      `json:"type"`
			Seq    uint64      `json:"seq"`
			Price  json.Number `json:"price"`
			Amount json.Number `json:"amount"`
		}
		if err := json.Unmarshal(m.Data(), &event); err != nil {
			return err
		}
		fmt.Println(id, event.Type, event.Seq, event.Price, event.Amount)
	}
	return nil
}
