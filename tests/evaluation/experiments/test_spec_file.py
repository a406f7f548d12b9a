from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.experiments.engines import index_name
from shrag.evaluation.experiments.spec import JudgedSet, LanguageModelSource
from shrag.evaluation.experiments.spec_file import (
    ask_own_questions,
    built_in_experiments,
    find_experiment,
    narrow_experiment,
    read_experiment,
    replace_encoders,
    replace_models,
)
from shrag.evaluation.questions.reference_answers import ReferenceSource
from shrag.messages.text import in_language, message_of

HEAD = """
title = "t"
question = "q"
baseline = "or"
[[sets]]
name = "s"
index = "demo"
topics = "t.tsv"
qrels = "q.txt"
"""
CONDITIONS = """
[[conditions]]
name = "or"
[[conditions]]
name = "and"
label = "그리고"
settings = {queries = "longest"}
grid = {ands = [1, 9], glossary = [true, false]}
"""


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "e.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_grid_becomes_a_condition_for_each_combination_named_and_labelled_after_it(tmp_path: Path) -> None:
    experiment = read_experiment(_write(tmp_path, HEAD + CONDITIONS))
    assert [(each.name, each.group) for each in experiment.conditions] == [
        ("or", "or"),
        ("and-ands-1-glossary-true", "and"),
        ("and-ands-1-glossary-false", "and"),
        ("and-ands-9-glossary-true", "and"),
        ("and-ands-9-glossary-false", "and"),
    ]
    last = experiment.conditions[-1]
    assert last.label == "그리고, ands 9, glossary false"
    assert last.settings == {"queries": "longest", "ands": 9, "glossary": False}


MODELS = """
[[models]]
name = "flash"
url = "http://127.0.0.1:8001/v1"
model = "small"
[[models]]
name = "pro"
[[conditions]]
name = "two"
model = "flash"
grid = {ands = [0, 1]}
[[conditions]]
name = "one"
model = "pro"
"""


def test_conditions_name_a_language_model_of_the_experiment(tmp_path: Path) -> None:
    experiment = read_experiment(_write(tmp_path, HEAD + CONDITIONS + MODELS))
    assert {each.name: each.model for each in experiment.conditions[-3:]} == {
        "two-ands-0": "flash",
        "two-ands-1": "flash",
        "one": "pro",
    }
    given = [LanguageModelSource("pro", "unix:/a", "large"), LanguageModelSource("flash", "unix:/b")]
    assert replace_models(experiment, given).models == (
        LanguageModelSource("flash", "unix:/b", "small"),
        LanguageModelSource("pro", "unix:/a", "large"),
    )
    with pytest.raises(ExperimentRejected, match="There is no language model 'ultra': use one of flash, pro"):
        replace_models(experiment, [LanguageModelSource("ultra", "unix:/a")])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (('"pro"\n[[cond', '"flash"\n[[cond'), "two tables [[models]] have the name 'flash'"),
        (('model = "pro"', 'model = "ultra"'), "the condition one names the language model 'ultra', which is not in"),
        (('name = "pro"', 'name = "Pro"'), "'Pro' cannot name a language model"),
    ],
)
def test_a_language_model_that_does_not_exist_or_is_there_twice_is_refused(
    tmp_path: Path, changed: tuple[str, str], said: str
) -> None:
    with pytest.raises(ExperimentRejected, match=re.escape(said)):
        read_experiment(_write(tmp_path, (HEAD + CONDITIONS + MODELS).replace(*changed)))


def test_conditions_that_tables_and_plots_would_show_under_one_label_are_refused(tmp_path: Path) -> None:
    three = (
        HEAD + '[[conditions]]\nname = "or"\n[[conditions]]\nname = "and"\nlabel = "{}"\n[[conditions]]\nname = "b"\n'
    )
    assert len(read_experiment(_write(tmp_path, three.format("AND"))).conditions) == 3
    with pytest.raises(ExperimentRejected, match="2 conditions are shown as 'or': give each another label"):
        read_experiment(_write(tmp_path, three.format("or")))


@pytest.mark.parametrize("name", sorted(built_in_experiments()))
def test_every_experiment_that_comes_with_shrag_can_be_read(name: str) -> None:
    experiment = read_experiment(find_experiment(name))
    assert experiment.title
    assert experiment.question.endswith("?")


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    given = HEAD + CONDITIONS
    plain = read_experiment(_write(tmp_path, given))
    assert read_experiment(_write(tmp_path, "\ufeff" + given)) == plain


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (("title =", "titel ="), "unknown field `titel`"),
        (('title = "t"', "title = 5"), r"Expected `str`, got `int` - at `\$.title`"),
        (('title = "t"', 'title = "t'), "is not TOML"),
        (('name = "or"', 'name = "or"\nsetting = 3'), r"unknown field `setting` - at `\$.conditions"),
        (('name = "s"', 'name = "S/../x"'), "'S/../x' cannot name a set"),
        (('name = "and"', 'name = "or"\ngrid_ = 1'), "unknown field `grid_`"),
        (('baseline = "or"', 'baseline = "xor"'), "the baseline 'xor' is not a condition"),
        (('baseline = "or"', "k = 0"), "k is 0 but must be from 1 to 1000"),
        (('baseline = "or"', "repeats = 0"), "repeats is 0 but must be at least 1"),
        (('baseline = "or"', 'measures = ["nDGC@10"]'), "'nDGC@10' is not a measure"),
        (('baseline = "or"', "measures = []"), "measures names none"),
        (("ands = [1, 9]", "ands = []"), "a grid has a list of values for each setting"),
        (("ands = [1, 9]", "ands = 3"), "a grid has a list of values for each setting"),
        (("ands = [1, 9]", "ants = [1, 9]"), "There is no setting 'ants'"),
        (("ands = [1, 9]", "ands = [1, 11]"), "The setting ands is 11: use a whole number from 0 to 9"),
        (('name = "or"', 'name = "or"\nk = 0'), "k of the condition or is 0 but must be from 1 to 1000"),
        (('index = "demo"', ""), "the set s has neither a corpus nor an index"),
        (
            ('index = "demo"', 'index = "demo"\nencoder = "lsa"'),
            "has an encoder for the existing index demo: leave it out",
        ),
        (('qrels = "q.txt"', ""), "the set s has neither qrels nor references: give one of them"),
        (('qrels = "q.txt"', "references = {answers = 'a'}"), "missing required field `path`"),
        (('index = "demo"', 'index = "demo"\nsample = 0'), "sample of the set s is 0 but must be at least 1"),
        (('name = "or"', 'name = "or"\nstrategy = "best"'), "There is no strategy 'best': use one of shrag, bm25"),
        (('name = "or"', 'name = "or"\nstrategy = "retrieve(5) > rank(2)"'), "There is no stage"),
        (('name = "or"', 'name = "or"\nreranker = "vector"'), "There is no re-ranker 'vector': use one of auto"),
        *[
            (
                ('name = "or"', f'name = "or"\npeer = "x"\n{key}'),
                "is the peer x: leave out settings, filter, answers, model",
            )
            for key in ("answers = true", "model = true", 'encoder = "lsa"', "settings = {ands = 1}")
        ],
    ],
)
def test_what_is_wrong_is_named_before_a_question_is_asked(tmp_path: Path, changed: tuple[str, str], says: str) -> None:
    with pytest.raises(ExperimentRejected, match=says):
        read_experiment(_write(tmp_path, (HEAD + CONDITIONS).replace(*changed)))


@pytest.mark.parametrize(
    ("plot", "says"),
    [
        ('kind = "bars"\ny = ["QSR@50"]', "shows 'QSR@50', which is not a measure"),
        ('kind = "bars"\ny = []', "a plot has no measure: name one in y"),
        ('kind = "line"\ny = ["num_candidates"]', "a line plot has no x: name the setting on its axis"),
        ('kind = "line"\nx = "nots"\ny = ["num_candidates"]', "has x = 'nots', which no condition sets"),
        ('kind = "pie"\ny = ["num_candidates"]', "Invalid enum value 'pie'"),
    ],
)
def test_a_plot_of_what_there_is_not_is_refused(tmp_path: Path, plot: str, says: str) -> None:
    with pytest.raises(ExperimentRejected, match=says):
        read_experiment(_write(tmp_path, HEAD + CONDITIONS + "[[plots]]\n" + plot))


PAPER = """
[paper]
paper = "SHRAG"
item = "Table 1"
difference = "Its questions are not public."
percent = ["nDCG@10"]
[[expected]]
set = "s"
condition = "or"
values = {"nDCG@10" = 94.0, "num_candidates" = 30.0}
"""


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (('set = "s"', 'set = "gone"'), "there are expected values of the set 'gone', which does not exist"),
        (('condition = "or"', 'condition = "xor"'), "there are expected values of the condition 'xor', which does not"),
        (('"num_candidates" =', '"RR" ='), "there is an expected value of 'RR', which is not measured"),
        (('percent = ["nDCG@10"]', 'percent = ["R@100"]'), "'R@100' is in per cent, but no value of it is expected"),
        ((PAPER[: PAPER.index("[[expected]]")], ""), "there are expected values but no paper: write a table"),
    ],
)
def test_values_of_a_paper_are_of_what_the_experiment_measures(
    tmp_path: Path, changed: tuple[str, str], says: str
) -> None:
    text = HEAD + CONDITIONS + PAPER
    assert read_experiment(_write(tmp_path, text)).expected[0].values == {"nDCG@10": 94.0, "num_candidates": 30.0}
    with pytest.raises(ExperimentRejected, match=says):
        read_experiment(_write(tmp_path, text.replace(*changed)))


@pytest.mark.parametrize(
    ("top", "condition", "says"),
    [
        ("judge = true", "", "answers are judged, but no condition has answers: write `answers = true` in one"),
        ("judge = true\nrepeats = 2", "answers = true", "repeats is 2, but answers are judged once: leave out repeats"),
        ("judge_records = 9\nrepeats = 2", "", "repeats is 2, but records are judged once: leave out repeats"),
        ("judge_records = -1", "", "judge_records is -1 but must be at least 0"),
    ],
)
def test_what_a_judge_cannot_judge_is_refused(tmp_path: Path, top: str, condition: str, says: str) -> None:
    text = (HEAD + CONDITIONS).replace('name = "or"', f'name = "or"\n{condition}', 1)
    with pytest.raises(ExperimentRejected, match=says):
        read_experiment(_write(tmp_path, top + text))


def test_a_judge_and_the_largest_k_are_taken(tmp_path: Path) -> None:
    text = (HEAD + CONDITIONS).replace('name = "or"', 'name = "or"\nanswers = true\nk = 1000', 1)
    experiment = read_experiment(_write(tmp_path, "k = 1000\njudge = true\njudge_records = 0" + text))
    assert (experiment.k, experiment.conditions[0].k, experiment.judge) == (1000, 1000, True)


def test_an_encoder_is_replaced_wherever_the_experiment_has_it_and_no_other(tmp_path: Path) -> None:
    text = HEAD + SHARED.replace('index = "both"', 'index = "both"\nencoder = "gte"') + CONDITIONS
    experiment = read_experiment(_write(tmp_path, text + '[[conditions]]\nname = "lsa"\nencoder = "lsa"\n'))
    replaced = replace_encoders(experiment, {"gte": "/weights/tiny"})
    assert [each.encoder for each in replaced.sets] == ["", "", "/weights/tiny", "/weights/tiny"]
    assert [each.encoder for each in replaced.conditions if each.encoder] == ["lsa"]
    with pytest.raises(ExperimentRejected, match="There is no encoder 'e5': use one of gte, lsa"):
        replace_encoders(experiment, {"e5": "/weights/tiny"})
    without = read_experiment(_write(tmp_path, HEAD + CONDITIONS))
    with pytest.raises(ExperimentRejected, match="There is no encoder 'gte': use one of none"):
        replace_encoders(without, {"gte": "/weights/tiny"})
    with pytest.raises(ExperimentRejected, match="There is no encoder 'none': use one of none"):
        replace_encoders(without, {"none": "/weights/tiny"})


def test_references_are_a_file_or_one_in_others_words(tmp_path: Path) -> None:
    for given, source in (
        ('"r.jsonl"', ReferenceSource("r.jsonl")),
        (
            '{path = "r.jsonl", choices = ["a", "b"], choice = "c"}',
            ReferenceSource("r.jsonl", "answers", ("a", "b"), "c"),
        ),
        ('{path = "r.jsonl", choices = "options"}', ReferenceSource("r.jsonl", choices="options")),
    ):
        (judged_set,) = read_experiment(
            _write(tmp_path, HEAD.replace('qrels = "q.txt"', f"references = {given}") + CONDITIONS)
        ).sets
        assert judged_set.reference_source == source
        assert judged_set.qrels == ""


def test_no_set_and_no_condition_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ExperimentRejected, match=r"there is no condition: write at least one table \[\[conditions\]\]"):
        read_experiment(_write(tmp_path, HEAD.replace('baseline = "or"', "conditions = []")))


def test_an_experiment_is_found_by_path_or_by_name(tmp_path: Path) -> None:
    path = _write(tmp_path, HEAD)
    assert find_experiment(str(path)) == path
    assert find_experiment("demo").name == "demo.toml"
    with pytest.raises(ExperimentRejected, match=r"no experiment 'nope': give a TOML file or one of .*demo"):
        find_experiment("nope")
    with pytest.raises(ExperimentRejected, match="cannot be read: No such file"):
        read_experiment(tmp_path / "gone.toml")


def test_narrowing_keeps_the_baseline_and_takes_a_whole_grid_by_its_name(tmp_path: Path) -> None:
    experiment = read_experiment(_write(tmp_path, HEAD + CONDITIONS))
    assert narrow_experiment(experiment, [], [], None) == experiment
    assert len(narrow_experiment(experiment, ["s"], ["and"], None).conditions) == 5
    plotted = read_experiment(
        _write(tmp_path, HEAD + CONDITIONS + '[[plots]]\nkind = "line"\nx = "ands"\ny = ["num_candidates"]')
    )
    assert len(narrow_experiment(plotted, [], ["and"], None).plots) == 1
    assert narrow_experiment(plotted, [], ["or"], None).plots == ()
    narrowed = narrow_experiment(experiment, [], ["and-ands-9-glossary-true"], 7)
    assert [each.name for each in narrowed.conditions] == ["or", "and-ands-9-glossary-true"]
    assert [each.sample for each in narrowed.sets] == [7]
    with pytest.raises(ExperimentRejected, match="There is no set 'x': use one of s"):
        narrow_experiment(experiment, ["x"], [], None)
    with pytest.raises(ExperimentRejected, match="There is no condition 'x': use one of or, and-ands-1"):
        narrow_experiment(experiment, [], ["x"], None)


SHARED = """
[[sets]]
name = "alone"
corpus = {format = "miracl", paths = ["ko"]}
topics = "t.tsv"
qrels = "q.txt"
[[sets]]
name = "joint"
corpus = {format = "miracl", paths = ["ko", "en"]}
index = "both"
topics = "t.tsv"
qrels = "q.txt"
compare_with = "alone"
[[sets]]
name = "other"
corpus = {format = "miracl", paths = ["ko", "en"]}
index = "both"
topics = "t.tsv"
qrels = "q.txt"
min_grade = 2
"""


def test_sets_can_share_an_index_of_the_same_corpus_and_be_compared(tmp_path: Path) -> None:
    path = _write(tmp_path, HEAD + SHARED + CONDITIONS)
    experiment = read_experiment(path)
    assert [index_name(each, "") for each in experiment.sets] == ["demo", "alone", "both", "both"]
    assert narrow_experiment(experiment, ["joint", "alone"], [], None).sets[1].compare_with == "alone"
    assert narrow_experiment(experiment, ["joint"], [], None).sets[0].compare_with == ""
    for changed, says in (
        (('compare_with = "alone"', 'compare_with = "lone"'), "the set joint is compared with 'lone', which is no"),
        (('compare_with = "alone"', 'compare_with = "joint"'), "compared with 'joint', which is no other set"),
        (('"en"]}\nindex = "both"\ntopics = "t.tsv"\nqrels = "q.txt"\nmin', '"fr"]}\nindex = "both"\ntopics = "t.tsv"\n'
          'qrels = "q.txt"\nmin'), "the sets joint and other share the index both but not its corpus"),
        (("min_grade = 2", "min_grade = 0"), "min_grade of the set other is 0 but must be at least 1"),
    ):  # fmt: skip
        with pytest.raises(ExperimentRejected, match=says):
            read_experiment(_write(tmp_path, (HEAD + SHARED + CONDITIONS).replace(*changed)))


def test_a_plot_of_risk_and_coverage_has_its_own_axes(tmp_path: Path) -> None:
    text = HEAD + CONDITIONS + '[[plots]]\nkind = "risk-coverage"\n'
    assert read_experiment(_write(tmp_path, text)).plots[0].y == ()
    with pytest.raises(ExperimentRejected, match="has its own axes: leave out x and y"):
        read_experiment(_write(tmp_path, text + 'y = ["num_candidates"]'))


def test_an_experiment_over_an_own_index_keeps_the_conditions_that_it_can_be_asked_under(tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").touch()
    (tmp_path / "qrels.txt").touch()
    demo = read_experiment(built_in_experiments()["demo"])
    own = ask_own_questions(demo, "sci", tmp_path)
    assert own.sets == (JudgedSet("sci", "topics.tsv", "qrels.txt", index="sci"),)
    assert ([each.name for each in own.conditions], own.baseline) == (["shrag", "bm25"], "shrag")
    only = msgspec.structs.replace(demo, conditions=demo.conditions[1:], baseline="hybrid")
    assert ask_own_questions(only, "sci", tmp_path).baseline == ""
    with pytest.raises(ExperimentRejected, match="Each condition needs an index of its own"):
        ask_own_questions(msgspec.structs.replace(demo, conditions=demo.conditions[2:]), "sci", tmp_path)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (('qrels = "q.txt"', ""), "평가 집합 s: qrels와 references가 모두 없습니다."),
        (('name = "or"', 'name = "Or"'), "조건 'Or': 파일 이름이 되므로 쓸 수 없는 이름입니다."),
        (('name = "or"', 'name = "or"\nstrategy = "best"'), "'best'"),
    ],
)
def test_what_is_wrong_is_said_in_korean_too(tmp_path: Path, changed: tuple[str, str], says: str) -> None:
    path = _write(tmp_path, (HEAD + CONDITIONS).replace(*changed))
    with pytest.raises(ExperimentRejected) as raised:
        read_experiment(path)
    message = in_language(message_of(raised.value), "ko")
    assert message.startswith(f"{path}: ")
    assert says in message
    assert message != str(raised.value)
