"""The patterns by which `statements` recognises decisions, lessons, rules and preferences. Data only.

In English, Portuguese, German and Spanish. They are matched without regard to case, in composed Unicode (NFC) with
straight apostrophes. No pattern repeats over arbitrary text, so each takes linear time.

A pattern is compiled on first use: compiling all of them takes longer than a short command needs otherwise.
"""

import re
from collections.abc import Callable
from functools import cached_property

__all__ = [
    "ADVICE",
    "ANNOUNCED",
    "DANGLING",
    "DECISION",
    "DECISION_KEYWORDS",
    "HEDGE",
    "LABEL",
    "LEAD",
    "LESSON",
    "LESSON_KEYWORDS",
    "NEXT",
    "NEXT_LABEL",
    "ONE_TIME",
    "PROCESS",
    "QUESTION",
    "RECALLED",
    "RULE",
    "USERS_DECISION",
    "VAGUE",
    "WIDE_DECISION",
    "WIDE_DECISION_KEYWORDS",
    "WIDE_LESSON",
    "WIDE_LESSON_KEYWORDS",
    "WordPattern",
]


class WordPattern:
    """A pattern without regard to case, compiled on first use."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, re.IGNORECASE)

    @cached_property
    def search(self) -> Callable[[str], re.Match[str] | None]:
        """`re.Pattern.search`."""
        return self._compiled.search

    @cached_property
    def sub(self) -> Callable[[str | Callable[[re.Match[str]], str], str], str]:
        """`re.Pattern.sub`."""
        return self._compiled.sub


def _any(*patterns: str) -> WordPattern:
    return WordPattern("|".join(patterns))


def _any_from_word(*patterns: str) -> WordPattern:
    """Return a pattern of patterns that all begin with a word: within words, where they cannot match, none is tried."""
    return WordPattern(rf"\b(?:{'|'.join(patterns)})")


# Keywords that make a whole line an insight. ã and ç may be composed or decomposed.
_A = "(?:ã|a\u0303)"
_C = "(?:ç|c\u0327)"
_DECISION_WORDS = (
    rf"\bdecid|\bchose\b|\bwill use\b|\bdecis{_A}o|\bescolh|\boptamos|\badotamos|\bvamos usar\b|\bwent with\b"
    r"|\bsettled on\b"
)
_LESSON_WORDS = (
    rf"\blearned\b|\bimportant|\bnote:|\baprendemos|\bimportante|\bli{_C}{_A}o|\bdiscovery|\binsight|\bdescobr"
    r"|\bobserv"
)
DECISION_KEYWORDS, LESSON_KEYWORDS = _any(_DECISION_WORDS), _any(_LESSON_WORDS)
WIDE_DECISION_KEYWORDS = _any(_DECISION_WORDS, rf"\brecomenda{_C}", r"\bstack principal\b")
WIDE_LESSON_KEYWORDS = _any(_LESSON_WORDS, r"\briscos?\b")

# Parts of the patterns of sentences
_VERBS = (
    r"(?:use|commit|push|deploy|merge|release|ship|run|write|test|review|rebase|squash|add|import|install|name|store|"
    r"log|mock|lint|format|document|pin|tag|branch|call|edit|touch|change|modify|delete|remove|create|put|rename|"
    r"hard-?code|force-?push|mention|include|return|throw|raise|catch|upgrade|update|check in|leave|skip|answer|reply|"
    r"respond|translate|ask|send|email|book|schedule|order|eat|drink|cook|buy)"
)
_FORBIDDEN = (
    r"(?:use(?! the (?:word|phrase))|commit|push|deploy|merge|release|ship|rebase|squash|import|install|store|log|mock|"
    r"edit|touch|modify|delete|rename|hard-?code|force-?push|raise|throw|catch|upgrade|bump|publish|amend|disable|call|"
    r"add (?:new|more|any))"
)
_CHOICE = (
    r"(?:use|go with|stick (?:with|to)|keep(?= (?:using )?(?:the )?(?!\w+ing\b)[\w.+#-]+ (?:as|for|in|on|until)\b)|"
    r"switch to|"
    r"adopt|move to|"
    r"stay (?:on|with)|"
    r"standardi[sz]e on|drop|avoid(?! (?:the word|mention))|not use|target|deprecate|migrate to|replace|rename|pin)"
)
_CHOOSING = (
    r"(?:using|going with|sticking (?:with|to)|switching to|adopting|moving to|staying (?:on|with)|"
    r"standardi[sz]ing on|dropping|targeting|deprecating|migrating to|replacing)"
)
_WHO = r"\b(?:we|i|team|everyone|both of us|all of us)(?:'ve|'d| have| had| just| also| all| both| finally| now| then)*"
_NO_IMPERATIVE = (
    r"(?:\w+ing|\w{2,}ed|had|has|saw|been|be|good|great|happy|nice|fun|glad|sad|an?|the|so|thought|knew|felt|was|is|"
    r"are|here|there|love|loves|new|easy|hard|too|again|mind|say|give|in|on|at|more|heard|got|gets|makes|feels|for|"
    r"i|you|we|they|he|she|it|my|your|wanted|did|made|took|went|came|told|said|believe|hope|hopes|better|know|knows|"
    r"forget|stop|lose|bet|worth|important|amazing|wonderful|something|eager|ready|open|willing|up|"
    r"down|before|once|really|just|like)"
)
_TAKING = (
    r"(?:decided|chose|settled|agreed|prefer|go(?:ing)? with|went with|use|using|stick(?:ing)? (?:with|to)|keep|"
    r"switch to|avoid|drop|opted|adopt|replace|include|make)"
    r"(?: on| for| to do| to try| to use| to include| to make| to get| to| doing)?"
)
_NOT_THEY = r"\b(?<!you )(?<!they )(?<!he )"
_PLEASE = r"(?:please,? |bitte |por favor,? )?"

DECISION = _any_from_word(
    _NOT_THEY + r"(?<!you've )(?<!you have )decided (?:to|on|that|against|not to|in favou?r of|for|we)\b",
    r"\bwe(?:'ve| have)? decided\b(?! yet)|\b(?:is|was|been) decided\b",
    _WHO + r" agreed (?:with (?:\w+ ){1,3})?(?:to|on|that)\b",
    _NOT_THEY + r"chose\b",
    _NOT_THEY + r"went with\b(?! (?:my|her|his|our|their|a friend|friends|family|him|them|me|us|you|last)\b)",
    _NOT_THEY + r"settled on\b",
    _WHO + r" opted (?:for|to|against|out of)\b",
    r"\bwe will use\b|\b(?:project|team|repo|app|service|api|backend|frontend|code|build|tests?|site|server|client|"
    r"module|"
    r"pipeline|deployment|database|store|cache|office) will use\b",
    r"\b(?:the|our|my|final) decision (?:is|was) (?:to|that|against)\b|^(?:final )?decision: (?!decide|ensure|make)",
    r"\bdecid(?:i|í|imos|iu|ió|iram|ieron)\b|\b(?:foi|está|ficou|hemos|ha|he|han|fue) decidido\b",
    r"\bdecisão (?:é|foi|final)\b|^decis(?:ão|ión):|\bdecisión (?:es|fue|final)\b",
    r"\bescolh(?:i|emos|eu|eram)\b|\ba escolha (?:é|foi)\b|\bopt(?:amos|ei|ou|aram|é)\b|\badotamos\b|\badoptamos\b",
    r"\bvamos (?:a )?usar\b|\beleg(?:imos|í)\b|\bacordamos\b|\bcombinamos\b",
    r"\b(?:haben|habe|hat) (?:\w+ ){0,8}(?:entschieden|beschlossen|vereinbart|geeinigt)\b|^entscheidung:",
)
"""What anyone may state as a decision."""
USERS_DECISION = _any(
    r"^let'?s (?:all )?" + _CHOICE + r"\b",
    r"^we(?: will|'ll) (?:not )?" + _CHOICE + r"\b",
    r"^we(?: are|'re) (?:going to " + _CHOICE + "|" + _CHOOSING + r")\b",
    r"^we (?:only |now |still |currently |do not |don't |no longer )?use\b",
    r"^(?:i|we) (?:want|need) to (?:use|switch to|adopt|migrate to|standardi[sz]e on)\b",
    r"^i(?: will|'ll|'m going to| am going to) (?:stick (?:with|to)|switch to)\b",
    r"^wir (?:nehmen|verwenden|nutzen|benutzen)\b|^usamos\b|^nós usamos\b|^vamos (?:ficar|com|manter)\b",
)
"""What is a decision if the user says it, and an announcement if the agent does."""
RULE = _any(
    r"^" + _PLEASE + r"(?:always|never) (?!" + _NO_IMPERATIVE + r"\b)[a-z]",
    r"\b(?:from now on|from here on(?: out)?|from this point on|going forward|de agora em diante|daqui em diante|"
    r"a partir de agora|de ahora en adelante|a partir de ahora|ab jetzt|ab sofort|von nun an)\b",
    r"\b(?:must|should|shall) (?:always|never)\b|\bmust not\b",
    r"\b(?:we|i) (?:always|never|only ever) (?:break|keep|support|retry|" + _VERBS[3:] + r"\b",
    r"^we (?:do not|don't) (?:break|keep|support|retry|" + _VERBS[3:] + r"\b",
    r"^(?:all|every|each|any|no|our) [\w ./-]{1,60} (?:must|have to|has to) (?!have\b)\w",
    r"^in this (?:repo|repository|project|codebase|team|workspace),",
    r"\b(?:use|uses|using) [\w.+#/@ -]{1,60}(?:, (?:and )?not(?! just| only)|,? (?:and )?never) [\w.+#/@-]",
    r"^" + _PLEASE + r"(?:do not|don't) (?:ever )?" + _FORBIDDEN + r"\b",
    r"^" + _PLEASE + r"only (?:ever )?(?:use|commit|push|deploy|merge|release|import|install)\b",
    r"^" + _PLEASE + r"make sure (?:to |you |that you |we )?(?:always|never)\b",
    r"^" + _PLEASE + r"(?:remember|keep in mind)(?::| that (?:we|i|our)\b| to always| to never)",
    r"^(?:i|we) (?:strongly |really |much |generally |usually |personally |also |still |always )*prefer\b",
    r"^(?:i|we)(?:'d| would) rather you\b",
    r"\bmy (?:preference|preferred [\w ]{1,30}) is\b",
    r"^" + _PLEASE + r"(?:sempre|nunca|jamais|siempre|jamás|immer|nie|niemals)\b",
    r"\b(?:prefiro|preferimos|prefiero|bevorzuge|bevorzugen)\b",
    r"^" + _PLEASE + r"(?:não|no) (?:use|uses|usem|usen|usar|faça|commit)\b",
    r", (?:nunca|nie|niemals) \w",
    r"^(?:wir|ich|nós|nosotros|eu|yo) (?:\w+ )?(?:immer|nie|niemals|sempre|nunca|siempre)\b",
)
"""A rule or a preference, which is taken from the user alone."""
LABEL = _any(
    r"(?:^|[.;] )(?:side |important )?note:|^n\.?b\.?:|^important(?: note| finding| lesson)?:|^importante:|^wichtig:",
    r"^lessons?(?: learned| learnt)?:|^lição(?: aprendida)?:|^lección(?: aprendida)?:|^lektion:|^gelernt:",
    r"^(?:learned|learnt|aprendido|aprendizado|aprendizaje):",
    r"^(?:key |main )?(?:insight|discovery|finding|takeaway|gotcha|caveat|pitfall):",
    r"^(?:nota|obs|observação|observación|descoberta|hinweis|merke|achtung|atenção):",
    r"^root cause:|^causa raiz:|^ursache:",
)
"""A word before a colon that introduces a lesson."""
LESSON = _any_from_word(
    r"\b(?:i|we|i've|we've|have) (?:just |also |now |since |recently )?(?:learned|learnt) "
    r"(?:that|to always|to never|not to|the hard way)\b",
    r"\blesson(?: here| learned| learnt)? (?:is|was)\b|\bmain takeaway (?:is|was)\b|\bkey insight (?:is|was)\b",
    r"\b(?:i|we)(?:'ve| have)? (?:just |also |now |since )?(?:discovered|observed|figured out) that\b",
    r"\bturn(?:s|ed) out (?:that|the)\b",
    r"\broot cause (?:was|is)\b",
    r"\baprend(?:emos|i|imos|í) que\b|\blição (?:é|foi)\b|\blección (?:es|fue)\b",
    r"\bdescobr(?:i|imos|iu|iram) que\b|\bdescubr(?:í|imos|ió) que\b|\bobserv(?:amos|ei|é) que\b",
    r"\b(?:haben|habe) (?:\w+ ){0,4}(?:gelernt|festgestellt|herausgefunden), dass\b",
    r"\bes stellte sich heraus\b",
)
"""A lesson in the words of a sentence."""
WIDE_DECISION = _any(r"\brecomenda(?:ção|mos)\b", r"\bstack principal\b")
WIDE_LESSON = _any(r"\briscos?\b")

# What a sentence must not be
LEAD = _any(
    r"^(?:(?:so|and|but|also|then|plus|well|yeah|yes|yep|ok|okay|no|alright|right|great|good|perfect|thanks|thank you|"
    r"sure|hey|hi|oh|anyway|actually|finally|in the end|for now|one more thing|one thing|btw|by the way|fyi|"
    r"e|então|mas|ok|sim|und|also|aber|gut|y|entonces|pero|sí)\b[,:;.!\s—–-]{1,3}){1,3}"
)
"""Words before a statement that are not part of it."""
ANNOUNCED = _any(
    r"(?:^|(?<=[.!?]\s))(?:[-*+]\s)?(?:(?:ok|okay|now|so|well|sure|right|great|good|first|next|hmm+)\b[,.!\s]{0,3}){0,3}"
    r"(?:let me|let's|let us|i'll|i will|i'm going to|i am going to|i need to|deixe-me|deixa eu|vou|vamos)\s"
    r"(?:now |first |just |quickly |also |take a )?(?:see|check|look|think|find|read|know|explore|analy[sz]e|review"
    r"|verify|observe|investigate|search|inspect|examine|start|begin|figure|ver|verificar|olhar|pensar|analisar"
    r"|conferir|observar)\b[^.!?:]*",
)
"""An announced action ("Let me check …"), up to the end of the sentence or a colon."""
QUESTION = _any(
    r"\?[\"')\]\u201d]*$",
    r"^(?:how|what|which|why|when|where|who|whether|can you|could you|would you|should (?:we|i)|do (?:we|you|i)|"
    r"does|is (?:it|there)|are (?:there|we|you)|did (?:we|you)|have (?:we|you)|como|qual|quais|por que|wie|was|"
    r"warum|welche[rs]?|cómo|cuál|por qué)\b",
)
HEDGE = _any(
    r"\b(?:maybe|curious|kinda|worried|need help|trying to decide|perhaps|might|not sure|unsure|haven't|"
    r"hasn't|have not yet|can't decide|cannot decide|undecided|"
    r"whether|thinking (?:of|about)|considering|i guess|wonder(?:ing)?|suppose|would have|could have|should have|"
    r"can you|could you|help me|i want to (?:ask|know)|wanna|"
    r"what are|how (?:can|do) (?:i|we)|hadn't|if i had|if we had|until (?:we|i) decide|yet to|decided nothing|"
    r"nothing (?:was|is) decided)\b",
    r"^(?:yesterday|last (?:night|week|month|year)|recently|one day)\b|\bwas \w+ing\b",
    r"\bwhen (?:i|we)(?: finally)? (?:decided|chose)\b",
    r"^(?:if|once|when|unless|until|assuming|before|after)\b[^,]{0,200}\b(?:decide|chose|choose|agree)",
    r"\b(?:talvez|quizás?|tal vez|vielleicht|se decidirmos|ainda não)\b",
)
"""An open question, or what did not happen."""
DANGLING = _any(
    r"^(?:it|this|that|they|he|she|these|those|there|its|his|her|their|which|because|since that|same|both|neither|"
    r"not|ele|ela|eles|elas|isso|isto|es|das|dies|eso|esto)(?:'s|'re|'ll|'d)?\b(?! (?:turn(?:s|ed) out|project|repo|"
    r"repository|codebase|team|app|service|package|module|library|company))",
)
"""A subject that only the sentence before it explains."""
VAGUE = _any(
    r"\b" + _TAKING + r" (?:it|them|him|her|so|you|something|anything|everything|otherwise)\b",
    r"\b" + _TAKING + r" (?:that|this|those|these|one|both|neither)"
    r"(?: one| option| approach| idea| plan| way| version)?\s*(?:$|[.,;:!)\u2014-]|\b(?:instead|too|for now|then|as|"
    r"because|since|and|but|today|now|here|again|anyway|all|when|if|with|in|on|by|at)\b)",
    r"\b(?:that|this|the (?:first|second|third|last|latter|former|other|same|above|following)|your|option|plan|"
    r"approach|choice) (?:one|option|approach|suggestion|proposal|idea|plan|solution|[a-d1-4])\b(?!\w)",
    r"\b(?:as above|as follows|the following|see below|mentioned (?:above|earlier))\b|:\s*$",
    r"\bbelow\b(?! (?:[$€£]?\d|(?:zero|one|two|three|five|ten|half|freezing|average|the|an?)\b))",
    r"\[[A-Za-z][^\]]*\](?!\()",
    r"\b(?:go|going|went|gone) for it\b|\bdo (?:it|that|this)\b|\babout (?:it|this|that)\b",
    r"\bdecided to \w+(?: \w+){0,2} (?:it|this|that|them)\b|\bnext level\b",
    r"\b(?:those|these) (?:two|three|four)\b|\b(?:like|love|want|did|made) (?:it|that|this)[.!]*$",
)
"""An object that only the sentences around it explain."""
ONE_TIME = _any(
    r"\b(?:yet|for now|right now|just now|this time|this file|that file|this line|that line|this function|"
    r"that function|act as|the (?:story|characters?|article|essay|poem|post|paragraph|conversation)|"
    r"each turn|i'll|i will (?:always|never|be|make|look|try|start|keep|definitely|also|explain|provide|give|send|ask|"
    r"tell)|that style|this change|"
    r"that change|this test|that test|today|tonight|until i|until we)\b",
    r"^(?!(?:please )?(?:always|never)\b).*\bhere\b",
)
"""What makes an imperative a request for the moment and not a rule."""
ADVICE = _any(
    r"\byou(?:r|rs|'re|'ll|'d|'ve|rself)?\b",
    r"^(?:important|note|\w+ note):? (?:make sure|ensure|replace|remember|be sure|don't forget|always|consider|adjust)",
    r"^(?:as )?(?:i |we )?(?:the|my|our)? ?(?:memory|notes?) (?:say|says|said)\b|^(?:i|as i) (?:remember|recall)\b",
    r"^(?:as|like) (?:remembered|recalled|mentioned|discussed|noted)\b|^according to (?:the|my) (?:memory|notes?)\b",
    r"\b(?:it is|it's) (?:important|essential|crucial|vital|best) to\b",
)
"""Advice to a reader, in an answer of the agent."""
PROCESS = _any(
    r"\b(?:i|we) (?:have |'ve )?(?:decided|chose|opted|will|agreed) (?:to |not to |use )?(?:first |also |now )?"
    r"(?:read|check|look|start|try|search|begin|investigate|inspect|grep|open|explore|continue|proceed|wait|stop|"
    r"see|test|run|verify|re-?run|the (?:\w+ )?tool)\b",
    r"^i(?: will|'ll) use\b",
)
"""A step of the agent's own work."""
NEXT = _any(
    r"\bnext (?:steps?|up|task|session|time|week|is|we|i)\b|^next[,:]|\bto-?do\b|\bfollow-?ups?\b|\btomorrow\b",
    r"\b(?:still|yet) (?:need|needs|have|has|missing|to do|open|to be)\b|\bremain(?:s|ing)\b|\bleft to do\b",
    r"\b(?:blocked (?:by|on)|waiting (?:for|on)|open (?:question|issue|point)s?)\b",
    r"\bpróxim[oa]s? (?:passos?|tarefas?|pasos?)\b|\bamanhã\b|\bfalta(?:m|n)?\b|\bmañana\b",
    r"\bpend(?:i?e)ntes?\b",
    r"\bals nächstes\b|\bnächste[rns]? schritte?\b|\bmorgen\b|\bnoch (?:offen|zu tun)\b|\bfehlt noch\b",
)
"""What is left to do after a session."""
NEXT_LABEL = WordPattern(
    r"^(?:next(?: steps?| up)?|to-?do|follow-?ups?|próxim[oa]s? (?:passos?|pasos?|tarefas?)|nächste[rns]? schritte?)"
    r"\s*[:,]\s+",
)
"""The beginning of such a sentence that says nothing else."""
RECALLED = re.compile(r"\(\d{4}-\d\d-\d\d(?:, [^()]{1,100})?\)\s*$|^\[INJECTED\]")
"""The end of a line of a context, or the start of an injected instruction."""
