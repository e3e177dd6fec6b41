"""Prints the events of one market as a replica appends them (docs/contract/events.md).

    python3 events.py 127.0.0.1:4222 EPOCH BTC_USDT 10

It needs no package: it subscribes to the subjects and gets what comes from now on. A program that
must not miss an event reads the stream with a JetStream consumer (nats-py), as events.mjs does.
"""

import json
import socket
import sys

server, epoch, pair, count = sys.argv[1:5]
host, port = server.rsplit(":", 1)
sock = socket.create_connection((host, int(port)))
lines = sock.makefile("rb")
lines.readline()  # INFO
sock.sendall(b'CONNECT {"verbose":false,"headers":true}\r\n')
sock.sendall(f"SUB tickhive.{epoch}.ev.{pair}.* 1\r\n".encode())
left = int(count)
while left > 0:
    word, *args = lines.readline().split()
    if word == b"PING":
        sock.sendall(b"PONG\r\n")
    elif word == b"HMSG":  # subject, subscription, reply, bytes of the headers, of all
        head, size = int(args[-2]), int(args[-1])
        message = lines.read(size + 2)
        event = json.loads(message[head:size])
        print(event["type"], event["seq"], event.get("price", ""), event.get("amount", ""))
        left -= 1
