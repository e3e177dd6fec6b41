package account

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"net/netip"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/doc"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
	"github.com/tickhive/tickhive/server/private"
	"github.com/tickhive/tickhive/server/stream"
)

// Options configures a Service. Exchange, Core, History, Board, Clock and Feed are required.
type Options struct {
	Exchange entry.Exchange
	Core     *engine.Core        // read only inside Exchange.Query
	History  *marketdata.History // read only inside Exchange.Query and Collect
	Board    *marketdata.Board
	Clock    clock.Clock   // the process clock; timestamps of signed requests are compared with it
	Random   io.Reader     // makes keys; nil: crypto/rand.Reader
	Limits   engine.Limits // what refusals of orders name; a zero member means its default

	// Legacy enables the signing scheme without replay protection (auth.legacy).
	// PublicURL is the scheme and host that this scheme signs (auth.public_url).
	Legacy    bool
	PublicURL string
	// Commissions returns the default commission records as of root (Market.Commissions).
	Commissions func(root *marketdata.Root) []objects.Commission
	// Ledger holds the balances of NATIVE and USBI. Nil: accounts hold them.
	Ledger Ledger
	// Feed is notified of balances whose new values are shown.
	Feed *private.Feed
}

// Store is the recovered store behind a Service.
type Store struct {
	State *accounts.State // decides; read on the loop's goroutine, and before it runs
	Shown *accounts.Shown // what readers see; it follows State
	// Do carries out a command, and returns when it is durable and shown.
	Do func(cmd accounts.Command) (accounts.Result, error)
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
	entry    *entry.Entry
	canceler *entry.Canceler
	search   *edge.UserLimiter // of the search of inviters

	// Set by Attach, before the server accepts requests.
	change   func(cmd accounts.Command) (accounts.Result, error)
	shown    *accounts.Shown
	verifier *auth.Verifier
}

// New returns a Service without state: routes can be built before recovery.
func New(o Options) (*Service, error) {
	e, err := entry.New(entry.Options{
		Exchange: o.Exchange, Core: o.Core, History: o.History, Board: o.Board, Clock: o.Clock, Limits: o.Limits,
	})
	if err != nil {
		return nil, err
	}
	search, err := edge.NewUserLimiter(searchesPerMinute)
	if err != nil {
		return nil, err
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	d := &Service{opt: o, entry: e, canceler: entry.NewCanceler(e), search: search}
	d.private = &privateFeed{service: d}
	return d, nil
}

// Attach sets the recovered state and listens to what it shows. The caller calls it once,
// before the sequencer that folds into the state runs and before the server is ready.
func (s *Service) Attach(from Store) {
	s.change, s.shown = from.Do, from.Shown
	s.entry.Attach(s.shown)
	s.canceler.Attach(from.State, from.Do)
	s.verifier = auth.NewVerifier(s.shown.Index(), auth.Options{Legacy: s.opt.Legacy})
	s.shown.Listen(listener{s.opt.Feed, s.private})
}

// RefuseBefore refuses signed requests with earlier timestamps, Unix ms (auth.Verifier). The caller calls it after
// Attach, before the server is ready.
func (s *Service) RefuseBefore(ms int64) { s.verifier.RefuseBefore(ms) }

// Entry returns the entry of the orders of users. Both listeners use it.
func (s *Service) Entry() *entry.Entry { return s.entry }

// userOf returns the user that the path names.
func (s *Service) userOf(c *edge.Ctx) (accounts.UserView, *refuse.Refusal) {
	text, err := userID.Of(c)
	if err != nil {
		return accounts.UserView{}, err
	}
	if id, ok := json.ParseUUID(text); ok {
		if n, known := s.entry.Find(id); known {
			if u, ok := s.shown.User(uint32(n)); ok {
				return u, nil
			}
		}
	}
	return accounts.UserView{}, refuse.Missing("id", "There is no user %s.", text)
}

// do carries out a command and returns its refusal unchanged.
func (s *Service) do(cmd accounts.Command) (accounts.Result, *refuse.Refusal) {
	res, err := s.change(cmd)
	if err == nil {
		return res, nil
	}
	var reject *refuse.Refusal
	if errors.As(err, &reject) {
		return res, reject
	}
	return res, entry.Unconfirmed(err, "The change", "look at "+whereToLook(cmd.Kind)+" before you repeat the request.")
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

// VerifyPayload checks a request that signs its parameters as one text.
func (s *Service) VerifyPayload(p *auth.Payload) (auth.Principal, *refuse.Refusal) {
	return s.verifier.VerifyPayload(s.opt.Clock.NowNs(), p)
}

// Balances returns the non-zero balances of an account, including those in the ledger, ordered by currency code.
func (s *Service) Balances(account engine.AccountID) []accounts.BalanceView {
	return s.balancesOf(uint32(account))
}

// Terms returns the fee terms of an account.
func (s *Service) Terms(account engine.AccountID) accounts.Terms {
	return s.shown.Terms(uint32(account))
}

// Keys returns the keys of an account, without their secrets.
func (s *Service) Keys(account engine.AccountID) []accounts.APIKeyView {
	return s.shown.Keys(uint32(account), s.opt.Clock.NowNs())
}

// Halted reports whether an operator has halted an account.
func (s *Service) Halted(account engine.AccountID) bool {
	u, _ := s.shown.User(uint32(account))
	return u.Halted
}

// Identify returns the principal of an active key that may be used from an address.
func (s *Service) Identify(publicKey string, remote netip.Addr) (auth.Principal, *refuse.Refusal) {
	return s.verifier.Identify(s.opt.Clock.NowNs(), []byte(publicKey), remote)
}

// Balance returns the balance of an account that is shown, without the ledger's.
func (s *Service) Balance(account engine.AccountID, currency string) accounts.BalanceView {
	return s.shown.Balance(uint32(account), currency)
}

// listener passes what the accounts have shown to the feed and to the private channels.
type listener struct {
	feed    *private.Feed
	private *privateFeed
}

// BalanceChanged implements accounts.Listener.
func (l listener) BalanceChanged(account uint32, currency string) {
	l.feed.BalanceChanged(engine.AccountID(account), currency)
}

// Transferred implements accounts.Listener.
func (l listener) Transferred(account uint32, currency string, amount fixed.I128) {
	l.feed.Transferred(engine.AccountID(account), currency, amount)
}

// KeyDeleted implements accounts.Listener.
func (l listener) KeyDeleted(number uint64) { l.private.keyDeleted(number) }

// Authenticate verifies a signed request (docs/contract/signing.md#signature). It implements
// Options.Authenticate. It reads the bytes of the request exactly as the client sent them.
func (s *Service) Authenticate(c *edge.Ctx) (*edge.Principal, *refuse.Refusal) {
	h, sent := &c.Request.Header, &c.Credentials
	r := auth.Request{
		Method: string(c.Method()), Target: h.RequestURI(), Body: c.Request.Body(),
		PublicKey: sent.PublicKey, Timestamp: sent.Timestamp, Nonce: sent.Nonce, Signature: sent.Signature,
		RecvWindow: sent.RecvWindow,
		Remote:     c.ClientAddr(), Cancel: c.Cancels(),
		DeletesOwnKey: deletesOwnKey(c),
	}
	if s.opt.Legacy && r.Timestamp == nil && r.Nonce == nil {
		r.FullURL = s.fullURL(h)
	}
	who, reject := s.verifier.Verify(s.opt.Clock.NowNs(), &r)
	if reject != nil {
		return nil, reject
	}
	return &edge.Principal{
		Account: who.User, UserID: who.ID.String(), PublicKey: who.PublicKey,
		CanTrade: who.CanTrade || r.DeletesOwnKey,
	}, nil
}

// deletesOwnKey reports whether the request deletes the key that it names as its signer.
func deletesOwnKey(c *edge.Ctx) bool {
	return c.IsDelete() && c.PathParam(keyOf.Name()) == string(c.Credentials.PublicKey)
}

// fullURL returns the URL that the legacy scheme signs (docs/contract/signing.md#legacy-scheme).
func (s *Service) fullURL(h *fasthttp.RequestHeader) []byte {
	return append([]byte(s.opt.PublicURL), h.RequestURI()...)
}

// verifySocket checks the credentials of a socket's auth operation: they sign a GET of /ws
// without a body (docs/contract/streams.md#operations). It accepts only the default scheme.
func (s *Service) verifySocket(remote netip.Addr, c stream.Credentials) (stream.SocketKey, *refuse.Refusal) {
	r := auth.Request{
		Method: fasthttp.MethodGet, Target: []byte("/ws"), Remote: remote, PublicKey: []byte(c.PublicKey),
		Timestamp: []byte(c.Timestamp), Nonce: []byte(c.Nonce), Signature: []byte(c.Signature),
	}
	if c.RecvWindowMs != 0 {
		r.RecvWindow = strconv.AppendInt(nil, c.RecvWindowMs, 10)
	}
	who, reject := s.verifier.Verify(s.opt.Clock.NowNs(), &r)
	if reject != nil {
		return stream.SocketKey{}, memberOf(reject)
	}
	return stream.SocketKey{
		Account: engine.AccountID(who.User), Number: who.Key, ExpiresNs: who.ExpiresNs, CanTrade: who.CanTrade,
	}, nil
}

// memberOf names the member of auth in place of the header that a refusal is about.
func memberOf(r *refuse.Refusal) *refuse.Refusal {
	if name, is := strings.CutPrefix(r.Field, "API-"); is {
		r.Field = strings.ToLower(name[:1]) + name[1:]
	}
	return r
}

// Routes returns every public route of accounts: keys, avatars, referral and trading.
func (s *Service) Routes(*edge.Server) []*edge.Route {
	var all []*edge.Route
	for _, routes := range [][]*edge.Route{
		edge.Tagged("Accounts", s.keyRoutes()), edge.Tagged("Accounts", avatars{s}.routes()),
		edge.Tagged("Accounts", s.commissionRoutes()), edge.Tagged("Referral", referral{s}.routes()),
		edge.Tagged("Referral", accruals{s}.routes()), edge.Tagged("Trading", s.tradingRoutes()),
		edge.Tagged("Trading", s.listRoutes()), edge.Tagged("Trading", lists{s}.routes()),
		edge.Tagged("Trading", lists{s}.listRoutes()),
	} {
		all = append(all, routes...)
	}
	for _, r := range all {
		r.Class = edge.ClassAccount
		if !r.Public {
			r.Auth = edge.AuthRequired
		}
		r.Trade = r.Method != fasthttp.MethodGet
		if r.Method == fasthttp.MethodPost || r.Method == fasthttp.MethodPatch {
			r.Body = edge.BodyJSON
		}
	}
	return all
}

func (s *Service) keyRoutes() []*edge.Route {
	return []*edge.Route{
		{
			Method: fasthttp.MethodGet, Path: "/api/apikeys", Handle: s.listKeys,
			Name: "getApiKeys", Summary: "API keys with their settings",
		},
		{
			Method: fasthttp.MethodPost, Path: "/api/apikeys", Handle: s.createOwnKey,
			Schema: "ApiKeyPairCreationRequestViewModel", Members: ownKeyForm.Members(),
			Name:    "createApiKey",
			Summary: "Create an API key that is not stronger than the signing one; the private key is shown once",
			Refuses: []int{409},
		},
		{
			Method: fasthttp.MethodDelete, Path: "/api/apikeys/{publicKey}", Handle: s.deleteKey,
			Params: edge.Params(keyOf),
			Name:   "deleteApiKey", Summary: "Delete an API key, and every key that it made, at once",
		},
	}
}

// maxAddressText is the maximum length of an address, longer than any CIDR.
const maxAddressText = 64

// The bodies of the two routes that create keys (ApiKeyPairCreationRequestViewModel), which differ in their
// defaults.
var (
	ownKeyForm      = keyForm(auth.KeyRequest{})
	operatorDefault = auth.KeyRequest{CanTrade: true, CanManageKeys: true}
	operatorKeyForm = keyForm(operatorDefault)
)

func keyForm(byDefault auth.KeyRequest) *json.Form[auth.KeyRequest] {
	return json.Of(
		json.Text("name", accounts.MaxKeyName, func(k *auth.KeyRequest, v string) { k.Name = v }).Need().
			As(json.Field{Range: []int64{1, accounts.MaxKeyName}}),
		json.Flag("canTrade", func(k *auth.KeyRequest,
			v bool,
		) {
			k.CanTrade = v
		}).As(json.Field{Default: byDefault.CanTrade}),
		json.Flag("canWithdraw", func(k *auth.KeyRequest,
			v bool,
		) {
			k.CanWithdraw = v
		}).As(json.Field{Default: false}),
		json.Flag("canManageKeys", func(k *auth.KeyRequest, v bool) { k.CanManageKeys = v }).
			As(json.Field{Default: byDefault.CanManageKeys}),
		json.Value("ed25519PublicKey", json.KindText, ed25519Key, func(k *auth.KeyRequest, v []byte) { k.Ed25519 = v }).
			As(json.Field{Nullable: true}),
		json.Value("rsaPublicKey", json.KindText, rsaKey, func(k *auth.KeyRequest, v []byte) { k.RSA = v }).
			As(json.Field{Nullable: true}),
		json.Value("ipWhitelist", json.KindArray, addresses,
			func(k *auth.KeyRequest, v []string) { k.IPWhitelist = v }).
			As(json.Field{Range: []int64{0, auth.MaxWhitelist}, Element: &json.Field{}}),
		json.Value("expiresAt", json.KindText, dateTime, func(k *auth.KeyRequest, ns int64) { k.ExpiresNs = ns }).
			As(json.Field{Nullable: true}),
	)
}

func dateTime(r *json.Reader) (ns int64, given bool) {
	s := r.Text(maxAddressText)
	if s == nil {
		return 0, false
	}
	ns, ok := dateTimeNs(s)
	if !ok || ns == 0 {
		r.Bad("must be a date-time such as 2026-01-01T00:00:00Z.")
	}
	return ns, true
}

func ed25519Key(r *json.Reader) (key []byte, given bool) {
	if r.Null() {
		return nil, false
	}
	// The empty text is not taken for a missing member: the client expects no private key.
	key, ok := auth.ParseEd25519(string(r.Text(maxAddressText)))
	if !ok {
		r.Bad("must be the base64 of the 32 bytes of an Ed25519 public key.")
	}
	return key, true
}

func rsaKey(r *json.Reader) (key []byte, given bool) {
	if r.Null() {
		return nil, false
	}
	key, err := auth.ParseRSA(string(r.Text(auth.MaxRSAText)))
	if err != nil {
		r.Bad(err.Error() + ".")
	}
	return key, true
}

func addresses(r *json.Reader) (list []string, given bool) {
	if r.Null() || !r.Array() {
		return nil, false
	}
	for r.Element() {
		if len(list) == auth.MaxWhitelist {
			r.Err = &json.Error{Field: "ipWhitelist", Message: "The member ipWhitelist may have at most 20 elements."}
			return nil, false
		}
		list = append(list, string(r.Text(maxAddressText)))
	}
	return list, true
}

func (s *Service) listKeys(c *edge.Ctx) *refuse.Refusal {
	s.sendKeys(c, c.Principal.Account)
	return nil
}

// sendKeys sends the keys of a user, without their secrets.
func (s *Service) sendKeys(c *edge.Ctx, user uint32) {
	keys := s.shown.Keys(user, s.opt.Clock.NowNs())
	var w json.Writer
	w.List()
	for i := range keys {
		w.Object()
		writeKey(&w, &keys[i])
		w.EndObject()
	}
	w.EndList()
	c.Private(w.Bytes())
}

func (s *Service) createOwnKey(c *edge.Ctx) *refuse.Refusal {
	return s.createKey(c, ownKeyForm, auth.KeyRequest{}, accounts.Command{
		Kind: accounts.CreateKey, User: c.Principal.Account, SignedBy: c.Principal.PublicKey,
	})
}

// createKey creates a key and sends it. No other answer shows the private key. There is none when the
// client has the private key of an Ed25519 or RSA key. request has the defaults of what the form does not name.
func (s *Service) createKey(
	c *edge.Ctx, form *json.Form[auth.KeyRequest], request auth.KeyRequest, cmd accounts.Command,
) *refuse.Refusal {
	if err := form.Decode(c.PostBody(), &request); err != nil {
		return err
	}
	if request.Ed25519 != nil && request.RSA != nil {
		return refuse.Param("rsaPublicKey", "A key has rsaPublicKey or ed25519PublicKey, not both.")
	}
	var drawn error
	if cmd.Key, drawn = auth.Draw(s.opt.Random, request); drawn != nil {
		panic("no random bytes: " + drawn.Error())
	}
	res, err := s.do(cmd)
	if err != nil {
		return err
	}
	c.Audit("key created", "key", res.Key.PublicKey, "user", accounts.UserID(cmd.User).String(), "canTrade",
		res.Key.CanTrade, "canWithdraw", res.Key.CanWithdraw, "canManageKeys", res.Key.CanManageKeys)
	var w json.Writer
	w.Object()
	writeKey(&w, &res.Key)
	if !res.Secret.Empty() {
		w.Name("privateKey").Text(res.Secret.Reveal())
	}
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

var keyOf = edge.Text("publicKey").Says("The public key.")

func (s *Service) deleteKey(c *edge.Ctx) *refuse.Refusal {
	return s.endKey(c, accounts.Command{
		Kind: accounts.DeleteKey, User: c.Principal.Account, SignedBy: c.Principal.PublicKey,
	})
}

// endKey deletes the key that the path names.
func (s *Service) endKey(c *edge.Ctx, cmd accounts.Command) (err *refuse.Refusal) {
	if cmd.PublicKey, err = keyOf.Of(c); err != nil {
		return err
	}
	if _, err = s.do(cmd); err == nil {
		c.Audit("key deleted", "key", cmd.PublicKey)
		c.Private([]byte("{}"))
	}
	return err
}

// writeKey writes the members of a key.
func writeKey(w *json.Writer, k *accounts.APIKeyView) {
	w.Name("publicKey").Text(k.PublicKey)
	w.Name("name").Text(k.Name)
	w.Name("canTrade").Bool(k.CanTrade)
	w.Name("canWithdraw").Bool(k.CanWithdraw)
	w.Name("canManageKeys").Bool(k.CanManageKeys)
	w.Name("createdBy").TextOrNull(k.CreatedBy)
	w.Name("ed25519PublicKey").TextOrNull(base64.StdEncoding.EncodeToString(k.Ed25519))
	w.Name("rsaPublicKey").TextOrNull(auth.FormatRSA(k.RSA))
	w.Name("ipWhitelist").List()
	for _, address := range k.IPWhitelist {
		w.Text(address)
	}
	w.EndList()
	w.Name("dateCreated").ISO(k.CreatedNs, 3)
	w.Name("expiresAt").ISOOrNull(k.ExpiresNs, 3)
	w.Name("lastUsedAt").ISOOrNull(k.LastUsedNs, 3)
	w.Name("isActive").Bool(k.IsActive)
}

const avatarPath = "/api/users/avatars"

// avatars serves the routes of the catalogue of avatars.
type avatars struct{ *Service }

func (av avatars) routes() []*edge.Route {
	return []*edge.Route{
		{
			Method: fasthttp.MethodGet, Path: avatarPath, Handle: av.list, Public: true,
			Name: "getAvatars", Summary: "Avatar catalogue",
		},
		{
			Method: fasthttp.MethodGet, Path: avatarPath + "/my", Handle: av.myAvatar,
			Name: "getMyAvatar", Summary: "The caller's avatar",
		},
		{
			Method: fasthttp.MethodGet, Path: avatarPath + "/{avatarId}", Handle: av.avatar, Public: true,
			Params: edge.Params(avatarID),
			Name:   "getAvatar", Summary: "One avatar; with `.svg` its picture",
		},
	}
}

// list sends the catalogue of avatars.
func (av avatars) list(c *edge.Ctx) *refuse.Refusal {
	var w json.Writer
	w.List()
	for _, a := range av.shown.Avatars() {
		writeAvatar(&w, "id", &a)
	}
	w.EndList()
	return c.SendBody(w.Bytes(), doc.NoSeq)
}

var avatarID = edge.Text("avatarId").Says("Id, or id.svg for the picture.").Like("simple")

// avatar sends one avatar, or its picture if the path ends with .svg.
func (av avatars) avatar(c *edge.Ctx) *refuse.Refusal {
	text, err := avatarID.Of(c)
	if err != nil {
		return err
	}
	id, picture := strings.CutSuffix(text, ".svg")
	svg, ok := av.shown.Catalogue().SVG(id)
	if !ok {
		return refuse.Missing("avatarId", "There is no avatar %s.", text)
	}
	if picture {
		sendPicture(c, svg)
		return nil
	}
	for _, a := range av.shown.Avatars() {
		if a.ID == id {
			var w json.Writer
			writeAvatar(&w, "id", &a)
			return c.SendBody(w.Bytes(), doc.NoSeq)
		}
	}
	panic("BUG: server: an avatar without a place in the catalogue")
}

// sendPicture sends an SVG with headers that keep browsers from treating it as anything else.
func sendPicture(c *edge.Ctx, svg []byte) {
	tag := string(doc.AppendTag(nil, doc.Hash(svg)))
	c.PublicHeaders([]byte(tag), doc.NoSeq)
	h := &c.Response.Header
	h.SetCanonical(edge.HdrCSP, []byte("default-src 'none'; style-src 'unsafe-inline'"))
	if c.Principal != nil {
		h.SetCanonical(edge.HdrCacheControl, edge.ValNoStore)
		h.Del(fasthttp.HeaderETag)
	} else if edge.NotModified(c.RequestCtx, tag) {
		c.NotModified()
		return
	}
	h.SetContentType(accounts.AvatarMediaType)
	c.Response.SetBodyRaw(svg)
}

func (av avatars) myAvatar(c *edge.Ctx) *refuse.Refusal {
	a := av.shown.Avatar(c.Principal.Account)
	var w json.Writer
	writeAvatar(&w, "avatarId", &a)
	c.Private(w.Bytes())
	return nil
}

// writeAvatar writes an avatar whose id has a name of its own in each route.
func writeAvatar(w *json.Writer, id string, a *accounts.AvatarView) {
	w.Object()
	w.Name(id).Text(a.ID)
	w.Name("url").Text(a.URL)
	w.EndObject()
}

// Money is an amount, balance or fee in 10^-18 (docs/contract/market-data.md#decimals).
type Money = fixed.I128

// writeSums writes sums as an object from currency code to amount.
func writeSums(w *json.Writer, sums []accrual.CurrencyAmount) {
	w.Object()
	for _, s := range sums {
		w.Name(s.CurrencyCode).Money(s.Amount.Wide())
	}
	w.EndObject()
}

// writeBalances writes the member balances.
func writeBalances(w *json.Writer, rows []accounts.BalanceView) {
	w.Name("balances").List()
	for i := range rows {
		w.Object()
		writeBalance(w, &rows[i])
		w.EndObject()
	}
	w.EndList()
}

// writeBalance writes the members of a balance.
func writeBalance(w *json.Writer, b *accounts.BalanceView) {
	w.Name("currencyCode").Text(b.CurrencyCode)
	w.Name("free").Money(b.Free)
	w.Name("held").Money(b.Held)
	w.Name("total").Money(b.Total)
}
