"""``shrag plan``: what a card will hold under a budget, the flags that follow, how many sequences fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import click

from shrag.cli.settings import Home
from shrag.models.memory_plan.byte_sizes import parse_size
from shrag.models.memory_plan.gpu_cards import find_card, load_cards
from shrag.models.memory_plan.kv_cache import KvDtype
from shrag.models.memory_plan.model_size import DEFAULT_PROFILE
from shrag.models.memory_plan.retrieval_memory import DEFAULT_ENCODER, DEFAULT_RERANKER

if TYPE_CHECKING:
    from shrag.models.memory_plan.retrieval_memory import VectorTable


class Size(click.ParamType[int]):
    """A size of memory with its unit, as bytes."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See click."""
        if isinstance(value, int):
            return value
        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command()
@click.option("--budget", type=Size(), default="50GB", show_default=True, help="All that SHRAG may take of the card.")
@click.option("--card", help=f"Plan for this card ({', '.join(load_cards())}) and not for the one here.")
@click.option("--llm", default=DEFAULT_PROFILE, show_default=True, help="A profile, or a folder of weights.")
@click.option("--encoder", default=DEFAULT_ENCODER, show_default=True, help="A name, a folder, or none.")
@click.option("--reranker", default=DEFAULT_RERANKER, show_default=True, help="A name, a folder, or none.")
@click.option("--index", "index_name", help="An index whose vectors are searched on the card.")
@click.option("--max-model-len", type=click.IntRange(1), help="Tokens of prompt and answer.  [default: 16384]")
@click.option("--max-num-seqs", type=click.IntRange(1), help="Sequences at once.  [default: what fits, to 16]")
@click.option("--max-num-batched-tokens", "batch", type=click.IntRange(1), default=8192, show_default=True)
@click.option("--kv-cache-dtype", "kv_dtype", type=click.Choice(get_args(KvDtype)), default="auto", show_default=True)
@click.option("--kv-bytes-per-token", type=click.IntRange(1), help="In 16 bits, where config.json is not understood.")
@click.option("--prefix-caching/--no-prefix-caching", default=None, help="Default: not with recurrent states.")
@click.option("--enforce-eager", "eager", is_flag=True, help="Without CUDA graphs: slower, and less memory.")
@click.option("--slack", type=Size(), default="1.5GiB", show_default=True, help="Kept free for what is not known.")
@click.option("--command", "as_command", is_flag=True, help="Print the command that starts vLLM, and nothing else.")
@click.option("--compare", is_flag=True, help="Compare with what the GPU here holds now.")
@click.option("--pid", "processes", type=int, multiple=True, help="With --compare: only this process; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_obj
def command(
    home: Home,
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
    """Plan the memory of a GPU card, with none at hand if need be.

    What is exact was read from files or computed; the rest says that it is an estimate. Exit status 5 where it does not
    fit, with the smallest change that would.

    Example: shrag plan --budget 50GB --card H200
    """
    from shrag.cli.plan_report import print_json_plan, print_plan
    from shrag.models.memory_plan.gpu_use import compare_use, read_gpu, start_obstacle, to_gpu_card
    from shrag.models.memory_plan.model_size import find_language_model, load_profiles, profile_size
    from shrag.models.memory_plan.plan import PlanRequest
    from shrag.models.memory_plan.retrieval_memory import retrieval_parts
    from shrag.models.memory_plan.suggestions import plan_memory
    from shrag.models.model_server.command import shell_line, vllm_command

    if (processes and not compare) or (as_command and (compare or as_json)):
        raise click.UsageError("--pid goes with --compare, and --command with neither --compare nor --json.")
    use = read_gpu() if compare or card is None else None
    vectors = _vectors(home, index_name) if index_name else None
    request = PlanRequest(
        card=find_card(card) if card is not None else to_gpu_card(use or read_gpu()),
        budget=budget,
        model=find_language_model(llm, home.weights, kv_bytes_per_token),
        retrieval=retrieval_parts(encoder, reranker, vectors, home.weights),
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
        click.echo(line)
        return
    difference = compare_use(plan, use, processes) if compare and use is not None else None
    if as_json:
        print_json_plan(plan, line, difference)
        return
    print_plan(plan, difference)
    if use is not None and not compare and (obstacle := start_obstacle(plan, use)):
        click.echo(f"Warning: {obstacle}", err=True)


def _vectors(home: Home, name: str) -> VectorTable | None:
    """Return how many vectors an index has and how long, None where it has none."""
    from shrag.corpora.files import check_name
    from shrag.indexing.storage.generations import current_generation
    from shrag.models.memory_plan.retrieval_memory import VectorTable

    check_name(name)
    _, manifest = current_generation(home.indexes / name)
    if manifest.vectors is None:
        click.echo(f"Index {name} has no vectors: nothing of it is planned for the card.", err=True)
        return None
    return VectorTable(manifest.vectors.rows, manifest.vectors.dimension)
