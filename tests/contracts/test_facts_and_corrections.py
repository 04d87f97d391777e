"""What was remembered is found a year later, with what corrects it, whatever upkeep did in between."""

import pytest

import recollect
from recollect import FixedClock, Memory, Settings
from recollect.config import EmbedderSettings

DAY = 86_400_000
PAIRS: dict[str | None, list[tuple[str, str]]] = {
    None: [
        ("The staging server is called heron", "The staging server is called egret"),
        ("Marta's extension is 4417", "Marta's extension is 4471"),
        ("The backup disk holds 4 TB", "The backup disk holds 8 TB"),
        ("Olaf is allergic to walnuts", "Olaf is not allergic to walnuts"),
        ("Ida reports to Jonas", "Jonas reports to Ida"),
        ("The invoice goes to building B", "The invoice goes to building D"),
        ("The cache lives in Redis", "The cache no longer lives in Redis"),
        ("Room 7 has 12 chairs", "Room 12 has 7 chairs"),
        ("Der Schlüssel liegt im Büro", "Der Schlüssel liegt nicht im Büro"),
        ("Die Sitzung beginnt um neun", "Die Sitzung beginnt um zehn"),
        ("Le train part du quai 3", "Le train part du quai 5"),
        ("La clé est sous le pot bleu", "La clé est sous le pot vert"),
        ("La reunión es el lunes", "La reunión es el martes"),
        ("El cliente prefiere el correo", "El cliente prefiere el teléfono"),
        ("Il magazzino chiude alle sei", "Il magazzino chiude alle sette"),
        ("Klíč od skladu má Petr", "Klíč od skladu má Pavel"),
        ("Faktury wysyła Ewa", "Faktury wysyła Anna"),
        ("Сервер стоит в Казани", "Сервер стоит в Перми"),
        ("会議は月曜日です", "会議は火曜日です"),
        ("田中さんが担当です", "鈴木さんが担当です"),
        ("服务器在北京", "服务器在上海"),
        ("회의는 세 시에 시작합니다", "회의는 네 시에 시작합니다"),
        ("Toplantı salonu birinci katta", "Toplantı salonu ikinci katta"),
        ("Το γραφείο ανοίγει στις οκτώ", "Το γραφείο ανοίγει στις εννέα"),
    ],
    "decisions": [
        ("We deploy on Fridays", "We do not deploy on Fridays"),
        ("Logs are kept for 30 days", "Logs are kept for 90 days"),
        ("The API answers in XML", "The API answers in JSON"),
        ("Team A owns the parser", "Team B owns the parser"),
        ("Wir nutzen PostgreSQL", "Wir nutzen kein PostgreSQL"),
        ("Nous livrons chaque mois", "Nous livrons chaque semaine"),
        ("Usamos dos revisores", "Usamos un revisor"),
        ("発送は水曜日にします", "発送は木曜日にします"),
    ],
    "lessons": [
        ("The build fails on Windows", "The build works on Windows"),
        ("Retry after 2 seconds", "Retry after 20 seconds"),
        ("The migration succeeded", "The migration failed"),
        ("Port 8080 is free", "Port 8081 is free"),
        ("Der Test braucht Netz", "Der Test braucht kein Netz"),
        ("Le cache se vide à minuit", "Le cache se vide à midi"),
        ("La prueba tarda un minuto", "La prueba tarda diez minutos"),
        ("Тест идёт утром", "Тест идёт вечером"),
    ],
    "tasks": [
        ("- [ ] Call Ruth about the lease", "- [ ] Call Rolf about the lease"),
        ("- [ ] Order 5 ropes", "- [ ] Order 50 ropes"),
        ("- [ ] Move the archive to shelf A", "- [ ] Move the archive to shelf C"),
        ("- [ ] Write to Ana for Ben", "- [ ] Write to Ben for Ana"),
        ("- [ ] Fenster im Lager putzen", "- [ ] Fenster im Büro putzen"),
        ("- [ ] Répondre à Luc", "- [ ] Répondre à Léa"),
        ("- [ ] Pagar la luz", "- [ ] Pagar el agua"),
        ("- [ ] Koupit papír", "- [ ] Koupit toner"),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["local", "none"])
def test_48_facts_and_their_corrections_are_all_recalled_after_400_days(
    location: str, clock: FixedClock, kind: str
) -> None:
    settings = Settings(embedder=EmbedderSettings(kind=kind))
    said = [text for pairs in PAIRS.values() for pair in pairs for text in pair]
    assert len(said) == len(set(said)) == 96
    with recollect.open(location, clock=clock, settings=settings) as home:
        mem = home.agent("ana")
        for category, pairs in PAIRS.items():
            for fact, correction in pairs:
                mem.remember(fact, category=category)
                clock.advance(60_000)
                mem.remember(correction, category=category)
        for _ in range(50):
            clock.advance(8 * DAY)
            assert [run.error for run in home.jobs.run_due() if run.error] == []
        assert {entry.content for entry in mem.list(limit=200)} == set(said)
        assert missing(mem, said) == []
        assert mem.trash() == []


def missing(mem: Memory, said: list[str]) -> list[str]:
    """Those of the texts that are not among what is found by their own words."""
    return [
        text for text in said if text not in [hit.entry.content for hit in mem.recall(text, limit=10, record=False)]
    ]
