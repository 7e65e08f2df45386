"""Installing gblint where there is no network."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Variables under which `pip install` of a checkout fetches nothing: what gblint needs besides, and what it is
    built with, comes from the environment of the tests over PYTHONPATH, gblint itself does not. No environment is
    active."""
    packages = tmp_path_factory.mktemp("packages")
    for folder in dict.fromkeys([sysconfig.get_path("purelib"), *site.getsitepackages(), *sys.path]):
        for entry in Path(folder).iterdir() if folder.endswith("site-packages") else ():
            unwanted = "gblint" in entry.name or entry.name.startswith(("pip", "torch")) or entry.suffix == ".pth"
            if not unwanted and not (packages / entry.name).exists():
                (packages / entry.name).symlink_to(entry)
    folders = os.environ["PATH"].split(os.pathsep)
    return {
        "PATH": os.pathsep.join(f for f in folders if not (Path(f).parent / "pyvenv.cfg").exists()),
        "VIRTUAL_ENV": "",
        "PYTHONPATH": str(packages),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # which is how pip spells "none"
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "NO_COLOR": "1",
    }
