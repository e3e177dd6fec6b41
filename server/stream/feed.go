package stream

import (
	"net/netip"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/private"
)

// Accounts is what the private channels need of the accounts, beside the events of Options.Feed. The hub's goroutine
// calls the methods.
type Accounts interface {
	// Messages returns the updates that events of an account make, in the order in which they are sent. It is also
	// called without events, because other balances may have changed.
	Messages(account engine.AccountID, events []*private.Event) []PrivateMessage
	// Forget ends what Messages remembers of an account, which has no subscribers any more.
	Forget(account engine.AccountID)
	// Snapshot writes the members of a channel's snapshot behind its head.
	Snapshot(w *json.Writer, channel string, account engine.AccountID)
	// Verify checks signed credentials of a socket from an address. The field of a refusal is a member of auth.
	Verify(remote netip.Addr, c Credentials) (SocketKey, *refuse.Refusal)
	// OnKeyDeleted registers f, which is called with the number of every deleted key, on any
	// goroutine. f must not wait.
	OnKeyDeleted(f func(number uint64))
	// Join counts a socket whose account's orders are canceled graceNs after the last such socket is gone. Leave
	// ends Join; withdrawn: because the socket no longer asks for it.
	Join(account engine.AccountID)
	Leave(account engine.AccountID, graceNs int64, withdrawn bool)
}

// PrivateMessage is one update of a private channel.
type PrivateMessage struct {
	Channel string // orders, fills, balances
	// Write writes the members behind the head, for example `"order":{...}`.
	Write func(w *json.Writer)
}

// Credentials are those of the operation auth, as sent.
type Credentials struct {
	PublicKey, Timestamp, Nonce, Signature string
	RecvWindowMs                           int64 // 0: the default
}

// SocketKey is the API key with which a connection has authenticated.
type SocketKey struct {
	Account   engine.AccountID
	Number    uint64 // the key's number in this process (auth.Principal)
	ExpiresNs int64  // 0: never
	PublicKey string
	CanTrade  bool
}
