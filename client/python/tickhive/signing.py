"""Signatures of requests (docs/contract/signing.md)."""

import hashlib
import hmac
import secrets
import time
from typing import Callable, Tuple, Union


def sign(private_key: str, timestamp: Union[str, int], nonce: str, method: str, target: str, body: bytes = b'') -> str:
    """Returns the signature of a request: hex HMAC-SHA256 over five lines. timestamp is in Unix ms, target the path and
    query as sent."""
    text = '\n'.join([str(timestamp), nonce, method, target, hashlib.sha256(body).hexdigest()])
    return hmac.new(private_key.encode(), text.encode(), hashlib.sha256).hexdigest()


def credentials(public_key: str, private_key: str, method: str, target: str, body: bytes = b'',
                now: Callable[[], float] = time.time) -> Tuple[str, str, str]:
    """Returns timestamp, nonce and signature of a request that is sent now."""
    if private_key.startswith('-----BEGIN'):
        raise ValueError('an Ed25519 or RSA key needs a library: make an HMAC key, or use the Go or JavaScript client')
    timestamp, nonce = str(int(now() * 1000)), secrets.token_hex(16)
    return timestamp, nonce, sign(private_key, timestamp, nonce, method, target, body)
