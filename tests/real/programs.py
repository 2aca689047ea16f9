"""Runs a program while the servers of a test go on answering it."""

import asyncio
import pathlib


async def run(*command: str | pathlib.Path) -> str:
    """What it printed; it must end well."""
    exit_code, said = await _run(*command)
    assert exit_code == 0, f"{command}: {said}"
    return said


async def refused(*command: str | pathlib.Path) -> str:
    """What it printed; it must not end well."""
    exit_code, said = await _run(*command)
    assert exit_code != 0, f"{command}: {said}"
    return said


async def _run(*command: str | pathlib.Path) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode(errors="replace")
