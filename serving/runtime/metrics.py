"""The server's metrics in Prometheus' format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shrag.models.chat.endpoint_pool import EndpointStatus
from shrag.serving.answer_cache import CacheCounters
from shrag.serving.events import Answer, Event, Fallback, Timings
from shrag.serving.runtime.background import BACKGROUND
from shrag.serving.runtime.leases import SourceStatus

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class Metrics:
    """Metrics of one application. No label has a client's text, so that the number of time series is bounded."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._requests = Histogram(
            "shrag_request_duration_seconds",
            "From a request's arrival to the last byte of its answer.",
            ("route", "method", "status"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._stages = Histogram(
            "shrag_stage_duration_seconds",
            "Duration of a stage of a question.",
            ("stage",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._queue = Gauge("shrag_queue_depth", "Requests waiting for a slot.", ("stage",), registry=registry)
        self._busy = Gauge("shrag_requests_running", "Requests that run.", ("stage",), registry=registry)
        self._rejections = Counter(
            "shrag_rejections", "Requests refused or given up by the server.", ("reason",), registry=registry
        )
        self._fallbacks = Counter(
            "shrag_fallbacks", "Stages done without the language model.", ("stage", "cause"), registry=registry
        )
        self._issues = Counter(
            "shrag_citation_failures", "Sentences of answers that failed a check.", ("issue",), registry=registry
        )
        self._index = Gauge(
            "shrag_index_info", "1 for each index served.", ("name", "generation", "digest"), registry=registry
        )
        self._words_alone = Gauge(
            "shrag_index_words_alone",
            "1 where an index with vectors of a model is ranked by words alone.",
            ("name",),
            registry=registry,
        )
        self._statuses: Mapping[str, SourceStatus] = {}
        self._cache: CacheCounters | None = None
        self._endpoints: Sequence[EndpointStatus] = ()
        registry.register(_Counted(self._counted))
        self._model = Gauge(
            "shrag_llm_up", "1 where the language model answers, 0 where it fails or there is none.", registry=registry
        )

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that ended."""
        self._requests.labels(route, method, str(status)).observe(seconds)

    def rejected(self, reason: str) -> None:
        """Count a refused request by its problem's code."""
        self._rejections.labels(reason).inc()

    def observe(self, *events: Event) -> None:
        """Count the stages, the fallbacks and the unsupported sentences in a question's events."""
        for event in events:
            if isinstance(event, Timings):
                for stage, seconds in event.seconds.items():
                    self._stages.labels(stage).observe(seconds)
            elif isinstance(event, Fallback):
                self._fallbacks.labels(event.stage, event.cause).inc()
            elif isinstance(event, Answer):
                for section in event.sections:
                    for sentence in section.sentences:
                        if sentence.issue:
                            self._issues.labels(sentence.issue).inc()

    def work(self, stage: str, queued: int, busy: int) -> None:
        """Set the numbers of waiting and running requests of a queue."""
        self._queue.labels(stage).set(queued)
        self._busy.labels(stage).set(busy)

    def indexes(self, served: Iterable[tuple[str, int, str, bool]]) -> None:
        """Set which indexes are served: each by its name, generation, digest, and whether words alone rank it."""
        self._index.clear()
        for name, generation, digest, words_alone in served:
            self._index.labels(name, str(generation), digest).set(1)
            self._words_alone.labels(name).set(words_alone)

    def status(self, statuses: Mapping[str, SourceStatus]) -> None:
        """Set the status of each index, by the index's name."""
        self._statuses = statuses

    def cache(self, counters: CacheCounters) -> None:
        """Set the counters of the answer cache."""
        self._cache = counters

    def model(self, up: bool, endpoints: Sequence[EndpointStatus] = ()) -> None:
        """Set whether the language model answers, and the status of its endpoints if it has several."""
        self._model.set(up)
        self._endpoints = endpoints

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def _counted(self) -> Iterator[Metric]:
        """Yield the metrics that other parts of the program count."""
        cache = self._cache
        errors = CounterMetricFamily(
            "shrag_background_errors", "Unexpected errors of background threads.", labels=("task",)
        )
        for task, count in BACKGROUND.counts.items():
            errors.add_metric((task,), count)
        yield errors
        label = ("index",)
        swaps = CounterMetricFamily("shrag_index_swaps", "Generations loaded since the start.", labels=label)
        closing = GaugeMetricFamily("shrag_index_closing", "Generations replaced that still answer.", labels=label)
        refused = GaugeMetricFamily("shrag_index_refused", "1 where the published generation is refused.", labels=label)
        for name, status in self._statuses.items():
            swaps.add_metric((name,), status.swaps)
            closing.add_metric((name,), len(status.closing))
            refused.add_metric((name,), bool(status.problem))
        yield from (swaps, closing, refused, *self._of_endpoints())
        if cache is None:
            return
        questions = CounterMetricFamily(
            "shrag_cache_questions",
            "Questions answered from the cache, anew, or by a run in flight.",
            labels=("how",),
        )
        for how, count in (("hit", cache.hits), ("miss", cache.misses), ("joined", cache.joined)):
            questions.add_metric((how,), count)
        yield questions
        yield CounterMetricFamily("shrag_cache_evictions", "Cached answers evicted.", cache.evicted)
        yield GaugeMetricFamily("shrag_cache_answers", "Answers cached.", cache.answers)
        yield GaugeMetricFamily("shrag_cache_bytes", "Memory of cached answers.", cache.bytes)

    def _of_endpoints(self) -> Iterator[Metric]:
        if not self._endpoints:
            return
        label = ("endpoint", "host")
        up = GaugeMetricFamily("shrag_llm_endpoint_up", "1 where an endpoint of the model gets requests.", labels=label)
        running = GaugeMetricFamily(
            "shrag_llm_endpoint_requests_running", "Requests that an endpoint works on.", labels=label
        )
        failures = CounterMetricFamily(
            "shrag_llm_endpoint_failures", "Requests that failed at an endpoint.", labels=label
        )
        for position, each in enumerate(self._endpoints, 1):
            labels = (str(position), each.host)
            up.add_metric(labels, not each.problem)
            running.add_metric(labels, each.in_flight)
            failures.add_metric(labels, each.failures)
        yield from (up, running, failures)


class _Counted(Collector):
    """A collector of metrics that are computed at each scrape."""

    def __init__(self, collect: Callable[[], Iterator[Metric]]) -> None:
        self._collect = collect

    def collect(self) -> Iterator[Metric]:
        """See ``prometheus_client``."""
        return self._collect()
