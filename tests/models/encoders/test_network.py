from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest

from shrag.models.encoders import network
from shrag.models.encoders.network import TorchNetwork, limit_gpu_memory


class _MostAtOnce:
    """Stands in for torch as far as :meth:`TorchNetwork.run` uses it, and counts the batches that run at once."""

    def __init__(self) -> None:
        self.running, self.most = 0, 0
        self.inference_mode = nullcontext

    float32 = "float32"

    def empty(self, *_: object, **__: object) -> NoReturn:
        self.running += 1
        self.most = max(self.most, self.running)
        time.sleep(0.05)
        self.running -= 1
        raise KeyboardInterrupt


def _run_three(device: str) -> int:
    torch = _MostAtOnce()
    libraries: Any = SimpleNamespace(torch=torch)

    def use() -> None:
        with pytest.raises(KeyboardInterrupt):
            TorchNetwork(libraries, None, "", 0, device).run([np.array([1], dtype=np.int32)], 1, unit=False)

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return torch.most


def test_networks_take_turns_on_a_gpu_but_not_on_a_processor() -> None:
    assert _run_three("cuda") == 1
    assert _run_three("cpu") == 3


@pytest.mark.parametrize(("gpu", "shares"), [(True, [0.25, 1.0]), (False, [])])
def test_torch_may_have_the_share_of_the_gpu_that_is_planned(
    gpu: bool, shares: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []
    cuda = SimpleNamespace(
        is_available=lambda: gpu,
        mem_get_info=lambda: (1 << 30, 8 << 30),
        set_per_process_memory_fraction=given.append,
    )
    monkeypatch.setattr(network, "_import_libraries", lambda: SimpleNamespace(torch=SimpleNamespace(cuda=cuda)))
    limit_gpu_memory(2 << 30)
    limit_gpu_memory(9 << 30)
    assert given == shares
