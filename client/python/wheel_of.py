"""Builds the wheel for pip (PEP 517) with the standard library alone: setuptools would have to be fetched from a network,
or be installed in the right version."""

import base64
import hashlib
import os
import zipfile

NAME, VERSION = 'tickhive', '1.0.0'
METADATA = '''Metadata-Version: 2.1
Name: %s
Version: %s
Summary: Client of a TickHive exchange: signed REST, checked streams, a private stream that loses no fill
License: Apache-2.0
Requires-Python: >=3.8
''' % (NAME, VERSION)
WHEEL = '''Wheel-Version: 1.0
Generator: wheel_of
Root-Is-Purelib: true
Tag: py3-none-any
'''


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel into a directory and returns the name of its file."""
    info = '%s-%s.dist-info/' % (NAME, VERSION)
    files = {}
    for name in sorted(os.listdir(NAME)):
        if name.endswith(('.py', '.typed')):
            with open(os.path.join(NAME, name), 'rb') as file:
                files['%s/%s' % (NAME, name)] = file.read()
    files.update({info + 'METADATA': METADATA.encode(), info + 'WHEEL': WHEEL.encode()})
    record = ['%s,sha256=%s,%d' % (path, _digest(data), len(data)) for path, data in files.items()]
    files[info + 'RECORD'] = ('\n'.join(record + [info + 'RECORD,,']) + '\n').encode()
    wheel = '%s-%s-py3-none-any.whl' % (NAME, VERSION)
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), 'w', zipfile.ZIP_DEFLATED) as out:
        for path, data in files.items():
            out.writestr(path, data)
    return wheel


def _digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
