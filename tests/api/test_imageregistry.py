"""What `kubectl get imagepruners` shows."""

import json

from lading.api.imageregistry import IMAGE_PRUNERS
from lading.ports.http import Request
from tests.pruning.operator.pruner_clusters import opened

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


async def test_the_columns_show_schedule_suspension_next_run_and_last_success() -> None:
    async with opened() as cluster:
        spec = {"schedule": "@weekly", "suspend": True}
        await cluster.create(IMAGE_PRUNERS, "cluster", spec=spec)
        times = {
            "nextScheduleTime": "2026-01-04T00:00:00Z",
            "lastSuccessTime": "2001-01-01T00:00:00Z",
        }
        await cluster.kube.patch(IMAGE_PRUNERS, "cluster", {"status": times}, subresource="status")
        path = f"/apis/{IMAGE_PRUNERS.api_version}/{IMAGE_PRUNERS.plural}"
        response = await cluster.line(Request(method="GET", path=path, headers={"accept": TABLE}))
        assert isinstance(response.body, bytes)
        table = json.loads(response.body)
        names = [one["name"] for one in table["columnDefinitions"]]
        (row,) = table["rows"]
        shown = dict(zip(names, row["cells"], strict=True))
        assert shown["Schedule"] == "@weekly"
        assert shown["Suspended"] is True
        assert shown["Next run"] == "2026-01-04T00:00:00Z"
        assert shown["Last success"].endswith("y"), "its age in years"
