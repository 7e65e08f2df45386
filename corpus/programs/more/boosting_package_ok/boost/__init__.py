from .ensemble import Ensemble
from .metrics import margin_report

__all__ = ["Ensemble", "margin_report"]
