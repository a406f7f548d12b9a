"""Write the results of experiments in Markdown, as tables and as a document."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from shrag.evaluation.experiments.run_card import IndexIdentity, RunCard
from shrag.evaluation.experiments.spec import Claim, PaperItem
from shrag.evaluation.questions.confidence_scores import ConfidenceScores, Estimate
from shrag.evaluation.questions.figures import ChoiceBaselines
from shrag.evaluation.reports.claims import Verdict, judge_claim
from shrag.evaluation.reports.paper_values import PaperValue, paper_values
from shrag.evaluation.reports.result_folder import ResultFolder, open_results
from shrag.evaluation.reports.table import (
    BaselineDifference,
    OtherSetDifferences,
    ResultCell,
    ResultRow,
    ResultTable,
    SetTable,
    read_table,
)
from shrag.evaluation.reports.timings import PartTimes, read_times_file

_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|"})


def table_text(table: ResultTable) -> str:
    """Return the table as Markdown: title, research question, a table for each set, and the values of a paper."""
    sets = (line for each in table.sets for line in set_lines(table, each))
    return "\n".join([*_head(table), *sets, *paper_lines(table)]) + "\n"


def escape_markdown(text: str) -> str:
    """Return ``text`` on one line, with the special characters of Markdown and HTML escaped."""
    return " ".join(text.split()).translate(_SPECIAL)


def cell_text(cell: ResultCell) -> str:
    """Return a mean with its interval, and ``+`` or ``−`` for a significant difference from the baseline."""
    spread = f" ± {cell.spread:.3f}" if cell.spread is not None else ""
    text = f"{_number(cell.mean)}{spread} [{_number(cell.low)}, {_number(cell.high)}]"
    sign = cell.difference.sign if cell.difference else ""
    return f"{text} {sign.replace('-', '−')}".rstrip()


def counts_text(row: ResultRow) -> str:
    """Return how many questions were not asked, found no record, or lacked the model, which failed; ``–`` if none."""
    counts = ((row.errors, "not asked"), (row.empty - row.errors, "without a record"), (row.fallbacks, "without model"))
    return ", ".join(f"{count} {what}" for count, what in counts if count > 0) or "–"


def choice_baselines_text(baselines: ChoiceBaselines) -> str:
    """Return the baselines of choice accuracy in words."""
    return (
        f"Random choices have an expected accuracy of {baselines.random:.3f}; always choosing "
        f"{baselines.majority_letter}, the most frequent one, has {baselines.majority:.3f}."
    )


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def _title_lines(table: ResultTable, heading: str) -> Iterator[str]:
    yield f"{heading} {escape_markdown(table.title)}"
    yield ""
    yield escape_markdown(table.question) + (f" ({escape_markdown(table.source)})" if table.source else "")


def _head(table: ResultTable) -> Iterator[str]:
    yield from _title_lines(table, "#")
    yield ""
    yield (
        "In brackets: 95 % interval over the questions (bootstrap; Wilson's for shares). After ±: standard deviation "
        "over repeats."
    )
    if table.baseline:
        yield (
            f"`+` and `−`: higher or lower than the baseline `{table.baseline}` by a paired randomisation test, "
            "p < 0.05 after Holm's correction over all conditions and measures of the set."
        )


def set_lines(table: ResultTable, each: SetTable, heading: str = "##") -> Iterator[str]:
    """Yield the lines of one set's table, after an empty line and a heading."""
    columns = table.columns_of(each)
    yield ""
    yield f"{heading} {escape_markdown(each.set)} ({each.questions:,} questions)"
    yield ""
    yield "| condition | " + " | ".join(escape_markdown(column) for column in columns) + " | not as usual |"
    yield "| --- |" + " ---: |" * len(columns) + " --- |"
    for row in each.rows:
        mark = " (baseline)" if row.condition == table.baseline else ""
        cells = " | ".join(cell_text(row.cells[column]) if column in row.cells else "–" for column in columns)
        yield f"| {escape_markdown(row.label)}{mark} | {cells} | {counts_text(row)} |"
    if each.choice_baselines is not None:
        yield ""
        yield choice_baselines_text(each.choice_baselines)
    if each.compared is not None:
        yield from _compared_lines(table, each, each.compared)
    if each.confidence:
        labels = {row.condition: row.label for row in each.rows}
        yield from confidence_lines({labels[name]: scores for name, scores in each.confidence.items()})


def paper_lines(table: ResultTable, heading: str = "##") -> Iterator[str]:
    """Yield the paper's values next to those of the table, after an empty line and a heading.

    Yield nothing without a paper.
    """
    if table.paper is None:
        return
    yield ""
    yield f"{heading} {escape_markdown(paper_title(table.paper))}"
    yield ""
    yield escape_markdown(table.paper.difference)
    if not table.expected:
        return
    yield ""
    yield "| set | condition | measure | paper | here | difference |"
    yield "| --- | --- | --- | ---: | ---: | ---: |"
    for each in paper_values(table):
        names = " | ".join(map(escape_markdown, (each.set, each.condition, each.measure)))
        yield f"| {names} | {each.paper:g} | {' | '.join(paper_value_texts(each))} |"


def paper_title(paper: PaperItem) -> str:
    """Return the heading of a comparison with a paper."""
    return f"Next to {paper.paper}, {paper.item[0].lower()}{paper.item[1:]}"


def paper_value_texts(value: PaperValue) -> tuple[str, str]:
    """Return the value here with its interval, and its difference from the paper's; ``–`` if it was not measured."""
    if value.here is None or value.low is None or value.high is None:
        return "–", "–"
    ends = f"[{_number(value.low)}, {_number(value.high)}]"
    return f"{_number(value.here)} {ends}", signed_text(value.here - value.paper)


def _compared_lines(table: ResultTable, each: SetTable, compared: OtherSetDifferences) -> Iterator[str]:
    yield ""
    yield (
        f"Difference from the set {escape_markdown(compared.other)}, over the {compared.questions:,} questions of "
        "both; significant ones in bold:"
    )
    yield ""
    yield "| condition | " + " | ".join(escape_markdown(measure) for measure in table.measures) + " |"
    yield "| --- |" + " ---: |" * len(table.measures)
    for row in each.rows:
        found = compared.differences[row.condition]
        cells = " | ".join(_difference_with_interval(found[measure]) for measure in table.measures)
        yield f"| {escape_markdown(row.label)} | {cells} |"


def _difference_with_interval(difference: BaselineDifference) -> str:
    return f"{_marked(difference)} [{signed_text(difference.low)}, {signed_text(difference.high)}]"


def _marked(difference: BaselineDifference) -> str:
    """Return a difference, in bold if it is significant."""
    text = signed_text(difference.mean)
    return f"**{text}**" if difference.sign else text


def confidence_lines(scores: Mapping[str, ConfidenceScores]) -> Iterator[str]:
    """Yield the tables of refusals and of risk and coverage. ``scores`` is a condition's label → its scores."""
    yield ""
    yield "| condition | questions | number | refused | AUC of the confidence |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for label, each in scores.items():
        for kind in each.kinds:
            cells = (f"{kind.questions:,}", estimate_text(kind.refused), estimate_text(kind.auc))
            yield f"| {escape_markdown(label)} | {escape_markdown(kind.kind)} | " + " | ".join(cells) + " |"
    yield ""
    yield (
        "Risk and coverage; unanswerable questions count as wrong. *Served*: the questions that are answered by the "
        "index's threshold. AURC: area under the risk-coverage curve."
    )
    yield ""
    yield "| condition | coverage | confidence | answered | risk, first record | risk, cited records | AURC |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for label, each in scores.items():
        for row in coverage_texts(each):
            yield f"| {escape_markdown(label)} | {' | '.join(row)} |"


def coverage_texts(scores: ConfidenceScores) -> Iterator[tuple[str, ...]]:
    """Yield coverage, confidence, number answered, the two risks and AURC: of the served questions, then of the curve.

    Only the first row has AURC.
    """
    aurc = "–" if scores.aurc is None else f"{scores.aurc:.3f}"
    points = [(f"served: {scores.served.coverage:.3f}", scores.served, aurc)] if scores.served else []
    points += [(f"{point.coverage:.3f}", point, "") for point in scores.curve]
    for coverage, point, area in points:
        cited = "–" if point.cited_risk is None else f"{point.cited_risk:.3f}"
        confidence = "–" if point.confidence is None else f"{point.confidence:.3f}"
        yield coverage, confidence, f"{point.answered:,}", f"{point.risk:.3f}", cited, area


def estimate_text(estimate: Estimate | None) -> str:
    """Return a figure with its interval; ``–`` for None."""
    return "–" if estimate is None else f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


_INTRODUCTION = """\
# Results in full

This file is written by `shrag report --markdown` from results folders, without manual edits; each section ends with
what produced it. In brackets: 95 % interval over the questions (bootstrap; Wilson's for shares). After ±: standard
deviation over repeats. `+` and `−` mark conditions that are higher or lower than the baseline by a paired randomisation
test, p < 0.05 after Holm's correction over all conditions and measures of the set; "no difference shown" does not prove
that there is none. [Evaluation](../how-to/evaluation.md) explains the measures,
[Experiments](../reference/experiments.md) those of the candidates (`num_candidates`, `candidate_recall`,
`candidate_success`). Times include the effect of other work on the machine."""


def render_document(folders: Sequence[Path]) -> str:
    """Return a Markdown document of complete results, with one section for each folder.

    Raises as :func:`open_results` does.
    """
    lines = [_INTRODUCTION]
    for folder in folders:
        lines += ["", *_section(*open_results(folder))]
    return "\n".join(lines) + "\n"


def _section(results: ResultFolder, card: RunCard) -> Iterator[str]:
    table = read_table(results.folder)
    yield from _title_lines(table, "##")
    for claim in results.experiment.claims:
        yield from _claim_lines(claim, judge_claim(claim, table))
    if table.baseline:
        claims = results.experiment.claims
        yield from _difference_lines(table, claims[0].measure if claims else table.measures[0])
    times = read_times_file(results)
    for each in table.sets:
        yield from set_lines(table, each, heading="###")
        yield from _time_lines([part for part in times if part.part.partition("/")[0] == each.set])
    yield from paper_lines(table, heading="###")
    yield ""
    yield from (f"- **{name}:** {escape_markdown(text)}" for name, text in card_facts(card))


def _claim_lines(claim: Claim, verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield ""
    yield f"**{escape_markdown(claim.text)}** {_summary(claim, verdicts)}"
    if not verdicts:
        return
    measure = escape_markdown(claim.measure)
    yield ""
    rival, by = ("lowest", "lower by") if claim.lower_is_better else ("best", "better by")
    yield f"| set | baseline, {measure} | {rival} of the others | {by} | verdict |"
    yield "| --- | ---: | --- | ---: | --- |"
    for each in verdicts:
        other = f"{escape_markdown(each.rival.label)}: {each.rival.cells[claim.measure].mean:.3f}"
        margin = f"{signed_text(each.margin)} [{signed_text(each.low)}, {signed_text(each.high)}]"
        yield f"| {escape_markdown(each.set)} | {each.baseline_mean:.3f} | {other} | {margin} | {each.summary} |"


def _summary(claim: Claim, verdicts: Sequence[Verdict]) -> str:
    """Return a sentence that counts the sets on which the claim was shown, partly shown, not shown or contradicted."""
    if not verdicts:
        return "Not tested: no set has two of its conditions."
    held = sum(each.holds for each in verdicts)
    contrary = sum(each.worse > 0 for each in verdicts)
    part = sum(each.better > 0 and not each.holds and not each.worse for each in verdicts)
    ahead = sum(each.margin >= 0 for each in verdicts)
    return (
        f"Of {len(verdicts)} sets, shown against every other condition on {held}, against some of them on {part}, not "
        f"shown on {len(verdicts) - held - part - contrary}, contradicted on {contrary}. The baseline's mean is no "
        f"{'higher than the lowest' if claim.lower_is_better else 'worse than the best'} of the others on {ahead}."
    )


def _difference_lines(table: ResultTable, measure: str) -> Iterator[str]:
    """Yield a table of each condition's difference from the baseline in ``measure``, with a column for each set."""
    others = [row for row in table.sets[0].rows if row.condition != table.baseline]
    measured = [each for each in table.sets if measure in table.columns_of(each)]
    if not others or not measured:
        return
    yield ""
    yield f"Difference from the baseline `{table.baseline}` in {escape_markdown(measure)}; significant ones in bold:"
    yield ""
    yield "| condition | " + " | ".join(escape_markdown(each.set) for each in measured) + " |"
    yield "| --- |" + " ---: |" * len(measured)
    for other in others:
        rows = [next(row for row in each.rows if row.condition == other.condition) for each in measured]
        yield f"| {escape_markdown(other.label)} | " + " | ".join(_difference(row, measure) for row in rows) + " |"


def _difference(row: ResultRow, measure: str) -> str:
    cell = row.cells.get(measure)
    return "–" if cell is None or cell.difference is None else _marked(cell.difference)


def signed_text(value: float) -> str:
    """Return a difference with its sign; one that rounds to zero is ``+0.000``."""
    # Adding 0.0 turns -0.0 into 0.0.
    return f"{round(value, 3) + 0.0:+.3f}".replace("-", "−")


def _time_lines(times: Sequence[PartTimes]) -> Iterator[str]:
    """Yield the median milliseconds per question of each condition, in the order of the table."""
    timed = [f"`{each.part.partition('/')[2]}` {1000 * each.median:.1f}" for each in times if each.questions]
    if timed:
        yield ""
        yield f"Median milliseconds per question: {', '.join(timed)}."


def depths_text(depths: Mapping[str, tuple[int, int]]) -> str:
    """Return how many hits the queries of each part asked for. Parts with the same numbers are together.

    >>> depths_text({"demo/or": (10, 10), "demo/and": (10, 10), "demo/deep": (100, 150)})
    '10: demo/or, demo/and; 100 to 150: demo/deep'
    """
    parts: dict[str, list[str]] = {}
    for stem, (least, most) in depths.items():
        parts.setdefault(str(least) if least == most else f"{least} to {most}", []).append(stem)
    return "; ".join(f"{asked}: {', '.join(stems)}" for asked, stems in parts.items())


def card_facts(card: RunCard) -> Iterator[tuple[str, str]]:
    """Yield the fields of the card as pairs (name, text), in display order."""
    identity = card.identity
    yield "fingerprint", card.fingerprint
    for session in card.sessions:
        ended = session.ended or "stopped"
        yield "command", f"{shlex.join(session.command)} ({session.started} to {ended}, {session.threads} at once)"
    changed = {True: ", with changes", False: "", None: ""}[card.code.dirty]
    yield "code", f"{card.code.commit or 'no checkout'}{changed}, {card.code.digest}"
    yield "seed", f"{identity.experiment.seed}, {identity.experiment.repeats} repeats with a language model"
    yield "records per question", str(identity.experiment.k)
    for name, questions in identity.questions.items():
        yield (
            f"questions of {name}",
            f"{questions.topics:,} asked; left out: {questions.unjudged_topics:,} without judgement, "
            f"{questions.missing_topics:,} judged but without text; {questions.digest}",
        )
    for name, index in identity.indexes.items():
        yield f"index {name}", _index_text(index)
        if (made := card.generations.get(name)) is not None:
            yield f"build of {name}", f"generation {made.generation}, {made.created}, manifest {made.manifest}"
    yield "prompts", identity.prompts
    yield "language model", f"{identity.model.name}, {identity.model.fingerprint}" if identity.model.name else "none"
    if card.depths:
        yield "hits of each query", depths_text(card.depths)
    for name, model in identity.models.items():
        yield f"language model {name}", f"{model.name}, {model.fingerprint}"
    yield "versions", ", ".join(f"{name} {version}" for name, version in identity.versions.items())
    machine = card.hardware
    gpus = ", ".join(machine.gpus) or "no GPU"
    yield (
        "machine",
        f"{machine.processor}, {machine.cores} cores, {machine.memory_bytes / 2**30:.1f} GiB, {gpus}, {machine.system}",
    )
    yield "files", f"{len(card.files)} that are the same, byte for byte, in every run of this fingerprint"


def _index_text(index: IndexIdentity) -> str:
    vectors = index.vectors
    made = (
        f"vectors by {vectors.encoder} (dimension {vectors.dimension}, {vectors.digest})" if vectors else "no vectors"
    )
    bm25 = f"k1 {index.bm25.k1}, b {index.bm25.b}, title {index.bm25.title_boost}"
    return (
        f"{index.records:,} records of the corpus {index.corpus}, {index.rejected:,} rejected; analyzer "
        f"{index.analyzer}; BM25 with {bm25}; {made}"
    )
