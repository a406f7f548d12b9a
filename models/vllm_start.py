"""What every vLLM is started with, whoever starts it: an environment that stays at home, and JSON kept short."""

from __future__ import annotations

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
"""Environment in which neither vLLM nor what it stands on opens a connection."""

SHORT_JSON = ("--structured-outputs-config", '{"backend":"xgrammar","disable_any_whitespace":true}')
"""Without the second key a weak model can write white space until its tokens are used up."""
