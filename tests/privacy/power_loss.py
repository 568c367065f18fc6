"""What a disk may hold after a power failure at any moment of a record of `faulty_disk.c`.

Everything written to a file before its last flush is there; of what was written later any part may
be there, in any order, down to single sectors. The same goes for the names in a folder.
"""

from __future__ import annotations

import itertools
import struct
from pathlib import Path

_HEAD = struct.Struct("=5q")
_SECTOR = 512


def read_record(path):
    """Yield (operation, file number, offset or size, first text, second text)."""
    data = path.read_bytes()
    place = 0
    while place < len(data):
        what, file, number, first, second = _HEAD.unpack_from(data, place)
        place += _HEAD.size
        a = data[place : place + first]
        b = data[place + first : place + first + second]
        place += first + second
        yield chr(what), file, number, a, b


def moments(record):
    """Return the number of operations done at each moment, marks not counted as one."""
    return [k for k in range(len(record) + 1) if k == len(record) or record[k][0] != "!"]


class _File:
    def __init__(self):
        self.safe = b""
        self.waiting = []

    def flush(self):
        self.safe = self.content(lambda: True)
        self.waiting = []

    def content(self, survives):
        data = bytearray(self.safe)
        for offset, new in self.waiting:
            if new is None:  # cut or extended to a size
                if survives():
                    data[:] = data[:offset].ljust(offset, b"\0")
                continue
            for start in range(0, len(new), _SECTOR):
                part = new[start : start + _SECTOR]
                if survives():
                    end = offset + start + len(part)
                    data[:] = data.ljust(end, b"\0")
                    data[offset + start : end] = part
        return bytes(data)


class _Folder:
    def __init__(self):
        self.safe = {}
        self.waiting = []

    def flush(self):
        self.safe = self.names(lambda: True)
        self.waiting = []

    def names(self, survives):
        names = dict(self.safe)
        for changes in self.waiting:
            if survives():
                for name, number in changes:
                    if number is None:
                        names.pop(name, None)
                    else:
                        names[name] = number
        return names


class Disk:
    """A folder and all in it.

    Parameters
    ----------
    root : Path
        The folder that was recorded, empty at first.
    """

    def __init__(self, root):
        self._root = str(root)
        self._files = {}
        self._folders = {root.stat().st_ino: _Folder()}
        self._numbers = {self._root: root.stat().st_ino}

    def do(self, what, file, number, first, second):
        """Do a recorded operation."""
        one, two = (text.decode() if what in "cmulr" else "" for text in (first, second))
        if what == "w":
            self._files[file].waiting.append((number, first))
        elif what == "t":
            self._files[file].waiting.append((number, None))
        elif what == "s":
            (self._files.get(file) or self._folders[file]).flush()
        elif what == "c":
            self._files[file] = _File()
            self._name((one, file))
        elif what == "m":
            self._folders[file] = _Folder()
            self._name((one, file))
        elif what == "u":
            self._name((one, None))
        elif what == "l":
            self._name((two, self._numbers[one]))
        elif what == "r":
            self._name((two, self._numbers[one]), (one, None))
        else:
            assert what == "!"

    def _name(self, *changes):
        folders = {str(Path(path).parent) for path, _ in changes}
        (folder,) = folders  # nothing here is moved from one folder to another
        self._folders[self._numbers[folder]].waiting.append(changes)
        for path, number in changes:
            if number is None:
                del self._numbers[path]
            else:
                self._numbers[path] = number

    def write(self, target, survives):
        """Make in a folder what a failure now leaves, asking for each unflushed piece."""
        contents = {number: file.content(survives) for number, file in self._files.items()}
        pending = [(self._numbers[self._root], target)]
        while pending:
            number, place = pending.pop()
            place.mkdir(exist_ok=True)
            for path, inner in self._folders[number].names(survives).items():
                below = place / Path(path).name
                if inner in self._folders:
                    pending.append((inner, below))
                else:
                    below.write_bytes(contents[inner])


def survivals(random, extra):
    """Return ways to decide what survives: all, nothing, and some chances."""
    chances = itertools.islice(itertools.cycle((0.5, 0.9, 0.1)), extra)
    return [
        lambda: True,
        lambda: False,
        *(lambda chance=chance: random.random() < chance for chance in chances),
    ]
