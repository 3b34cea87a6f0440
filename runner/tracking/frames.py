"""Messages over a pipe between the launching process and its writer: four bytes of length, then a pickle.

Only for a private pipe between two processes of ours; nothing pickled is ever kept in a file.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any, BinaryIO

_LENGTH = struct.Struct(">Q")


def write(pipe: BinaryIO, message: Any) -> None:
    """Send one message.

    Raises:
        OSError: the other side is gone.
    """
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(body)) + body)
    pipe.flush()


def read(pipe: BinaryIO) -> Any:
    """The next message.

    Raises:
        EOFError: the other side closed the pipe or died, perhaps in the middle of a message.
    """
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    body = pipe.read(length)
    if len(body) < length:
        raise EOFError
    return pickle.loads(body)  # noqa: S301 - the pipe is ours
