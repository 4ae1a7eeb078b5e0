"""Real data from outside: RAMDocs' typed documents, and ASQA's questions over real Wikipedia passages.

Nothing is trained, fitted or copied here, and the tables hold ids and scores. `make external` reads the folder that
RAG_EXTERNAL_DATA names.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from diva.analysis import coverage_table
from diva.diversification import TOP_K, Candidates, Kept, diversify, fit, keep_best
from diva.generation import Writer
from diva.interpretation import GoldInterpreter, Interpreter
from diva.pruning import KEEP
from diva.system import Diva, Variant
from diva.verification import Verdict, Verifier
from rag.corpus import load_collection, read_lines
from rag.datasets.published import DOCUMENT_KINDS, DocumentSet, load_document_sets, load_questions
from rag.encoding import Encoder
from rag.errors import RagError
from rag.experiment import Scorer, run_systems, summarise
from rag.external import draw, external_run
from rag.generation import Generator
from rag.results import write_table
from rag.retrieval import Retriever
from rag.scoring.ambiguous import AmbiguousScorer, Matching, coverage_labels, covered, found_answers, mrecall, str_em
from rag.scoring.readers import AnswerReader
from rag.scoring.significance import estimate
from rag.scoring.text import comparable, contains_answer
from rag.setup import load_setup, make_retrievers
from rag.systems import ClosedBook, GeneratorReader, StandardRag
from rag.types import Answer, Hit, Interpretation, Passage, Question, Task

RAMDOCS = Path("ramdocs") / "ramdocs.jsonl"
ASQA = Path("asqa") / "asqa_dev.jsonl"
PASSAGES = Path("asqa") / "passages_dpr.jsonl"
QUESTIONS = 100
CONTEXT_WORDS = 1000
MRECALL_K = 5
QUOTED_CHARS = 60
CORRECT, MISINFO, NOISE = DOCUMENT_KINDS
# What of a system's trace goes into the rows: none of it quotes the data.
TRACED = {"usefulness": "usefulness", "written": "form", "calls": "calls"}


@dataclass(frozen=True)
class Parts:
    """What DIVA is made of beside interpreter and retriever. `generator` also answers for the other systems."""

    encoder: Encoder
    verifier: Verifier
    writer: Writer
    generator: Generator

    def diva(self, interpreter: Interpreter, retriever: Retriever, variant: Variant | None = None) -> Diva:
        """The method of these parts."""
        parts = (self.encoder, self.verifier, self.writer, self.generator)
        return Diva(interpreter, retriever, *parts, variant, max_context_words=CONTEXT_WORDS)


class GivenDocuments:
    """Gives the text of each question, and each of its gold interpretations, the question's documents in their order.

    Of documents over `max_words` the last ones are left out. Raises `RagError` for a text of two questions, and for one of
    none.
    """

    name = "given"

    def __init__(self, sets: Sequence[DocumentSet], max_words: int | None = None):
        self.pools: dict[str, tuple[Passage, ...]] = {}
        for own in sets:
            texts = {own.question.text, *(meant.text for meant in own.question.interpretations)}
            if twice := texts & self.pools.keys():
                raise RagError(f"documents are given twice for {_quoted(min(twice))}: a text is of one question alone")
            self.pools.update(dict.fromkeys(texts, fit(Kept(own.passages), max_words).passages))

    def retrieve(self, queries: list[str], k: int) -> list[list[Hit]]:
        if missing := [query for query in queries if query not in self.pools]:
            raise RagError(
                f"no documents are given for {_quoted(missing[0])}: ask a question or interpretation of the set"
            )
        return [[Hit(passage, -rank) for rank, passage in enumerate(self.pools[query][:k])] for query in queries]


def _quoted(text: str) -> str:
    return repr(text[:QUOTED_CHARS])


def without_giveaways(sets: Sequence[DocumentSet]) -> list[DocumentSet]:
    """The sets of which no interpretation names a right or wrong answer.

    In a third of RAMDocs' questions the answer tells the entities apart: "Where is the hall? (Hall (Leeds))". A system that
    is shown it would be scored on what it was told.
    """
    return [
        own
        for own in sets
        if not any(
            contains_answer(meant.text, (*own.question.answers, *own.wrong_answers))
            for meant in own.question.interpretations
        )
    ]


def pruning_rows(sets: Sequence[DocumentSet], encoder: Encoder) -> pd.DataFrame:
    """S(p) of every document for its question's gold interpretations, and whether pruning keeps it.

    Columns question_id, passage_id, kind, score, kept, a question's documents best first.
    """
    questions, size = [own.question for own in sets], _largest(sets)
    interpreted = GoldInterpreter().interpret(questions)
    candidates = diversify([own.interpretations for own in interpreted], GivenDocuments(sets), size, size)
    rows = []
    for own, ranked in zip(sets, keep_best(candidates, encoder, size), strict=True):
        kinds = dict(zip(own.passages, own.kinds, strict=True))
        rows += [
            {
                "question_id": own.question.id,
                "passage_id": passage.id,
                "kind": kinds[passage],
                "score": score,
                "kept": float(rank < KEEP),
            }
            for rank, (passage, score) in enumerate(zip(ranked.passages, ranked.scores, strict=True))
        ]
    return pd.DataFrame(rows)


def pruning_table(rows: pd.DataFrame, samples: int, seed: int) -> pd.DataFrame:
    """How well S(p) tells documents apart, as means over questions with these kinds (value, ci_low, ci_high, n).

    "kept" is the share of a question's documents of a kind that pruning keeps, of questions that have more than it keeps;
    "auc" that of a correct document against one of another kind. `chance` is what a random order gives.
    """
    sizes = rows.groupby("question_id")["kept"].transform("size")
    large = rows[sizes > KEEP].assign(chance=KEEP / sizes)
    table = []
    for kind in DOCUMENT_KINDS:
        shares = large[large["kind"] == kind].groupby("question_id")[["kept", "chance"]].mean()
        if len(shares):
            chance = shares["chance"].mean()
            table.append(
                {"metric": "kept", "documents": kind, **estimate(shares["kept"], samples, seed), "chance": chance}
            )
    for kind in (MISINFO, NOISE):
        pairs = rows[rows["kind"].isin([CORRECT, kind])]
        areas = [
            roc_auc_score(own["kind"] == CORRECT, own["score"])
            for _, own in pairs.groupby("question_id")
            if own["kind"].nunique() > 1
        ]
        if areas:
            against = f"{CORRECT} against {kind}"
            table.append({"metric": "auc", "documents": against, **estimate(areas, samples, seed), "chance": 0.5})
    return pd.DataFrame(table)


def verification_rows(sets: Sequence[DocumentSet], verifier: Verifier) -> pd.DataFrame:
    """P(yes) of every gold interpretation over its correct documents, which hold its answer, and over the noise alone.

    Of those interpretations that have such documents, where there is noise; all are judged in one call. Columns
    question_id, interpretation (its place), and for each of the two: documents, chance and yes. Where the verifier gives
    no chance, its verdict stands for it.
    """
    places, texts = [], []
    asked: list[list[tuple[Passage, ...]]] = []
    for own in sets:
        noise = tuple(_of_kind(own, NOISE))
        for place, meant in enumerate(own.question.interpretations):
            correct = tuple(passage for passage in _of_kind(own, CORRECT) if any(covered([passage.text], [meant])))
            if correct and noise:
                places.append((own.question.id, place))
                texts.append(meant.text)
                asked.append([correct, noise])
    kept = [fit(Kept(passages), CONTEXT_WORDS) for both in asked for passages in both]
    candidates = [_candidates(text, passages) for text, both in zip(texts, asked, strict=True) for passages in both]
    verdicts = iter([own.verdicts[0] for own in verifier.verify(candidates, kept)])
    return pd.DataFrame(
        [
            {
                "question_id": question_id,
                "interpretation": place,
                **_judged(CORRECT, both[0], next(verdicts)),
                **_judged(NOISE, both[1], next(verdicts)),
            }
            for (question_id, place), both in zip(places, asked, strict=True)
        ]
    )


def _of_kind(own: DocumentSet, kind: str) -> list[Passage]:
    return [passage for passage, its in zip(own.passages, own.kinds, strict=True) if its == kind]


def _candidates(text: str, passages: tuple[Passage, ...]) -> Candidates:
    return Candidates((text,), (tuple(Hit(passage, 0.0) for passage in passages),), passages)


def _judged(kind: str, passages: Sequence[Passage], verdict: Verdict) -> dict[str, float]:
    chance = float(verdict.answered) if verdict.chance is None else verdict.chance
    return {f"{kind}_documents": len(passages), f"{kind}_chance": chance, f"{kind}_yes": float(verdict.answered)}


def verification_table(rows: pd.DataFrame, samples: int, seed: int) -> pd.DataFrame:
    """How well verification tells correct documents from noise: metric, value, ci_low, ci_high, n (interpretations).

    "auc" is how often the correct documents of an interpretation get the higher P(yes), a tie being half; "roc_auc" is
    over all interpretations at once, as one threshold for all sees them, and has no interval. The others are the shares
    judged yes. Intervals take interpretations as independent. Raises `RagError` where there are no rows.
    """
    if rows.empty:
        raise RagError("no question has both correct documents and noise: take more questions")
    correct, noise = rows["correct_chance"], rows["noise_chance"]
    values = {
        "auc": (correct > noise) + (correct == noise) / 2,
        "yes on correct": rows["correct_yes"],
        "yes on noise": rows["noise_yes"],
    }
    table = [{"metric": metric, **estimate(own.to_numpy(), samples, seed)} for metric, own in values.items()]
    truth = np.repeat([True, False], len(rows))
    pooled = {"metric": "roc_auc", "value": roc_auc_score(truth, pd.concat([correct, noise])), "n": len(rows)}
    return pd.DataFrame([*table, pooled])


def ramdocs_systems(sets: Sequence[DocumentSet], parts: Parts) -> list[ClosedBook | StandardRag | Diva]:
    """The generator alone, reading all documents in their order, and DIVA on them with the gold interpretations."""
    reader, size = GeneratorReader(parts.generator), _largest(sets)
    return [
        ClosedBook(reader),
        StandardRag(GivenDocuments(sets, CONTEXT_WORDS), reader, size),
        parts.diva(GoldInterpreter(), GivenDocuments(sets), Variant(top_k=size, pool=size)),
    ]


def _largest(sets: Sequence[DocumentSet]) -> int:
    """Enough passages for all documents of each question."""
    return max(KEEP, *(len(own.passages) for own in sets))


def ramdocs_scorer(sets: Sequence[DocumentSet]) -> Scorer:
    """`str_em` against the gold answers, and `wrong_answers`: the share of the wrong ones that stand in the output.

    Equal wrong answers count once, and those that equal a gold one don't count. A question without any has no score (NaN).
    """
    wrong = {own.question.id: _wrong(own) for own in sets}

    def score(questions: list[Question], answers: list[Answer]) -> list[dict[str, float]]:
        return [
            {
                "str_em": str_em(answer.text, question.interpretations),
                "wrong_answers": np.mean(found_answers(answer.text, own)) if (own := wrong[question.id]) else np.nan,
            }
            for question, answer in zip(questions, answers, strict=True)
        ]

    return score


def _wrong(own: DocumentSet) -> list[Interpretation]:
    gold = set(map(comparable, own.question.answers))
    distinct = {comparable(answer): answer for answer in own.wrong_answers}
    return [Interpretation(own.question.text, (answer,)) for key, answer in distinct.items() if key not in gold]


def ramdocs_rows(sets: Sequence[DocumentSet], parts: Parts) -> pd.DataFrame:
    """Rows of `run_systems` without texts: the three systems on RAMDocs."""
    systems, questions = ramdocs_systems(sets, parts), [own.question for own in sets]
    return without_texts(run_systems(systems, questions, ramdocs_scorer(sets)))


def without_texts(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of `run_systems` without output and trace; of the trace stay the verdict, how it was written and the calls."""
    traces = [json.loads(trace) for trace in rows["trace"]]
    told = {name: [trace.get(key) for trace in traces] for name, key in TRACED.items()}
    return rows.drop(columns=["output", "trace"]).assign(**told)


def load_asqa(path: Path, passages: Sequence[Passage]) -> list[Question]:
    """The questions that the collection has a passage for: of one of their own pages, with a gold answer in it.

    A question's pages are the titles in its row's `wikipages`; answers are looked for as whole tokens. Raises `RagError`
    that names the row for one without pages, and where no question is left.
    """
    by_title: dict[str, list[str]] = defaultdict(list)
    for passage in passages:
        by_title[passage.title].append(passage.text)
    pages = own_pages(path)
    found = []
    for question in load_questions(path, Task.AMBIGUOUS):
        texts = [text for title in sorted(pages[question.id]) for text in by_title.get(title, [])]
        if any(covered(texts, question.interpretations, Matching.TOKEN)):
            found.append(question)
    if not found:
        raise RagError(
            f"no question of {path.name} has a passage in the collection: give it the passages of ASQA's pages"
        )
    return found


def own_pages(path: Path) -> dict[str, frozenset[str]]:
    """The titles of the Wikipedia pages of each ASQA question, by its id."""
    pages = {}
    for number, line in enumerate(read_lines(path), start=1):
        try:
            row = json.loads(line)
            pages[str(row["id"])] = frozenset(page["title"] for page in row["wikipages"])
        except (ValueError, KeyError, TypeError) as error:
            raise RagError(f"{path.name}, row {number}: a row of ASQA needs id and wikipages ({error!r})") from error
    return pages


def asqa_rows(
    questions: list[Question], retriever: Retriever, interpreter: Interpreter, parts: Parts, reader: AnswerReader
) -> pd.DataFrame:
    """MRecall of standard retrieval, DIVA's and that of the gold interpretations, and the answers of the first two and of
    the generator alone.

    The rows hold no texts. Each system reads at most five passages, and retrieves five for the question or for each
    interpretation. `reader` is the one of D-F1, `coverage` that of the gold answers by what standard retrieval finds.
    """
    answering = [
        ClosedBook(GeneratorReader(parts.generator)),
        StandardRag(retriever, GeneratorReader(parts.generator), TOP_K),
        parts.diva(interpreter, retriever),
    ]
    alone, standard, diva = (system.name for system in answering)
    hits = retriever.retrieve([question.text for question in questions], TOP_K)
    rows = retrieval_rows(
        questions,
        {
            standard: [[hit.passage for hit in own] for own in hits],
            diva: kept_passages(questions, interpreter, retriever, parts.encoder),
            "gold interpretations": kept_passages(questions, GoldInterpreter(), retriever, parts.encoder),
        },
    )
    answered = without_texts(run_systems(answering, questions, AmbiguousScorer(reader)))
    rows = rows.merge(answered, on=["system", "question_id"], how="left")
    rows = pd.concat([rows, answered[answered["system"] == alone]], ignore_index=True)
    rows.insert(0, "reader", reader.name)
    return rows.assign(coverage=rows["question_id"].map(coverage_labels(questions, hits)))


def kept_passages(
    questions: Sequence[Question], interpreter: Interpreter, retriever: Retriever, encoder: Encoder
) -> list[tuple[Passage, ...]]:
    """What is retrieved for the interpretations and left by pruning, best first."""
    texts = [own.interpretations for own in interpreter.interpret(questions)]
    return [own.passages for own in keep_best(diversify(texts, retriever), encoder)]


def retrieval_rows(questions: Sequence[Question], found: Mapping[str, Sequence[Sequence[Passage]]]) -> pd.DataFrame:
    """MRecall@5 of what each system found for each question, by both rules of what counts as an answer."""
    return pd.DataFrame(
        [
            {
                "system": system,
                "question_id": question.id,
                "retrieved": json.dumps([passage.id for passage in passages], ensure_ascii=False),
                **{
                    f"mrecall_{rule}": mrecall(
                        [passage.text for passage in passages], question.interpretations, MRECALL_K, rule
                    )
                    for rule in Matching
                },
            }
            for system, of_all in found.items()
            for question, passages in zip(questions, of_all, strict=True)
        ]
    )


def main() -> None:
    """Write the external tables of a profile."""
    from diva.setup import answer_reader, long_generator, make_interpreter, make_verifier, make_writer

    run = external_run(__doc__, QUESTIONS)
    setup = load_setup(run.profile)
    profile = setup.profile
    samples, seed = profile.bootstrap_samples, profile.seed
    parts = Parts(setup.encoder, make_verifier(setup), make_writer(setup), long_generator(setup))

    sets = without_giveaways(load_document_sets(run.folder / RAMDOCS))
    sets = draw(sets, run.questions, lambda own: own.question.id)
    rows = pruning_rows(sets, parts.encoder)
    write_table(profile, "external_pruning", pruning_table(rows, samples, seed))
    write_table(profile, "external_pruning_rows", rows)
    rows = verification_rows(sets, parts.verifier)
    write_table(profile, "external_verification", verification_table(rows, samples, seed))
    write_table(profile, "external_verification_rows", rows)
    rows = ramdocs_rows(sets, parts)
    write_table(profile, "external_ramdocs", summarise(rows, StandardRag.name, samples, seed))
    write_table(profile, "external_ramdocs_rows", rows)

    collection = load_collection(run.folder / PASSAGES)
    questions = draw(load_asqa(run.folder / ASQA, collection), run.questions, lambda question: question.id)
    retriever = make_retrievers(collection, setup.encoder)[profile.retriever]
    rows = asqa_rows(questions, retriever, make_interpreter(setup, retriever), parts, answer_reader(setup))
    write_table(profile, "external_asqa", summarise(rows, StandardRag.name, samples, seed, by=["reader"]))
    write_table(profile, "external_asqa_coverage", coverage_table(rows.dropna(subset="str_em"), samples, seed))
    write_table(profile, "external_asqa_rows", rows)


if __name__ == "__main__":
    main()
