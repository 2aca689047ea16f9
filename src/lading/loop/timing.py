"""How long a lease is held, and how often it is renewed."""

import msgspec

RETRY_JITTER_FRACTION = 1.2  # as client-go, so that candidates do not move in step


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults are client-go's. The gap between the first two is the time to stop in."""

    lease_seconds: int = 15
    renew_deadline_seconds: float = 10
    retry_seconds: float = 2

    def __post_init__(self) -> None:
        if self.lease_seconds <= self.renew_deadline_seconds:
            raise ValueError("the lease duration must be longer than the renew deadline")
        if self.renew_deadline_seconds <= self.retry_seconds * (1 + RETRY_JITTER_FRACTION):
            factor = 1 + RETRY_JITTER_FRACTION
            raise ValueError(
                f"the renew deadline must be longer than {factor:g} times the retry period"
            )


CLIENT_GO_TIMING = Timing()
