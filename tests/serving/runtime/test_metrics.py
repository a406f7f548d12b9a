from __future__ import annotations

import re

from shrag.serving.events import Timings
from shrag.serving.runtime.metrics import Metrics


def test_durations_are_counted_in_classes_from_a_millisecond_to_two_minutes() -> None:
    metrics = Metrics()
    metrics.request("/v1/search", "GET", 200, 0.003)
    metrics.observe(Timings({"search": 0.003}))
    text = metrics.text().decode()
    for name in ("request", "stage"):
        counts = dict(re.findall(rf'shrag_{name}_duration_seconds_bucket{{.*?le="([^"]+)".*?}} (\S+)', text))
        assert list(counts) == [
            *("0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5", "5.0", "10.0"),
            *("30.0", "60.0", "120.0", "+Inf"),
        ]
        assert (counts["0.0025"], counts["0.005"]) == ("0.0", "1.0")
