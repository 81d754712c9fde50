"""An Outcome as the JSON document of `simulate -o json`; docs/reference/simulation-report.md is its manual."""

from dataclasses import asdict
from typing import Final

import msgspec

from numaplace.tools.report.outcome import Landing, Outcome, Unplaced
from numaplace.tools.report.totals import Totals

VERSION: Final = 1
Json = dict[str, object]


def document_text(outcome: Outcome, totals: Totals, compared: list[tuple[Outcome, Totals]]) -> str:
    """The document, indented; the same input gives the same bytes but for `elapsed_s`."""
    document: Json = {
        "v": VERSION,
        **run_json(outcome, totals),
        "pods": [landing_json(one) for one in outcome.landings],
        "unplaced": [unplaced_json(one) for one in outcome.unplaced],
        "replayed": None if outcome.replayed is None else asdict(outcome.replayed),
        "compared": [run_json(*one) for one in compared],
        "notes": list(outcome.notes),
    }
    return json_text(document)


def json_text(document: Json) -> str:
    """A document as indented JSON, for people and programs."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode()


def run_json(outcome: Outcome, totals: Totals) -> Json:
    """What is told of every run, the compared ones too."""
    return {
        "contender": outcome.contender,
        "totals": asdict(totals),
        "left": outcome.left,
        "failures": outcome.failures,
        "elapsed_s": round(outcome.elapsed_s, 3),
    }


def landing_json(one: Landing) -> Json:
    """One Pod that was placed."""
    allocation = one.allocation
    document: Json = {"pod": one.request.full_name, "node": one.node, "at_s": one.at_s, "until_s": one.until_s}
    if allocation is None:
        return {**document, "chosen": False}
    level = allocation.gpu_hca
    return {
        **document,
        "chosen": True,
        "numas": list(allocation.numas),
        "policy": allocation.policy,
        "width": allocation.width,
        "aligned": one.aligned,
        "cpus": str(allocation.cpus),
        "gpus": [gpu.pci for gpu in allocation.gpus],
        "hcas": [hca.name for hca in allocation.hcas],
        "gpu_hca": None if level is None else level.name,
        "containers": {
            name: {
                "cpus": str(share.cpus),
                "gpus": [gpu.pci for gpu in share.gpus],
                "hcas": [hca.name for hca in share.hcas],
            }
            for name, share in allocation.containers.items()
        },
        "score": None if one.score is None else round(one.score, 6),
        "parts": [asdict(part) for part in one.parts],
    }


def unplaced_json(one: Unplaced) -> Json:
    """One Pod that was not."""
    return {
        "pod": one.name,
        "owner": one.owner,
        "code": one.refusal.code,
        "node": one.refusal.node,
        "sentence": one.refusal.sentence,
        "fits": one.refusal.fits,
        "reasons": [asdict(reason) for reason in one.reasons],
    }
