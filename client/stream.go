package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fasthttp/websocket"
)

// maxMessage limits one received message, in bytes. A snapshot of a full book is smaller.
const maxMessage = 64 << 20

// Message is a message of the server. Only the members of its Type and Channel are set. A snapshot has lists, an
// update of orders and fills has one row.
type Message struct {
	Type     string          `json:"type"`
	ID       json.RawMessage `json:"id"`
	Channel  string          `json:"channel"`
	Pair     string          `json:"currencyPairCode"`
	Epoch    string          `json:"epoch"`
	Seq      uint64          `json:"seq"`
	PrevSeq  uint64          `json:"prevSeq"`
	Time     int64           `json:"time"`
	Reason   string          `json:"reason"`
	Bids     [][2]Decimal    `json:"bids"`
	Asks     [][2]Decimal    `json:"asks"`
	Checksum uint32          `json:"checksum"`
	Trades   []StreamTrade   `json:"trades"`
	TradeID  uint64          `json:"tradeId"`
	Code     string          `json:"code"`
	Text     string          `json:"message"`
	Field    string          `json:"field"` // the member of the request that an error is about

	Ticker   *Ticker      `json:"ticker"`
	Candle   *Candle      `json:"candle"` // nil in a snapshot without one
	Closed   bool         `json:"closed"` // the candle is final
	Status   *Status      `json:"status"`
	Pairs    []PairStatus `json:"pairs"` // of an update of status: the changed rows
	Orders   []Order      `json:"orders"`
	Order    *Order       `json:"order"`
	Lists    []List       `json:"lists"` // of a snapshot of orders: those that execute
	List     *List        `json:"list"`  // of an update of orders instead of Order: a list that began, changed or ended
	Fills    []Fill       `json:"fills"`
	Fill     *Fill        `json:"fill"`
	Balances []Balance    `json:"balances"`

	Raw []byte `json:"-"`
}

// StreamTrade is one trade of the trades channel.
type StreamTrade struct {
	TradeID uint64  `json:"tradeId"`
	ID      string  `json:"id"`
	Date    string  `json:"dealDateUtc"`
	Pair    string  `json:"currencyPairCode"`
	Volume  Decimal `json:"volume"`
	Price   Decimal `json:"price"`
	IsBuy   bool    `json:"isBuy"`
}

// Request is one operation that a client sends.
type Request struct {
	Op          string   `json:"op"`
	ID          any      `json:"id,omitempty"`
	Channel     string   `json:"channel,omitempty"`
	Pairs       []string `json:"pairs,omitempty"`
	Depth       *int     `json:"depth,omitempty"`
	Interval    *int     `json:"interval,omitempty"`
	FromSeq     *uint64  `json:"fromSeq,omitempty"`
	Epoch       string   `json:"epoch,omitempty"`
	FromTradeID *uint64  `json:"fromTradeId,omitempty"`
	Decimals    string   `json:"decimals,omitempty"`

	PublicKey string `json:"publicKey,omitempty"`
	Timestamp string `json:"timestamp,omitempty"`
	Nonce     string `json:"nonce,omitempty"`
	Signature string `json:"signature,omitempty"`

	RecvWindow int64 `json:"recvWindow,omitempty"` // ms; 0: 5,000

	CancelOnDisconnect bool   `json:"cancelOnDisconnect,omitempty"`
	GraceMs            *int64 `json:"graceMs,omitempty"`
}

// Stream is one WebSocket connection. One goroutine may read; any goroutine may call Send.
type Stream struct {
	conn *websocket.Conn
	mu   sync.Mutex // guards writes
}

// Dial opens a stream. url is ws://host/ws, optionally with ?streams=book:BTC_USDT,...
func Dial(ctx context.Context, url string) (*Stream, error) {
	conn, resp, err := websocket.DefaultDialer.DialContext(ctx, url, http.Header{})
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("client: dial %s: %s: %w", url, resp.Status, err)
		}
		return nil, fmt.Errorf("client: dial %s: %w", url, err)
	}
	conn.SetReadLimit(maxMessage)
	return &Stream{conn: conn}, nil
}

// StreamURL returns the WebSocket address of an exchange with the base URL base.
func StreamURL(base string) string {
	return strings.TrimRight(strings.Replace(base, "http", "ws", 1), "/") + "/ws"
}

// Send sends one operation.
func (s *Stream) Send(r Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.conn.WriteJSON(r); err != nil {
		return fmt.Errorf("client: send %s: %w", r.Op, err)
	}
	return nil
}

// Authenticate authenticates the stream with a key pair; an Ed25519 or RSA private key is in PEM. Directly after its
// start the exchange accepts no key for a second: Next then returns an error message with the code UNAUTHORIZED, and
// the caller authenticates again. A request of a Client waits by itself.
func (s *Stream) Authenticate(publicKey, privateKey string, now time.Time) error {
	return s.authenticate(Request{Op: "auth"}, publicKey, privateKey, now)
}

// AuthenticateGuarded is Authenticate with the wish that all orders of the account are canceled grace after
// its last stream with this wish is gone.
func (s *Stream) AuthenticateGuarded(publicKey, privateKey string, now time.Time, grace time.Duration) error {
	ms := grace.Milliseconds()
	return s.authenticate(Request{Op: "auth", CancelOnDisconnect: true, GraceMs: &ms}, publicKey, privateKey, now)
}

func (s *Stream) authenticate(r Request, publicKey, privateKey string, now time.Time) error {
	cr, err := credentials(publicKey, privateKey, now, http.MethodGet, "/ws", nil)
	if err != nil {
		return err
	}
	r.PublicKey, r.Timestamp, r.Nonce, r.Signature = cr.PublicKey, cr.Timestamp, cr.Nonce, cr.Signature
	return s.Send(r)
}

// Next reads one message. It answers the server's pings.
func (s *Stream) Next() (*Message, error) {
	_, raw, err := s.conn.ReadMessage()
	if err != nil {
		return nil, fmt.Errorf("client: read: %w", err)
	}
	m := &Message{Raw: raw}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("client: message %.100q: %w", raw, err)
	}
	return m, nil
}

// NextContext is Next until ctx ends. Then it closes the stream, because a message may have been read in part, and
// returns the cause.
func (s *Stream) NextContext(ctx context.Context) (*Message, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	m, err := s.Next()
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("client: read: %w", context.Cause(ctx))
	}
	return m, err
}

// CloseCode returns the WebSocket close code in err, 0 when there is none.
func CloseCode(err error) int {
	var ce *websocket.CloseError
	if errors.As(err, &ce) {
		return ce.Code
	}
	return 0
}

// SetReadDeadline sets the time after which reads fail.
func (s *Stream) SetReadDeadline(t time.Time) error { return s.conn.SetReadDeadline(t) }

// Close closes the connection without a close handshake.
func (s *Stream) Close() error { return s.conn.Close() }
