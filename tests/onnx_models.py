"""Tiny models in the ONNX format, encoded by hand: a table with a row per word, and a tokenizer of these words."""

import struct
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace

FLOAT, INT64 = 1, 7


def embedder(folder: Path, rows: dict[str, Sequence[float]]) -> Path:
    """Write a model whose tokens have these vectors; an unknown word has zeros."""
    size = len(next(iter(rows.values())))
    nodes = [_node("Gather", ["table", "input_ids"], "last_hidden_state")]
    output = _value("last_hidden_state", FLOAT, ["batch", "tokens", size])
    return _write(folder, rows, nodes, output, b"")


def cross_encoder(folder: Path, weights: dict[str, float]) -> Path:
    """Write a model whose score is the sum of the weights of all tokens."""
    rows = {word: [weight] for word, weight in weights.items()}
    nodes = [
        _node("Gather", ["table", "input_ids"], "each"),
        _node(
            "ReduceSum", ["each", "axes"], "logits", _field(5, _field(1, b"keepdims") + _number(3, 0) + _number(20, 2))
        ),
    ]
    axes = _field(5, _number(1, 1) + _number(2, INT64) + _field(8, b"axes") + _field(9, struct.pack("<q", 1)))
    return _write(folder, rows, nodes, _value("logits", FLOAT, ["batch", 1]), axes)


def _write(folder: Path, rows: dict[str, Sequence[float]], nodes: list[bytes], output: bytes, more: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    size = len(next(iter(rows.values())))
    table = [[0.0] * size, *rows.values()]
    packed = struct.pack(f"<{len(table) * size}f", *(number for row in table for number in row))
    tensor = _number(1, len(table)) + _number(1, size) + _number(2, FLOAT) + _field(8, b"table") + _field(9, packed)
    inputs = _field(11, _value("input_ids", INT64, ["batch", "tokens"]))
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, b"tiny") + _field(5, tensor) + more
    graph += inputs + _field(12, output)
    model = _number(1, 8) + _field(8, _field(1, b"") + _number(2, 13)) + _field(7, graph)
    (folder / "model.onnx").write_bytes(model)
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0} | {word: n for n, word in enumerate(rows, 1)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def _node(kind: str, inputs: Sequence[str], output: str, attributes: bytes = b"") -> bytes:
    return (
        b"".join(_field(1, name.encode()) for name in inputs)
        + _field(2, output.encode())
        + _field(4, kind.encode())
        + attributes
    )


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = b"".join(_field(1, _number(1, n) if isinstance(n, int) else _field(2, n.encode())) for n in shape)
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, kind) + _field(2, sizes)))


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value
