package private

import (
	"net/netip"

	"tickhive/engine"
	"tickhive/internal/refuse"
)

// Feed is the interface of the accounts and the order history for the hub. The hub's goroutine calls Watch,
// Take, Snapshot and Verify; the sequencer's goroutine calls Fold and Publish.
type Feed interface {
	// Fold records the events of watched accounts.
	Fold(events []engine.Event)
	// Publish makes messages from the recorded events.
	Publish()
	// Withhold sets the pairs whose messages are kept back, because their command is unfinished.
	Withhold(pairs []engine.PairID)
	// Watch sets the accounts that have subscribers. The caller must not change the map afterwards.
	Watch(accounts map[engine.AccountID]bool)
	// Take returns the messages since the last call; all reports that some were dropped, so
	// every private stream must start over.
	Take() (messages []Message, all bool)
	// Snapshot appends the members of a channel's snapshot after its head.
	Snapshot(dst []byte, channel string, account engine.AccountID) []byte
	// Verify checks signed credentials of a socket from an address.
	Verify(remote netip.Addr, publicKey, timestamp, nonce, signature string) (Key, *refuse.Refusal)
	// OnKeyDeleted registers f, which is called with the number of every deleted key, on any
	// goroutine. f must not wait.
	OnKeyDeleted(f func(number uint64))
	// Join counts a socket whose account's orders are canceled graceNs after the last such socket is gone. Leave
	// ends Join; withdrawn: because the socket no longer asks for it.
	Join(account engine.AccountID)
	Leave(account engine.AccountID, graceNs int64, withdrawn bool)
}

// Message is one update of a private channel.
type Message struct {
	Account engine.AccountID
	Channel string // orders, fills, balances
	Seq     uint64
	// Append appends the JSON members behind the head, for example `"order":{...}`. The hub calls it, so that the
	// sequencer does not render messages.
	Append func(dst []byte) []byte
}

// Key is the API key with which a connection has authenticated.
type Key struct {
	Account   engine.AccountID
	Number    uint64 // the key's number in this process (auth.Principal)
	ExpiresNs int64  // 0: never
	PublicKey string
	CanTrade  bool
}
