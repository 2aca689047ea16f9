"""IP addresses and CIDR blocks for CEL."""

import ipaddress
from collections.abc import Callable
from typing import Any

from lading.servers.kube.schema.cel.declare import Declare, function, method, named, tagged

IP = "ip"
CIDR = "cidr"
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def functions() -> list[Any]:
    return [
        named("ip", function("s>d", _ip), method("d>d", lambda c: {IP: str(_block(c).ip)})),
        named("isIP", function("s>b", lambda text: _reads(_ip, text))),
        named("ip.isCanonical", function("s>b", lambda text: _ip(text)[IP] == text)),
        named("family", method("d>i", lambda value: _address(value).version)),
        named("isUnspecified", _fact(lambda address: address.is_unspecified)),
        named("isLoopback", _fact(lambda address: address.is_loopback)),
        named("isLinkLocalMulticast", _fact(_is_link_local_multicast)),
        named("isLinkLocalUnicast", _fact(lambda address: address.is_link_local)),
        named("isGlobalUnicast", _fact(_is_global_unicast)),
        named("cidr", function("s>d", _cidr)),
        named("isCIDR", function("s>b", lambda text: _reads(_cidr, text))),
        named("containsIP", method("dd>b", lambda c, i: _address(i) in _block(c).network)),
        named("containsCIDR", method("dd>b", _contains_block)),
        named("masked", method("d>d", lambda c: {CIDR: str(_block(c).network)})),
        named("prefixLength", method("d>i", lambda c: _block(c).network.prefixlen)),
    ]


def _ip(text: str) -> dict[str, str]:
    if "%" in text:
        raise ValueError(f"IP address {text!r} with zone value is not allowed")
    return {IP: str(ipaddress.ip_address(text))}


def _cidr(text: str) -> dict[str, str]:
    if "/" not in text or "%" in text:
        raise ValueError(f"network address parse error during conversion from string: {text!r}")
    return {CIDR: str(ipaddress.ip_interface(text))}


def _reads(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _address(value: Any) -> Address:
    return ipaddress.ip_address(value if isinstance(value, str) else tagged(IP, value))


def _block(value: Any) -> Interface:
    return ipaddress.ip_interface(value if isinstance(value, str) else tagged(CIDR, value))


def _contains_block(outer: Any, inner: Any) -> bool:
    outside, inside = _block(outer).network, _block(inner).network
    return (
        outside.version == inside.version
        and inside.network_address in outside
        and inside.prefixlen >= outside.prefixlen
    )


def _fact(read: Callable[[Address], bool]) -> Declare:
    return method("d>b", lambda value: read(_address(value)))


def _is_link_local_multicast(address: Address) -> bool:
    block = "224.0.0.0/24" if address.version == 4 else "ff02::/16"
    return address in ipaddress.ip_network(block)


def _is_global_unicast(address: Address) -> bool:
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or str(address) == "255.255.255.255"
    )
