"""What recollect.text promises: which terms a content has, which a query asks for, and that the two meet."""

import re
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from recollect import text as text_module
from recollect.text import (
    ANALYSIS_VERSION,
    analyse,
    normalise,
    query_terms,
    sentences,
    snippet,
    terms,
    word_terms,
)

MEGA = 1_000_000


def finds(query: str, content: str) -> bool:
    """Whether any group of the query is in the content."""
    found = set(analyse(content))
    return any(found.intersection(group) for group in query_terms(query))


def finds_all_of(query: str, content: str) -> bool:
    """Whether the query asks for something and every group of it is in the content."""
    found = set(analyse(content))
    groups = query_terms(query)
    return bool(groups) and all(found.intersection(group) for group in groups)


def is_stop_word(word: str) -> bool:
    """Whether the word is a stop word in an English or a Portuguese text, or by itself."""
    return not analyse(word) or not analyse(f"{word} the the the") or not analyse(f"{word} não não não")


# Words, case and accents


def test_only_the_first_words_of_a_long_query_are_looked_for_in_a_long_text() -> None:
    content = "z" * 1_000_000 + " Ana owns the harbour."
    absent = [f"word{number}" for number in range(1_000)]
    assert "Ana owns" in snippet(content, " ".join([*absent[:50], "harbour"]))
    assert "Ana owns" in snippet(content, " ".join([*(absent[:50] * 100), "harbour"]))
    assert "Ana owns" in snippet(content[-50_000:], " ".join([*absent[:150], "harbour"]))
    assert "Ana owns" not in snippet(content, " ".join([*absent, "harbour"]))


def test_terms_come_in_order_with_their_repetitions() -> None:
    assert analyse("red cat, blue dog; red bird") == ["red", "cat", "blue", "dog", "red", "bird"]


def test_terms_are_counted() -> None:
    assert terms("red cat, blue dog; red bird") == {"red": 2, "cat": 1, "blue": 1, "dog": 1, "bird": 1}


def test_the_version_of_the_analysis_is_a_number() -> None:
    assert ANALYSIS_VERSION == 4


@pytest.mark.parametrize(
    "written", ["Zürich", "ZÜRICH", "zurich", "Zu\u0308rich", "Ｚｕｒｉｃｈ", "Zürich's", "«Zürich»,"]
)
def test_case_accents_width_possessive_and_punctuation_do_not_matter(written: str) -> None:
    assert analyse(written) == ["zurich"]


@pytest.mark.parametrize(
    ("written", "term"),
    [
        ("Ørsted's", "orst"),
        ("Łódź", "lodz"),
        ("Đorđe", "dord"),
        ("Straße", "strass"),
        ("ılık", "ilik"),
        ("İzmir", "izmir"),
        ("Æther", "aether"),
        ("Ελλάς", "ελλασ"),
        ("ﬁx", "fix"),
        ("𝐀LPHA", "alpha"),
        ("٢٠٢٤", "2024"),
        ("x²", "x2"),
        ("soft\u00adware", "softwar"),
        ("שָׁלוֹם", "שלום"),
    ],
)
def test_letters_fold_to_their_plain_form(written: str, term: str) -> None:
    assert analyse(written) == [term]


@pytest.mark.parametrize("apostrophe", ["'", "\u2019", "\u02bc", "\uff07"])
def test_apostrophes_vanish_and_contractions_are_stop_words(apostrophe: str) -> None:
    written = "don't John's users' O'Reilly he'll we've they're I'd I'm rock'n'roll".replace("'", apostrophe)
    assert analyse(written) == ["john", "user", "oreilli", "rocknrol"]


def test_numbers_and_single_letters_are_kept() -> None:
    assert analyse("vitamin D 1984 7") == ["vitamin", "d", "1984", "7"]


def test_a_term_has_at_most_64_characters() -> None:
    assert analyse("7" * 100) == ["7" * 64]
    assert query_terms("7" * 100) == [("7" * 64,)]
    assert max(map(len, analyse("/".join(["segment"] * 30)))) == 64


# Stop words and languages


def test_english_stop_words_go_from_an_english_text() -> None:
    assert analyse("What did the two of them say about it, and when is it due?") == ["two", "say", "due"]


def test_portuguese_stop_words_go_from_a_portuguese_text() -> None:
    assert analyse("Quando é que você não vai com os seus pais para a praia?") == ["pais", "pra"]


def test_a_text_loses_the_stop_words_of_its_own_language_only() -> None:
    assert "era" in analyse("It was the end of an era.")
    assert "era" not in analyse("O código era da equipe.")
    assert "will" in analyse("O nome dele é Will.")
    assert "will" not in analyse("The tests will pass.")


@pytest.mark.parametrize(
    "query",
    ["", "   \n\t", "?!... ()[]", "\u00a0\u2003", "what is the", "The AND of it", "o que é isso", "não", "→ · —"],
)
def test_a_query_of_nothing_but_blanks_punctuation_and_stop_words_asks_for_nothing(query: str) -> None:
    assert query_terms(query) == []


def test_a_query_in_doubt_loses_the_stop_words_of_both_languages() -> None:
    assert [group[0] for group in query_terms("kubernetes with para")] == ["kubernet"]


def test_a_query_in_doubt_keeps_words_that_are_names_in_english() -> None:
    assert query_terms("OS") == [("os",)]
    assert finds("OS", "The OS crashed after the update.")
    assert finds("todo", "Add it to the todo list.")


def test_negation_that_carries_the_point_is_kept() -> None:
    assert finds("never", "Never deploy on a Friday.")


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("run test", "running tests"),
        ("decisions", "the decision that we made"),
        ("deploying", "We deployed it to the cluster"),
        ("cities", "a city by the sea"),
    ],
)
def test_english_inflections_meet(query: str, content: str) -> None:
    assert finds_all_of(query, content)


@pytest.mark.parametrize(
    "query", ["decidir", "relatório", "relatorio", "RELATÓRIOS", "postgresql", "venda", "o relatorio"]
)
def test_portuguese_inflections_meet_with_and_without_accents(query: str) -> None:
    assert finds_all_of(query, "Decidimos usar o PostgreSQL para os relatórios de vendas")


FAMILIES = """
    informação informações informacao informacoes
    decisão decisões decisao decisoes
    reunião reuniões reuniao reunioes
    configuração configurações configuracao
    nação nações nacao nacoes
    versão versões versao versoes
    relatório relatórios relatorio relatorios
    histórico históricos historico
    página páginas pagina paginas
    memória memórias memoria
    política políticas politica
    análise análises analise
    serviço serviços servico servicos
    erro erros
    venda vendas
    cliente clientes
    servidor servidores
    mulher mulheres
    canal canais
    jornal jornais
    item itens
    viagem viagens
    mensagem mensagens
    possível possíveis possivel possiveis
    disponível disponíveis disponivel
    responsável responsáveis responsavel
    experiência experiências experiencia experiencias
    frequência frequências frequencia
    país países paises
    mês meses mes
    mão mãos mao maos
    médico médicos médica medico
    filho filhos filha filhas
    escolher escolhemos escolheu escolhido
    decidir decidimos decidiu decidiram decidido
    trabalhar trabalhamos trabalhando trabalhou
    comprar comprou compramos comprando compraram
    vender vendeu vendemos vendendo
    falar falou falamos falando falaram
    computador computadores
    botão botões botao botoes
    token tokens
    plugin plugins
    vídeo vídeos video videos
"""


@pytest.mark.parametrize("family", [line.split() for line in FAMILIES.split("\n") if line.strip()], ids=lambda f: f[0])
def test_forms_of_a_portuguese_word_are_one_term_in_a_portuguese_text(family: list[str]) -> None:
    assert len({tuple(analyse(f"isso é {form}")) for form in family}) == 1
    assert analyse(f"isso é {family[0]}")[0].isascii()


def test_a_note_without_stop_words_is_portuguese_by_its_tilde() -> None:
    assert finds_all_of("decidir", "Reunião: decidimos")
    assert finds_all_of("decidir", unicodedata.normalize("NFD", "Reunião: decidimos"))


def test_a_query_asks_for_the_stem_of_its_language_first_and_of_the_other_second() -> None:
    assert query_terms("the decisions") == [("decis", "decisiom")]
    assert [group[0] for group in query_terms("os relatórios de vendas")] == ["relatori", "vend"]
    assert [{"relatorio", "relatori"} <= set(group) for group in query_terms("relatórios")] == [True]
    assert query_terms("reuniões")[0][:2] == ("reunia", "reunio")
    assert query_terms("die Häuser")[0][0] == "haus"


def test_a_query_asks_for_every_word_once_in_order_of_appearance() -> None:
    assert query_terms("cat dog CAT cats bird dog") == [("cat",), ("dog",), ("bird",)]


def test_a_group_whose_first_term_is_asked_for_already_is_left_out() -> None:
    assert [group[0] for group in query_terms("decidir")] == ["decidir"]
    assert [group[0] for group in query_terms("decidir decid")] == ["decidir"]


# Scripts without spaces


def test_unspaced_content_has_its_characters_and_pairs() -> None:
    assert analyse("東京都") == ["東", "東京", "京", "京都", "都"]


def test_an_unspaced_query_asks_for_pairs_or_for_its_only_character() -> None:
    assert query_terms("東京都") == [("東京",), ("京都",)]
    assert query_terms("東") == [("東",)]


@pytest.mark.parametrize("run", ["東京", "ひらがな", "カタカナ", "한국어", "ภาษา", "ລາວ", "ខ្មែរ", "𠮷野"])
def test_every_unspaced_script_is_cut_into_pairs(run: str) -> None:
    assert finds_all_of(run, f"abc {run}xyz")
    assert all(len(group[0]) == 2 for group in query_terms(run))


def test_unspaced_script_parts_from_other_letters() -> None:
    assert analyse("iPhone用2024年") == ["iphon", "phone", "用", "2024", "年"]


def test_voicing_of_kana_is_kept_and_composed() -> None:
    assert analyse("ば") == analyse("は\u3099") == ["ば"]
    assert analyse("ば") != analyse("は")
    assert analyse("ﾊﾞ") == ["バ"]


def test_hangul_is_the_same_composed_and_decomposed() -> None:
    assert analyse(unicodedata.normalize("NFD", "한국어")) == ["한", "한국", "국", "국어", "어"]


def test_vowel_signs_of_spaced_scripts_stay_in_the_word() -> None:
    assert analyse("दिल किताब") == ["दिल", "किताब"]


@pytest.mark.parametrize(
    "forms",
    [
        ["книга", "книги", "книгу"],
        ["новый", "новая", "новы\u0438\u0306"],
        ["مدرسة", "المدرسة"],
        ["किताब", "किताबें"],
    ],
    ids=["russian", "russian adjective", "arabic", "hindi"],
)
def test_forms_of_a_word_meet_in_the_language_of_its_script(forms: list[str]) -> None:
    assert len({tuple(analyse(f"the {form} is here")) for form in forms}) == 1


def test_a_word_of_another_script_is_stemmed_alike_in_texts_of_any_language() -> None:
    assert analyse("isso não é книги")[-1:] == analyse("the книга")[-1:]


# Names and numbers that are written in several ways


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("1000", "we sold 1,000 pieces"),
        ("1,000,000", "a budget of 1000000"),
        ("IT", "ask the IT department"),
        ("US", "she moved to the US"),
        ("WHO", "a report of the WHO"),
        (".NET", "written in .NET (8)"),
        ("net", "written in .NET"),
        ("oreal", "a job at L'Oréal"),
        ("l'oreal", "a job at Oréal"),
        ("iPhone", "the iPhone15Pro broke"),
        ("version 2.1", "released as v2.1"),
        ("v2.1", "released as 2.1"),
        ("2500", "kostet 2.500 Euro"),
        ("2.500", "kostet 2500 Euro"),
        ("3.5 mm", "a 3.5mm jack"),
        ("example.org", "see www.example.org"),
    ],
)
def test_another_spelling_of_a_name_or_number_is_found(query: str, content: str) -> None:
    found = set(analyse(content))
    assert any(not found.isdisjoint(group) for group in query_terms(query))


def test_stop_words_in_capitals_are_kept_only_where_they_are_names() -> None:
    assert analyse("IT is NOT for US, it is for us") == ["it", "us"]


@pytest.mark.parametrize("word", ["it", "us", "who", "no", "No!"])
def test_a_query_of_one_stop_word_that_is_a_name_or_an_answer_searches_it(word: str) -> None:
    assert query_terms(word) == [(word.strip("!").lower(),)]
    assert word_terms(word) == []
    assert [group[0] for group in query_terms(f"{word} kubernetes")] == ["kubernet"]


def test_no_is_a_term_of_an_english_text_only() -> None:
    assert analyse("She said no to the offer") == ["said", "no", "offer"]
    assert "no" not in analyse("Ela mora no centro da cidade")


# Emoji and symbols


def test_invisible_letters_are_no_terms() -> None:
    assert analyse("\u3164 \u115f\u1160 \uffa0 \u034f \ufe0f") == []


def test_each_emoji_is_a_term_without_skin_tone_joiner_and_selector() -> None:
    assert analyse("great👍🏽❤️🎉🎉") == ["great", "👍", "❤", "🎉", "🎉"]
    assert query_terms("🎉") == [("🎉",)]


def test_other_symbols_are_no_terms() -> None:
    assert analyse("→ ± § € © ─│ ∑ ✕ $ ^ | ~ ` = < >") == ["✕"]


# Identifiers and compounds


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("get_user_name", ["get_user_name", "get", "user", "name"]),
        ("getUserName", ["getusernam", "get", "user", "name"]),
        ("GetUserNames", ["getusernam", "get", "user", "name"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("kebab-case", ["kebab-case", "kebab", "case"]),
        ("kebab\u2010case", ["kebab-case", "kebab", "case"]),
        ("½", ["1/2", "1", "2"]),
        ("alpha\u200bbeta", ["alpha", "beta"]),
        ("src/recollect/text.py.", ["src/recollect/text.py", "src", "recollect", "text.py", "text", "py"]),
        (r"src\text.py", [r"src\text.py", "src", "text.py", "text", "py"]),
        ("os.path", ["os.path", "os", "path"]),
        ("(3.11.7)", ["3.11.7", "3", "11", "7"]),
        ("2024-05-01", ["2024-05-01", "2024", "05", "01"]),
        ("bo@mail.org,", ["bo@mail.org", "bo", "mail.org", "mail", "org"]),
        ("<https://x.org/a-b/?q=7>", ["https", "x.org/a-b", "x.org", "x", "org", "a-b", "ab", "b", "q", "7"]),
        ("/usr/local/bin/", ["usr/local/bin", "usr", "local", "bin"]),
        ("__init__.py", ["init__.py", "init", "py"]),
        ("criaçãoDeUsuário", ["criacaodeusuario", "criacao", "de", "usuario"]),
        ("C++", ["c++", "c"]),
        ("C#,", ["c#", "c"]),
        ("heading# #tag ++", ["head", "tag"]),
        ("APIs", ["api"]),
        ("s3 k8s 3f2504e0", ["s3", "k8s", "3f2504e0"]),
        ("sha256sum", ["sha256sum", "sha", "256", "sum"]),
        ("e.g. this", []),
        ("wait...what--then go", ["wait", "go"]),
    ],
)
def test_a_compound_is_there_as_a_whole_and_in_parts(written: str, expected: list[str]) -> None:
    assert analyse(f"{written} the the") == expected


def test_a_query_asks_for_the_whole_and_each_part() -> None:
    assert query_terms("get_user_id") == [("get_user_id",), ("get",), ("user",), ("id",)]
    assert query_terms("docs/a.md") == [("docs/a.md",), ("doc", "docs"), ("a.md",), ("md",)]


@pytest.mark.parametrize("query", ["get user name", "getusername", "getUserName", "user"])
def test_a_camel_case_name_is_found_by_its_parts_and_its_whole(query: str) -> None:
    assert finds_all_of(query, "call getUserName() here")


def test_the_same_spelling_finds_more_than_the_parts() -> None:
    found = set(analyse("call getUserName() here"))
    assert sum(bool(found & set(group)) for group in query_terms("getUserName")) == 4
    assert sum(bool(found & set(group)) for group in query_terms("get user name")) == 3


@pytest.mark.parametrize(
    ("query", "content"), [("email", "an e-mail"), ("wifi", "Wi-Fi is on"), ("todo", "to-do list")]
)
def test_a_hyphen_after_a_short_prefix_may_be_left_out(query: str, content: str) -> None:
    assert finds_all_of(query, content)


def test_data_without_end_is_not_taken_apart() -> None:
    assert len(analyse("aB/" * MEGA)) < 1_000
    assert not any(term.endswith(".") for term in analyse("a/" * 255 + "b.c"))


# Queries have no syntax


def test_words_of_query_languages_are_words() -> None:
    assert query_terms("alpha AND beta OR NOT gamma") == query_terms("the alpha beta gamma")
    assert ("near",) in query_terms('NEAR("alpha" "beta", 5)')


@given(
    st.lists(st.sampled_from(["alpha", "banana", "ciência", "dog", "x9", "東京"]), min_size=1),
    st.sampled_from(
        ['"{}"', "{}*", "-{}", "+{}", "({})", "{}:", ":{}", "%{}%", "^{}", "'{}'", "{}~2", "{{{}}}", "{};", "[{}]"]
    ),
)
def test_operators_in_a_query_have_no_effect(words: list[str], operator: str) -> None:
    plain = query_terms(" ".join(words))
    decorated = query_terms(" ".join(operator.format(word) for word in words))
    assert [group for group in decorated if group != ("2",)] == plain


# Any text at all

anything = st.text(st.characters(exclude_categories=()))
awkward = st.text(st.sampled_from("aAbBéÉßıİǅςΣﬁ _-./@\\'’+#\x00\x1f\ud800\u0301\u0323\u3099は가東ãÕ0९👍\u200d\u200b"))


@given(anything | awkward)
@example("\ud800\udfff\x00")
@example("\ufdfa")
def test_no_text_is_refused_and_every_term_is_clean(text: str) -> None:
    found = analyse(text)
    asked = query_terms(text)
    for term in [*found, *(term for group in asked for term in group)]:
        assert 1 <= len(term) <= 64
        assert not any(character.isspace() for character in term)
        assert not set("\"'*():%\x00") & set(term)
        term.encode()
    assert sum(terms(text).values()) == len(found)
    assert all(asked)


CAPITALS = re.compile(r"EU|IT|OS|NAS|US|WHO")
"""Names that are stop words unless they are in capitals."""


@given(anything | awkward)
@example("x\U0001d400b")
@example("\u0138x")
@example("straße ŉ ǆ ΰ ﬃ")
def test_upper_and_lower_case_give_the_same_terms(text: str) -> None:
    assume(not CAPITALS.search(text.upper()))
    assert analyse(text.lower()) == analyse(text.upper())
    assert query_terms(text.lower()) == query_terms(text.upper())


@given(anything | awkward)
@example("a\u1e4c")
@example("aÕ\u3099")
def test_composed_and_decomposed_accents_give_the_same_terms(text: str) -> None:
    composed, decomposed = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    assert analyse(composed) == analyse(decomposed)
    assert query_terms(composed) == query_terms(decomposed)


@given(st.text("abcdenorstuy", min_size=1, max_size=66) | st.sampled_from(["the", "no", "about", "router", "kv", "s"]))
@example("a" * 64)
@example("a" * 65)
def test_a_comma_after_a_word_changes_nothing(word: str) -> None:
    ((vote, found, _, tags),) = text_module.chunks(word)
    ((vote_with_comma, found_with_comma, _, tags_with_comma),) = text_module.chunks(f"{word},")
    assert (vote, found) == (vote_with_comma, found_with_comma)
    assert tags == tags_with_comma or len(word) >= 64  # a chunk of 65 characters is looked at as part of its text


@given(anything | awkward)
def test_analysing_again_gives_the_same_terms(text: str) -> None:
    first = analyse(text)
    text_module._CHUNKS.clear()
    assert analyse(text) == first


sayings = st.sampled_from(
    [
        "the cats were running to the houses",
        "os gatos não foram para as casas",
        "Ação! getUserName",
        "東京 is big",
        "",
        "de the",
    ]
)
made_up = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=80)
KNOWN = """
    running decisions houses naïve relatórios configurações decidimos usuários PostgreSQL Ana's C++ 3.14 e-mail src/a.py
"""


@given(sayings, st.sampled_from(KNOWN.split()) | made_up, sayings)
def test_every_word_of_a_content_is_found_by_asking_for_it(before: str, word: str, after: str) -> None:
    assume(not is_stop_word(word) and not is_stop_word(word.lower()))
    assert finds(word, f"{before} {word} {after}")
    assert finds(word.upper(), f"{before} {word.lower()}, {after}")


unspaced = st.text(
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF, categories=["L"])
    | st.characters(min_codepoint=0x3041, max_codepoint=0x30FF, categories=["L"])
    | st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3)
    | st.characters(min_codepoint=0x0E01, max_codepoint=0x0E2E),
    min_size=1,
)


@given(unspaced, st.data())
def test_every_piece_of_an_unspaced_text_is_found(run: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(run) - 1))
    end = data.draw(st.integers(start + 1, len(run)))
    assert finds_all_of(run[start:end], f"notes: {run}.")


part = st.sampled_from(["user", "running", "houses", "relatórios", "cache", "http", "decisão", "índice", "token"])
STYLES = {
    "snake": "_".join,
    "constant": lambda parts: "_".join(parts).upper(),
    "kebab": "-".join,
    "dotted": ".".join,
    "path": "/".join,
    "camel": lambda parts: parts[0] + "".join(part.title() for part in parts[1:]),
    "pascal": lambda parts: "".join(part.title() for part in parts),
}


@given(sayings, st.lists(part, min_size=2, max_size=5), st.sampled_from(sorted(STYLES)))
def test_every_identifier_is_found_by_its_whole_and_by_its_parts(before: str, parts: list[str], style: str) -> None:
    whole = STYLES[style](parts)
    content = f"{before} ({whole})."
    assert finds_all_of(whole, content)
    assert finds_all_of(whole.lower(), content)
    for word in parts:
        assert finds_all_of(word, content)


# Hostile size: each of these would run for hours if the time were not linear


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "a" * 10 * MEGA,
        "a" + "\u0301\u0323" * MEGA,
        "は" + "\u3099" * MEGA,
        "\u0915" + "\u093c\u094d" * MEGA,
        "a." * MEGA,
        "a" + "_" * MEGA,
        "." * MEGA + "a",
        "'" * MEGA,
        "aB" * MEGA,
        "U\u0301" * MEGA,
        ("." * 9 + ")" * 9) * 100_000,
        " " * MEGA,
        "שלום\u200f" * 100_000,
    ],
    ids=lambda text: ascii(text[:4]),
)
def test_long_and_hostile_texts_are_analysed(text: str) -> None:
    assert all(len(term) <= 64 for term in analyse(text))
    assert len(normalise(text)) <= len(text)
    assert len("".join(sentences(text))) <= len(text)
    assert len(snippet(text, "zebra a")) <= 120


# The cache


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "_CACHE_LIMIT", 100)
    text_module._CHUNKS.clear()
    for number in range(1_000):
        assert analyse(f"word{number} " + "x" * 65) == [f"word{number}", "word", str(number), "x" * 64]
        assert len(text_module._CHUNKS) <= 100
    assert "x" * 65 not in text_module._CHUNKS


def test_characters_without_meaning_are_not_remembered() -> None:
    known = len(text_module._FOLDING)
    assert analyse("".join(map(chr, range(0xE000, 0xF000)))) == []
    assert len(text_module._FOLDING) == known


def test_threads_share_the_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "_CACHE_LIMIT", 50)
    texts = [
        f"running tests {number} relatórios getUserName{number} decisions about configurações" for number in range(400)
    ]
    expected = [(analyse(text), query_terms(text)) for text in texts]
    text_module._CHUNKS.clear()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: (analyse(text), query_terms(text)), texts * 4)) == expected * 4


# Sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n ", []),
        ("No mark", ["No mark"]),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("It costs 3.50 at example.com. Cheap…  Really?!", ["It costs 3.50 at example.com.", "Cheap…", "Really?!"]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        (
            "Dr. J. Silva came at 3 p.m. today, e.g. by bus. Good.",
            ["Dr. J. Silva came at 3 p.m. today, e.g. by bus.", "Good."],
        ),
        ("A wrapped line\ngoes on here. End", ["A wrapped line goes on here.", "End"]),
        ("# Title\n- one\n- two\n\nlast", ["# Title", "- one", "- two", "last"]),
        ("これは文です。次の文！「はい。」終わり", ["これは文です。", "次の文！", "「はい。」", "終わり"]),
    ],
)
def test_a_text_is_cut_into_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(anything)
def test_sentences_are_trimmed_and_lose_nothing_but_space(text: str) -> None:
    found = sentences(text)
    assert all(sentence and sentence == sentence.strip() for sentence in found)
    assert "".join("".join(found).split()) == "".join(text.split())


# Comparison


@pytest.mark.parametrize("same", ["Ação  Straße", " ação\nSTRASSE ", "Ac\u0327a\u0303o strasse", "ａção\u00a0straße"])
def test_texts_that_differ_in_case_form_and_space_compare_equal(same: str) -> None:
    assert normalise(same) == "ação strasse"


def test_accents_and_punctuation_count_in_comparison() -> None:
    assert normalise("résumé") != normalise("resume")
    assert normalise("yes?") != normalise("yes")


@given(anything)
@example("\u01f0")
def test_normalising_is_final_and_ignores_the_form_of_accents(text: str) -> None:
    once = normalise(text)
    assert unicodedata.is_normalized("NFKC", once)
    assert normalise(once) == once
    assert normalise(unicodedata.normalize("NFD", text)) == once


# Snippets

CONTENT = (
    "We talked for an hour about the weather and then chose PostgreSQL for the sales reports, because " + "reason " * 30
)


def test_a_snippet_has_up_to_120_characters_in_whole_words_and_up_to_30_before_the_word() -> None:
    assert snippet(CONTENT, "postgresql") == (
        "the weather and then chose PostgreSQL for the sales reports, because" + " reason" * 7
    )


def test_a_short_text_is_its_own_snippet() -> None:
    assert snippet(" We decided to use PostgreSQL 16 for billing.\n", "which database for billing?") == (
        "We decided to use PostgreSQL 16 for billing."
    )


def test_a_long_word_is_cut() -> None:
    assert snippet("so " + "x" * 200, "nothing") == snippet("so " + "x" * 200, "x" * 64) == f"so {'x' * 117}"
    assert snippet("x" * 100 + "needle" + "x" * 200, "needle") == f"{'x' * 30}needle{'x' * 84}"


def test_a_word_near_the_beginning_gives_the_beginning() -> None:
    assert snippet(CONTENT, "HOUR") == CONTENT[: CONTENT.index("reason reason") + 20].strip()


def test_the_first_word_of_the_query_that_is_there_counts() -> None:
    assert snippet(CONTENT, "zebra sales postgresql").startswith("then chose PostgreSQL for the sales reports")


def test_stop_words_of_the_query_do_not_place_a_snippet() -> None:
    assert snippet(CONTENT, "for the reports") == snippet(CONTENT, "reports")


def test_without_any_word_of_the_query_a_snippet_is_the_beginning() -> None:
    assert snippet(CONTENT, "zebra") == snippet(CONTENT, "") == snippet(CONTENT, "HOUR")


def test_a_snippet_is_found_without_case_and_accents_in_the_raw_text() -> None:
    raw = "ﬁ straße İ " * 10 + "o RELATO\u0301RIO de vendas"
    assert snippet(raw, "relatorio", before=0) == "RELATO\u0301RIO de vendas"
    assert snippet("é" * 150 + " o relatorio", "Relatório", before=0) == "relatorio"


def test_a_snippet_prefers_the_beginning_of_a_word() -> None:
    assert snippet("concatenate the cat", "cat", width=9, before=0) == "cat"
    assert snippet("concatenate it", "cat", width=12, before=0) == "catenate it"


def test_a_snippet_shows_another_form_of_the_word_when_the_word_is_not_there() -> None:
    assert snippet(CONTENT, "choosing report", before=0).startswith("reports")
    assert snippet("x " * 60 + "two decisions", "deciding decision's", before=0) == "decisions"


def test_a_snippet_shows_a_part_of_an_unspaced_query() -> None:
    assert snippet("これは東京の天気です", "大阪と東京", width=8, before=0) == "東京の天気です"


@given(anything, anything, st.integers(1, 200), st.integers(0, 50))
def test_a_snippet_is_a_trimmed_part_of_the_text(text: str, query: str, width: int, before: int) -> None:
    shown = snippet(text, query, width=width, before=before)
    assert shown in text
    assert len(shown) <= width
    assert shown == shown.strip()
