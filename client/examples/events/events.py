"""Prints the events of one market as a replica appends them (docs/contract/events.md).

    python3 client/examples/events/events.py nats://127.0.0.1:4222 EPOCH BTC_USDT 10 data/stream.nk

EPOCH is of /api/status. It needs no package, and openssl to prove that it has the key in the last file, which may be left out
for a server without credentials. It subscribes to the subjects and gets what comes from now on. A program that must not miss an
event reads the stream with a JetStream consumer (nats-py), as events.mjs does.
"""

import base64
import json
import socket
import subprocess
import sys
import tempfile
import urllib.parse


def signed(seed, nonce):
    """Signs what the server has chosen, with the Ed25519 key of an nkey: two bytes, the key, a checksum."""
    seed = seed.strip()
    key = base64.b32decode(seed + "=" * (-len(seed) % 8))[2:34]
    with tempfile.NamedTemporaryFile() as pkcs8, tempfile.NamedTemporaryFile() as text:
        pkcs8.write(bytes.fromhex("302e020100300506032b657004220420") + key)  # RFC 8410
        text.write(nonce.encode())
        pkcs8.flush(), text.flush()
        openssl = ["openssl", "pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey", pkcs8.name, "-in", text.name]
        signature = subprocess.run(openssl, capture_output=True, check=True).stdout
        der = subprocess.run(["openssl", "pkey", "-inform", "DER", "-in", pkcs8.name, "-pubout", "-outform", "DER"],
                             capture_output=True, check=True).stdout
    public = bytes([20 << 3]) + der[-32:]  # of a user
    public += crc16(public).to_bytes(2, "little")
    return base64.b32encode(public).decode().rstrip("="), base64.urlsafe_b64encode(signature).decode().rstrip("=")


def crc16(data):  # XMODEM
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (0x1021 if crc & 0x8000 else 0)) & 0xFFFF
    return crc


USAGE = "usage: events.py nats://HOST:PORT EPOCH PAIR COUNT [FILE], with the EPOCH of /api/status and the credentials in FILE"
if not 5 <= len(sys.argv) <= 6 or not sys.argv[4].isdigit():
    sys.exit(USAGE)
server, epoch, pair, count, *nkey = sys.argv[1:]
at = urllib.parse.urlsplit(server if "://" in server else "nats://" + server)
if at.scheme != "nats" or not at.hostname:
    sys.exit(USAGE)
try:
    sock = socket.create_connection((at.hostname, at.port or 4222))
except OSError as e:
    sys.exit(f"{server}: {e}")
lines = sock.makefile("rb")
info = json.loads(lines.readline().split(b" ", 1)[1])
options = {"verbose": False, "headers": True}
if nkey:
    with open(nkey[0]) as f:
        options["nkey"], options["sig"] = signed(f.read(), info["nonce"])
sock.sendall(b"CONNECT " + json.dumps(options).encode() + b"\r\n")
sock.sendall(f"SUB tickhive.{epoch}.ev.{pair}.* 1\r\n".encode())
left = int(count)
while left > 0:
    word, *args = lines.readline().split()
    if word == b"PING":
        sock.sendall(b"PONG\r\n")
    elif word == b"-ERR":
        sys.exit(b" ".join(args).decode())
    elif word == b"HMSG":  # subject, subscription, reply, bytes of the headers, of all
        head, size = int(args[-2]), int(args[-1])
        message = lines.read(size + 2)
        event = json.loads(message[head:size])
        print(event["type"], event["seq"], event.get("price", ""), event.get("amount", ""))
        left -= 1
