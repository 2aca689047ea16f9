"""Runs a program while the servers of a test go on answering it."""

import asyncio
import os
import pathlib


async def run(*command: str | pathlib.Path, **variables: str) -> str:
    """What it printed; it must end well."""
    exit_code, output, complaint = await _run(command, variables)
    assert exit_code == 0, f"{command}: {output}{complaint}"
    return output


async def refused(*command: str | pathlib.Path, **variables: str) -> str:
    """What it complained of; it must not end well."""
    exit_code, output, complaint = await _run(command, variables)
    assert exit_code != 0, f"{command}: {output}{complaint}"
    return complaint


async def _run(
    command: tuple[str | pathlib.Path, ...], variables: dict[str, str]
) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        env=os.environ | variables,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, complaint = await process.communicate()
    return process.returncode, output.decode(errors="replace"), complaint.decode(errors="replace")
