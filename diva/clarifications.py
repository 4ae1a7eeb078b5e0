"""Iterative RAG, a baseline that DIVA is compared with: Tree of Clarifications (Kim et al. 2023), as DIVA ran it."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from diva.generation import MAX_PAIRS, Extracted, consolidation_prompt, extract_each, join_answers
from diva.interpretation import Interpreter
from diva.parsing import ARROW, SEPARATOR, Pair, parse_pairs
from diva.pruning import DECIMALS, KEEP
from rag.cost import Cost, cost_trace, generate_each, spent, total
from rag.encoding import Encoder
from rag.errors import RagError
from rag.generation import Generator
from rag.prompts import answer_prompt, asked
from rag.retrieval import Retriever, indexed_text
from rag.scoring.text import normalise
from rag.systems import as_knowledge
from rag.types import Answer, Completion, Passage, Question

TREE_POOL = 25


@dataclass(frozen=True)
class Limits:
    """How far a tree grows (as DIVA ran it): pairs, their depth below the question, restarts from the question when the
    queue is empty, and expansions in all. `top_k` passages are read at a time."""

    nodes: int = 10
    depth: int = 3
    restarts: int = 3
    expansions: int = 15
    top_k: int = KEEP

    def __post_init__(self):
        if min(self.nodes, self.depth, self.expansions, self.top_k) < 1 or self.restarts < 0:
            raise RagError(f"limits of a tree are at least 1, restarts at least 0, not {self}")


@dataclass(frozen=True)
class Node:
    """A disambiguated pair of the tree; the question itself is the root, of depth 0 and without an answer."""

    question: str
    answer: str
    depth: int


@dataclass
class Tree:
    """One question's tree while it grows."""

    question: Question
    pool: list[Passage]
    vectors: np.ndarray
    limits: Limits
    nodes: list[Node] = field(default_factory=list)
    expansions: int = 0
    restarts: int = 0
    asked: set[tuple] = field(default_factory=set)
    cost: Cost = field(default_factory=dict)

    def __post_init__(self):
        self.root = Node(self.question.text, "", 0)
        self.queue = deque([self.root] if self.pool else [])

    @property
    def pairs(self) -> list[Pair]:
        return [Pair(node.question, node.answer) for node in self.nodes]

    def next_node(self) -> Node | None:
        """The next node to expand, from the root again when the queue is empty; None when a limit is reached."""
        if not self.pool or len(self.nodes) >= self.limits.nodes or self.expansions >= self.limits.expansions:
            return None
        if self.queue:
            return self.queue.popleft()
        return self.root if self.restarts < self.limits.restarts else None

    def best(self, vector: np.ndarray) -> list[Passage]:
        """The passages of the pool nearest to a question, the best first."""
        cosines = (self.vectors @ vector).astype(float).round(DECIMALS)
        return [self.pool[i] for i in np.argsort(-cosines, kind="stable")[: self.limits.top_k]]

    def grow(self, node: Node, expanded: Extracted) -> None:
        """Add the pairs of an expansion; those of a question that the tree has already are passed over."""
        self.restarts += node is self.root and self.expansions > 0
        self.expansions += 1
        self.cost = total(self.cost, expanded.cost)
        known = {normalise(own.question) for own in (self.root, *self.nodes)}
        for pair in expanded.pairs:
            if (key := normalise(pair.question)) in known or len(self.nodes) >= self.limits.nodes:
                continue
            known.add(key)
            child = Node(pair.question, pair.answer, node.depth + 1)
            self.nodes.append(child)
            if child.depth < self.limits.depth:
                self.queue.append(child)


@dataclass(frozen=True)
class Expansion:
    """A node to expand: the tree's question with the text of the node, what to read, and on a restart the pairs that are
    known already."""

    question: Question
    passages: Sequence[Passage]
    found: Sequence[Pair]


class Expander(Protocol):
    """Anything that writes disambiguated pairs of questions."""

    def expand(self, expansions: Sequence[Expansion]) -> list[Extracted]:
        """One result an expansion, in order."""


class GeneratorExpander:
    """One call an expansion writes the pairs."""

    def __init__(self, generator: Generator):
        self.generator = generator

    def expand(self, expansions: Sequence[Expansion]) -> list[Extracted]:
        completions = self.generator.generate([expansion_prompt(own) for own in expansions])
        return [Extracted(tuple(parse_pairs(own.text, MAX_PAIRS)), {"expand": spent([own])}) for own in completions]


class PerInterpretationExpander:
    """For small models: an interpreter writes the questions, and each is answered in a call of its own (`extract_each`)."""

    def __init__(self, interpreter: Interpreter, extractor: Generator):
        self.interpreter = interpreter
        self.extractor = extractor

    def expand(self, expansions: Sequence[Expansion]) -> list[Extracted]:
        interpreted = self.interpreter.interpret([own.question for own in expansions])
        texts = [own.interpretations for own in interpreted]
        extracted = extract_each(self.extractor, texts, [as_knowledge(own.passages) for own in expansions])
        return [
            replace(answers, cost=total(own.cost, answers.cost))
            for own, answers in zip(interpreted, extracted, strict=True)
        ]


class TreeOfClarifications:
    """Expand questions into disambiguated pairs, one call a node, then answer from the pairs and the best passages.

    Breadth first. The pool is retrieved once for the question and ranked again for each node (by cosine). All questions
    grow together, an expansion each a round. Decoding is greedy, so a restart shows the pairs that were found and asks
    for others; one that would ask the very same again ends the tree, since its answer is known. With `join` the answer
    is the pairs joined by rule, as for small models in DIVA, and the last call is for trees without a pair alone.
    """

    name = "iterative-rag"

    def __init__(
        self,
        expander: Expander,
        retriever: Retriever,
        encoder: Encoder,
        generator: Generator,
        join: bool = False,
        pool: int = TREE_POOL,
        limits: Limits | None = None,
    ):
        self.expander = expander
        self.retriever = retriever
        self.encoder = encoder
        self.generator = generator
        self.join = join
        self.pool = pool
        self.limits = limits or Limits()

    def answer(self, questions: list[Question]) -> list[Answer]:
        trees = self._plant(questions)
        growing = trees
        while growing:
            growing = self._grow(growing)
        roots = self._best([(tree, tree.root) for tree in trees])
        known = [as_knowledge(passages) for passages in roots]
        prompts = [self._last_prompt(tree, text) for tree, text in zip(trees, known, strict=True)]
        written = generate_each(self.generator, prompts)
        return [
            Answer(
                tree.question.id,
                replies[0].text if replies else join_answers(tree.pairs),
                tuple(passage.id for passage in passages),
                _trace(tree, replies),
            )
            for tree, passages, replies in zip(trees, roots, written, strict=True)
        ]

    def _last_prompt(self, tree: Tree, knowledge: str) -> list[str]:
        if not tree.nodes:
            return [answer_prompt(tree.question, knowledge)]
        return [] if self.join else [consolidation_prompt(tree.question, knowledge, tree.pairs)]

    def _plant(self, questions: list[Question]) -> list[Tree]:
        retrieved = self.retriever.retrieve([question.text for question in questions], self.pool)
        pools = [[hit.passage for hit in hits] for hits in retrieved]
        texts = list(dict.fromkeys(indexed_text(passage) for pool in pools for passage in pool))
        vectors = dict(zip(texts, self.encoder.encode(texts), strict=True)) if texts else {}
        return [
            Tree(question, pool, np.array([vectors[indexed_text(passage)] for passage in pool]), self.limits)
            for question, pool in zip(questions, pools, strict=True)
        ]

    def _grow(self, trees: list[Tree]) -> list[Tree]:
        """One expansion of each tree; returns those that may grow on."""
        popped = [(tree, node) for tree in trees if (node := tree.next_node())]
        asking = []
        for (tree, node), passages in zip(popped, self._best(popped), strict=True):
            found = tree.pairs if node is tree.root else []
            if (key := (node.question, *found)) not in tree.asked:
                tree.asked.add(key)
                asking.append((tree, node, Expansion(replace(tree.question, text=node.question), passages, found)))
        expanded = self.expander.expand([expansion for _, _, expansion in asking])
        for (tree, node, _), own in zip(asking, expanded, strict=True):
            tree.grow(node, own)
        return [tree for tree, _, _ in asking]

    def _best(self, nodes: Sequence[tuple[Tree, Node]]) -> list[list[Passage]]:
        """The passages to read for each node; all questions are encoded in one call."""
        texts = [node.question for tree, node in nodes if tree.pool]
        vectors = iter(self.encoder.encode(texts) if texts else [])
        return [tree.best(next(vectors)) if tree.pool else [] for tree, _ in nodes]


def expansion_prompt(expansion: Expansion) -> str:
    """Ask for disambiguated pairs of a question, others than those found."""
    listed = "\n".join(f"- {pair.question}{ARROW}{pair.answer}" for pair in expansion.found)
    besides = f"These are known already, write others:\n{listed}\n\n" if expansion.found else ""
    return (
        f"Text:\n{as_knowledge(expansion.passages)}\n\n{asked(expansion.question)}\n\n{besides}"
        "Write the clearer questions that this question can stand for and that the text answers, each with its answer in "
        f"a few words, on one line: question{ARROW}answer{SEPARATOR}question{ARROW}answer."
    )


def _trace(tree: Tree, replies: Sequence[Completion]) -> dict:
    form = "standard" if tree.pool else "closed book"
    if tree.nodes:
        form = "two steps" if replies else "joined by rule"
    note = None if tree.pool else "there are no passages"
    if not note and replies and not replies[0].text.strip():
        note = "the model wrote nothing"
    return {
        "nodes": [[node.question, node.answer, node.depth] for node in tree.nodes],
        "expansions": tree.expansions,
        "restarts": tree.restarts,
        "form": form,
        "generation": note,
        **cost_trace(tree.cost, {"write": spent(replies)}),
    }
