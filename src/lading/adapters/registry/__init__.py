"""The registry client: OCI distribution 1.1 over aiohttp.

`client.connect` opens it. Where a reference is asked for is decided by a `Routing` (`endpoints`,
`registries_conf`, `hosts_toml`), as whom by a `CredentialSource` (`credentials` and the sources).
"""
