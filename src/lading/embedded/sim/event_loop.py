"""An event loop without a machine: virtual time, several processes, one seed.

Each simulated process has its own queue. Inside a process, callbacks run in the order in which
asyncio promises to run them. Which process runs next is drawn from the seed. When no process has
anything to do, time jumps to the next timer. There are no sockets and no threads: connections are
in memory (`streams.py`), and work for a thread runs in the loop, some time after it was asked for.

A process that is killed runs nothing any more, not even a `finally`, as after `kill -9`.
"""

import asyncio
import contextvars
import heapq
import itertools
import random
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

from lading.embedded.sim.processes import CURRENT, Process
from lading.embedded.sim.streams import Sockets, Wires

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
THREAD_SECONDS_MAX = 0.02
"""Work in a thread ends at any moment up to this one."""
TURNS_WITHOUT_TIME_MAX = 500_000
"""So many callbacks at one instant are an endless loop."""
CLOSING_ROUNDS_MAX = 5
CLOSING_TURNS_MAX = 50_000
_LATE_SECONDS = 1e-9


class Endless(AssertionError):
    """Some task keeps the event loop busy and never waits for time to pass."""


class _Future(asyncio.Future[T]):
    """Sets of futures must have the same order in every run, so a number is the hash."""

    def __init__(self, number: int, *, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._number = number

    def __hash__(self) -> int:
        return self._number


class _Task(asyncio.Task[T]):
    def __init__(self, number: int, coro: Coroutine[Any, Any, T], **options: Any) -> None:
        self._number = number  # first: asyncio keeps its tasks in a set
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self._number


class SimulatedLoop(asyncio.AbstractEventLoop):
    def __init__(self, rng: random.Random, wires: Wires) -> None:
        self._rng = rng
        self._now = 0.0
        self._order = itertools.count()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._runnable: list[Process] = []
        self._dead: list[asyncio.Handle] = []
        """What dead processes would do next: kept, so that nothing of it is ever cleaned up."""
        self._killed: list[Process] = []
        self._is_running = False
        self._is_closed = False
        self._failures: list[dict[str, Any]] = []
        self.outside = Process("simulation")
        self.sockets = Sockets(self, wires)
        self.turns = 0

    # Processes

    def kill(self, process: Process) -> None:
        """The process does nothing from now on; the other ends of its connections notice."""
        if not process.is_alive:
            return
        process.is_alive = False
        self._killed.append(process)
        self._dead += process.queue
        process.queue.clear()
        if process in self._runnable:
            self._runnable.remove(process)
        for notice in tuple(process.on_death):
            notice()
        self.sockets.process_died(process)

    def pause(self, process: Process) -> None:
        """The process stands still, as one that gets no processor time."""
        process.is_paused = True
        if process in self._runnable:
            self._runnable.remove(process)

    def resume(self, process: Process) -> None:
        process.is_paused = False
        if process.queue and process.is_alive and process not in self._runnable:
            self._runnable.append(process)

    def start(
        self, process: Process, work: Coroutine[Any, Any, T], *, name: str = ""
    ) -> asyncio.Task[T]:
        return self.create_task(work, name=name or process.name, context=process.context.copy())

    # Time and order

    def time(self) -> float:
        return self._now

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._enqueue(handle)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._order), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """asyncio tells the loop; a cancelled timer is skipped when its time comes."""

    def _enqueue(self, handle: asyncio.Handle) -> None:
        process = _process_of(handle, self.outside)
        if not process.is_alive:
            self._dead.append(handle)
            return
        if not process.queue and not process.is_paused:
            self._runnable.append(process)
        process.queue.append(handle)

    def run_until_complete(self, future: Awaitable[T]) -> T:  # type: ignore[override]
        """The future is one of this loop."""
        assert isinstance(future, asyncio.Future)
        task: asyncio.Future[T] = future
        asyncio._set_running_loop(self)  # noqa: SLF001 - how every event loop announces itself
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=None, finalizer=self._close_generator)
        self._is_running = True
        try:
            self._run(task)
        finally:
            self._is_running = False
            sys.set_asyncgen_hooks(*hooks)
            asyncio._set_running_loop(None)  # noqa: SLF001
        return task.result()

    def _run(self, task: "asyncio.Future[Any]") -> None:
        turns_now = 0
        while not task.done():
            if not self._runnable:
                self._to_next_timer()
                turns_now = 0
                continue
            self._turn()
            turns_now += 1
            if turns_now > TURNS_WITHOUT_TIME_MAX:
                raise Endless(f"{turns_now} callbacks ran at {self._now} s; {self._runnable}")

    def _turn(self) -> None:
        runnable = self._runnable
        index = self._rng.randrange(len(runnable)) if len(runnable) > 1 else 0
        process = runnable[index]
        handle = process.queue.popleft()
        if not process.queue:
            runnable[index] = runnable[-1]
            runnable.pop()
        if handle.cancelled():
            return
        self.turns += 1
        handle._run()  # noqa: SLF001 - how every event loop runs a handle
        if process.turns_left is not None:
            process.turns_left -= 1
            if process.turns_left <= 0:
                self.kill(process)

    def _to_next_timer(self) -> None:
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        if not timers:
            raise Endless("nothing is left to do, and the simulation has not ended")
        self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now + _LATE_SECONDS:
            handle = heapq.heappop(timers)[2]
            if not handle.cancelled():
                self._enqueue(handle)

    # Tasks, threads and streams

    def create_future(self) -> "asyncio.Future[Any]":
        return _Future(next(self._order), loop=self)

    def create_task(  # type: ignore[override]
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[T]:
        return _Task(next(self._order), coro, loop=self, name=name, context=context)

    def run_in_executor(
        self, executor: Any, func: Callable[[*Ts], T], *args: *Ts
    ) -> "asyncio.Future[T]":
        """Runs the work later, in one piece: a file is written before a kill, or not at all."""
        answer: asyncio.Future[T] = self.create_future()

        def work() -> None:
            try:
                result = func(*args)
            except BaseException as error:  # noqa: BLE001 - the caller of the thread gets it
                if not answer.done():
                    answer.set_exception(error)
            else:
                if not answer.done():
                    answer.set_result(result)

        self.call_later(self._rng.random() * THREAD_SECONDS_MAX, work)
        return answer

    async def create_unix_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], path: str, **_options: Any
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        return await self.sockets.connect(protocol_factory, path)

    async def create_unix_server(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], path: str, **_options: Any
    ) -> asyncio.AbstractServer:
        return self.sockets.listen(protocol_factory, path)

    # What asyncio and libraries ask of every loop

    def is_running(self) -> bool:
        return self._is_running

    def is_closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        """Ends every task, also those of dead processes, so that nothing is left half done.

        Python's garbage collector would run what they still have to do, in an order of its own.
        """
        asyncio._set_running_loop(self)  # noqa: SLF001
        self._is_running = True
        for _ in range(CLOSING_ROUNDS_MAX):
            dead, self._dead = self._dead, []
            for process in self._killed:
                process.is_alive, process.is_paused, process.turns_left = True, False, None
            for handle in dead:
                self._enqueue(handle)
            for task in sorted(asyncio.all_tasks(self), key=hash):
                task.cancel()
            for _ in range(CLOSING_TURNS_MAX):
                if not self._runnable:
                    break
                self._turn()
            if not asyncio.all_tasks(self) and not self._dead:
                break
        self._timers.clear()
        self._is_running = False
        asyncio._set_running_loop(None)  # noqa: SLF001
        self._is_closed = True

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None:
        raise NotImplementedError

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self._failures.append(context)

    @property
    def failures(self) -> tuple[str, ...]:
        """Errors that no code handled."""
        return tuple(f"{one.get('message')}: {one.get('exception')!r}" for one in self._failures)

    async def shutdown_asyncgens(self) -> None:
        pass

    def _close_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        if not self._is_closed and self._is_running:
            self.call_soon(lambda: self.create_task(generator.aclose()))


def _process_of(handle: asyncio.Handle, default: Process) -> Process:
    context: contextvars.Context = handle._context  # type: ignore[attr-defined]  # noqa: SLF001
    return context.get(CURRENT, default)
