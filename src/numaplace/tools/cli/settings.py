"""Options that say how the operator has set up the cluster, shared by commands that place on paper."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import wraps

import click
from click.core import ParameterSource

from numaplace.model.errors import InputError
from numaplace.model.settings import Settings, Weights

WEIGHT_NAMES = tuple(field.name.replace("_", "-") for field in fields(Weights))
_DEFAULTS = Settings()


def _named(option: str, default: str, metavar: str, text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(option, default=default, show_default=bool(default), metavar=metavar, help=text)


_OPTIONS = (
    click.option(
        "--hcas",
        type=click.Choice(["shared", "exclusive"]),
        default="shared",
        show_default=True,
        help="Mode of the RDMA plugin.",
    ),
    click.option("--pod-ip-rdma", is_flag=True, help="Pods may use RDMA without hostNetwork."),
    click.option("--spread", is_flag=True, help="Emptier nodes first instead of fuller ones."),
    click.option("--hold-back", is_flag=True, help="Keep one node for the oldest Pod that waits."),
    click.option(
        "--weight",
        multiple=True,
        metavar="PART=NUMBER",
        help=f"Weight of a part of the score: {', '.join(WEIGHT_NAMES)}.",
    ),
    click.option(
        "--enable-label",
        metavar="KEY=VALUE",
        help="Label of the nodes that take placed Pods  [default: ack.node.gpu.schedule=topology]",
    ),
    _named("--gpu-resource", _DEFAULTS.gpu_resource, "NAME", "Resource that a Pod asks for whole GPUs."),
    _named("--foreign-gpus", ",".join(_DEFAULTS.foreign_gpu_resources), "NAMES", "GPUs of other plugins."),
    _named("--hca-resource", _DEFAULTS.hca_resource, "NAME", "Resource that a Pod asks for RDMA."),
    _named("--sharing", "", "NAMES", "Containers that share CPUs in a Pod with exclusive ones: sidecars."),
)


# The settings that each option means, by its name as a parameter.
_MEANT: Mapping[str, tuple[str, ...]] = {
    "hcas": ("hcas_exclusive",),
    "pod_ip_rdma": ("pod_ip_rdma",),
    "spread": ("spread_nodes",),
    "hold_back": ("holds_node_back",),
    "weight": ("weights",),
    "enable_label": ("enable_label", "enable_value"),
    "gpu_resource": ("gpu_resource",),
    "foreign_gpus": ("foreign_gpu_resources",),
    "hca_resource": ("hca_resource",),
    "sharing": ("sharing_containers",),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """The settings of a command line, and which of them somebody wrote there."""

    settings: Settings
    written: frozenset[str]

    def over(self, told: Settings) -> Settings:
        """What a planner tells, but for what was written."""
        return replace(told, **{name: getattr(self.settings, name) for name in self.written})


def is_written(parameter: str) -> bool:
    """Whether the running command's option was given, not left at its default."""
    return click.get_current_context().get_parameter_source(parameter) is not ParameterSource.DEFAULT


def settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options; the command gets `settings`. InputError for a weight or a label that is none."""

    @wraps(command)
    def configured(*, choice: Choice, **others: object) -> None:
        command(settings=choice.settings, **others)

    return choice_options(configured)


def choice_options(command: Callable[..., None]) -> Callable[..., None]:
    """The same for a command that may learn of a planner's settings; it gets `choice`."""

    @wraps(command)
    def configured(
        *,
        hcas: str,
        pod_ip_rdma: bool,
        spread: bool,
        hold_back: bool,
        weight: tuple[str, ...],
        enable_label: str | None,
        gpu_resource: str,
        foreign_gpus: str,
        hca_resource: str,
        sharing: str,
        **others: object,
    ) -> None:
        settings = Settings(
            gpu_resource=gpu_resource,
            foreign_gpu_resources=_listed(foreign_gpus),
            hca_resource=hca_resource,
            sharing_containers=_listed(sharing),
            hcas_exclusive=hcas == "exclusive",
            pod_ip_rdma=pod_ip_rdma,
            spread_nodes=spread,
            holds_node_back=hold_back,
            weights=_weights(weight),
        )
        written = frozenset(name for parameter, names in _MEANT.items() if is_written(parameter) for name in names)
        command(choice=Choice(_enabled_by(settings, enable_label), written), **others)

    for option in reversed(_OPTIONS):
        configured = option(configured)
    return configured


def _listed(text: str) -> tuple[str, ...]:
    """Names between commas."""
    return tuple(name for name in text.split(",") if name)


def _enabled_by(settings: Settings, label: str | None) -> Settings:
    if label is None:
        return settings
    key, sign, value = label.partition("=")
    if not (key and sign and value):
        raise InputError("--enable-label", found=repr(label[:60]), wanted="KEY=VALUE")
    return replace(settings, enable_label=key, enable_value=value)


def _weights(said: tuple[str, ...]) -> Weights:
    values: dict[str, float] = {}
    for text in said:
        name, _, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if name not in WEIGHT_NAMES or not 0 <= value < 1e6:
            raise InputError(
                "--weight", found=repr(text[:60]), wanted=f"one of {', '.join(WEIGHT_NAMES)}, = and a number from 0 on"
            )
        values[name.replace("-", "_")] = value
    return replace(Weights(), **values)
