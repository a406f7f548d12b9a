"""Ask the questions that are left of a part, and write its files."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

from shrag.corpora.records import Topic
from shrag.corpora.store.open_corpus import open_corpus
from shrag.evaluation.experiments.engines import (
    ModelChoice,
    OpenIndexes,
    Places,
    ask_topic,
    condition_engine,
    index_name,
)
from shrag.evaluation.experiments.judged_topics import JudgedQuestions
from shrag.evaluation.experiments.part import Part, is_done, journal_path, keep, read_journal, write_part
from shrag.evaluation.experiments.run_card import repeat_seed, uses_model
from shrag.evaluation.experiments.spec import Condition, Experiment
from shrag.evaluation.peers.base import ask_peer
from shrag.evaluation.questions.batch import ask_all
from shrag.evaluation.questions.outcome import Asked
from shrag.models.language_model import LanguageModel


@dataclass(frozen=True, slots=True)
class PartRunner:
    """What every part of an experiment is run with. ``report`` is told the part and how many are asked of it."""

    folder: Path
    experiment: Experiment
    questions: Mapping[str, JudgedQuestions]
    places: Places
    indexes: OpenIndexes
    model: ModelChoice | None
    pool: ThreadPoolExecutor
    report: Callable[[str, int], None]

    def run(self, part: Part, condition: Condition) -> int:
        """Finish the part; return how many questions were asked for that, none where it was finished."""
        path = journal_path(self.folder, part)
        if is_done(self.folder, part):
            path.unlink(missing_ok=True)
            return 0
        topics = self.questions[part.set].topics
        kept = read_journal(path, [topic.qid for topic in topics])
        before = len(kept)
        # Closed whatever happens: questions that were handed to the threads and not begun are then not asked.
        with closing(self._ask(part, condition, topics[before:])) as coming:
            for asked in keep(path, coming):
                kept.append(asked)
                self.report(part.stem, len(kept))
        write_part(self.folder, part, kept)
        return len(kept) - before

    def _ask(self, part: Part, condition: Condition, topics: tuple[Topic, ...]) -> Generator[Asked, None, None]:
        """Yield the outcome of each topic, in their order."""
        if not topics:
            return
        judged = self.questions[part.set].judged
        choices = {each.qid: each.choices for each in self.questions[part.set].references}
        judged_set = next(each for each in self.experiment.sets if each.name == part.set)
        name = index_name(judged_set, condition.encoder)
        if condition.peer:
            _, records = open_corpus(self.places.corpora, name)
            yield from ask_peer(condition.peer, records, topics, judged, self.experiment.k)
            return
        with self._model(part, condition) as model:
            engine = condition_engine(condition, self.indexes[name], self.places.indexes, model)

            def ask(topic: Topic) -> Asked:
                return ask_topic(
                    engine, condition, self.experiment.k, topic, judged[topic.qid], choices.get(topic.qid, ())
                )

            yield from ask_all(ask, topics, self.pool)

    def _model(self, part: Part, condition: Condition) -> AbstractContextManager[LanguageModel | None]:
        if self.model is None or not uses_model(condition, self.model):
            return nullcontext()
        return self.model.open(repeat_seed(self.experiment.seed, part.repeat))
