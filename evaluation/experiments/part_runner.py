"""Run one part of an experiment: ask its remaining questions and write its files."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

from shrag.corpora.records import Topic
from shrag.corpora.store.open_corpus import open_corpus
from shrag.evaluation.experiments.engines import (
    Folders,
    ModelChoice,
    OpenIndexes,
    ask_topic,
    condition_engine,
    index_name,
)
from shrag.evaluation.experiments.judged_topics import JudgedQuestions
from shrag.evaluation.experiments.part import (
    ExperimentPart,
    append_to_journal,
    is_done,
    journal_path,
    read_journal,
    write_part,
)
from shrag.evaluation.experiments.run_card import repeat_seed, uses_model
from shrag.evaluation.experiments.spec import Condition, Experiment
from shrag.evaluation.peers.base import ask_peer
from shrag.evaluation.questions.batch import ask_all
from shrag.evaluation.questions.outcome import QuestionRecord
from shrag.models.language_model import LanguageModel


@dataclass(frozen=True, slots=True)
class PartRunner:
    """Run parts with the experiment's shared resources.

    ``report`` is called with the part and the number of its questions that are done.
    """

    folder: Path
    experiment: Experiment
    questions: Mapping[str, JudgedQuestions]
    folders: Folders
    indexes: OpenIndexes
    model: ModelChoice | None
    pool: ThreadPoolExecutor
    report: Callable[[str, int], None]

    def run(self, part: ExperimentPart, condition: Condition) -> int:
        """Complete the part; return how many questions were asked for it, 0 where it was complete."""
        path = journal_path(self.folder, part)
        if is_done(self.folder, part):
            path.unlink(missing_ok=True)
            return 0
        topics = self.questions[part.set].topics
        records = read_journal(path, [topic.qid for topic in topics])
        resumed = len(records)
        # Closing cancels the questions that no thread has started.
        with closing(self._ask(part, condition, topics[resumed:])) as answers:
            for record in append_to_journal(path, answers):
                records.append(record)
                self.report(part.stem, len(records))
        write_part(self.folder, part, records)
        return len(records) - resumed

    def _ask(
        self, part: ExperimentPart, condition: Condition, topics: tuple[Topic, ...]
    ) -> Generator[QuestionRecord, None, None]:
        """Yield a record for each topic, in their order."""
        if not topics:
            return
        judged = self.questions[part.set].judged
        choices = {each.qid: each.choices for each in self.questions[part.set].references}
        judged_set = next(each for each in self.experiment.sets if each.name == part.set)
        name = index_name(judged_set, condition.encoder)
        if condition.peer:
            _, records = open_corpus(self.folders.corpora, name)
            yield from ask_peer(condition.peer, records, topics, judged, self.experiment.k)
            return
        with self._model(part, condition) as model:
            engine = condition_engine(condition, self.indexes[name], self.folders.indexes, model)

            def ask(topic: Topic) -> QuestionRecord:
                return ask_topic(
                    engine, condition, self.experiment.k, topic, judged[topic.qid], choices.get(topic.qid, ())
                )

            yield from ask_all(ask, topics, self.pool)

    def _model(self, part: ExperimentPart, condition: Condition) -> AbstractContextManager[LanguageModel | None]:
        if self.model is None or not uses_model(condition, self.model):
            return nullcontext()
        return self.model.open(repeat_seed(self.experiment.seed, part.repeat))
