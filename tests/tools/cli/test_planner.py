"""`numaplace planner`: what is wrong with its options is said before anything is asked of a cluster."""

import json
import logging
from pathlib import Path

import pytest
from click.testing import CliRunner

from numaplace.model.errors import InputError
from numaplace.services.planner.logs import JsonLines
from numaplace.tools.cli.planner import planner

KUBECONFIG = {
    "current-context": "c",
    "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
}

ABOUT_THE_EXTENDER = [
    ("--extender-deadline", "4"),
    ("--extender-for", "default-scheduler"),
    ("--extender-pins",),
    ("--extender-tls", "tls.crt", "tls.key"),
    ("--extender-clients", "ca.crt"),
    ("--ungate-after", "60"),
]


def complaint(*options: str) -> str:
    result = CliRunner().invoke(planner, options)
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert complaint("--kubeconfig", str(tmp_path / "none")).startswith(f"{tmp_path / 'none'}: found no file")


@pytest.mark.parametrize("address", ["8480", "localhost", ":80", "127.0.0.1:http", "127.0.0.1:70000"])
def test_an_address_needs_a_host_and_a_port(tmp_path: Path, address: str) -> None:
    config = tmp_path / "config"
    config.write_text(json.dumps(KUBECONFIG))
    assert complaint("--kubeconfig", str(config), "--listen", address) == (
        f"--listen: found {address!r}; expected HOST:PORT"
    )


@pytest.mark.parametrize("option", [("--outstanding", "0"), ("--stuck", "-1"), ("--release-grace", "x")])
def test_numbers_have_bounds(option: tuple[str, str]) -> None:
    result = CliRunner().invoke(planner, option)
    assert result.exit_code == 2
    assert f"Invalid value for '{option[0]}'" in result.output


def test_a_log_line_is_one_json_object() -> None:
    record = logging.makeLogRecord({"name": "n", "levelname": "INFO", "msg": "two\nlines", "pod": "ns/p"})
    line = JsonLines().format(record)
    assert "\n" not in line
    said = json.loads(line)
    assert (said["message"], said["level"], said["pod"]) == ("two\nlines", "info", "ns/p")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--lease", "no-namespace"), "--lease: found 'no-namespace'; expected NAMESPACE/NAME"),
        (("--advertise", "10.0.0.1"), "--advertise: found '10.0.0.1'; expected HOST:PORT"),
        (("--extender", "8481"), "--extender: found '8481'; expected HOST:PORT"),
        (
            ("--extender", "[::]:8481", "--extender-clients", "ca.crt"),
            "--extender-clients: found no --extender-tls; expected both",
        ),
    ],
)
def test_options_that_cannot_be_are_refused_in_a_sentence(tmp_path: Path, options: tuple[str, str], said: str) -> None:
    config = tmp_path / "config"
    config.write_text(json.dumps(KUBECONFIG))
    assert complaint("--kubeconfig", str(config), *options).startswith(said)


@pytest.mark.parametrize("option", ABOUT_THE_EXTENDER, ids=[option for option, *_ in ABOUT_THE_EXTENDER])
def test_options_about_the_extender_are_refused_without_it(tmp_path: Path, option: tuple[str, ...]) -> None:
    config = tmp_path / "config"
    config.write_text(json.dumps(KUBECONFIG))
    assert complaint("--kubeconfig", str(config), *option).startswith(
        f"{option[0]}: found no --extender; expected --extender HOST:PORT beside it"
    )


def test_no_option_about_the_extender_is_forgotten() -> None:
    known = {option for one in planner.params for option in one.opts}
    assert {one for one in known if one.startswith("--extender-")} <= {option for option, *_ in ABOUT_THE_EXTENDER}
