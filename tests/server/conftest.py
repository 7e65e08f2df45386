"""The language server is tested where its library is installed."""

import pytest

pytest.importorskip("pygls")
