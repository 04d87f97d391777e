"""What the local embedder promises: the wheel's own vectors, no network, read once and when needed, bounded memory."""

import hashlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from random import Random

import numpy as np
import pytest
from embedders import in_a_new_process
from tokenizers import Tokenizer

from recollect import ConfigError
from recollect.providers import local
from recollect.providers.base import embed
from recollect.providers.byte_pairs import TokenVocabulary
from recollect.providers.local import LocalEmbedder, installed
from recollect.rest import process_memory

TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
WEIGHTS = "weights/l2_supercat_256.safetensors"

# Every way to a network that Python offers raises an audit event first.
WITHOUT_NETWORK = """
import sys

def refuse(event, arguments):
    if event.split(".")[0] in ("socket", "urllib", "http", "ssl"):
        raise RuntimeError(f"the network was asked for: {event} {arguments}")

sys.addaudithook(refuse)
from recollect.providers.local import LocalEmbedder
row = LocalEmbedder().embed(["the harbour office opens at eight"])[0]
unwanted = {"wordllama", "huggingface_hub", "requests", "urllib3", "httpx", "httpx2", "ssl", "torch"}
print(bool(row.any()), sorted(unwanted & sys.modules.keys()))
"""

# In a process of its own: importing wordllama changes how the whole process logs.
BY_WORDLLAMA_ITSELF = """
import json, sys
from pathlib import Path
import wordllama
model = wordllama.WordLlama.load(disable_download=True, cache_dir=Path(wordllama.__file__).parent)
print(json.dumps(model.embed(json.loads(sys.argv[1])).tolist()))
"""


def wheel() -> Path:
    """The folder of the package that brings the weights."""
    spec = find_spec("wordllama")
    assert spec
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def test_neither_loading_nor_embedding_asks_for_a_network() -> None:
    assert in_a_new_process(WITHOUT_NETWORK) == "True []\n"


def test_the_model_name_stands_for_exactly_these_weights_and_this_tokenizer() -> None:
    assert local.MODEL == "wordllama-256-v1"
    found = {name: hashlib.sha256((wheel() / name).read_bytes()).hexdigest()[:16] for name in (WEIGHTS, TOKENIZER)}
    assert found == {WEIGHTS: "64b47a2dc493cb8e", TOKENIZER: "93248f2a9ec36c7b"}


def test_a_text_without_repetition_has_the_direction_that_wordllama_gives_it() -> None:
    texts = ["the harbour office opens at eight", "Größe und Maß", "漢字 and more", "x"]
    expected = np.array(json.loads(in_a_new_process(BY_WORDLLAMA_ITSELF, json.dumps(texts))))
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert embed(LocalEmbedder(), texts) == pytest.approx(expected, abs=1e-6)


def test_a_token_that_comes_four_times_counts_twice() -> None:
    once, four_times = LocalEmbedder().embed(["harbour", "harbour harbour harbour harbour"])
    assert four_times == pytest.approx(2 * once, abs=1e-5)


def test_a_text_longer_than_a_piece_counts_the_tokens_of_all_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "the harbour office opens at eight and closes at nine"
    whole = embed(LocalEmbedder(), [text])[0]
    monkeypatch.setattr(local, "PIECE", len("the harbour office"))
    in_pieces = embed(LocalEmbedder(), [text])[0]
    first_piece = embed(LocalEmbedder(), ["the harbour office"])[0]
    assert whole @ in_pieces > 0.9
    assert first_piece @ in_pieces < 0.9


def test_another_process_makes_the_same_vector() -> None:
    program = (
        "from recollect.providers.local import LocalEmbedder as E; print(E().embed(['a harbour']).tobytes().hex())"
    )
    assert in_a_new_process(program).strip() == LocalEmbedder().embed(["a harbour"]).tobytes().hex()


def test_nothing_is_read_before_the_first_text_and_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    read = local._read

    def counted() -> object:
        reads.append("read")
        return read()

    monkeypatch.setattr(local, "_read", counted)
    embedder = LocalEmbedder()
    assert reads == []
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda _: embedder.embed(["harbour"])[0].tobytes(), range(32)))
    assert len(set(rows)) == 1
    assert reads == ["read"]


def test_it_starts_no_thread_in_the_process_that_uses_it() -> None:
    program = """
import numpy, psutil
from recollect.providers.local import LocalEmbedder
process = psutil.Process()
before = process.num_threads()
LocalEmbedder().embed(["the harbour office opens at eight"] * 100 + ["harbour " * 10_000])
print(process.num_threads() - before)
"""
    assert in_a_new_process(program) == "0\n"


def test_an_empty_text_is_a_row_of_zeros() -> None:
    rows = LocalEmbedder().embed(["", "harbour", ""])
    assert rows.any(axis=1).tolist() == [False, True, False]


# Not installed, or not whole


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed()
    monkeypatch.setitem(sys.modules, "wordllama", None)
    assert not installed()
    with pytest.raises(ConfigError, match=r"pip install '\.\[local\]'"):
        LocalEmbedder()


def test_without_the_tokenizers_package_it_is_a_wrong_setting_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    local._read_files.cache_clear()  # what another test has read
    with pytest.raises(ConfigError, match="tokenizers"):
        LocalEmbedder().embed(["harbour", "office"])


SHORT_TEXTS = [
    "",
    "why did we choose this database",
    "It's 3.5 MB in C:\\temp, isn't it?",
    "a trailing space ",
    "Größe und Maß, São Tomé",
    "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww aaaaaaaaaaaaaaaaaa",
    "antidisestablishmentarianism internationalisation",
    "l'été déjà vu – naïve café",
]


def test_the_vocabulary_alone_gives_the_tokens_that_the_tokenizer_gives() -> None:
    tokenizer = Tokenizer.from_file(str(wheel() / TOKENIZER))
    vocabulary = TokenVocabulary.of((wheel() / TOKENIZER).read_bytes())
    assert vocabulary is not None
    rng = Random(3)
    pieces = [token.replace("\u2581", " ") for token in tokenizer.get_vocab()]
    made = ["".join(rng.choices(pieces, k=rng.randint(1, 9))) for _ in range(1_000)]
    made += ["".join(rng.choices("abeilnorst '.", k=rng.randint(1, 40))) for _ in range(1_000)]
    known = {text: found for text in [*SHORT_TEXTS, *made] if (found := vocabulary.tokens(text)) is not None}
    assert {*SHORT_TEXTS} <= known.keys()
    assert known == {text: tokenizer.encode(text, add_special_tokens=False).ids for text in known}
    assert len(known) > 500


@pytest.mark.parametrize("text", ["two  spaces", " first", "a\nline", "漢字と☃", "<s>", "a\u2581b", "x" * 121])
def test_a_text_that_the_vocabulary_alone_cannot_tell_is_left_to_the_tokenizer(text: str) -> None:
    vocabulary = TokenVocabulary.of((wheel() / TOKENIZER).read_bytes())
    assert vocabulary is not None
    assert vocabulary.tokens(text) is None
    alone, among = LocalEmbedder().embed([text]), LocalEmbedder().embed([text, "other"])
    assert alone[0].tolist() == among[0].tolist()


def test_one_short_text_loads_no_tokenizer() -> None:
    program = """
import sys
from recollect.providers.local import LocalEmbedder
LocalEmbedder().embed(["why did we choose this database"])
print("tokenizers" in sys.modules)
"""
    assert in_a_new_process(program) == "False\n"


def header(**changed: object) -> bytes:
    described = {"dtype": "F16", "shape": [32000, 256], "data_offsets": [0, 16_384_000], **changed}
    written = json.dumps({"embedding.weight": described}).encode()
    return len(written).to_bytes(8, "little") + written


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (WEIGHTS, None),
        (WEIGHTS, b""),
        (WEIGHTS, b"\xff" * 100),
        (WEIGHTS, header()),
        (WEIGHTS, header() + bytes(1_000_000)),
        (WEIGHTS, header(dtype="F32") + bytes(2 * 16_384_000)),
        (WEIGHTS, header(shape=[64000, 128]) + bytes(16_384_000)),
        (WEIGHTS, header(data_offsets=[512, 16_384_512]) + bytes(16_384_512)),
        (WEIGHTS, b"\x02\0\0\0\0\0\0\0{}" + bytes(16_384_000)),
        (TOKENIZER, None),
        (TOKENIZER, b""),
        (TOKENIZER, b"{}"),
    ],
    ids=[
        "no weights",
        "empty weights",
        "garbage",
        "header alone",
        "cut off",
        "other numbers",
        "other shape",
        "other offset",
        "no tensor",
        "no tokenizer",
        "empty tokenizer",
        "not a tokenizer",
    ],
)
def test_a_damaged_wheel_is_a_wrong_setting_and_says_how_to_mend_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes | None
) -> None:
    package = tmp_path / "wordllama"
    for intact in (WEIGHTS, TOKENIZER):
        file = package / intact
        file.parent.mkdir(parents=True)
        if intact != name:
            file.symlink_to(wheel() / intact)
        elif content is not None:
            file.write_bytes(content)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="force-reinstall"):
        LocalEmbedder().embed(["harbour"])


@pytest.mark.skipif(process_memory.heap() is None, reason="this C library does not tell what it has allocated")
def test_texts_that_were_embedded_are_not_kept() -> None:
    embedder, random = LocalEmbedder(), Random(7)
    texts = [" ".join(f"{random.choice('bdgklm')}a{random.randrange(9_999)}" for _ in range(20)) for _ in range(600)]

    def allocated() -> int:
        found = process_memory.heap()
        assert found is not None
        return int(found.uordblks)

    embedder.embed(["the first text", "loads the tokenizer"])
    before = allocated()
    for text in texts:
        embedder.embed([text])
    assert allocated() - before < 500_000
