package cli

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// A start refuses every timestamp that the process before may have accepted, also one that was dated ahead of the
// clock, and says when to repeat the request. It accepts later ones.
func TestASignedRequestIsRefusedAfterAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func() *harness.Instance {
		return harness.Start(t, "--pairs", "none", "--sim", "off", "--data-dir", dir)
	}
	p := run()
	u := p.Voter(20, "1", "1")
	const target = "/api/affiliate/invite-code"
	signed := func(aheadMs int64) []string {
		return u.Signed(fmt.Sprint(time.Now().UnixMilli()+aheadMs), "GET", target, "")
	}
	send := func(headers []string) harness.Answer { return p.Do("GET", p.Public+target, "", headers...) }
	var sent [][]string
	for _, aheadMs := range []int64{0, 900} {
		sent = append(sent, signed(aheadMs))
		if a := send(sent[len(sent)-1]); a.Status != 200 {
			t.Fatalf("the first time, %d ms ahead: %d %s", aheadMs, a.Status, a.Body)
		}
	}
	if a := send(signed(1100)); a.Status != 401 || !strings.Contains(a.Body, "1000 ms ahead") {
		t.Errorf("dated 1.1 s ahead: %d %s", a.Status, a.Body)
	}
	p.Signal(syscall.SIGKILL)
	<-p.Exited
	p = run()
	for _, headers := range sent {
		if a := send(headers); a.Status != 401 || !strings.Contains(a.Body, "API-Timestamp") {
			t.Errorf("again after a restart: %d %s", a.Status, a.Body)
		}
	}
	for end := time.Now().Add(harness.Patience); ; {
		a := send(signed(0))
		if a.Status == 200 {
			break
		}
		if a.Status != 401 || !strings.Contains(a.Body, "accepted earlier") || time.Now().After(end) {
			t.Fatalf("a later signature: %d %s", a.Status, a.Body)
		}
	}
	for _, headers := range sent {
		if a := send(headers); a.Status != 401 {
			t.Errorf("again, later: %d %s", a.Status, a.Body)
		}
	}
}

// A signature of the Binance interface has no nonce. A start refuses every one that the process before may have
// accepted, also one that was dated ahead of the clock, and accepts later ones.
func TestABinanceSignatureIsRefusedAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func() (in *harness.Instance, facade string) {
		in = harness.Serve(t, nil, "--binance-listen",
			"127.0.0.1:0", "--pairs", "none", "--sim", "off", "--data-dir", dir)
		line := in.WaitLine("ready ")
		in.TakeAddresses(line)
		return in, "http://" + line[strings.LastIndex(line, "binance=")+len("binance="):] + "/api/v3/order?"
	}
	in, facade := run()
	in.Pair("BTC_USDT")
	u := in.Voter(20, "1", "1")
	in.Call(200, "POST", "/users/"+u.ID+"/deposits", `{"currencyCode":"USDT","amount":"1000"}`)
	order := func(aheadMs int64) string {
		text := fmt.Sprintf("symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=2&recvWindow=60000"+
			"&timestamp=%d", time.Now().UnixMilli()+aheadMs)
		mac := hmac.New(sha256.New, []byte(u.Private))
		mac.Write([]byte(text))
		return fmt.Sprintf("%s&signature=%x", text, mac.Sum(nil))
	}
	send := func(query string) harness.Answer { return in.Do("POST", facade+query, "", "X-MBX-APIKEY", u.Public) }
	var sent []string
	for _, aheadMs := range []int64{0, 900} {
		sent = append(sent, order(aheadMs))
		if a := send(sent[len(sent)-1]); a.Status != 200 {
			t.Fatalf("the first time: %d %s", a.Status, a.Body)
		}
	}
	in.Signal(syscall.SIGKILL)
	<-in.Exited
	in, facade = run()
	for _, query := range sent {
		if a := send(query); a.Status != 400 || !strings.HasPrefix(a.Body, `{"code":-1021,`) ||
			!strings.Contains(a.Body, "before the exchange was restarted") {
			t.Errorf("again after a restart: %d %s", a.Status, a.Body)
		}
	}
	for end := time.Now().Add(harness.Patience); ; {
		a := send(order(0))
		if a.Status == 200 {
			break
		}
		if !strings.HasPrefix(a.Body, `{"code":-1021,`) || time.Now().After(end) {
			t.Fatalf("a later signature: %d %s", a.Status, a.Body)
		}
	}
	for _, query := range sent {
		if a := send(query); a.Status != 400 || !strings.HasPrefix(a.Body, `{"code":-1021,`) {
			t.Errorf("again, later: %d %s", a.Status, a.Body)
		}
	}
}
