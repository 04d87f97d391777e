"""draft"""
from math import log
def vector_weight(average: float) -> float:
    return 0.4 + 0.4 * min(max(log(max(average,1e-9) / 10) / log(4), 0.0), 1.0)
def length_weight(average: float) -> float:
    return 0.3 + 0.6 * min(max(log(max(average,1e-9) / 12) / log(200/12), 0.0), 1.0)
