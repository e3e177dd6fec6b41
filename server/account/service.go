package account

import (
	"errors"
	"iter"

	"tickhive/accounts"
	"tickhive/accounts/auth"
	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/entry"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/internal/wal"
	"tickhive/marketdata"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// Options configures a Service. Exchange, Core, History, Board and Clock are required.
type Options struct {
	Exchange entry.Exchange
	Core     *engine.Core        // read only inside Exchange.Query
	History  *marketdata.History // read only inside Exchange.Query and Collect
	Board    *marketdata.Board
	Clock    clock.Clock // the process clock; timestamps of signed requests are compared with it

	// Legacy enables the signing scheme without replay protection (auth.legacy).
	// PublicURL is the scheme and host that this scheme signs (auth.public_url).
	Legacy    bool
	PublicURL string
	// Commissions returns the default commission records as of root (Market.Commissions).
	Commissions func(root *marketdata.Root) []encode.Commission
	// Ledger holds the balances of NATIVE and USBI. Nil: accounts hold them.
	Ledger Ledger
}

// Store is the recovered store behind a Service.
type Store struct {
	State *accounts.State
	// Do submits a command to the store and waits until it is durable.
	Do func(cmd accounts.Command) (accounts.Result, error)
	// NotBeforeMs is the oldest accepted timestamp: the nonces of an earlier process are
	// lost. 0: the data directory is new.
	NotBeforeMs int64
	// Used yields the nonces of timestamps at or after NotBeforeMs that an earlier process
	// accepted. KeepNonce records the nonces of this process (auth.Options).
	Used      iter.Seq[auth.UsedNonce]
	KeepNonce func(nowMs, timestampMs int64, publicKey string, nonce []byte) error
}

// Ledger lists what the account routes need of the launchpad's ledger. An address is an
// account's address (accounts.UserView.Address). Any goroutine may call it.
type Ledger interface {
	// HasCurrency reports whether the ledger holds the balances of a currency.
	HasCurrency(currencyCode string) bool
	// Deposit and Withdraw move money (10^-18) from and to the outside world.
	Deposit(address, currencyCode string, amount Money) (accounts.BalanceView, *refuse.Refusal)
	Withdraw(address, currencyCode string, amount Money) (accounts.BalanceView, *refuse.Refusal)
	// Balances returns the non-zero balances of one address, ordered by currency code.
	Balances(address string) []accounts.BalanceView
	// Seq returns a number that rises with every change of the ledger.
	Seq() uint64
	// Totals returns the ledger's rows of GET /totals, ordered by currency code.
	Totals() []accounts.TotalView
}

// Service verifies signatures and serves the account and trading routes. Any goroutine may use it.
type Service struct {
	opt      Options
	private  *privateFeed
	listener Listener // nil: none
	entry    *entry.Entry
	guard    *entry.Guard
	search   *edge.UserLimiter // of the search of inviters

	// Set by Attach, before the server accepts requests.
	state    *accounts.State
	change   func(cmd accounts.Command) (accounts.Result, error)
	view     *accounts.View
	verifier *auth.Verifier
}

// New returns a Service without state: routes can be built before recovery.
func New(o Options) (*Service, error) {
	e, err := entry.New(entry.Options{
		Exchange: o.Exchange, Core: o.Core, History: o.History, Board: o.Board, Clock: o.Clock,
	})
	if err != nil {
		return nil, err
	}
	search, err := edge.NewUserLimiter(searchesPerMinute)
	if err != nil {
		return nil, err
	}
	d := &Service{opt: o, entry: e, guard: entry.NewGuard(e), search: search}
	d.private = newPrivateFeed(d)
	return d, nil
}

// Attach sets the recovered state and subscribes to its balances. The caller calls it once,
// before the sequencer that folds into the state runs and before the server is ready.
func (s *Service) Attach(from Store) {
	s.state, s.change, s.view = from.State, from.Do, from.State.View()
	s.entry.Attach(from.State)
	s.guard.Attach(from.Do)
	o := auth.Options{
		Legacy: s.opt.Legacy, NotBeforeMs: from.NotBeforeMs, Used: from.Used, UsedNs: s.opt.Clock.NowNs(),
		Keep: from.KeepNonce,
	}
	if o.NotBeforeMs > 0 && !s.opt.Clock.Virtual() { // a clock that stands still would never reach it
		o.PayloadNotBeforeMs = o.NotBeforeMs + auth.AheadMs
	}
	s.verifier = auth.NewVerifier(from.State.Keys(), o)
	from.State.OnBalance(s.balanceChanged)
	if l := s.listener; l != nil {
		from.State.OnTransfer(func(account uint32, currency string, amount fixed.I128) {
			l.Transferred(engine.AccountID(account), currency, amount)
		})
	}
	from.State.OnKeyDeleted(s.private.keyDeleted)
}

// NonceFloorMs returns the timestamp before which a key's requests are refused regardless of
// their nonces (auth.Verifier).
func (s *Service) NonceFloorMs(publicKey []byte) int64 { return s.verifier.FloorMs(publicKey) }

// Entry returns the entry of the orders of users. Both listeners use it.
func (s *Service) Entry() *entry.Entry { return s.entry }

// userOf returns the user that the path names.
func (s *Service) userOf(c *edge.Ctx) (accounts.UserView, *refuse.Refusal) {
	text := c.PathParam("id")
	if id, ok := body.ParseUUID(text); ok {
		if n, known := s.entry.Find(id); known {
			if u, ok := s.view.User(uint32(n)); ok {
				return u, nil
			}
		}
	}
	return accounts.UserView{}, refuse.Missing("id", "There is no user %s.", text)
}

// do submits a command to the store and returns the store's refusals unchanged.
func (s *Service) do(cmd accounts.Command) (accounts.Result, *refuse.Refusal) {
	res, err := s.change(cmd)
	if err == nil {
		return res, nil
	}
	var reject *refuse.Refusal
	switch {
	case errors.As(err, &reject):
		return res, reject
	case errors.Is(err, wal.ErrBusy):
		return res, refuse.Later(1, "Too many changes of accounts wait; nothing was changed.")
	case errors.Is(err, wal.ErrClosed):
		return res, refuse.Later(5, "The server is shutting down; nothing was changed.")
	}
	if errors.Is(err, wal.ErrOutcomeUnknown) {
		return res, refuse.Unknown("The change", "look at "+whereToLook(cmd.Kind)+" before you repeat the request.")
	}
	return res, refuse.Later(5, "The accounts accept no changes at the moment; nothing was changed.")
}

// whereToLook returns the route on which a user can check whether a command was carried out.
func whereToLook(k accounts.Kind) string {
	switch k {
	case accounts.Deposit, accounts.Withdraw, accounts.AddProfit:
		return "the balances"
	case accounts.CreateKey, accounts.DeleteKey:
		return "the API keys (the secret of a key is shown once: delete the key and make another)"
	case accounts.CreateLink:
		return "the links"
	default:
		return "the user"
	}
}
