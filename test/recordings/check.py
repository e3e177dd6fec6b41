#!/usr/bin/env python3
"""Replay recordings and compare the exchange's answers with an independent reading of the files.

    go build -o /tmp/tickhive ./cmd/tickhive
    test/recordings/check.py /tmp/tickhive FORMAT FILE...

This program shares no code with the readers of sim/replay/format: it needs Python's standard library alone. It replays
the files, reads all deals and minute candles over HTTP, and compares the number of trades, the first and the last one,
the sums of amount and of price x amount, buys and sells, and the candles that the file's trades give. Of bars it
compares volume, highest high and lowest low. It prints one line for each file and exits with 1 when one differs.

Forms: databento (DBN and CSV: mbo, trades, ohlcv), bybit (books), binance (streams), tardis (trades beside a book),
trades (CSV with a header; columns by their usual names).
"""
import csv, gzip, io, json, os, struct, subprocess, sys, urllib.request, zipfile
from collections import OrderedDict
from datetime import datetime, timezone
from decimal import Decimal, getcontext

getcontext().prec = 60


def text_of(path):
    data = open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    elif data[:2] == b"PK":
        z = zipfile.ZipFile(io.BytesIO(data))
        data = z.read(z.namelist()[0])
    elif data[:4] == b"\x28\xb5\x2f\xfd":
        data = subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data


class Trade:
    def __init__(self, ns, price, amount, side):
        self.ns, self.price, self.amount, self.side = ns, Decimal(price), Decimal(amount), side


def dbn(data):
    """The records of a DBN file as (type, dict)."""
    length = struct.unpack_from("<I", data, 4)[0]
    at = 8 + length
    while at < len(data):
        size = data[at] * 4
        r = data[at:at + size]
        at += size
        event = struct.unpack_from("<Q", r, 8)[0]
        if r[1] == 0x00 or r[1] == 0xA0:
            if r[1] == 0xA0:
                order, price, amount = struct.unpack_from("<QqI", r, 16)
                flags, action, side, recv = r[36], chr(r[38]), chr(r[39]), struct.unpack_from("<Q", r, 40)[0]
            else:
                order = 0
                price, amount = struct.unpack_from("<qI", r, 16)
                action, side, flags, recv = chr(r[28]), chr(r[29]), r[30], struct.unpack_from("<Q", r, 32)[0]
            yield "event", dict(ns=event, recv=recv, action=action, side=side, amount=amount, order=order, flags=flags,
                                price=Decimal(price) / 10**9)
        elif 0x20 <= r[1] <= 0x24:
            o, h, l, c, v = struct.unpack_from("<qqqqQ", r, 16)
            yield "bar", dict(ns=event, open=Decimal(o) / 10**9, high=Decimal(h) / 10**9, low=Decimal(l) / 10**9,
                              close=Decimal(c) / 10**9, volume=Decimal(v))


def read_databento(path):
    data = text_of(path)
    trades, bars, shown = [], [], 0
    if data[:3] == b"DBN":
        records = dbn(data)
    else:
        records = databento_csv(data)
    for kind, r in records:
        if kind == "bar":
            bars.append(r)
        elif r["action"] == "T":
            shown = max(shown, r["ns"])  # in order of receipt the exchange's time may go back
            trades.append(Trade(shown, r["price"], r["amount"], {"B": "buy", "A": "sell"}.get(r["side"])))
        else:
            shown = max(shown, r["ns"])
    return trades, bars


def databento_csv(data):
    for row in csv.DictReader(io.StringIO(data.decode())):
        price = row.get("price", "")
        price = Decimal(price) if "." in price else Decimal(price or 0) / 10**9
        yield "event", dict(ns=int(row["ts_event"]), action=row["action"], side=row["side"], price=price,
                            amount=int(row["size"] or 0))


def read_binance(path):
    trades, sums = [], []
    for line in text_of(path).decode().splitlines():
        local, _, document = line.partition(" ") if not line.startswith("{") else ("0", "", line)
        m = json.loads(document, parse_float=Decimal)
        d = m.get("data", m)
        if d.get("e") in ("trade", "aggTrade"):
            ns = int(local) or int(d["T"]) * 10**6
            t = Trade(ns, d["p"], d["q"], "sell" if d["m"] else "buy")
            (trades if d["e"] == "trade" else sums).append(t)
    return trades or sums, []


def read_tardis(path):
    rows = csv.DictReader(io.StringIO(text_of(path).decode()))
    if "id" not in rows.fieldnames:
        return [], []
    return [Trade(int(r["local_timestamp"]) * 1000, r["price"], r["amount"],
                  r["side"] if r["side"] != "unknown" else None) for r in rows], []


def bybit_book(paths):
    """The best 40 levels of each side that the books of Bybit end with; None without a book."""
    sides = None
    for line in "".join(text_of(p).decode() for p in paths).splitlines():
        if not line.startswith("{"):
            continue
        m = json.loads(line)
        if m["type"] == "snapshot":
            sides = {"b": {}, "a": {}}
        for side in sides:
            for price, amount in m["data"][side]:
                sides[side][Decimal(price)] = Decimal(amount)
                if not Decimal(amount):
                    del sides[side][Decimal(price)]
    return sides and [sorted(sides["b"].items(), reverse=True)[:40], sorted(sides["a"].items())[:40]]


def read_bybit(path):
    text = text_of(path).decode()
    if text.startswith("{"):
        return [], []
    return [Trade(int(Decimal(r["timestamp"]) * 10**9), r["price"], r["size"], r["side"].lower())
            for r in csv.DictReader(io.StringIO(text))], []


def time_of(text):
    try:
        n = Decimal(text)
    except ArithmeticError:
        text = text.replace("Z", "+00:00").replace(" ", "T")
        head, _, tail = text.partition(".")
        digits = tail.split("+")[0]
        t = datetime.fromisoformat(head.split("+")[0]).replace(tzinfo=timezone.utc)
        return int(t.timestamp()) * 10**9 + int((digits + "0" * 9)[:9])
    digits = len(str(int(n)))
    return int(n * 10**{10: 9, 13: 6, 16: 3, 19: 0}[digits])


def read_trades(path):
    """A table with a header. Sides are the taker's."""
    rows = list(csv.DictReader(io.StringIO(text_of(path).decode("utf-8-sig"))))
    pick = lambda *names: next((n for n in rows[0] if n.lower() in names), None)
    at = pick("time", "timestamp", "dealdateutc", "date", "trade_timestamp")
    amount = pick("volumebase") or pick("amount", "size", "qty", "quantity", "volume")
    if pick("open"):
        bars = [dict(ns=time_of(r[at]), open=Decimal(r[pick("open")]), high=Decimal(r[pick("high", "max")]),
                     low=Decimal(r[pick("low", "min")]), close=Decimal(r[pick("close")]), volume=Decimal(r[amount]))
                for r in rows]
        return [], sorted(bars, key=lambda b: b["ns"])
    side = pick("side", "isbuy", "direction", "takerside")
    word = {"buy": "buy", "b": "buy", "true": "buy", "sell": "sell", "a": "sell", "s": "sell", "false": "sell"}
    trades = [Trade(time_of(r[at]), r[pick("price")], r[amount], word.get(r[side].lower()) if side else None)
              for r in rows]
    if trades and trades[0].ns > trades[-1].ns:
        trades.reverse()
    return trades, []


def interval_of(bars):
    """The interval of candles to ask for, and its seconds: of minutes the exchange keeps the last ones."""
    days = bars and all(b["ns"] % (86400 * 10**9) == 0 for b in bars)
    return ("day", 86400) if days else ("minute", 60)


def candles_of(trades):
    out = OrderedDict()
    for t in trades:
        k = t.ns // (60 * 10**9) * 60
        c = out.setdefault(k, [t.price, t.price, t.price, t.price, Decimal(0)])
        c[1], c[2], c[3], c[4] = max(c[1], t.price), min(c[2], t.price), t.price, c[4] + t.amount
    return out


class Exchange:
    """A replay that is held at its end."""

    def __init__(self, program, form, files, options):
        self.process = subprocess.Popen(
            [program, "replay", "--format", form, "--hold", "--check", "--quiet", "--listen", "127.0.0.1:0",
             "--internal-listen", "127.0.0.1:0", *options, *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={k: v for k, v in os.environ.items() if not k.startswith("TICKHIVE_")})
        self.base, self.checks = None, []
        for line in self.process.stdout:
            if line.startswith("ready "):
                self.base = "http://" + line.split("public=")[1].split()[0]
            if line.startswith("check "):
                self.checks.append(line.strip())
                break
        if self.base is None:
            raise SystemExit("refused: " + self.process.stderr.read().strip().splitlines()[0])
        self.pair = self.get("/api/currencies/pairs")[0][0]["code"]

    def get(self, target):
        with urllib.request.urlopen(self.base + target) as answer:
            return json.load(answer, parse_float=Decimal, parse_int=Decimal), answer.headers

    def deals(self):
        cursor, out = "", []
        while True:
            rows, head = self.get("/api/deals?currencyPairCode=" + self.pair + cursor)
            for d in rows:
                out.append(Trade(time_of(d["dealDateUtc"]), d["price"], d["volume"], "buy" if d["isBuy"] else "sell"))
            if "X-Next-Cursor" not in head:
                return out[::-1]
            cursor = "&cursor=" + head["X-Next-Cursor"]

    def candles(self, interval="minute"):
        start, out = "1970-01-01", OrderedDict()
        while start:
            rows, head = self.get("/api/ohlc?interval=%s&end=2262-01-01&start=%s&currencyPairCode=%s"
                                  % (interval, start, self.pair))
            for c in rows:
                key = time_of(c["date"]) // 10**9
                out[key] = [c["open"], c["max"], c["min"], c["close"], c["volumeBase"]]
            start = head.get("X-Next-Start")
        return out

    def book(self):
        rows = self.get("/api/orderbook?currencyPairCode=" + self.pair)[0]
        return [[(r["price"], r["amount"]) for r in rows if r["isBid"] == bid] for bid in (True, False)]

    def end(self):
        self.process.terminate()
        self.process.wait()


def compare(trades, bars, got, candles):
    """The differences between the file and the exchange, as texts."""
    bad = []

    def same(what, want, have):
        if want != have:
            bad.append("%s %s, want %s" % (what, have, want))

    if bars:
        # Of deals the exchange keeps the last 10,000, of candles all.
        traded, rows = [b for b in bars if b["volume"]], list(candles.values())
        same("volume", sum(b["volume"] for b in bars), sum(c[4] for c in rows))
        same("high", max(b["high"] for b in traded), max(c[1] for c in rows))
        same("low", min(b["low"] for b in traded), min(c[2] for c in rows))
        same("open", traded[0]["open"], rows[0][0])
        same("close", traded[-1]["close"], rows[-1][3])
        length = interval_of(bars)[1]
        same("first candle", traded[0]["ns"] // 10**9 // length * length, next(iter(candles)))
        return bad
    # Of one recorded trade several deals may be made: the lots count.
    same("amount", sum(t.amount for t in trades), sum(t.amount for t in got))
    same("price x amount", sum(t.price * t.amount for t in trades), sum(t.price * t.amount for t in got))
    for side in ("buy", "sell"):
        want = sum(t.amount for t in trades if t.side == side)
        have = sum(t.amount for t in got if t.side == side)
        if all(t.side for t in trades):
            same(side, want, have)
    for name, i in (("first", 0), ("last", -1)):
        if trades:
            same(name + " price", trades[i].price, got[i].price)
            same(name + " time", trades[i].ns // 10**6, got[i].ns // 10**6)
    want = candles_of(trades)
    same("candles", len(want), len(candles))
    wrong = [k for k in want if want[k] != candles.get(k)]
    if wrong:
        bad.append("%d of %d candles, the first at %d: %s, want %s"
                   % (len(wrong), len(want), wrong[0], candles.get(wrong[0]), want[wrong[0]]))
    return bad


READERS = {"databento": read_databento, "binance": read_binance, "tardis": read_tardis, "bybit": read_bybit,
           "trades": read_trades}


def replayed(program, form, files, options, trades, bars):
    """The differences between a reading of the files and the answers of an exchange that replays them."""
    x = Exchange(program, form, files, options)
    try:
        bad = compare(trades, bars, x.deals(), x.candles(interval_of(bars)[0]))
        book = bybit_book(files) if form == "bybit" else None
        if book and book != x.book():
            bad.append("the book ends with %s, want %s" % (x.book(), book))
    finally:
        x.end()
    return bad


def main():
    program, form, *rest = sys.argv[1:]
    options = [a for a in rest if a.startswith("--")]
    files = [a for a in rest if not a.startswith("--")]
    read = READERS["databento" if any(".dbn" in f for f in files) else form]
    trades, bars = [], []
    for f in files:
        t, b = read(f)
        trades += t
        bars += b
    trades.sort(key=lambda t: t.ns)
    bad = replayed(program, form, files, options, trades, bars)
    print("%s: %d trades, %d bars: %s" % (
        ", ".join(files), len(trades), len(bars), "; ".join(bad) if bad else "all equal"))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
