"""What the fake model server says: a pure function of the request body, so that every figure can be checked by hand.

Tokens are characters: ``ceil(characters / 4)``. Input: the characters of all message contents together, counted once;
output: the characters of the reply. Embeddings: each input text by itself, then summed; a token list counts its length.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

ABSTENTION = "The context does not say."
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can do does for from have how i if in is it its me my of on or the their there they "
        "this to was what when where which who why will with you your must may should would could about any not no",
    )
)
_NAMES = "question|context|answer|reference"
_MARKED = re.compile(
    # <<<ANSWER 1a2b>>> … <<<END OF ANSWER 1a2b>>>, or <answer> … </answer>
    rf"<<<({_NAMES})( \w+)?>>>\n(.*?)\n<<<END OF \1\2>>>|<({_NAMES})\b[^<>]*>(.*?)</\4\b[^<>]*>",
    re.IGNORECASE | re.DOTALL,
)
_LABELS = {
    "passage": "context", "passages": "context", "context": "context", "statement": "answer", "answer": "answer",
    "reply": "answer", "student's answer": "answer", "correct answer": "reference", "reference": "reference",
    "question": "question",
}  # fmt: skip
_LABEL = re.compile(rf"^({'|'.join(_LABELS)}):[ \t]*\n?", re.IGNORECASE | re.MULTILINE)
_YES_NO = re.compile(r"\byes\b\W{0,3}(?:or|/)\W{0,3}\bno\b", re.IGNORECASE)


def tokens(characters: int) -> int:
    """How many tokens the server bills for so many characters."""
    return math.ceil(characters / 4)


def words(text: str) -> set[str]:
    """Content words, lower case, a plural ``s`` removed."""
    found = (word.lower() for word in re.findall(r"\w+", text))
    return {word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found if word not in _STOP}


def sentences(text: str) -> list[str]:
    """Sentences in order; line ends count as ends of sentences."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", text) if part.strip()]


def content_text(content: Any) -> str:
    """The text of a message content, which may be a string or a list of typed parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return ""


def messages_of(body: Mapping[str, Any]) -> list[str]:
    """All texts that the model is given, of a chat or a responses body."""
    given = body.get("messages", body.get("input", ""))
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    texts = [str(body["instructions"])] if body.get("instructions") else []
    return texts + [content_text(message.get("content")) for message in given if isinstance(message, Mapping)]


def prompt_of(body: Mapping[str, Any]) -> str:
    return "\n\n".join(messages_of(body))


def input_tokens(body: Mapping[str, Any]) -> int:
    return tokens(sum(len(text) for text in messages_of(body)))


def sections(prompt: str) -> dict[str, str]:
    """The inputs of a judge's prompt by name, between marks, in tags or after labels; of two the last one counts."""
    found: dict[str, str] = {}
    for match in re.finditer(_MARKED, prompt):
        found[(match[1] or match[4]).lower()] = (match[3] if match[1] else match[5]).strip()
    if found:
        return found
    before, _, last = prompt.rstrip().rpartition("\n\n")
    labelled = before if re.search(_YES_NO, last) else prompt
    places = list(re.finditer(_LABEL, labelled))
    ends = [place.start() for place in places[1:]] + [len(labelled)]
    for place, end in zip(places, ends, strict=False):
        found[_LABELS[place[1].lower()]] = labelled[place.end() : end].strip()
    return found


def generated(prompt: str) -> str:
    """The sentence of the context that shares most words with the question; an abstention where none shares any."""
    tagged = re.search(r"<question\b[^<>]*>(.*?)</question\b", prompt, re.IGNORECASE | re.DOTALL)
    asked = list(re.finditer(r"\bquestion\s*:\s*(.+)", prompt, re.IGNORECASE))
    if tagged:
        question, rest = tagged[1], prompt[: tagged.start()] + prompt[tagged.end() :]
    elif asked:
        question, rest = asked[-1][1], prompt[: asked[-1].start()]
    else:
        question, _, rest = prompt.rpartition("\n\n")[::-1]
    context = re.search(
        r"<context\b[^<>]*>(.*?)</context\b|\b(?:context|passages)\s*:\s*(.*)", rest, re.IGNORECASE | re.DOTALL
    )
    if context:
        rest = context[1] or context[2] or ""
    wanted = words(question)
    best, best_shared = ABSTENTION, 0
    for sentence in sentences(re.sub(r"^\[\d+\] ", "", rest, flags=re.MULTILINE)):
        shared = len(wanted & words(sentence))
        if shared > best_shared and len(sentence.split()) >= 4:
            best, best_shared = sentence, shared
    return best


def support(prompt: str) -> float:
    """0 to 1: the share of the answer's words in the context; else of the reference's (question's) in the answer."""
    found = sections(prompt)
    answer = words(found.get("answer", ""))
    if "answer" not in found:
        rest, _, last = prompt.strip().rpartition("\n\n")
        return len(words(last) & words(rest)) / max(1, len(words(last)))
    if found.get("context"):
        return len(answer & words(found["context"])) / max(1, len(answer))
    other = words(found.get("reference") or found.get("question") or "")
    return len(answer & other) / max(1, len(other))


def schema_of(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The JSON schema that the reply must follow, of a chat or a responses body."""
    form = body.get("response_format") or (body.get("text") or {}).get("format") or {}
    if form.get("type") != "json_schema":
        return {"type": "object"} if form.get("type") == "json_object" else None
    schema = (form.get("json_schema") or {}).get("schema", form.get("schema"))
    return schema if isinstance(schema, Mapping) else {"type": "object"}


def conforming(schema: Mapping[str, Any], share: float, prose: str, root: Mapping[str, Any] | None = None) -> Any:
    """A value that follows the schema, ``share`` of the way up an enum or a range (labels: best first)."""
    root = root or schema
    if "$ref" in schema:
        target: Any = root
        for step in str(schema["$ref"]).lstrip("#/").split("/"):
            target = target[step]
        return conforming(target, share, prose, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        values = list(schema["enum"])
        ranked = sorted(values) if all(isinstance(v, int | float) for v in values) else values[::-1]
        return ranked[round(share * (len(ranked) - 1))]
    for name in ("anyOf", "oneOf"):
        if name in schema:
            return conforming(next(s for s in schema[name] if s.get("type") != "null"), share, prose, root)
    kind = schema.get("type")
    kind = next((k for k in kind if k != "null"), None) if isinstance(kind, list) else kind
    low = schema.get("minimum", 0)
    if kind == "object":
        return {name: conforming(part, share, prose, root) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [
            conforming(schema.get("items", {}), share, prose, root) for _ in range(max(1, schema.get("minItems", 1)))
        ]
    if kind == "boolean":
        return share >= 0.5
    if kind == "integer":
        return round(low + share * (schema.get("maximum", low + 1) - low))
    if kind == "number":
        return round(low + share * (schema.get("maximum", low + 1) - low), 3)
    return prose[: schema.get("maxLength", len(prose))]


def says(body: Mapping[str, Any]) -> str:
    """The full text that the model replies to this body."""
    prompt = prompt_of(body)
    schema = schema_of(body)
    share = support(prompt)
    if schema is not None:
        prose = f"The answer shares {share:.0%} of its words with what it is compared with."
        return json.dumps(conforming(schema, share, prose))
    if re.search(_YES_NO, prompt):
        return "Yes" if share >= 0.5 else "No"
    return generated(prompt)


def log_probabilities(body: Mapping[str, Any], text: str, top: int) -> list[dict[str, Any]]:
    """One entry a token of ``text`` (words, blanks and signs). Values of an enum, yes and no get a real spread over
    their alternatives around ``support``; other tokens are near certain."""
    share = support(prompt_of(body))
    enums = re.findall(r'"enum": (\[[^\]]*\])', json.dumps(schema_of(body) or {}))
    values = [str(value) for listed in enums for value in json.loads(listed)]
    entries = []
    for token in re.findall(r"\w+|\s+|[^\w\s]", text):
        if token in values:
            spread = _spread(values, share)
        elif token in ("Yes", "No") and not values:
            yes = 0.02 + 0.96 * share
            spread = {"Yes": yes, "No": 1 - yes}
        elif re.fullmatch(r"\d", token) and not values:
            spread = _spread(["1", "2", "3", "4", "5"], share)
        else:
            spread = {token: 0.99}
        ranked = sorted(spread.items(), key=lambda pair: (pair[0] != token, -pair[1]))
        listed = sorted(ranked[: max(top, 1)], key=lambda pair: -pair[1])
        entries.append(_entry(token, spread[token]) | {"top_logprobs": [_entry(t, p) for t, p in listed[:top]]})
    return entries


def _spread(values: Sequence[str], share: float) -> dict[str, float]:
    numeric = all(re.fullmatch(r"-?\d+(\.\d+)?", value) for value in values)
    ranked = sorted(values, key=float) if numeric else list(values)[::-1]
    weights = {value: math.exp(-abs(share * (len(ranked) - 1) - place) * 2) for place, value in enumerate(ranked)}
    total = sum(weights.values())
    return {value: weight / total for value, weight in weights.items()}


def _entry(token: str, probability: float) -> dict[str, Any]:
    return {"token": token, "logprob": math.log(max(probability, 1e-12)), "bytes": list(token.encode())}


@lru_cache(maxsize=20_000)
def _direction(word: str) -> bytes:
    return hashlib.sha256(word.encode()).digest()


def embedding(text: str, dimensions: int) -> list[float]:
    """A bag of words hashed into ``dimensions`` signed buckets, unit length."""
    vector = [0.0] * dimensions
    for word in sorted(words(text)) or ["empty"]:
        digest = _direction(word)
        for pair in range(0, 8, 4):
            bucket = int.from_bytes(digest[pair : pair + 3]) % dimensions
            vector[bucket] += 1.0 if digest[pair + 3] & 1 else -1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]
