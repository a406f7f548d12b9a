from __future__ import annotations

from shrag.serving.http.rate_limit import FailedKeys

# Written out, so that a change of the module's own is noticed.
BURST = 10
MOST_ADDRESSES = 1_024


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def _after(failures: int, address: str = "192.0.2.1") -> tuple[FailedKeys, _Clock]:
    clock = _Clock()
    failed = FailedKeys(clock)
    for _ in range(failures):
        failed.failed(address)
    return failed, clock


def test_ten_wrong_keys_are_compared_at_once_and_then_one_a_second() -> None:
    failed, clock = _after(BURST - 1)
    assert failed.wait("192.0.2.1") == 0
    failed.failed("192.0.2.1")
    assert failed.wait("192.0.2.1") == 1
    tried = 0
    for _ in range(600):  # a minute, by tenths of a second
        clock.now += 0.1
        if failed.wait("192.0.2.1") == 0:
            failed.failed("192.0.2.1")
            tried += 1
    assert 58 <= tried <= 61


def test_an_address_is_trusted_again_once_it_has_been_quiet() -> None:
    failed, clock = _after(BURST)
    clock.now += 3600
    for _ in range(BURST):
        assert failed.wait("192.0.2.1") == 0
        failed.failed("192.0.2.1")
    assert failed.wait("192.0.2.1") == 1


def test_another_address_is_not_held_up() -> None:
    failed, _ = _after(BURST)
    assert (failed.wait("192.0.2.1"), failed.wait("192.0.2.2"), failed.wait("")) == (1, 0, 0)


def test_the_addresses_of_one_ipv6_network_are_one_and_mapped_ones_are_those_they_map() -> None:
    failed, _ = _after(BURST, "2001:db8::1")
    of_network = ("2001:db8::ffff", "2001:db8:0:0:8000::1", "2001:db8:0:1::1")
    assert [failed.wait(address) for address in of_network] == [1, 1, 0]
    mapped, _ = _after(BURST, "::ffff:192.0.2.1")
    assert (mapped.wait("192.0.2.1"), mapped.wait("::ffff:192.0.2.2")) == (1, 0)


def test_no_more_addresses_are_remembered_than_may_be_and_the_one_longest_quiet_goes_first() -> None:
    failed, _ = _after(BURST)
    for number in range(MOST_ADDRESSES - 1):
        failed.failed(f"10.0.{number // 256}.{number % 256}")
    assert failed.wait("192.0.2.1") == 1
    failed.failed("192.0.2.9")
    assert failed.wait("192.0.2.1") == 0


def test_an_address_that_goes_on_failing_is_not_forgotten_for_others() -> None:
    failed, _ = _after(BURST)
    for number in range(2 * MOST_ADDRESSES):
        failed.failed(f"10.0.{number // 256}.{number % 256}")
        if number % 100 == 0:
            failed.failed("192.0.2.1")
        assert failed.wait("192.0.2.1") > 0
