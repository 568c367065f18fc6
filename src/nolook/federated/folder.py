"""A server's folder: keys, tokens, a ledger, a certificate, and what others need of them.

The certificate is signed by an authority made only for it, whose key is forgotten afterwards: no
other certificate can be signed that callers would trust.
"""

from __future__ import annotations

import datetime as dt
import os
from ipaddress import ip_address
from pathlib import Path
from string import Template
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from nolook import _files
from nolook._version import __version__
from nolook.errors import ParameterError
from nolook.federated.disk import make_folder, os_errors_as_store_errors
from nolook.federated.sealing import make_private_key
from nolook.federated.tokens import ROLES, make_tokens
from nolook.formats.files import one_line, write_json, write_text
from nolook.formats.strict import Broken, Content, convert, read_object
from nolook.privacy.guarantee import Budget
from nolook.privacy.ledger import Ledger

__all__ = ["Folder", "Party", "read_party"]

_DAYS = 5 * 365  # longer than any batch is open
_PORT = 443


class Party(Content, frozen=True):
    """The public part of a server: its address, its key, and who signed its certificate, in PEM."""

    url: str
    key: str
    authority: str


class Folder:
    """The files of a server, by what they hold."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.private_key = path / "private.key"
        self.tokens = path / "tokens"
        self.ledger = path / "ledger"
        self.certificate = path / "certificate.pem"
        self.certificate_key = path / "certificate.key"
        self.state = path / "state"
        self.public = path / "public.json"
        self.handed_out = path / "hand-out"
        # From the other server.
        self.peer = path / "peer.json"
        self.peer_token = path / "peer.token"

    def make(self, url: str, budget: Budget) -> int:
        """Make all files of a new server at an https address; return its port."""
        host, port = _place(url)
        if self.path.exists():
            raise ParameterError(f"{str(self.path)!r} exists; give a new folder for this server")
        make_folder(self.path)
        make_folder(self.handed_out)
        key = make_private_key(self.private_key)
        authority, certificate, certificate_key = _certified(host)
        with os_errors_as_store_errors(self.path):
            _files.create(self.certificate, certificate)
            _files.create(self.certificate_key, certificate_key)
            for role in ROLES:
                (token,) = make_tokens(role, self.tokens)
                _files.create(self.handed_out / f"{role}.token", f"{token}\n".encode())
        Ledger.create(self.ledger, budget, name=host, relation="replace").close()
        write_json(self.public, {"url": url, "key": key, "authority": authority.decode()})
        user = f"{os.getuid()}:{os.getgid()}" if hasattr(os, "getuid") else "1000:1000"
        compose = Template(Path(__file__).with_name("compose.yaml").read_text(encoding="utf-8"))
        text = compose.substitute(version=__version__, port=port, user=user)
        write_text(self.path / "compose.yaml", text)
        return port


def read_party(path: Path) -> Party:
    """Read the public part of a server, from its `nolook federated setup`."""
    try:
        return convert(read_object(path), Party)
    except Broken as error:
        raise ParameterError(
            f"{one_line(path)} is not the public part of a server: {one_line(error)} (use the "
            "public.json that `nolook federated setup` wrote there)"
        ) from None


def _place(url: str) -> tuple[str, int]:
    """Return the host and the port of an https address."""
    try:
        found = urlsplit(url)
        host, port = found.hostname, found.port or _PORT
    except ValueError:
        host, port = None, _PORT
    if not host or url.rstrip("/") not in {f"https://{host}", f"https://{host}:{port}"}:
        raise ParameterError(
            f"--address is {url!r}; expected https:// with a name or network address and a port "
            "(for example https://server0.example:8440)"
        )
    return host, port


def _certified(host: str) -> tuple[bytes, bytes, bytes]:
    """Return an authority's certificate, one for a host that it signed, and the latter's key."""
    signing, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    try:
        named: x509.GeneralName = x509.IPAddress(ip_address(host))
    except ValueError:
        named = x509.DNSName(host)
    signs = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key())
    authority = (
        _begun(f"nolook authority of {host}"[:64], signing, host)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(signs, critical=True)
    )
    certificate = (
        _begun("nolook server", own, host)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([named]), critical=False)
        .add_extension(identifier, critical=False)
    )
    pem = serialization.Encoding.PEM
    key = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    first, second = (
        one.sign(signing, hashes.SHA256()).public_bytes(pem) for one in (authority, certificate)
    )
    return first, second, key


def _begun(subject: str, key: ec.EllipticCurvePrivateKey, host: str) -> x509.CertificateBuilder:
    """Return the parts that both certificates share."""
    now = dt.datetime.now(dt.UTC)

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    return (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(f"nolook authority of {host}"[:64]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=_DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
