"""Prints the events of a private stream, from the oldest fill on, one in a line."""

import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..', 'client', 'python'))
import tickhive  # noqa: E402

bases = os.environ['BASE'].split()
for event in tickhive.PrivateStream(bases, os.environ['PUBLIC'], os.environ['PRIVATE'], {}, retry=0.001):
    print(json.dumps(event, default=str), flush=True)
