"""A small application of one's own: finds the passages itself, and answers with or without a model.

    answer        a function without any model: the first sentences of the best passage
    answer_model  asks a model through the client that it is given, so that the call is in the ledger

Both take two settings: ``passages`` (how many it looks at) and ``sentences`` (how much of them it may say).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DOCUMENTS = Path(__file__).resolve().parent.parent / "academic_faq" / "documents"
NOISE = "a an and are be by can do does for from how i if in is it my of on or the to what when who"


def words(text: str) -> set[str]:
    """The words that tell something, without their plural s."""
    return {word.rstrip("s") for word in re.findall(r"[a-z]{2,}", text.casefold())} - set(NOISE.split())


def search(question: str, passages: int) -> list[str]:
    """The paragraphs of the documents that share most words with the question, best first."""
    wanted = words(question)
    found = []
    for file in sorted(DOCUMENTS.glob("*.md")):
        title, _, body = file.read_text(encoding="utf-8").partition("\n")
        for paragraph in body.split("\n\n"):
            if paragraph.strip() and not paragraph.lstrip().startswith("#"):
                score = len(wanted & words(paragraph)) + 0.5 * len(wanted & words(title))
                found.append((score, " ".join(paragraph.split())))
    best = sorted(found, key=lambda pair: -pair[0])[:passages]
    return [text for score, text in best if score > 0]


def answer(question: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The sentences of its passages that fit best, and the passages."""
    contexts = search(question, int(settings.get("passages", 1)))
    wanted = words(question)
    sentences = [part for context in contexts for part in re.split(r"(?<=[.!?])\s+", context)]
    best = sorted(sentences, key=lambda part: -len(wanted & words(part)))[: int(settings.get("sentences", 1))]
    return {"answer": " ".join(best) or "The context does not say.", "contexts": contexts}


async def answer_model(question: str, client: Any, model: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same passages, worded by a model."""
    contexts = search(question, int(settings.get("passages", 1)))
    reply = await client.chat.completions.create(
        model=model,
        max_tokens=150,
        temperature=0,
        messages=[
            {"role": "system", "content": f"Answer in at most {settings.get('sentences', 1)} sentences."},
            {"role": "user", "content": "Context:\n" + "\n\n".join(contexts) + f"\n\nQuestion: {question}"},
        ],
    )
    return {"answer": reply.choices[0].message.content or "", "contexts": contexts}
