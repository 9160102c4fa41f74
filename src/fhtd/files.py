"""Files that are whole or absent, whatever happens while they are written; and locks on them."""

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: `.name.pid-hex`, as `write_atomically` names what it has not finished.
_TEMPORARY = re.compile(r"\..+\.(\d+)-[0-9a-f]{8}")
#: What a file system that has no locks says.
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}


def write_atomically(path: Path, content: bytes, *, keep_previous: bool = False) -> None:
    """Write a file beside its place, then rename it, so that it is whole or absent.

    Args:
        path: The file's place; its folder is made where there is none.
        content: All of the file.
        keep_previous: Whether an older file of that name becomes `<name>.previous`.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            _lock(file.fileno())
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if keep_previous and path.exists():
                os.replace(path, path.with_name(f"{path.name}.previous"))
            os.replace(temporary, path)
    except OSError as error:
        # A full disk does not say which file it was.
        raise OSError(error.errno, error.strerror, error.filename or str(path)) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Refuse a file that could not be written, before the work whose result it is to hold."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    probe = path.with_name(f".{path.name}.writable")
    write_atomically(probe, b"")
    probe.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what writers that were killed have left in a folder and the folders below it."""
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if name.startswith(".") and name.endswith(".lock"):
                with locked(path):
                    pass  # nobody has it, and then it is removed; or somebody has it
            elif (match := _TEMPORARY.fullmatch(name)) and not _is_alive(int(match[1])):
                # The process may be one of another machine that shares the disk.
                with suppress(OSError), open(path, "rb") as file:
                    if _lock(file.fileno()):
                        path.unlink()


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock file, unless another process holds it: the value says whether it is ours.

    The system lets go of it when the process ends, however it ends; the file is removed by
    whoever held it last. Where there are no locks, everyone is told that it is theirs.

    Args:
        path: The lock file; its folder is made where there is none.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not _lock(handle):
            os.close(handle)
            yield False
            return
        # Between opening and locking, its last holder may have removed it.
        if _is_still(path, handle):
            break
        os.close(handle)
    try:
        yield True
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(handle)


def _lock(handle: int) -> bool:
    """Whether the open file is ours alone until it is closed."""
    if fcntl is None:
        return True  # type: ignore[unreachable]
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


def _is_alive(process: int) -> bool:
    """Whether there is such a process on this machine."""
    if os.name == "nt":  # there a signal of 0 would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
