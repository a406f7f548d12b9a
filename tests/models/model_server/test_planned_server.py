"""Memory plan of the configured model server."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import BudgetTooSmall, GpuMissing, UnknownName
from shrag.models.memory_plan.plan import MemoryPart
from shrag.models.model_server.command import add_plan_flags, plan_server
from tests.models.memory_plan.test_gpu_use import H200, Smi
from tests.models.memory_plan.test_model_size import CONFIG, write_model


@pytest.fixture
def settings(tmp_path: Path) -> LlmSettings:
    weights = write_model(tmp_path / "tiny", dict(CONFIG))
    return LlmSettings(
        command=["python", "-m", "vllm"], weights=str(weights), budget="24GB", card="L40S", flags="--max-num-seqs 3"
    )


def _planned(settings: LlmSettings, tmp_path: Path, **changes: str) -> LlmSettings:
    chosen = LlmSettings(**{name: getattr(settings, name) for name in settings.__struct_fields__} | changes)
    return add_plan_flags(chosen, plan_server(chosen, (), tmp_path, Smi(H200)))


def test_the_plans_flags_come_first_and_the_users_own_win(settings: LlmSettings, tmp_path: Path) -> None:
    flags = _planned(settings, tmp_path).extra_flags
    assert flags[-2:] == ("--max-num-seqs", "3")
    assert flags[:4] == ("--gpu-memory-utilization", "0.468", "--kv-cache-memory-bytes", "17972M")
    assert flags[flags.index("--max-model-len") + 1] == "4096"


def test_without_a_budget_nothing_is_planned(settings: LlmSettings, tmp_path: Path) -> None:
    assert _planned(settings, tmp_path, budget="", card="").extra_flags == ("--max-num-seqs", "3")


def test_without_a_configured_card_the_gpu_is_read(settings: LlmSettings, tmp_path: Path) -> None:
    share = _planned(settings, tmp_path, card="").extra_flags[1]
    assert float(share) < float(_planned(settings, tmp_path).extra_flags[1])
    nothing = LlmSettings(command=["p"], weights=settings.weights, budget="24GB")
    with pytest.raises(GpuMissing):
        plan_server(nothing, (), tmp_path, Smi("garbage"))


def test_retrieval_reduces_the_models_share(settings: LlmSettings, tmp_path: Path) -> None:
    parts = (MemoryPart("encoder x", 4 * 2**30, True, "made up"),)
    alone = plan_server(settings, (), tmp_path)
    beside = plan_server(settings, parts, tmp_path)
    assert alone is not None
    assert beside is not None
    assert alone.kv_pool - beside.kv_pool == 4 * 2**30


@pytest.mark.parametrize(("changes", "error"), [({"budget": "2GB"}, BudgetTooSmall), ({"card": "abacus"}, UnknownName)])
def test_an_impossible_plan_is_an_error(
    settings: LlmSettings, tmp_path: Path, changes: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        _planned(settings, tmp_path, **changes)


@pytest.mark.parametrize(("keys", "says"), [({"url": "http://127.0.0.1:1/v1", "budget": "5GB"}, "add command")])
def test_a_budget_without_a_server_to_start_is_refused(keys: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        LlmSettings(**keys)  # type: ignore[arg-type]
