#!/usr/bin/env python3
"""Check the forms of ../shared/data/forms: what the program makes of each file against a reading of its own.

    test/recordings/forms.py PROGRAM [DIRECTORY]

Each line of TABLES says how to read one file with Python's standard library alone; check.py replays the file and
compares the exchange's answers. Where EXPECTED.json has values of independent readers, the reading here must have them
too. Without the directory nothing is checked; with TICKHIVE_STRICT=1 that is an error.
"""
import csv, io, json, os, re, sys
from datetime import datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal
from zoneinfo import ZoneInfo

import check

UTC = timezone.utc


def unix(digits):
    """Reads Unix times whose unit has this many digits behind the seconds."""
    return lambda text: int(Decimal(text) * 10 ** (9 - digits))


s, ms, us, ns = unix(0), unix(3), unix(6), unix(9)


def written(form, zone=UTC):
    """Reads dates in a form of strptime, with a fraction behind the seconds or without."""
    def read(text):
        fraction = re.search(r":\d\d\.(\d+)", text)
        digits = fraction[1] if fraction else ""
        when = datetime.strptime(text.replace("." + digits, "", 1) if digits else text, form)
        when = when if when.tzinfo else when.replace(tzinfo=zone)
        whole = (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
        return whole * 10**9 + int((digits + "0" * 9)[:9])
    return read


day, second = written("%Y-%m-%d"), written("%Y-%m-%d %H:%M:%S")
iso, isoz, offset = written("%Y-%m-%dT%H:%M:%S"), written("%Y-%m-%dT%H:%M:%S%z"), written("%Y-%m-%d %H:%M:%S%z")


def of_day(date, zone):
    """Milliseconds since midnight of a zone."""
    first = datetime.strptime(date, "%Y%m%d").replace(tzinfo=ZoneInfo(zone))
    return lambda text: (int(first.timestamp()) * 1000 + int(text)) * 10**6


def side(text):
    return {"buy": "buy", "b": "buy", "sell": "sell", "s": "sell", "a": "sell"}[text.lower()]


def trade(when, price, amount, taker=lambda r: None, scale=1):
    """How to read a trade: the columns of time, price and amount, and what gives the taker's side."""
    read, column = when
    number = lambda text: Decimal(text.replace(",", "").lstrip("-"))
    return lambda r: check.Trade(read(r[column]), number(r[price]) / scale, number(r[amount]), taker(r))


def bar(when, columns, volume=lambda r, b: Decimal(r), scale=1, clean=lambda x: x):
    """How to read a bar: the columns of time (one, or date and clock), and of open, high, low, close and volume."""
    read, *at = when
    o, h, l, c, v = columns

    def make(r):
        b = dict(ns=read(" ".join(r[i] for i in at)))
        for name, i in (("open", o), ("high", h), ("low", l), ("close", c)):
            b[name] = Decimal(clean(r[i])) / scale
        b["volume"] = volume(r[v], b)
        return b
    return make


def filled(text, b):
    """The volume with --bar-volume 1."""
    return Decimal(text) or Decimal(1 if b["high"] != b["low"] else 0)


def dollars(text, b):
    """The base amount of a volume in dollars, as --amount quote has it."""
    return (Decimal(text) / b["close"]).quantize(Decimal("1e-8"), ROUND_HALF_UP)


plain = (1, 2, 3, 4, 5)
maker = lambda i: lambda r: "sell" if r[i] in ("true", True) else "buy"
named = lambda i: lambda r: side(r[i])
turned = lambda i: lambda r: {"buy": "sell", "sell": "buy"}[side(r[i])]
point = lambda text: text.replace(",", ".")
money = lambda text: text.strip("$")
yahoo = (1, 2, 3, 4, 6)

# File: (how to read a row, lines in front of the rows, separator, flags). JSON has no separator.
TABLES = {
    "tardis/bitmex_trades_XBTUSD.csv": (trade((us, 2), 6, 7, named(5)), 1, ",", ["--amount", "base"]),
    "BTC-USD.csv": (bar((day, 0), yahoo, dollars), 1, ",", ["--amount", "quote"]),
    "equity_usa_minute_spy_20131004_trade.zip": (
        bar((of_day("20131004", "America/New_York"), 0), plain, scale=10000), 0, ",", []),
    "equity_india_minute_yesbank_20190709_trade.zip": (
        bar((of_day("20190709", "Asia/Kolkata"), 0), plain, scale=10000), 0, ",", []),
    "cdd/Coinbase_BTCUSD_1h.cut.csv": (
        bar((written("%Y-%m-%d %I-%p"), 0), (2, 3, 4, 5, 6), filled), 2, ",", ["--bar-volume", "1"]),
    "cdd/coinbase_daily.csv": (bar((day, 0), (2, 3, 4, 5, 6), filled), 1, ",", ["--bar-volume", "1"]),
    "EURUSD60.cut.csv": (bar((written("%Y/%m/%d %H:%M:%S"), 0), plain), 1, ",", []),
    "EURUSD_M15.cut.csv": (bar((second, 0), plain), 1, "\t", []),
    "EURUSDd1.csv": (bar((day, 0), plain), 1, ",", ["--columns", "amount=tick_volume"]),
    "HistoricalData.csv": (bar((written("%m/%d/%Y"), 0), yahoo), 1, ",", []),
    "orcl-2010-googlefinance.csv": (bar((written("%d-%b-%y"), 0), plain), 1, ",", []),
    "pandas/BTCUSD.csv": (bar((day, 0), plain), 1, ",", []),
    "pandas/GOOG.csv": (bar((day, 0), plain), 1, ",", []),
    "yf/ASAI-L-1h.csv": (bar((offset, 0), yahoo, filled), 1, ",", ["--bar-volume", "1"]),
    "trades-mgtox-usd-2013-01-01.csv": (
        trade((us, 0), 1, 2, lambda r: {"bid": "buy", "ask": "sell"}[r[3]]), 1, ",", ["--side", "buy=bid,sell=ask"]),
    "layouts/BTCUSDT2026-08-22.csv": (trade((s, 0), 4, 3, named(2)), 1, ",", []),
    "layouts/BTCUSD_PERP-trades-nohead.csv": (trade((ms, 4), 1, 3, maker(5)), 0, ",", []),
    "layouts/alpaca.ndjson": (trade((isoz, "t"), "p", "s"), 0, None, []),
    "layouts/alpaca_bars.ndjson": (bar((isoz, "t"), "ohlcv"), 0, None, []),
    "layouts/binance_aggtrades.json": (trade((ms, "T"), "p", "q", maker("m")), 0, None, []),
    "layouts/binance_klines.json": (bar((ms, 0), plain), 0, None, []),
    "layouts/binance_trades.json": (trade((ms, "time"), "price", "qty", maker("isBuyerMaker")), 0, None, []),
    "layouts/bitfinex_ohlc.csv": (bar((isoz, 0), (1, 3, 4, 2, 5)), 1, ",", []),
    "layouts/bitmex_20181205.csv": (trade((written("%Y-%m-%dD%H:%M:%S"), 0), 4, 8, named(2)), 1, ",", []),
    "layouts/bomcrlf.csv": (trade((ms, 0), 1, 2, named(3)), 1, ",", []),
    "layouts/cm_klines_BTCUSD_PERP-1h-2023-10-27.csv": (bar((ms, 0), (1, 2, 3, 4, 7)), 1, ",", []),
    "layouts/coinapi_trades.csv": (trade((iso, 0), 3, 4, named(5)), 1, ";", []),
    "layouts/coinbase_rest_trades.json": (trade((isoz, "time"), "price", "size", turned("side")), 0, None, []),
    "layouts/comma_dec.csv": (
        bar((day, 0), plain, lambda v, b: Decimal(point(v)), clean=point), 1, ";", []),
    "layouts/cryptocompare.csv": (bar((s, 0), plain), 1, ",", []),
    "layouts/databento_trades_fixed.csv": (
        trade((ns, 0), 7, 8, lambda r: {"A": "sell", "B": "buy"}[r[5]], 10**9), 1, ",", []),
    "layouts/bitfinex_tick.csv": (trade((isoz, 1), 3, 2, lambda r: "sell" if r[2] < "0" else "buy"), 1, ",", []),
    "layouts/thousands.csv": (trade((isoz, 0), 1, 2), 1, ",", []),
    "layouts/dotnet_ticks.csv": (
        trade((lambda t: (int(t) - 621355968000000000) * 100, 0), 1, 2), 1, ",", ["--time-format", "dotnet"]),
    "layouts/dukascopy.csv": (bar((written("%d.%m.%Y %H:%M:%S"), 0), plain), 1, ",", []),
    "layouts/forextester.csv": (
        bar((written("%Y%m%d %H%M%S", timezone(timedelta(hours=2))), 1, 2), (3, 4, 5, 6, 7)), 1, ",",
        ["--timezone", "+02:00"]),
    "layouts/gate_candles.csv": (bar((s, 0), (5, 3, 4, 2, 1)), 0, ",", ["--amount", "base"]),
    "layouts/gate_trades.csv": (
        trade((s, 0), 2, 3, lambda r: {"1": "sell", "2": "buy"}[r[4]]), 0, ",", ["--side", "buy=2,sell=1"]),
    "layouts/htx_trades.csv": (trade((ms, 1), 2, 3, named(4)), 1, ",", []),
    "layouts/hyperliquid.ndjson": (trade((ms, "time"), "px", "sz", named("side")), 0, None, []),
    "layouts/kaggle_btcusd_1-min_data.csv": (bar((s, 0), plain), 1, ",", []),
    "layouts/kaiko_trades.csv": (trade((ms, 3), 4, 5, maker(6)), 1, ",", []),
    "layouts/mt4_USDJPY1.csv": (
        bar((written("%Y.%m.%d %H:%M", ZoneInfo("Europe/Athens")), 0, 1), (2, 3, 4, 5, 6)), 0, ",",
        ["--timezone", "Europe/Athens"]),
    "layouts/mt5_EURUSD.csv": (
        bar((written("%Y.%m.%d %H:%M:%S", ZoneInfo("Europe/Athens")), 0, 1), (2, 3, 4, 5, 6)), 1, "\t",
        ["--timezone", "Europe/Athens", "--columns", "amount=<TICKVOL>"]),
    "layouts/nasdaq.csv": (bar((written("%m/%d/%Y"), 0), (3, 4, 5, 1, 2), clean=money), 1, ",", []),
    "layouts/off0200.csv": (trade((offset, 0), 1, 2, named(3)), 1, ",", []),
    "layouts/okx_trades.csv": (trade((ms, 5), 3, 4, named(2)), 1, ",", []),
    "layouts/pandas_index.csv": (bar((second, 0), plain), 1, ",", []),
    "layouts/pipes.txt": (trade((s, 0), 1, 2), 0, "|", []),
    "layouts/poloniex_trades.json": (trade((ms, "ts"), "price", "quantity", named("takerSide")), 0, None, []),
    "layouts/polygon_minute_aggs.csv": (bar((ns, 6), (2, 4, 5, 3, 1)), 1, ",", []),
    "layouts/sierra.txt": (
        bar((written("%Y/%m/%d %H:%M:%S", ZoneInfo("America/Chicago")), 0, 1), (2, 3, 4, 5, 6)), 1, ",",
        ["--timezone", "America/Chicago"]),
    "layouts/spaces.txt": (trade((s, 0), 1, 2), 0, " ", []),
    "layouts/stooq_aapl.us.txt": (bar((written("%Y%m%d %H%M%S"), 2, 3), (4, 5, 6, 7, 8)), 1, ",", []),
    "layouts/takerSide.csv": (trade((ms, 0), 1, 2, named(3)), 1, ",", []),
    "layouts/utcword.csv": (trade((written("%Y-%m-%d %H:%M:%S UTC"), 0), 1, 2, named(3)), 1, ",", []),
}


def rows_of(path, skip, separator):
    text = check.text_of(path).decode("utf-8-sig")
    if separator:
        rows = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
        return [r for i, r in enumerate(rows) if i >= skip and r]
    load = lambda document: json.loads(document, parse_float=str, parse_int=str)
    return load(text) if text.startswith("[") else [load(line) for line in text.split("\n") if line]


def read(path, how):
    """The trades and the bars of a file, oldest first."""
    make, skip, separator, _ = how
    out = [make(r) for r in rows_of(path, skip, separator)]
    bars = isinstance(out[0], dict)
    out.sort(key=lambda x: x["ns"] if bars else x.ns)
    return ([], out) if bars else (out, [])


def expected(e, how, trades, bars):
    """The differences between this reading and the values of EXPECTED.json."""
    have = {"rows": len(trades) + len(bars)}
    if bars:
        if how[3] != ["--amount", "quote"]:
            have["sum_volume"] = sum(b["volume"] for b in bars)
        have.update(max_high=max(b["high"] for b in bars),
                    min_low=min(b["low"] for b in bars))
    else:
        have.update(sum_amount=sum(t.amount for t in trades),
                    sum_price_x_amount=sum(t.price * t.amount for t in trades),
                    buys=sum(t.side == "buy" for t in trades), sells=sum(t.side == "sell" for t in trades))
    return ["%s %s, EXPECTED.json has %s" % (k, v, e[k]) for k, v in have.items() if k in e and Decimal(e[k]) != v]


def main():
    program = sys.argv[1]
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[2] if len(sys.argv) > 2 else os.path.join(here, "../../../shared/data/forms")
    if not os.path.isdir(root):
        print("recorded files are missing: %s; nothing is checked" % os.path.normpath(root))
        sys.exit(os.environ.get("TICKHIVE_STRICT") == "1")
    values = {e["file"]: e for e in json.load(open(os.path.join(root, "EXPECTED.json")))}
    wrong = checked = 0
    for name, how in TABLES.items():
        path = os.path.join(root, name)
        trades, bars = read(path, how)
        bad = expected(values[name], how, trades, bars)
        try:
            bad += check.replayed(program, "trades", [path], how[3], trades, bars)
        except SystemExit as refused:
            bad.append(str(refused))
        checked += 1
        wrong += bool(bad)
        print("%s: %d trades, %d bars: %s" % (name, len(trades), len(bars), "; ".join(bad) or "all equal"))
    print("%d files checked, %d differ" % (checked, wrong))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
