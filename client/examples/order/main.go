package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/tickhive/tickhive/client"
)

func main() {
	base := flag.String("base", "http://127.0.0.1:8080", "address of the exchange")
	flag.Parse()
	if os.Getenv("PUBLIC") == "" || os.Getenv("PRIVATE") == "" {
		log.Fatal("set PUBLIC and PRIVATE to the two parts of a key, which `tickhive demo-key key.json` makes")
	}
	c := &client.Client{Base: *base, PublicKey: os.Getenv("PUBLIC"), PrivateKey: os.Getenv("PRIVATE")}
	if err := roundTrip(context.Background(), c); err != nil {
		log.Fatal(err)
	}
}

func roundTrip(ctx context.Context, c *client.Client) error {
	id, err := c.PlaceOrder(ctx, client.OrderRequest{Side: "buy", Pair: "BTC_USDT", Amount: "0.01", Price: "10000"})
	if err != nil {
		return err
	}
	order, err := c.CancelOrder(ctx, id)
	if err != nil {
		return err
	}
	fmt.Printf("order %s: %s\n", order.ID, order.Status)
	return nil
}
