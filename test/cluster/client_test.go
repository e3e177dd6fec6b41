package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// ask returns the answer of a node to a GET, status 0 without one within half a second.
func ask(in *harness.Instance, path string) (status int, body []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.Public+path, nil)
	if err != nil {
		return 0, nil
	}
	resp, err := harness.HTTPClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil
	}
	return resp.StatusCode, body
}

// roleOf returns the role that a node names in /api/status, empty without an answer.
func roleOf(in *harness.Instance) string {
	var m struct{ Replication struct{ Role string } }
	if _, body := ask(in, "/api/status"); json.Unmarshal(body, &m) != nil {
		return ""
	}
	return m.Replication.Role
}

// requester sends the requests of one client of a cluster.
type requester struct {
	*http.Client
	r *rand.Rand
}

func (c *failing) requester(id int) requester {
	return requester{
		&http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second},
		rand.New(rand.NewPCG(c.seed, uint64(id))),
	}
}

// reply is an answer, with status 0 if there is none.
type reply struct {
	status int
	seq    uint64 // X-Seq
	lag    string // X-Lag-Ms, which answers of replicas have
	body   string
}

func (q requester) send(url, method, body string, header ...string) (a reply) {
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		return reply{body: err.Error()}
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := q.Do(req)
	if err != nil {
		return reply{body: err.Error()}
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{body: err.Error()}
	}
	a = reply{status: resp.StatusCode, lag: resp.Header.Get("X-Lag-Ms"), body: string(raw)}
	a.seq, _ = strconv.ParseUint(resp.Header.Get("X-Seq"), 10, 64)
	return a
}

// signed sends a signed request to a random node, by its front.
func (c *failing) signed(q requester, u *harness.Voter, method, target, body string) (node int, a reply) {
	node = q.r.IntN(clusterNodes)
	header := u.Signed(fmt.Sprint(time.Now().UnixMilli()), method, target, body)
	return node, q.send("http://"+c.fronts[node].Addr()+target, method, body, append(header, "API-RecvWindow",
		"60000")...)
}

// clusterClient is a user who places orders through any node and repeats each with its clientOrderId until it is
// answered.
type clusterClient struct {
	*harness.Voter
	id     int
	orders map[string]string // clientOrderId -> order, empty: not answered
}

// trade places orders far from the market, which rest.
func (u *clusterClient) trade(c *failing) {
	q := c.requester(100 + u.id)
	defer q.CloseIdleConnections()
	for i := 0; i < 200 && !c.stopped(20*time.Millisecond); i++ {
		id := fmt.Sprintf("c%d-%d", u.id, i)
		u.orders[id] = ""
		body := fmt.Sprintf(`{"side":"buy","currencyPairCode":"AA_USDT","price":1,"amount":1,"clientOrderId":%q}`, id)
		for u.orders[id] == "" && !c.stopped(0) {
			_, a := c.signed(q, u.Voter, "POST", "/api/orders", body)
			switch {
			case a.status == http.StatusOK:
				u.orders[id] = strings.Trim(a.body, `"`)
			case a.status == 0 || a.status >= 500 || a.status == http.StatusMisdirectedRequest,
				a.status == http.StatusUnauthorized: // dated before the first second of a writer is over
				c.stopped(20 * time.Millisecond) // unknown, or no writer: again
			default:
				c.t.Errorf("order %s: %d %s", id, a.status, a.body)
				return
			}
		}
	}
}

// session reads a book from one node after the other, each time with the seq that it has seen last, and checks that no
// answer is older, also across takeovers.
func (c *failing) session(id int) {
	q := c.requester(id)
	defer q.CloseIdleConnections()
	seen := uint64(0)
	for !c.stopped(2 * time.Millisecond) {
		a := q.send("http://"+c.fronts[q.r.IntN(clusterNodes)].Addr()+"/api/orderbook?currencyPairCode=AA_USDT", "GET",
			"", "X-Min-Seq", strconv.FormatUint(seen, 10))
		if a.status != http.StatusOK {
			continue
		}
		if a.seq < seen {
			c.t.Errorf("a session has seen seq %d, and then %d: %.200s", seen, a.seq, a.body)
			return
		}
		seen = a.seq
		c.reads.Add(1)
	}
}
