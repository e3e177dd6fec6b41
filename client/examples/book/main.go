package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/tickhive/tickhive/client"
)

func main() {
	base := flag.String("base", "http://127.0.0.1:8080", "address of the exchange")
	pair := flag.String("pair", "BTC_USDT", "pair code")
	updates := flag.Int("updates", 5, "how many changes to print")
	flag.Parse()
	if err := follow(context.Background(), *base, *pair, *updates); err != nil {
		log.Fatal(err)
	}
}

func follow(ctx context.Context, base, pair string, updates int) error {
	f, err := client.NewFollower(ctx, client.StreamURL(base), []string{pair}, 10, 100)
	if err != nil {
		return err
	}
	f.Patience = 3 * time.Second
	for updates > 0 {
		m, err := f.Step()
		if errors.Is(err, client.ErrSilent) { // the connection is broken: resume from the known seqs
			if err := f.Reconnect(ctx, ""); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		b := f.Books[pair]
		if m.Type != "snapshot" && m.Type != "update" || !b.Ready() || len(b.Bids) == 0 || len(b.Asks) == 0 {
			continue
		}
		fmt.Printf("seq %d  bid %s  ask %s\n", b.Seq, b.Bids[0].Price, b.Asks[0].Price)
		updates--
	}
	return nil
}
