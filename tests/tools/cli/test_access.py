"""Which cluster a command means, inside a Pod and elsewhere: found as kubectl finds it."""

import json
from pathlib import Path

import pytest

from numaplace.model.errors import InputError
from numaplace.tools.cli.access import find_access


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without a kubeconfig, in a Pod."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    return tmp_path


def kubeconfig(path: Path, server: str) -> Path:
    """A file with the contexts `c`, the current one, and `other`."""
    contexts = [{"name": name, "context": {"cluster": name, "user": "u"}} for name in ("c", "other")]
    clusters = [
        {"name": "c", "cluster": {"server": f"https://{server}"}},
        {"name": "other", "cluster": {"server": f"https://{server}-other"}},
    ]
    users = [{"name": "u", "user": {"token": "t"}}]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"current-context": "c", "contexts": contexts, "clusters": clusters, "users": users}))
    return path


def test_options_count_before_the_variable_that_before_the_home_folder_and_all_before_the_pods_own_account(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="expected the mount of a service account"):  # which this Pod has not
        find_access(None, None)
    kubeconfig(home / ".kube" / "config", "home")
    assert find_access(None, None).server == "https://home"
    monkeypatch.setenv("KUBECONFIG", f"{home / 'none'}:{kubeconfig(home / 'named', 'variable')}")
    assert find_access(None, None).server == "https://variable"
    assert find_access(None, "other").server == "https://variable-other"
    assert find_access(kubeconfig(home / "said", "option"), None).server == "https://option"


def test_the_pods_own_account_is_used_where_no_file_is_there_and_nothing_was_asked(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(home / "none"))
    with pytest.raises(InputError, match="the mount of a service account"):
        find_access(None, None)
    for asked in ((home / "none", None), (None, "c")):
        with pytest.raises(InputError, match="none: found no file; expected a kubeconfig"):
            find_access(*asked)


def test_outside_of_a_pod_the_file_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(InputError, match=r"\.kube/config: found no file; expected a kubeconfig"):
        find_access(None, None)


def test_a_file_that_may_not_be_looked_at_is_not_passed_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "x" * 300  # longer than any file system takes: `stat` fails otherwise than for a file that is not there
    monkeypatch.setenv("KUBECONFIG", str(home / name))
    with pytest.raises(InputError, match="expected a readable kubeconfig"):
        find_access(None, None)
