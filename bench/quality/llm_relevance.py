"""Agreement of a language model with human relevance judgements.

    SHRAG_LLM_URL=… python -m bench.quality.llm_relevance

The pairs of question and record are in ``relevance_cases.toml``; the records are those of the demonstration index. The
judge is the model of ``SHRAG_LLM_*``.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from bench.data import home
from shrag.cli.options.model import open_language_model, read_llm_settings
from shrag.evaluation.judging.relevance import RelevanceLevel, judge_agreement, judge_relevance
from shrag.serving.engine import open_engine
from shrag.serving.request import parse_question

CASES = Path(__file__).parent / "relevance_cases.toml"


def main() -> None:
    """Print each judgement with the human one, and their agreement."""
    model = open_language_model(read_llm_settings({}, os.environ))
    if model is None:
        raise SystemExit("No language model is configured: set SHRAG_LLM_URL.")
    engine = open_engine(home() / "indexes", "demo")
    by_hand: list[RelevanceLevel] = []
    judged: list[RelevanceLevel] = []
    for case in tomllib.loads(CASES.read_text(encoding="utf-8"))["case"]:
        record = engine.document(case["docid"])
        if record is None:
            raise SystemExit(f"The index has no record {case['docid']}: build it from the demonstration corpus.")
        found = judge_relevance(parse_question(case["question"]), record, model, case["step"])
        by_hand.append(RelevanceLevel(case["level"]))
        judged.append(found.level)
        print(f"{case['docid']}  by hand {case['level']}, {found.judge} {found.level}: {found.reason}")
    print(judge_agreement(by_hand, judged))


if __name__ == "__main__":
    main()
