"""Which sentences say that there is no answer: the patterns behind abstention, each anchored, none a substring.

A sentence is one of three: a refusal ("The context does not say."), courtesy that states nothing ("Please ask the
registrar."), or content. "I don't know the exact fee, but it is about 20 dollars" is content: what follows the "but"
states something.
"""

from __future__ import annotations

import functools
import re
from enum import StrEnum

from runner.text.sentences import sentences


class SentenceKind(StrEnum):
    REFUSAL = "refusal"
    COURTESY = "courtesy"
    CONTENT = "content"


_SOURCE = (
    r"(?:the|this|that|your|my|our|any of the|none of the)?\s*"
    r"(?:(?:provided|given|available|supplied|retrieved|above|current|faq|reference|course)\s+)*"
    r"(?:context|documents?|documentation|passages?|texts?|information|sources?|excerpts?|materials?|faqs?|"
    r"knowledge base)"
    r"(?:\s+(?:provided|given|available|supplied|retrieved|above|i have|i was given|you provided|i have access to))*"
)
_NOT = r"(?:does not|do not|doesn't|don't|did not|didn't)"
_HOLD = (
    r"(?:say|state|mention|contain|include|provide|specify|hold|give|cover|address|answer|indicate|tell|list|have|"
    r"describe|explain|name|note|identify|report|discuss|detail|offer|clarify|define|show|talk|refer|reveal|make)"
)
_KNOW = (
    r"(?:know|have (?:any |enough |sufficient |the |that |this |access to )?(?:\w+ )?(?:information|details?|answers?|"
    r"data|context|access|knowledge|idea)|see|find|recall)"
)
_ANSWER = r"(?:answer|tell|say|find|determine|provide|confirm|help|give|locate|respond|assist|know|be sure|be certain)"
_LEAD = (
    r"(?:(?:unfortunately|sorry|apologies|my apologies|i'm sorry|i am sorry|i'm afraid|i am afraid|well|hmm|honestly|"
    r"therefore|thus|hence|so|and|because|as|since|however|regrettably)[,:;.\s]+(?:but\s+|that\s+)?)*"
    r"(?:(?:based on|according to|from|in|given|with|using|within|as far as)\s+" + _SOURCE + r"[^,]{0,40},\s*)?"
    r"(?:as an ai(?: language model| assistant)?,\s*)?(?:(?:unfortunately|sorry|however)[,:;\s]+)?"
)
_REFUSALS = tuple(
    re.compile(rf"^{_LEAD}(?:{pattern})", re.IGNORECASE)
    for pattern in (
        # I don't know. / We do not have enough information. / I cannot answer this question.
        rf"(?:i|we)\s+(?:really\s+|just\s+|simply\s+|currently\s+)?(?:{_NOT}|have no|'ve no)\s+(?:really\s+)?"
        rf"(?:{_KNOW}|idea|information|knowledge|answer)\b(?!\s+of\s+(?:any|a)\b)",
        rf"(?:i|we)(?:'m|'re|\s+am|\s+are|\s+was|\s+were)?\s+(?:not able to|unable to|cannot|can't|can not|could not|"
        rf"couldn't)\s+{_ANSWER}\b",
        rf"(?:unable|not able)\s+to\s+{_ANSWER}\b",
        rf"(?:it's|it\s+is)\s+(?:not\s+possible|impossible)\s+to\s+{_ANSWER}\b",
        r"(?:(?:this|that|it|the answer)\s+)?(?:cannot|can't|can not|could not)\s+be\s+"
        r"(?:answered|determined|found|confirmed)\b",
        r"(?:i|we)(?:'m|'re|\s+am|\s+are)\s+not\s+(?:sure|certain|aware)\b",
        # The context does not say ... / None of the documents mentions ...
        rf"{_SOURCE}\s+(?:{_NOT}\s+(?:\w+ly\s+)?{_HOLD}|(?:is|are)\s+(?:silent|not\s+(?:clear|specific|sufficient|enough))"
        r"|(?:has|have|contains?|provides?|gives?|includes?|holds?|offers?)\s+no)\b",
        r"the\s+(?:\w+\s+){0,3}(?:polic(?:y|ies)|records?|data|rules?|pages?)\s+"
        rf"{_NOT}\s+(?:\w+ly\s+)?(?:say|state|mention|specify|indicate)\b",
        rf"it\s+is\s+(?:unclear|not clear|unknown|not known)\s+from\s+{_SOURCE}[.\s]*$",
        rf"none\s+of\s+{_SOURCE}\s+{_HOLD}s?\b",
        rf"nothing\s+(?:is\s+)?(?:in|on|about)\s+{_SOURCE}\b",
        # There is no information ... / No information is given ... / No mention of ...
        rf"(?:there(?:'s|\s+(?:is|are|was|were))\s+|i see\s+)?(?:no|not any|not enough|insufficient)\s+"
        rf"(?:\w+\s+)?(?:information|mention|details?|data|answer|indication)s?"
        rf"(?:\s+(?:is|are|was|were)(?:\s+\w+ly)?)?(?:\s+(?:about|on|of|as to|regarding|concerning|that|whether|"
        rf"provided|given|available|found|mentioned|made|included|to answer)\b|\s+(?:in|from|within)\s+{_SOURCE}"
        r"|[.\s]*$)",
        r"there\s+(?:isn't|aren't|is not|are not)\s+(?:any\s+|enough\s+|sufficient\s+)?(?:\w+\s+)?"
        r"(?:information|mention|details?|data|answer|indication)s?\b",
        # ... is not mentioned in the context. / This is not specified.
        rf"(?!if\b|when\b|where\b|unless\b)[^,;:]{{1,160}}\b(?:is|are|was|were|isn't|aren't)\s*(?:not\s+)?(?:\w+ly\s+)?"
        rf"(?<=not )(?:\w+ly\s+)?(?:mentioned|stated|specified|provided|given|included|covered|addressed|described|"
        rf"listed|discussed|available|contained|found|answered|known|clear)\s+(?:anywhere\s+)?(?:in|by|from|within)\s+"
        rf"{_SOURCE}(?:\W*$|,\s*(?:so|therefore|thus|and)\b)",
        r"(?:this|that|it|the answer|the information|such information|this information)\s+(?:is|was)\s*"
        r"(?:not|n't)\s+(?:\w+ly\s+)?"
        r"(?:mentioned|stated|specified|provided|given|included|covered|addressed|known|available|answered|clear)\b"
        r"(?:\s+(?:here|there|anywhere))?[.\s]*$",
        r"(?:not\s+(?:mentioned|stated|specified|provided|given|available|known|found|enough information)"
        r"|unknown|n/?a|no answer(?: found)?|no information)(?:\s+(?:in|by)\s+" + _SOURCE + r")?[.\s]*$",
    )
)
_ADVISE = (
    r"(?:please|kindly|feel free to|you (?:may|might|can|could|should)(?: want to| wish to)?"
    r"|i (?:suggest|recommend|would suggest|would recommend)|i'd (?:suggest|recommend)"
    r"|it (?:is|would be|may be|might be) (?:best|better|advisable|helpful|a good idea) to)"
)
_TURN_TO = (
    r"(?:contact(?:ing)?|check(?:ing)?|consult(?:ing)?|ask(?:ing)?|refer(?:ring)?|reach(?:ing)? out|visit(?:ing)?|see"
    r"|speak(?:ing)?|call(?:ing)?|email(?:ing)?|let me know|provide|share|give|rephras(?:e|ing)|clarify(?:ing)?"
    r"|look(?:ing)?|review(?:ing)?|get in touch|inquire|verify|try)"
)
_COURTESY = re.compile(
    r"^(?:(?:unfortunately|sorry|i'm sorry|i am sorry)[,.]?"
    r"|(?:i apologi[sz]e|my apologies|thank you|thanks|hello|good luck)\b.*|hi[,!.].*|(?:i )?hope (?:this|that) helps.*"
    rf"|(?:(?:for|if)\b[^,]{{0,120}},\s*)?{_ADVISE}\s+(?:\w+ly\s+|also\s+)*{_TURN_TO}\b.*"
    r"|(?:if you|let me know|is there|do you|can you|could you|would you)\b.*\?"
    r"|(?:if|let me know)\b[^.]*\b(?:help|know|ask)\b.*)$",
    re.IGNORECASE | re.DOTALL,
)
_TURN = re.compile(
    r"(?:[,;:–—]|\s-)\s*(?:but|however|although|though|yet|except that|only that)\b[,\s]*|\bbut\b\s+|;\s+"
    # ", it only says that ..."
    r"|,\s*(?=(?:and\s+|as\s+)?(?:it|they)\s+(?:(?:only|just|merely|does|do)\s+)?(?:say|state|mention|specif|note)\w*\b)",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[*_`\"“”]+")


def kind_of(sentence: str) -> SentenceKind:
    """What one sentence is; its clauses after "but" or "however" are looked at one by one."""
    plain = _MARKS.sub("", sentence).replace("’", "'").strip()
    kinds = {_clause(clause) for clause in _TURN.split(plain) if any(sign.isalnum() for sign in clause)}
    for kind in (SentenceKind.CONTENT, SentenceKind.REFUSAL):
        if kind in kinds:
            return kind
    return SentenceKind.COURTESY


def _clause(clause: str) -> SentenceKind:
    clause = clause.strip()
    if any(pattern.match(clause) for pattern in _REFUSALS):
        return SentenceKind.REFUSAL
    if _COURTESY.match(clause):
        return SentenceKind.COURTESY
    return SentenceKind.CONTENT


_BARE = re.compile(r"(?:yes|no)\W*", re.IGNORECASE)
_JOINED = re.compile(r";\s+")


def stating_sentences(text: str) -> tuple[str, ...]:
    """The statements of a text one by one: its sentences that are neither refusal nor courtesy.

    A bare "Yes." goes with the sentence after it; what a semicolon joins is taken apart.
    """
    found: list[str] = []
    bare = ""
    for sentence in sentences(text):
        for part in _JOINED.split(sentence) if "```" not in sentence else [sentence]:
            if _BARE.fullmatch(part.strip()):
                bare = part.strip()
            elif kind_of(part) is SentenceKind.CONTENT:
                found.append(f"{bare} {part.strip()}".strip())
                bare = ""
    return tuple(found) if found or not bare else (bare,)


@functools.lru_cache(maxsize=1024)
def only_refuses(text: str) -> bool:
    """Whether a text holds a refusal and, courtesy apart, nothing else. Each judge asks it of the same answer."""
    kinds = [kind_of(sentence) for sentence in sentences(text)]
    return SentenceKind.REFUSAL in kinds and SentenceKind.CONTENT not in kinds
