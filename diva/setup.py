"""What a profile stands for in DIVA: who interprets, verifies and writes.

The embedded language model can't interpret or verify by prompting (notebook 6 measures it): it has a trained adapter for
either role, interprets from the titles of a first retrieval, and answers one interpretation at a time. Any other
model is prompted as in the paper.
"""

from collections.abc import Sequence

from diva.clarifications import Expander, GeneratorExpander, PerInterpretationExpander, TreeOfClarifications
from diva.generation import PerInterpretationWriter, TwoStepWriter, Writer
from diva.interpretation import (
    Ambiguity,
    Demonstration,
    Demonstrations,
    Interpreter,
    TitlesInterpreter,
    TwoStepInterpreter,
)
from diva.pruning import KEEP
from diva.query_refinement import QueryRefinement
from diva.system import Corrective, Diva, Variant
from diva.training import INTERPRETATION, VERIFICATION
from diva.verification import GeneratorVerifier, Verifier
from rag.generation import Generator
from rag.retrieval import Retriever
from rag.scoring.ambiguous import AmbiguousScorer
from rag.scoring.readers import AnswerReader, ExtractiveReader, LexicalReader
from rag.setup import Setup
from rag.systems import ClosedBook, GeneratorReader, StandardRag
from rag.types import Question, Task

INTERPRETATION_TOKENS, EXTRACTION_TOKENS = 128, 16
# The adapter stops too early, as most names that it learnt from have two bearers. Of 0, -3 and -6, this is best on the dev
# questions: recall of interpretations .68 and precision .60, instead of .56 and .67, and .72 and .38.
INTERPRETATION_END_BIAS = -3.0
REASONS = {
    "surname": (Ambiguity.SUBJECT, "several people have this family name"),
    "sense": (Ambiguity.SUBJECT, "several things bear this name"),
    "ruler": (Ambiguity.SUBJECT, "several rulers have this name"),
    "office": (Ambiguity.TIME, "several people have held this office"),
    "event": (Ambiguity.SUBJECT, "there was more than one event of this name"),
    "work": (Ambiguity.OBJECT, "there is more than one such work"),
    "unambiguous": (Ambiguity.NONE, "the name means one thing"),
}


def is_embedded(setup: Setup) -> bool:
    """Whether the profile's generator is the embedded language model."""
    return not (setup.profile.generator.model or setup.profile.generator.base_url)


def long_generator(setup: Setup) -> Generator:
    """The generator with the length of long answers."""
    return setup.generator(Task.AMBIGUOUS)


def demonstrations(setup: Setup) -> Demonstrations:
    """The train questions as examples for prompts."""
    return Demonstrations([demonstration(question) for question in setup.all_ambiguous["train"]], setup.cached_encoder)


def demonstration(question: Question) -> Demonstration:
    """A question of ours as an example: the kind of its ambiguity and the reason follow from how it was made."""
    kind, reason = REASONS[question.form]
    return Demonstration(question.text, (kind,), reason, tuple(own.text for own in question.interpretations))


def make_interpreter(setup: Setup, retriever: Retriever) -> Interpreter:
    """The profile's interpreter; `retriever` gives the titles that a small model is shown."""
    if is_embedded(setup):
        generator = setup.adapted_generator(INTERPRETATION, INTERPRETATION_TOKENS, INTERPRETATION_END_BIAS)
        return TitlesInterpreter(generator, retriever)
    return TwoStepInterpreter(long_generator(setup), demonstrations(setup))


def make_verifier(setup: Setup) -> Verifier:
    """The profile's verifier."""
    generator = setup.adapted_generator(VERIFICATION, 1) if is_embedded(setup) else long_generator(setup)
    return GeneratorVerifier(generator)


def make_extractor(setup: Setup) -> Generator:
    """The embedded language model with the adapter that verifies: behind its yes stands the answer."""
    return setup.adapted_generator(VERIFICATION, EXTRACTION_TOKENS)


def make_writer(setup: Setup) -> Writer:
    """The profile's writer of long answers."""
    if is_embedded(setup):
        return PerInterpretationWriter(make_extractor(setup), long_generator(setup))
    return TwoStepWriter(long_generator(setup))


def answer_reader(setup: Setup) -> AnswerReader:
    """The reader of Disambig-F1: the model that the profile names, or the lexical one."""
    name = setup.profile.ambiguous.reader
    return ExtractiveReader(name) if name else LexicalReader()


def ambiguous_scorer(setup: Setup) -> AmbiguousScorer:
    """The scorer of long answers."""
    return AmbiguousScorer(answer_reader(setup))


def make_diva(
    setup: Setup,
    variant: Variant | None = None,
    corrective: Corrective | None = None,
    interpreter: Interpreter | None = None,
) -> Diva:
    """DIVA on the profile's ambiguous questions, or a variant of it."""
    retriever = setup.ambiguous_retriever
    return Diva(
        interpreter or make_interpreter(setup, retriever),
        retriever,
        setup.cached_encoder,
        make_verifier(setup),
        make_writer(setup),
        long_generator(setup),
        variant,
        corrective,
    )


def make_rag(setup: Setup) -> StandardRag:
    """Standard RAG, with as many passages to read as DIVA keeps."""
    return StandardRag(setup.ambiguous_retriever, GeneratorReader(long_generator(setup)), KEEP)


def make_refinement(setup: Setup) -> QueryRefinement:
    """The baseline that rewrites its query."""
    return QueryRefinement(setup.generator(Task.SHORT_ANSWER), setup.ambiguous_retriever, long_generator(setup))


def make_clarifications(setup: Setup) -> TreeOfClarifications:
    """Iterative RAG, with the same roles in the same hands as in DIVA."""
    retriever, generator = setup.ambiguous_retriever, long_generator(setup)
    expander: Expander = GeneratorExpander(generator)
    if is_embedded(setup):
        expander = PerInterpretationExpander(make_interpreter(setup, retriever), make_extractor(setup))
    return TreeOfClarifications(expander, retriever, setup.cached_encoder, generator, join=is_embedded(setup))


def baselines(setup: Setup) -> Sequence[ClosedBook | StandardRag | QueryRefinement | TreeOfClarifications]:
    """The systems that DIVA's paper compares it with, but for Self-RAG and CRAG, which are `crag`'s."""
    return [
        ClosedBook(GeneratorReader(long_generator(setup))),
        make_rag(setup),
        make_refinement(setup),
        make_clarifications(setup),
    ]
