"""``shrag plan``: plan the memory of a GPU, or with ``--records`` the size of an index.

The plan of a GPU keeps to a budget. It has vLLM's flags and the number of sequences that fit.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING, get_args

import click

from shrag.cli.output import echo, padded, print_json, shown
from shrag.cli.settings import Home
from shrag.messages.text import Text, message_of
from shrag.models.memory_plan.byte_sizes import both_units, gib, parse_size
from shrag.models.memory_plan.gpu_cards import find_card, load_cards
from shrag.models.memory_plan.gpu_use import UseDifference
from shrag.models.memory_plan.kv_cache import KvDtype
from shrag.models.memory_plan.model_size import DEFAULT_PROFILE
from shrag.models.memory_plan.plan import MemoryPlan
from shrag.models.memory_plan.retrieval_memory import DEFAULT_ENCODER, DEFAULT_RERANKER
from shrag.models.model_server.command import memory_flags

if TYPE_CHECKING:
    from shrag.indexing.build.size_plan import SizePlan
    from shrag.models.memory_plan.retrieval_memory import VectorTable


class Size(click.ParamType[int]):
    """A memory size with a unit, such as 50GB, converted to bytes."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the size, which is a bare number only in ``shrag.toml`` and refused there too (see click)."""
        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(message_of(error), param, ctx)


@click.command()
@click.option("--budget", type=Size(), default="50GB", show_default=True, help="Maximum GPU memory that SHRAG may use.")
@click.option("--card", help=f"Plan for this GPU ({', '.join(load_cards())}) instead of this machine's.")
@click.option("--llm", default=DEFAULT_PROFILE, show_default=True, help="A profile, or a folder of weights.")
@click.option("--encoder", default=DEFAULT_ENCODER, show_default=True, help="A name, a folder, or none.")
@click.option("--reranker", default=DEFAULT_RERANKER, show_default=True, help="A name, a folder, or none.")
@click.option("--index", "index_name", help="An index whose vectors are searched on the GPU.")
@click.option(
    "--max-model-len", type=click.IntRange(1), help="Number of tokens of prompt and answer.  [default: 16384]"
)
@click.option(
    "--max-num-seqs", type=click.IntRange(1), help="Number of sequences at once.  [default: what fits, up to 16]"
)
@click.option(
    "--max-num-batched-tokens",
    "batch",
    type=click.IntRange(1),
    default=8192,
    show_default=True,
    help="Number of tokens that vLLM computes in one batch.",
)
@click.option(
    "--kv-cache-dtype",
    "kv_dtype",
    type=click.Choice(get_args(KvDtype)),
    default="auto",
    show_default=True,
    help="Numbers of the KV cache: auto is 16 bits, fp8 takes half the memory.",
)
@click.option(
    "--kv-bytes-per-token",
    type=click.IntRange(1),
    help="KV cache bytes of one token in 16 bits, for models whose config.json is not understood.",
)
@click.option(
    "--prefix-caching/--no-prefix-caching",
    default=None,
    help="Whether vLLM caches prefixes. Default: on, except with recurrent states.",
)
@click.option("--enforce-eager", "eager", is_flag=True, help="No CUDA graphs: slower, less memory.")
@click.option(
    "--slack", type=Size(), default="1.5GiB", show_default=True, help="Memory reserved for what cannot be planned."
)
@click.option("--command", "as_command", is_flag=True, help="Print only the command that starts vLLM.")
@click.option("--compare", is_flag=True, help="Compare with the memory in use on this GPU.")
@click.option(
    "--pid", "processes", type=int, multiple=True, help="With --compare: count only this process; repeatable."
)
@click.option("--records", type=click.IntRange(1), help="Plan an index of so many records instead of a GPU's memory.")
@click.option(
    "--tokens-per-record",
    type=click.IntRange(1),
    default=130,
    show_default=True,
    help="With --records: words between spaces in a record's title and text.",
)
@click.option(
    "--dimension",
    type=click.IntRange(0),
    default=768,
    show_default=True,
    help="With --records: the dimension of the vectors.",
)
@click.option("--cores", type=click.IntRange(1), help="With --records: the machine's cores.  [default: this machine's]")
@click.option("--memory", type=Size(), help="With --records: the machine's memory.  [default: this machine's]")
@click.option("--disk", type=Size(), help="With --records: the free disk space.  [default: on this machine]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(
    home: Home,
    records: int | None,
    tokens_per_record: int,
    dimension: int,
    cores: int | None,
    memory: int | None,
    disk: int | None,
    budget: int,
    card: str | None,
    llm: str,
    encoder: str,
    reranker: str,
    index_name: str | None,
    max_model_len: int | None,
    max_num_seqs: int | None,
    batch: int,
    kv_dtype: KvDtype,
    kv_bytes_per_token: int | None,
    prefix_caching: bool | None,
    eager: bool,
    slack: int,
    as_command: bool,
    compare: bool,
    processes: tuple[int, ...],
    as_json: bool,
) -> None:
    """Plan the memory of a GPU, which need not be in this machine, or with --records the size of an index.

    Sizes are exact where they were read from files or computed; others are marked as estimates. Exit status 5 if the
    plan does not fit, with the smallest change that makes it fit.

    Example: shrag plan --budget 50GB --card H200

    Example: shrag plan --records 30000000 --tokens-per-record 130
    """
    if records is not None:
        _plan_records(home, records, tokens_per_record, dimension, cores, memory, disk, budget, as_json=as_json)
        return
    from shrag.models.memory_plan.gpu_use import compare_use, read_gpu, start_obstacle, to_gpu_card
    from shrag.models.memory_plan.model_size import find_language_model, load_profiles, profile_size
    from shrag.models.memory_plan.plan import PlanRequest
    from shrag.models.memory_plan.retrieval_memory import retrieval_parts
    from shrag.models.memory_plan.suggestions import plan_memory
    from shrag.models.model_server.command import shell_line, vllm_command

    if (processes and not compare) or (as_command and (compare or as_json)):
        raise click.UsageError(Text("--pid needs --compare, and --command excludes --compare and --json."))
    use = read_gpu() if compare or card is None else None
    vectors = _vectors(home, index_name) if index_name else []
    request = PlanRequest(
        card=find_card(card) if card is not None else to_gpu_card(use or read_gpu()),
        budget=budget,
        model=find_language_model(llm, home.weights, kv_bytes_per_token),
        retrieval=retrieval_parts([encoder], reranker, vectors, home.weights),
        max_model_len=max_model_len,
        max_num_seqs=max_num_seqs,
        batch=batch,
        kv_dtype=kv_dtype,
        prefix_caching=prefix_caching,
        eager=eager,
        slack=slack,
    )
    profiles = [profile_size(name, home.weights) for name in load_profiles()]
    plan = plan_memory(request, profiles, load_cards().values())
    line = shell_line(vllm_command(plan, home.path / "llm.sock"))
    if as_command:
        echo(line)
        return
    difference = compare_use(plan, use, processes) if compare and use is not None else None
    if as_json:
        print_json_plan(plan, line, difference)
        return
    print_plan(plan, difference)
    if use is not None and not compare and (obstacle := start_obstacle(plan, use)):
        echo(Text("Warning: {obstacle}", obstacle=obstacle), err=True)


def _plan_records(
    home: Home,
    records: int,
    tokens: int,
    dimension: int,
    cores: int | None,
    memory: int | None,
    disk: int | None,
    budget: int,
    *,
    as_json: bool,
) -> None:
    """Print the plan of an index of ``records`` records."""
    from shrag.indexing.build.size_plan import Machine, find_rate, plan_size

    existing = next(folder for folder in (home.path, *home.path.parents) if folder.is_dir())
    machine = Machine(
        cores or len(os.sched_getaffinity(0)),
        memory if memory is not None else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        disk if disk is not None else shutil.disk_usage(existing).free,
    )
    plan = plan_size(records, tokens, dimension, machine, find_rate(home.indexes), budget)
    if as_json:
        print_json({**asdict(plan), "engine": plan.engine, "most_records": plan.most_records})
    else:
        print_size_plan(plan)
    if plan.engine != "lucene":
        click.get_current_context().exit(5)


_LIMITS: dict[str, Text] = {
    "memory": Text("memory"),
    "disk": Text("disk"),
    "build": Text("a build of 24 hours"),
    "search": Text("one search in twenty slower than a second"),
    "lucene": Text("documents of one Lucene index"),
}


def print_size_plan(plan: SizePlan) -> None:
    """Print the size of an index on this machine and on a cluster, the limits, and which engine to choose."""
    embedded, cluster, rate = plan.embedded, plan.cluster, plan.rate
    echo(
        Text(
            "Records  {records:,} of {tokens:,} tokens, vectors of dimension {dimension:,}",
            records=plan.records,
            tokens=plan.tokens,
            dimension=plan.dimension,
        )
    )
    echo(
        Text(
            "Machine  {cores} cores, {memory} memory, {disk} of disk free",
            cores=plan.machine.cores,
            memory=gib(plan.machine.memory),
            disk=gib(plan.machine.disk),
        )
    )
    source = (
        Text("index {name} of {records:,} records, built here", name=rate.name, records=rate.records)
        if rate.name
        else Text("the benchmark's machine: no index of 50,000 records or more was built here yet")
    )
    echo(Text("Speed    {rate:,.0f} records a second ({source})\n", rate=rate.records_per_second, source=source))
    echo(Text("On one machine (engine lucene)"))
    for size, what in (
        (embedded.index, Text("index on disk, with vectors in half precision and their FAISS index")),
        (embedded.building, Text("disk while it is built, with the corpus")),
        (embedded.build_memory, Text("memory of a build")),
        (embedded.serving_memory, Text("memory of the server, with terms, postings and vectors in the page cache")),
    ):
        echo(f"{gib(size):>12}  {shown(what)}")
    hours, milliseconds = f"{embedded.build_hours:,.1f} h", f"{embedded.search_ms:,.0f} ms"
    echo(Text("{hours:>12}  to build, without vectors", hours=hours))
    echo(Text("{milliseconds:>12}  95th percentile of a search, extrapolated\n", milliseconds=milliseconds))
    echo(Text("On a cluster (engine milvus), {replicas} replicas", replicas=cluster.replicas))
    echo(
        Text(
            "{memory:>12}  memory of the query nodes ({nodes} of 64 GiB); shards: {shards}, dense index: {dense}",
            memory=gib(cluster.memory),
            nodes=cluster.query_nodes,
            shards=cluster.shards,
            dense=cluster.dense_index,
        )
    )
    echo(Text("{disk:>12}  disk of the query nodes", disk=gib(cluster.node_disk)))
    echo(Text("{disk:>12}  object storage\n", disk=gib(cluster.object_storage)))
    for limit, most in sorted(plan.limits.items(), key=lambda pair: pair[1]):
        echo(Text("One machine can hold up to {most:,} records (limit: {limit}).", most=most, limit=_LIMITS[limit]))
    if plan.dimension:
        echo(Text("The GPU memory budget can hold the vectors of {most:,} records.", most=plan.gpu_records))
    if plan.engine == "lucene":
        echo(
            Text("Choose engine lucene; from {most:,} records on engine milvus is better.", most=plan.most_records + 1)
        )
    else:
        echo(
            Text(
                "Choose engine milvus, or a larger machine: this one can hold {most:,} records.", most=plan.most_records
            )
        )


def _vectors(home: Home, name: str) -> list[VectorTable]:
    """Return the number and the dimension of an index's vectors, nothing if it has none."""
    from shrag.corpora.files import check_name
    from shrag.indexing.storage.generations import current_generation
    from shrag.models.memory_plan.retrieval_memory import VectorTable

    check_name(name)
    _, manifest = current_generation(home.indexes / name)
    if manifest.vectors is None:
        echo(Text("Index {name} has no vectors: no GPU memory is planned for it.", name=name), err=True)
        return []
    return [VectorTable(manifest.vectors.rows, manifest.vectors.dimension)]


_LENGTHS = (2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072)
# NVIDIA's tensor cores have 8-bit floating point from this compute capability on.
_FP8_CAPABILITY = 8.9


def print_plan(plan: MemoryPlan, difference: UseDifference | None) -> None:
    """Print the GPU memory of each part on a line, then what fits and the flags of vLLM."""
    request, model = plan.request, plan.request.model
    guess = Text("about ") if request.card.estimated else ""
    echo(
        Text(
            "Card    {title}: {guess}{usable} usable",
            title=request.card.title,
            guess=guess,
            usable=gib(request.card.usable),
        )
    )
    echo(
        Text(
            "Budget  {both_units}; {limit} planned at most",
            both_units=both_units(request.budget),
            limit=gib(request.limit),
        )
    )
    about = ", ".join(part for part in (model.quantization, model.licence) if part)
    echo(Text("Model   {name}{about}\n", name=model.name, about=f" ({about})" if about else ""))
    for part in plan.parts:
        kind = Text("exact") if part.exact else Text("estimate")
        echo(f"{gib(part.size):>10}  {padded(kind, 8)}  {padded(part.name, 40)}  {shown(part.source)}")
    total = sum(part.size for part in plan.parts)
    echo(Text("{total:>10}            in all, {limit} left over\n", total=gib(total), limit=gib(request.limit - total)))
    fits = ", ".join(f"{plan.sequences(tokens)} × {tokens:,}" for tokens in _lengths(plan))
    echo(Text("At once: {fits} tokens (--max-num-seqs {max_num_seqs})", fits=fits, max_num_seqs=plan.max_num_seqs))
    echo(
        Text(
            "KV cache: {bytes_per_token:,} bytes a token{fixed}",
            bytes_per_token=plan.kv.bytes_per_token,
            fixed=_fixed(plan),
        )
    )
    echo(Text("vLLM: {memory_flags}", memory_flags=shlex.join(memory_flags(plan))))
    for note in plan_notes(plan):
        echo(Text("Note: {note}", note=note))
    if difference is not None:
        if difference.exceeds_tolerance:
            echo(Text("Warning: {obstacle}", obstacle=difference.text), err=True)
        else:
            echo(Text("In use: {difference}", difference=difference.text))


def print_json_plan(plan: MemoryPlan, command: str, difference: UseDifference | None) -> None:
    """Print the plan as one JSON object, sizes in bytes."""
    request = plan.request
    report = {
        "card": {"name": request.card.name, "usable_bytes": request.card.usable, "estimated": request.card.estimated},
        "budget_bytes": request.budget,
        "limit_bytes": request.limit,
        "model": request.model.name,
        "licence": request.model.licence,
        "parts": [
            {"name": part.name, "bytes": part.size, "exact": part.exact, "source": part.source} for part in plan.parts
        ],
        "max_model_len": request.context,
        "max_num_seqs": plan.max_num_seqs,
        "gpu_memory_utilization": plan.gpu_memory_utilization,
        "kv_cache": {
            "dtype": request.kv_dtype,
            "bytes": plan.kv_pool,
            "bytes_per_token": plan.kv.bytes_per_token,
            "fixed_bytes_per_sequence": plan.kv.fixed_bytes(request.context),
            "size_in_tokens": plan.kv.size_in_tokens(plan.kv_pool, request.context),
            "maximum_concurrency": round(plan.kv.concurrency(plan.kv_pool, request.context), 4),
        },
        "sequences": {str(tokens): plan.sequences(tokens) for tokens in _lengths(plan)},
        "notes": list(plan_notes(plan)),
        "flags": list(memory_flags(plan)),
        "command": command,
        "comparison": None
        if difference is None
        else {
            "planned_bytes": difference.planned,
            "used_bytes": difference.used,
            "excess": round(difference.excess, 4),
        },
    }
    echo(json.dumps(report, ensure_ascii=False))


def plan_notes(plan: MemoryPlan) -> tuple[str, ...]:
    """Return notes on this model on this GPU."""
    request, notes = plan.request, []
    capability = request.card.capability
    if "fp8" in request.model.quantization and 0 < capability < _FP8_CAPABILITY:
        notes.append(
            Text(
                "this GPU (compute capability {capability}) does not compute in FP8: the weights save memory, but "
                "were slower than 16 bits on an A100",
                capability=capability,
            )
        )
    if not request.model.licence:
        notes.append(Text("the licence of these weights is unknown: read it before use"))
    if request.model.has_states and request.caches_prefixes:
        notes.append(Text("prefix caching doubles the recurrent states of this model and rarely helps"))
    return tuple(notes)


def _fixed(plan: MemoryPlan) -> str:
    fixed = plan.kv.fixed_bytes(plan.request.context)
    return Text(" and {size} a sequence", size=gib(fixed)) if fixed else ""


def _lengths(plan: MemoryPlan) -> list[int]:
    """Return the common sequence lengths below the longest one of the plan, and the longest one."""
    context = plan.request.context
    return [*(length for length in _LENGTHS if length < context), context]
