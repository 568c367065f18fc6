"""Bearer tokens and their roles; a server keeps only their SHA-256.

A file of tokens has one JSON object a line, as :class:`Token` has them.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec

from nolook import _files
from nolook._validation import check_choice, check_count
from nolook.errors import ParameterError
from nolook.federated.disk import os_errors_as_store_errors
from nolook.formats.strict import Content
from nolook.privacy.noise import SystemEntropy

__all__ = ["MOST", "ROLES", "Token", "Tokens", "make_tokens", "read_tokens"]

#: Owners send reports, analysts ask, peers are the two servers.
ROLES = ("owner", "analyst", "peer")
#: Of tokens that are made at once, and of reports of one token.
MOST = 2**31
Limit: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=MOST)]

_WORDS = 4
_TOKEN = re.compile(r"[0-9a-f]{64}")
_LARGEST_FILE = 2**30


class Token(Content, frozen=True, omit_defaults=True):
    """A token at a server: its role and limits; None sets no limit."""

    role: Annotated[str, msgspec.Meta(pattern=rf"^({'|'.join(ROLES)})\Z")]
    digest: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
    most: Limit | None = None  # reports to one batch
    rate: Limit | None = None  # reports in a second


class Tokens:
    """The tokens that a server knows, from their file, also as it is changed. Each has one role."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = _state(path)
        self._known = self._read()

    def _read(self) -> dict[bytes, Token]:
        path, known = self._path, dict[bytes, Token]()
        for line in _text(path).splitlines():
            try:
                token = msgspec.json.decode(line, type=Token)
            except msgspec.DecodeError:
                raise ParameterError(
                    f"the file of tokens {str(path)!r} has a line without a token; expected what "
                    "`nolook federated token` writes"
                ) from None
            if known.setdefault(token.digest, token) != token:
                raise ParameterError(
                    f"the file of tokens {str(path)!r} has one token twice, with different roles "
                    "or limits (remove one of them)"
                )
        return known

    def find(self, token: str) -> Token | None:
        """Return the entry of a bearer's token, None if there is none.

        How long it takes tells nothing: what is looked up is a digest. A file that cannot be read
        any more changes nothing, and the operator is told.
        """
        if (state := _state(self._path)) != self._seen:
            self._seen = state
            try:
                self._known = self._read()
            except ParameterError as error:
                sys.stderr.write(f"nolook: error: {error}\n")
        return self._known.get(_digest(token))


def make_tokens(
    role: str, path: Path, count: int = 1, most: int | None = None, rate: int | None = None
) -> list[str]:
    """Return new tokens, kept nowhere; add their digests to a file that only its owner reads."""
    check_choice("role", role, ROLES)
    check_count(count, "--count", MOST)
    for name, limit in (("--reports", most), ("--per-second", rate)):
        if limit is not None and role != "owner":
            raise ParameterError(f"{name} is given for role {role}, but applies to owners only")
        if limit is not None:
            check_count(limit, name, MOST)
    words = SystemEntropy().words(_WORDS * count).reshape(count, _WORDS)
    tokens = [row.tobytes().hex() for row in words]
    known = (Token(role=role, digest=_digest(token), most=most, rate=rate) for token in tokens)
    with os_errors_as_store_errors(path):
        _files.append(path, msgspec.json.Encoder().encode_lines(known))
    return tokens


def read_tokens(path: Path) -> list[str]:
    """Return the tokens that a file holds, one a line, and nothing else."""
    tokens = _text(path).split()
    if not tokens or not all(_TOKEN.fullmatch(token) for token in tokens):
        raise ParameterError(
            f"{str(path)!r} does not contain a token; give the output of `nolook federated token`"
        )
    return tokens


def _state(path: Path) -> tuple[int, ...]:
    """Return a mark of a file that changes with its content."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", errors="replace")).digest()


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(_LARGEST_FILE).decode("ascii")
    except (OSError, ValueError):
        raise ParameterError(
            f"{str(path)!r} cannot be read; expected a file that `nolook federated token` made"
        ) from None
