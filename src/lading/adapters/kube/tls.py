"""TLS contexts from certificates that are held in memory, made once per certificate.

Python reads a key only from a file, so a key is written to a file that only we can read and
that is gone as soon as it has been loaded.
"""

import ssl
import tempfile

from lading.adapters.kube.connection import Certificate, ConfigurationError, Trust


class Contexts:
    """The contexts of one server; the last one is kept, since a certificate changes rarely."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._certificate: Certificate | None = None
        self._context: ssl.SSLContext | None = None

    def context(self, certificate: Certificate | None) -> ssl.SSLContext:
        if self._context is None or certificate != self._certificate:
            self._context = _context(self._trust, certificate)
            self._certificate = certificate
        return self._context


def _context(trust: Trust, certificate: Certificate | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=trust.authority_pem or None)
    except ssl.SSLError as error:
        problem = "the certificate authority is not a PEM certificate"
        raise ConfigurationError(f"{problem}: {error.reason}") from error
    # Cluster authorities made by hand often lack extensions that Python 3.13 began to insist on.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not trust.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        _load(context, certificate)
    return context


def _load(context: ssl.SSLContext, certificate: Certificate) -> None:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".pem") as file:
        file.write(f"{certificate.certificate_pem}\n{certificate.key_pem}\n")
        file.flush()
        try:
            context.load_cert_chain(file.name)
        except ssl.SSLError as error:
            problem = "the client certificate and its key are not a matching pair in PEM form"
            raise ConfigurationError(f"{problem}: {error.reason or error}") from error
