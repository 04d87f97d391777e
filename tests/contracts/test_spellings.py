"""Names, numbers and words of many languages are found as people type them, in notes and turns, on every database."""

from recollect import Add, Memory

# A note or turn, and a question that must find it first.
SPELLINGS = (
    ("The IT department moved to the second floor", "IT"),
    ("Ana moved to the US in spring", "us"),
    ("The WHO published its report", "who"),
    ("Is Bea vegan? No.", "no"),
    ("My iPhone15Pro has a broken display", "iphone 15 pro"),
    ("The sofa cost 1,000 dollars", "1000 dollars"),
    ("Das Regal kostet 2.500 Euro", "2500"),
    ("Her shampoo is from L'Oréal", "loreal"),
    ("The parser is written in C++", "c++"),
    ("The game is written in C#", "C#"),
    ("The service runs on .NET 8", ".net"),
    ("Marked with #garden-plan", "#garden-plan"),
    ("Write to rui.costa@example.com about the invoice", "rui.costa@example.com"),
    ("The manual is at https://www.manual.example/setup", "manual.example"),
    ("The router runs firmware v4.17.2", "4.17.2"),
    ("The jack needs 3.5mm", "3.5 mm"),
    ("The backup disk holds 64GB", "64 GB"),
    ("लड़कियाँ स्कूल जाती हैं", "लड़की"),
    ("الكتب الجديدة على الطاولة", "الكتاب كتب"),
    ("ฉันชอบกินข้าวผัดที่ร้านนี้", "ข้าวผัด"),
    ("ຂ້ອຍມັກຕຳໝາກຫຸ່ງ", "ໝາກຫຸ່ງ"),
    ("ខ្ញុំចូលចិត្តកាហ្វេ", "កាហ្វេ"),
    ("私は東京大学で働いています", "東京大学"),
    ("저는 부산에서 일합니다", "부산"),
    ("Die Haustürschlüssel liegen in der Schale", "Schlüssel"),
    ("Der Termin beim Zahnarzt ist am Montag", "Zahnarzttermin"),
    ("Meine Krankenversicherung wird im Mai teurer", "Versicherungen"),
    ("Los niños jugaban con la cometa", "un niño que juega"),
    ("Les fenêtres de la cuisine sont neuves", "la fenêtre"),
    ("As reuniões passaram para quinta", "reunião"),
    ("Wij zoeken nog een paar fietsen", "de fiets"),
)


def test_a_note_and_a_turn_are_found_in_other_spellings_and_forms(mem: Memory) -> None:
    mem.remember_many(Add(content) for content, _ in SPELLINGS)
    conversation = mem.conversations.start()
    for content, _ in SPELLINGS:
        conversation.user(content)
    for content, query in SPELLINGS:
        assert [hit.entry.content for hit in mem.recall(query, limit=1, mode="keyword")] == [content], query
        assert [turn.event.content for turn in mem.conversations.search(query, limit=1)] == [content], query
