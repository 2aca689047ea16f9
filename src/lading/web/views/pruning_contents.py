"""A plan to walk: repository -> tag -> manifest -> blob, and what keeps or deletes each.

Verdicts and chains are those of `lading prune why`.
"""

from typing import Any

from lading.pruning.engine.decisions.plan_contents import PlanContents
from lading.pruning.engine.types import Decision, Repository, Verdict
from lading.web.views import wording

DIGEST_CHARACTERS_MAX = 200
PARTS_MAX = 500


def overview(contents: PlanContents | None) -> dict[str, Any]:
    """The repositories, and what stays by reason."""
    if contents is None:
        return {"isThere": False}
    repositories = contents.inventory.repositories.values()
    return {
        "isThere": True,
        "kept": contents.kept_by_reason(),
        "repositories": [_repository(one, contents) for one in repositories],
    }


def _repository(one: Repository, contents: PlanContents) -> dict[str, Any]:
    tags = [contents.plan.tag_verdicts[one.name, tag.name] for tag in one.tags]
    manifests = [contents.plan.manifest_verdicts[one.name, digest] for digest in one.manifests]
    return {
        "name": wording.message(one.name),
        "tags": len(tags),
        "tagsThatGo": sum(map(_goes, tags)),
        "manifests": len(manifests),
        "manifestsThatGo": sum(map(_goes, manifests)),
    }


def _goes(verdict: Verdict) -> bool:
    return verdict.decision is Decision.DELETE


def repository(contents: PlanContents, name: str) -> dict[str, Any] | None:
    """Its tags, and its manifests; the first of each, where there are very many."""
    one = contents.inventory.repositories.get(name)
    if one is None:
        return None
    plan = contents.plan
    return {
        "name": wording.message(name),
        "tags": [
            {
                "name": tag.name[:128],
                "digest": tag.digest[:DIGEST_CHARACTERS_MAX],
                **_verdict(plan.tag_verdicts[name, tag.name]),
            }
            for tag in one.tags[:PARTS_MAX]
        ],
        "manifests": [
            {
                "digest": digest[:DIGEST_CHARACTERS_MAX],
                **_verdict(plan.manifest_verdicts[name, digest]),
            }
            for digest in one.manifests[:PARTS_MAX]
        ],
        "tagCount": len(one.tags),
        "manifestCount": len(one.manifests),
    }


def _verdict(verdict: Verdict) -> dict[str, str]:
    return {
        "decision": verdict.decision.value,
        "reason": verdict.reason.value,
        "message": wording.message(verdict.message),
    }


def explained(contents: PlanContents, reference: str) -> dict[str, Any] | None:
    """The answer of `why`, and the parts of a manifest, to walk on."""
    from lading.pruning.engine.decisions import why  # brings numpy, which only this question needs

    answer = why.why(reference, contents.inventory, contents.references, contents.plan)
    digest = why.digest_of(reference, contents.inventory)
    is_tag = bool(digest) and digest not in reference
    known = contents.inventory.manifests
    manifest = None if is_tag else known.get(digest)
    if not answer.is_known and manifest is None and not known.has_blob(digest):
        return None
    parts = [(one, "manifest", 0) for one in (manifest.children if manifest else ())]
    blobs = manifest.blobs if manifest else ()
    parts += [(one, "blob", known.blob_size_bytes(one)) for one in blobs]
    return {
        "reference": wording.image(reference),
        "digest": digest[:DIGEST_CHARACTERS_MAX],
        "kind": "tag" if is_tag else "manifest" if manifest else "blob",
        "sizeBytes": manifest.size_bytes if manifest else known.blob_size_bytes(digest),
        "verdicts": [
            {"place": wording.message(place), **_verdict(verdict)}
            for place, verdict in answer.verdicts
        ],
        "chains": [[wording.message(step) for step in chain] for chain in answer.chains],
        "parts": [
            {"digest": one[:DIGEST_CHARACTERS_MAX], "kind": kind, "sizeBytes": size}
            for one, kind, size in parts[:PARTS_MAX]
        ],
    }
