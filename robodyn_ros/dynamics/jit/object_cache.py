"""
Object files on disk, in a folder that only this user can write to.

Foreign code is excluded by the owner and the permissions of folder and entry. They are checked on
open descriptors, never on a path, which may be replaced in between. The digest in an entry detects
damage; it is not a signature.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
import secrets
import stat

_MAGIC = b'robodyn-object-1\n'
_DIGEST_SIZE = 32
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class ObjectCache:
    """
    Entries of a folder by name, for the duration of a `with` block.

    Nothing is read or written if the folder cannot be used, is a link, belongs to another user,
    or can be written to by others.

    Parameters
    ----------
    folder : Path or None
        Folder, created if missing; None: there are no entries.

    """

    def __init__(self, folder: Path | None):
        self._descriptor = None if folder is None else _opened(folder)

    def __enter__(self) -> ObjectCache:
        return self

    def __exit__(self, *_) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def read(self, name: str) -> bytes | None:
        """Return the content of an entry; None if it is missing, damaged or of another user."""
        if self._descriptor is None:
            return None
        try:
            with os.fdopen(os.open(f'{name}.o', os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK,
                                   dir_fd=self._descriptor), 'rb') as file:
                if not _is_own(os.fstat(file.fileno()), stat.S_ISREG):
                    return None
                data = file.read()
        except OSError:
            return None
        head = len(_MAGIC)
        digest, content = data[head:head + _DIGEST_SIZE], data[head + _DIGEST_SIZE:]
        return content if data[:head] == _MAGIC and digest == _digest(name, content) else None

    def write(self, name: str, content: bytes) -> None:
        """Create or replace an entry atomically; errors are ignored."""
        if self._descriptor is None:
            return
        folder, temporary = self._descriptor, f'{secrets.token_hex(8)}.part'
        try:
            file = os.fdopen(os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600,
                dir_fd=folder), 'wb')
        except OSError:
            return  # a read-only or full disk
        try:
            with file:
                file.write(_MAGIC + _digest(name, content) + content)
            os.replace(temporary, f'{name}.o', src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)


def _opened(folder: Path) -> int | None:
    """Return a descriptor of a folder that only this user can write to, else None."""
    if os.open not in os.supports_dir_fd:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    if _is_own(os.fstat(descriptor), stat.S_ISDIR):
        return descriptor
    os.close(descriptor)
    return None


def _is_own(status: os.stat_result, kind) -> bool:
    """Return whether a file is of a kind, is owned by this user, and others cannot write to it."""
    return (kind(status.st_mode) and status.st_uid == os.geteuid()
            and not status.st_mode & _OTHERS)


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + content).digest()
