"""Two statements are compared by the words that differ; statements about different things give no finding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.contradictions import compare
from recollect.model.review import Relation

CONTRADICTS, UPDATES, REPEATS = Relation.CONTRADICTS, Relation.UPDATES, Relation.REPEATS


@pytest.mark.parametrize(
    ("older", "newer", "relation", "reason"),
    [
        ("We deploy on Fridays", "We do not deploy on Fridays", CONTRADICTS, "the newer one negates the other"),
        ("Der Test braucht kein Netz", "Der Test braucht Netz", CONTRADICTS, "the older one negates the other"),
        ("Usamos Redis no cache", "Não usamos Redis no cache", CONTRADICTS, "the newer one negates the other"),
        ("サーバーは東京にあります", "サーバーは東京にありません", CONTRADICTS, "the newer one negates the other"),
        ("The cache lives in Redis", "The cache no longer lives in Redis", UPDATES, "no longer holds"),
        ("Marta works here", "Marta no longer works here", UPDATES, "no longer holds"),
        ("We bake on Mondays and Thursdays", "We bake on Tuesdays and Fridays", CONTRADICTS, "to Tuesdays and Fridays"),
        ("Logs are kept for 30 days", "Logs are kept for 90 days", CONTRADICTS, "the number changed from 30 to 90"),
        ("La reunión es el lunes", "La reunión es el martes", CONTRADICTS, "the weekday changed from lunes to martes"),
        ("Ferien beginnen im Juli", "Ferien beginnen im August", CONTRADICTS, "the month changed from Juli to August"),
        ("Keys live for 2 hours", "Keys live for 2 days", CONTRADICTS, "the unit changed from hours to days"),
        ("Team A owns the parser", "Team B owns the parser", CONTRADICTS, "the name changed from A to B"),
        ("The key is with Petr", "The key is with Pavel", CONTRADICTS, "the name changed from Petr to Pavel"),
        ("服务器在北京", "服务器在上海", CONTRADICTS, "it changed from 北京 to 上海"),
        ("Ana reports to Ben", "Ben reports to Ana", CONTRADICTS, "Ana and Ben have changed places"),
        ("Room 3 has 5 seats", "Room 5 has 3 seats", CONTRADICTS, "3 and 5 have changed places"),
        ("The migration succeeded", "The migration failed", CONTRADICTS, "succeeded and failed are opposites"),
        ("A porta está aberta", "A porta está fechada", CONTRADICTS, "aberta and fechada are opposites"),
        ("The lights are on", "The lights are off", CONTRADICTS, "on and off are opposites"),
        (
            "We deploy from Jenkins",
            "We have moved the deploy from Jenkins to GitHub",
            UPDATES,
            "announces a change: moved",
        ),
        ("Wir bauen mit make", "Statt make bauen wir mit just", UPDATES, "statt"),
        ("we deploy on fridays", "We deploy on Fridays.", REPEATS, "both say the same"),
        ("Tea is in jar 3. Rice is in jar 4.", "Rice is in jar 5.", CONTRADICTS, "the number changed from 4 to 5"),
        # The newer one in other words
        ("The hotel takes dogs", "In the hotel dogs are not allowed", CONTRADICTS, "the newer one negates the other"),
        ("Das Angebot enthält die Montage", "In dem Angebot ist die Montage nicht enthalten", CONTRADICTS, "the other"),
        ("Choir practice is on Tuesday", "We meet for choir practice on Thursday", CONTRADICTS, "Tuesday to Thursday"),
        ("A turma tem 22 alunos", "Na turma há 25 alunos", CONTRADICTS, "the number changed from 22 to 25"),
        ("Vence la factura el 30 de junio", "La factura vence el 15 de julio", CONTRADICTS, "junio to julio"),
        ("The night shift is run by Desmond", "Farah leads the night shift", CONTRADICTS, "from Desmond to Farah"),
        ("Priya mentors Callum", "Callum is mentoring Priya", CONTRADICTS, "have changed places"),
        ("Der Aufzug im Haus funktioniert", "Im Haus ist der Aufzug kaputt", CONTRADICTS, "are opposites"),
        ("Dad works at the shipyard", "Dad retired from the shipyard", UPDATES, "something ended: retired"),
        ("O pai fuma cachimbo", "O pai deixou de fumar cachimbo", UPDATES, "something ended: deixou"),
        ("Ich spiele Handball beim TSV", "Mit Handball beim TSV habe ich aufgehört", UPDATES, "aufgehort"),
        ("Tenemos un acuerdo con Gil", "Se canceló el acuerdo con Gil", UPDATES, "something ended: cancelo"),
        ("Ellis works in the Dublin office", "Ellis relocated to the Lisbon office", UPDATES, "relocated"),
        ("A minha irmã mora em Coimbra", "A minha irmã foi viver para Braga", UPDATES, "a change: foi viver"),
        ("Der Elternabend ist in der Aula", "Der Elternabend findet in der Mensa statt", UPDATES, "statt"),
        ("El dominio está en GoDaddy", "Transferimos el dominio a Gandi", UPDATES, "a change: transferimos"),
        ("The retrospective is over Zoom", "The retrospective happens in the kitchen", CONTRADICTS, "Zoom to kitchen"),
        ("Mi plato favorito es la paella", "El cocido es mi plato favorito", CONTRADICTS, "from paella to cocido"),
        ("項目の担当は山田です", "項目の担当は鈴木に変わりました", UPDATES, "a change: 変わ"),
        ("我哥哥住在上海", "我哥哥搬到成都了", UPDATES, "a change: 搬到"),
    ],
)
def test_a_change_of_one_thing_is_found(older: str, newer: str, relation: Relation, reason: str) -> None:
    found = compare(older, newer)
    assert found is not None
    assert (found.relation, found.reason.endswith(reason)) == (relation, True), found


def test_words_that_say_little_do_not_relate_two_texts() -> None:
    common = {"kind": 0.2, "words": 0.2, "support": 0.2, "appreciate": 0.2}
    texts = "I appreciate your kind words and support", "I appreciate your kind words and help"
    assert compare(*texts) is not None
    assert compare(*texts, weight=lambda word: common.get(word, 1.0)) is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The blue room has 5 seats and a projector", "The attic has 6 seats and a projector"),
        ("Ana works in Berlin", "Ana lives in Munich"),
        ("The key is in the office", "The office has moved to Harbour Street"),
        ("The client wants weekly reports", "The report is written in LaTeX instead"),
        ("No problem, Ana!", "No problem, Ben!"),
        ("Room 3 has 5 seats", "Room 4 has 6 seats"),
        ("Ana likes tea", "Ben likes tea"),
        ("Ana and Ben own the parser", "Ben and Ana own the parser"),
        ("On Monday we deploy", "We deploy on Monday"),
        ("We deploy on Fridays", "The office has a new printer"),
        ("The build is green", "The build is green and the tests took 4 minutes on the new machine"),
        ("Pay the light", "Buy the bread"),
        ("", "anything"),
        ("!!!", "???"),
    ],
)
def test_statements_about_different_things_give_no_finding(older: str, newer: str) -> None:
    assert compare(older, newer) is None


def test_the_words_that_differ_are_returned_as_they_were_written() -> None:
    found = compare("The API answers in XML", "The API answers in JSON")
    assert found is not None
    assert (found.older, found.newer) == (("XML",), ("JSON",))


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_two_texts_can_be_compared(older: str, newer: str) -> None:
    compare(older, newer)


@given(st.text(alphabet="abc 不 1.", min_size=1, max_size=60))
def test_a_text_never_contradicts_itself(text: str) -> None:
    found = compare(text, text)
    assert found is None or found.relation is REPEATS


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Damit haben wir dessen Zugang", "Damit haben wir deren Zusage"),
        ("Aquellos otros son nuestros", "Aquellas otras eran suyas"),
        ("Aquilo que nos pertence, embora tambem seja deles", "Aquilo que se vende, embora tambem seja dele"),
    ],
)
def test_sentences_that_share_only_function_words_are_about_different_things(older: str, newer: str) -> None:
    assert compare(older, newer) is None


def test_tasks_state_nothing_that_could_be_contradicted() -> None:
    older = "- [x] Choose the colours\n- [ ] Write the text about returns\n- [ ] Let Ana try the checkout"
    newer = "- [x] Phone number for islands in the form\n- [ ] Text about returns in Portuguese"
    assert compare(older, newer) is None
    assert compare("- We deploy on Mondays", "- We deploy on Fridays") is not None
