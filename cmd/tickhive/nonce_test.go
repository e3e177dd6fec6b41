package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// After a restart, a request of a clock that did not move, or with a future timestamp, is not
// refused by its timestamp. The new process must know its nonce.
func TestAUsedNonceIsRefusedAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startEmpty(t, "--data-dir", dir)
	u := p.voter(20, "1", "1")
	for _, aheadMs := range []int64{0, 4000} {
		const now = 1767225600000
		target := p.public + "/api/affiliate/invite-code"
		sent := u.signed(fmt.Sprint(now+aheadMs), "GET", "/api/affiliate/invite-code", "")
		if r := p.do("GET", target, "", sent...); r.status != 200 {
			t.Fatalf("the first time: %d %s", r.status, r.body)
		}
		p.signal(syscall.SIGKILL)
		<-p.exited
		p = startEmpty(t, "--data-dir", dir)
		target = p.public + "/api/affiliate/invite-code"
		if r := p.do("GET", target, "", sent...); r.status != 401 {
			t.Errorf("again after a restart, %d ms ahead: %d %s", aheadMs, r.status, r.body)
		}
		if r := p.do("GET", target, "", u.signed(fmt.Sprint(now+aheadMs), "GET", "/api/affiliate/invite-code",
			"")...); r.status != 200 {
			t.Errorf("another nonce: %d %s", r.status, r.body)
		}
	}
}

// A signature of the Binance interface has no nonce. A start refuses every one that the process before may have
// accepted, also one that was dated ahead of the clock, and accepts later ones.
func TestABinanceSignatureIsRefusedAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func() (in *instance, facade string) {
		in = launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--binance-listen",
			"127.0.0.1:0", "--pairs", "none", "--sim", "off", "--data-dir", dir)
		line := in.waitLine("ready ")
		in.takeAddresses(line)
		return in, "http://" + line[strings.LastIndex(line, "binance=")+len("binance="):] + "/api/v3/order?"
	}
	in, facade := run()
	in.pair("BTC_USDT")
	u := in.voter(20, "1", "1")
	in.call(200, "POST", "/users/"+u.id+"/deposits", `{"currencyCode":"USDT","amount":"1000"}`)
	order := func(aheadMs int64) string {
		text := fmt.Sprintf("symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=2&recvWindow=60000"+
			"&timestamp=%d", time.Now().UnixMilli()+aheadMs)
		mac := hmac.New(sha256.New, []byte(u.private))
		mac.Write([]byte(text))
		return fmt.Sprintf("%s&signature=%x", text, mac.Sum(nil))
	}
	send := func(query string) answer { return in.do("POST", facade+query, "", "X-MBX-APIKEY", u.public) }
	var sent []string
	for _, aheadMs := range []int64{0, 900} {
		sent = append(sent, order(aheadMs))
		if a := send(sent[len(sent)-1]); a.status != 200 {
			t.Fatalf("the first time: %d %s", a.status, a.body)
		}
	}
	in.signal(syscall.SIGKILL)
	<-in.exited
	in, facade = run()
	for _, query := range sent {
		if a := send(query); a.status != 400 || !strings.HasPrefix(a.body, `{"code":-1021,`) ||
			!strings.Contains(a.body, "before the exchange was restarted") {
			t.Errorf("again after a restart: %d %s", a.status, a.body)
		}
	}
	for end := time.Now().Add(patience); ; {
		a := send(order(0))
		if a.status == 200 {
			break
		}
		if !strings.HasPrefix(a.body, `{"code":-1021,`) || time.Now().After(end) {
			t.Fatalf("a later signature: %d %s", a.status, a.body)
		}
	}
	for _, query := range sent {
		if a := send(query); a.status != 400 || !strings.HasPrefix(a.body, `{"code":-1021,`) {
			t.Errorf("again, later: %d %s", a.status, a.body)
		}
	}
}
