"""The analyst that runs a test's programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interpreter.programs import Analyst


@pytest.fixture
def analyst(tmp_path: Path) -> Analyst:
    """Runs programs in a folder of their own."""
    return Analyst(tmp_path)
