"""The estimate of tokens, compared with recorded counts of a real tokenizer (o200k_base) for fixed texts."""

import pytest

from recollect import token_estimate
from recollect.text import estimate_tokens, token_weight

ENGLISH_NOTE = """We decided to move the billing service to the new cluster on the second weekend of March, \
because the old machines run out of warranty in April. Maria owns the migration plan; Tom checks the \
backups the evening before. If the restore test takes longer than forty minutes, we postpone everything by \
a week and tell the customers on Monday morning."""
ENGLISH_CHAT = """Hey! Did you end up going to the pottery class yesterday? I was thinking about you, it's \
been ages since we last went together. - Yes, it was so much fun. I made a small blue bowl for my \
grandmother's birthday, she turns eighty next week. My kids want to come along next time, so I asked the \
teacher whether there's a family workshop in October."""
PORTUGUESE_NOTE = """Decidimos que as entregas para o Porto saem sempre às quintas-feiras, porque o armazém \
não consegue preparar as encomendas antes de quarta à tarde. A Joana fala com os clientes mais antigos e \
explica a mudança; o Rui atualiza a página e as instruções do aplicativo. Se houver reclamações, voltamos a \
conversar na reunião de segunda-feira."""
PORTUGUESE_CHAT = """Oi, tudo bem? Você conseguiu falar com a sua irmã sobre a viagem? Estou pensando em \
comprar as passagens amanhã, mas queria saber se ela prefere viajar de manhã ou à noite. - Falei sim, ela \
disse que tanto faz, só não quer perder o almoço de domingo com os avós. Ah, e não esquece que o meu \
sobrinho também vai, ele já tem sete anos."""
PYTHON = '''def merge(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the union of the intervals, sorted."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


if __name__ == "__main__":
    print(merge([(1, 3), (2, 6), (8, 10), (15, 18)]))
'''
JAVASCRIPT = """export async function loadOrders(customerId, { signal, pageSize = 50 } = {}) {
  const response = await fetch(`/api/customers/${customerId}/orders?limit=${pageSize}`, { signal });
  if (!response.ok) {
    throw new Error(`orders of ${customerId}: ${response.status}`);
  }
  const { items, nextCursor } = await response.json();
  return { orders: items.map((item) => ({ ...item, total: item.price * item.quantity })), nextCursor };
}
"""
CHINESE = """我们决定从下个月开始每周二部署新版本，因为周五出问题的时候没有人值班。小王负责写发布说明，小李\
检查数据库的备份。如果测试没有通过，就推迟到第二天上午，并且在群里通知所有人。昨天客户说他们更喜欢旧的界面，\
所以我们先保留它。"""
JAPANESE = """来月から毎週火曜日に新しいバージョンをデプロイすることにしました。金曜日に問題が起きると、対応\
できる人がいないからです。田中さんがリリースノートを書き、佐藤さんがデータベースのバックアップを確認します。\
昨日の会議で、お客様は前の画面の方が使いやすいと言っていました。"""
KOREAN = """다음 달부터 매주 화요일에 새 버전을 배포하기로 결정했습니다. 금요일에 문제가 생기면 대응할 \
사람이 없기 때문입니다. 민수는 릴리스 노트를 작성하고 지은은 데이터베이스 백업을 확인합니다. 어제 고객이 \
예전 화면이 더 편하다고 말했습니다."""
BLOCK = """## MEMORY CONTEXT
Relevant Decisions:
- deploy day: We deploy on Tuesdays, never on a Friday (2026-03-02, agent)
Earlier Conversations:
- Ana: I moved the staging database to port 5433 last week.
  Ben: Good, then I change the connection string in docker-compose.yml (2026-02-27)
---
"""
COUNTS = {
    "ENGLISH_NOTE": 67,
    "ENGLISH_CHAT": 77,
    "PORTUGUESE_NOTE": 78,
    "PORTUGUESE_CHAT": 83,
    "PYTHON": 140,
    "JAVASCRIPT": 109,
    "CHINESE": 73,
    "JAPANESE": 93,
    "KOREAN": 71,
    "BLOCK": 74,
}
"""Recorded with tiktoken 0.14."""


@pytest.mark.parametrize("name", COUNTS)
def test_the_estimate_is_within_a_tenth_of_a_real_tokenizer(name: str) -> None:
    assert estimate_tokens(globals()[name]) == pytest.approx(COUNTS[name], rel=0.1)


def test_the_estimate_of_nothing_is_zero_and_of_anything_else_is_not() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("a") == estimate_tokens("界") == estimate_tokens("?") == 1


def test_the_estimate_of_a_text_is_about_the_sum_of_its_lines() -> None:
    lines = (ENGLISH_CHAT + "\n" + PYTHON).splitlines(keepends=True)
    assert sum(map(estimate_tokens, lines)) == pytest.approx(estimate_tokens("".join(lines)), rel=0.1)


def test_the_estimate_of_a_text_is_that_of_its_words_and_of_the_white_space_beyond_single_blanks() -> None:
    """A blank costs nothing, whatever is beside it: the words of a text can be counted one by one."""
    weight, line = token_weight, "- user: I moved (2025-11-20)"
    assert weight(line) == pytest.approx(sum(map(weight, line.split())))
    assert weight("one  two") == pytest.approx(weight("one") + weight("  ") + weight("two"))
    assert weight("one\n  two \n") == pytest.approx(weight("one") + weight("\n  ") + weight("two") + weight(" \n"))
    assert weight("  ") > weight("\n") > weight("\t") == weight(" ") == 0


def test_the_estimate_of_a_text_of_megabytes_is_extrapolated_from_samples() -> None:
    page = "\n".join([ENGLISH_NOTE, PYTHON, CHINESE, PORTUGUESE_CHAT])
    for pages in (200, 2_000):
        assert token_weight(page * pages) == pytest.approx(pages * token_weight(page), rel=0.03)
    numbers = " ".join(f"{number:07}" for number in range(1_000_000))
    before = len(token_estimate._TOKEN_COSTS)
    assert token_weight(numbers) == pytest.approx(1_000_000 * token_weight("0000001"), rel=0.03)
    assert len(token_estimate._TOKEN_COSTS) - before < 20_000  # the words that were looked at
