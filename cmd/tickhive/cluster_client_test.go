package main

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
)

// roleOf returns the role that a node names in /api/status, empty without an answer within two seconds.
func roleOf(in *instance) string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.public+"/api/status", nil)
	if err != nil {
		return ""
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	var m struct{ Replication struct{ Role string } }
	if json.NewDecoder(resp.Body).Decode(&m) != nil {
		return ""
	}
	return m.Replication.Role
}

// clusterClient is a user who places orders through any node and repeats each with its clientOrderId until it is
// answered.
type clusterClient struct {
	*voter
	id     int
	orders map[string]string // clientOrderId -> order, empty: not answered
}

// trade places orders far from the market, which rest.
func (u *clusterClient) trade(c *failing) {
	hc := &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
	defer hc.CloseIdleConnections()
	r := rand.New(rand.NewPCG(c.seed, uint64(100+u.id)))
	for i := 0; i < 200 && !c.stopped(20*time.Millisecond); i++ {
		id := fmt.Sprintf("c%d-%d", u.id, i)
		u.orders[id] = ""
		body := fmt.Sprintf(`{"side":"buy","currencyPairCode":"AA_USDT","price":1,"amount":1,"clientOrderId":%q}`, id)
		for u.orders[id] == "" && !c.stopped(0) {
			in := c.nodes[r.IntN(clusterNodes)].Load()
			header := u.signed(fmt.Sprint(time.Now().UnixMilli()), "POST", "/api/orders", body)
			header = append(header, "API-RecvWindow", "60000")
			status, text, _ := send(hc, in.public+"/api/orders", "POST", body, header...)
			switch {
			case status == http.StatusOK:
				_, order, _ := strings.Cut(text, "\n")
				u.orders[id] = strings.Trim(order, `"`)
			case status == 0 || status >= 500 || status == http.StatusMisdirectedRequest,
				c.standbys && status == http.StatusUnauthorized: // signed before a takeover
				c.stopped(20 * time.Millisecond) // unknown, or no writer: again
			default:
				c.t.Errorf("order %s: %d %s", id, status, text)
				return
			}
		}
	}
}

// send returns the seq of a sound answer in the first line of text, and status 0 when there is no answer. lag is the
// header X-Lag-Ms, which answers of replicas have.
func send(hc *http.Client, url, method, body string, header ...string) (status int, text, lag string) {
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		return 0, err.Error(), ""
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := hc.Do(req)
	if err != nil {
		return 0, err.Error(), ""
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error(), ""
	}
	seq := ""
	if resp.StatusCode == http.StatusOK {
		seq = resp.Header.Get("X-Seq")
	}
	return resp.StatusCode, seq + "\n" + string(raw), resp.Header.Get("X-Lag-Ms")
}

// session reads a book from one node after the other, each time with the seq that it has seen last, and checks that no
// answer is older. What a writer shows before the stream has it may be lost in a takeover, so with standbys the answers
// of replicas alone count.
func (c *failing) session(id uint64) {
	hc := &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
	defer hc.CloseIdleConnections()
	r := rand.New(rand.NewPCG(c.seed, id))
	seen := uint64(0)
	for !c.stopped(2 * time.Millisecond) {
		in := c.nodes[r.IntN(clusterNodes)].Load()
		status, text, lag := send(hc, in.public+"/api/orderbook?currencyPairCode=AA_USDT", "GET", "", "X-Min-Seq",
			strconv.FormatUint(seen, 10))
		if status != http.StatusOK || c.standbys && lag == "" {
			continue
		}
		seq, err := strconv.ParseUint(text[:strings.IndexByte(text, '\n')], 10, 64)
		if err != nil || seq < seen {
			c.t.Errorf("a session has seen seq %d, and then %q", seen, text[:min(len(text), 200)])
			return
		}
		seen = seq
		c.reads.Add(1)
	}
}
