#!/usr/bin/env python3
"""Writes corpus/: for each fuzz target of the readers, small inputs that are right, to start from.

A mutation of a right input gets past the first checks, which bytes at random do not. One seed
stands for each kind of file that a reader tells apart; the fuzzers find the variations.

    tests/fuzz/make_corpus.py
"""

import json
import struct
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


# ---- Tokenizers: tokenizer.json, a zero byte, a text to encode ----------------------------------


def tokenizer(text, tokens, merges, added=(), model=None, **components):
    described = {
        "version": "1.0",
        "added_tokens": [{"id": len(tokens) + i, **token} for i, token in enumerate(added)],
        "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
        "model": {"type": "BPE", "vocab": {token: i for i, token in enumerate(tokens)},
                  "merges": merges, **(model or {})},
    }
    described.update(components)
    return compact(described) + b"\0" + text.encode()


def sequence(name, *steps):
    return {"type": "Sequence", name: list(steps)}


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def template(*parts, special):
    return {"type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}} if part == "$A" else
                       {"SpecialToken": {"id": part, "type_id": 0}} for part in parts],
            "special_tokens": {token: {"id": token, "ids": [number], "tokens": [token]}
                               for token, number in special.items()}}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
BYTES_ONLY = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
BEGIN = {"content": "<|b|>", "special": True, "normalized": False}
SPACED = {"content": "[X]", "lstrip": True, "rstrip": True, "normalized": False}
WORD = {"content": "Wé", "single_word": True, "normalized": True}
LLAMA3_WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
                r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LETTERS = ["a", "b", "c", "Ġ", "ab", "Ġa", "1", "Ã", "©"]
MARKED = ["<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", "<0x0A>", "▁", "a", "b", "▁a", "▁ab"]


def tokenizers():
    yield "byte_level", tokenizer(
        "ab cab é1", LETTERS, ["a b", "Ġ a"], pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL)
    yield "added_tokens", tokenizer(
        "a [X] b<|b|>Wé", LETTERS, ["a b"], added=(BEGIN, SPACED, WORD),
        normalizer={"type": "NFC"}, pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL)
    yield "llama3", tokenizer(
        "ab ab's 1234\n a", LETTERS, ["a b", "Ġ a"], added=(BEGIN,),
        model={"ignore_merges": True},
        pre_tokenizer=sequence("pretokenizers", split({"Regex": LLAMA3_WORDS}), BYTES_ONLY),
        post_processor=sequence("processors", BYTE_LEVEL,
                                template("<|b|>", "$A", special={"<|b|>": len(LETTERS)})),
        decoder=BYTE_LEVEL)
    yield "llama2", tokenizer(
        "ab é?\n ab", MARKED, [["▁", "a"], ["▁a", "b"]],
        model={"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True},
        normalizer=sequence("normalizers", {"type": "Prepend", "prepend": "▁"},
                            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}),
        post_processor=template("<s>", "$A", "</s>", special={"<s>": 1, "</s>": 2}),
        decoder=sequence("decoders",
                         {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                         {"type": "ByteFallback"}, {"type": "Fuse"},
                         {"type": "Strip", "content": " ", "start": 1, "stop": 0}))
    for scheme in ("always", "first", "never"):
        marks = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme,
                 "split": scheme != "first"}
        yield f"metaspace_{scheme}", tokenizer(
            "ab  a b", MARKED, ["▁ a"], model={"unk_token": "<unk>"}, pre_tokenizer=marks,
            decoder=marks)
    yield "lowercase_digits", tokenizer(
        "AB  12!\u2460", [*"ab12! ", "ab"], ["a b"],
        normalizer=sequence("normalizers", {"type": "NFKC"}, {"type": "Lowercase"},
                            {"type": "Replace", "pattern": {"Regex": r"\s{2,}"}, "content": " "}),
        pre_tokenizer=sequence("pretokenizers", {"type": "Digits", "individual_digits": True},
                               {"type": "Punctuation", "behavior": "Isolated"}))
    yield "splits", tokenizer(
        "xab 1Ab\u0301", LETTERS, ["a b"], normalizer={"type": "NFD"},
        pre_tokenizer=sequence(
            "pretokenizers", split({"String": "x"}, "Removed"),
            split({"Regex": r"\s+"}, "MergedWithPrevious"), split({"Regex": r"\d"}, "Contiguous"),
            split({"Regex": "[A-Z]"}, "MergedWithNext"), split({"Regex": r"\w+"}, invert=True),
            BYTES_ONLY),
        decoder=BYTE_LEVEL)


# ---- Checkpoints --------------------------------------------------------------------------------


def safetensors(tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, size) in tensors.items():
        begin = len(data)
        data += bytes(range(1, size + 1))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    text = compact(header)
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def checkpoints():
    yield "one_tensor", safetensors({"w": ("F32", [2, 2], 16)}, {"format": "pt"})
    yield "many_dtypes", safetensors({
        "a": ("BF16", [3], 6), "none": ("F16", [0, 4], 0), "scalar": ("I64", [], 8),
        "half_bytes": ("F4", [2, 3], 3), "flags": ("BOOL", [1, 5], 5)})
    yield "shard_index", compact({"metadata": {"total_size": 8}, "weight_map": {
        "w": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}})


# ---- Models: config.json, a zero byte, generation_config.json -----------------------------------


def config(family, architecture, generation=None, **fields):
    described = {"model_type": family, "architectures": [architecture], "vocab_size": 32,
                 "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
                 "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5,
                 "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2, **fields}
    text = compact(described)
    return text if generation is None else text + b"\0" + compact(generation)


def configs():
    llama = ("llama", "LlamaForCausalLM")
    yield "llama", config(*llama, {"eos_token_id": [2, 3], "bos_token_id": 1},
                          rope_theta=5e5, tie_word_embeddings=True)
    yield "llama_linear", config(*llama, rope_scaling={"type": "linear", "factor": 4.0})
    yield "llama_ntk", config(*llama, rope_scaling={"rope_type": "ntk", "factor": 2.0})
    yield "llama3_rope", config(*llama, rope_parameters={
        "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 32})
    yield "mistral", config("mistral", "MistralForCausalLM", sliding_window=8, head_dim=8)
    yield "qwen2", config("qwen2", "Qwen2ForCausalLM", use_sliding_window=True, sliding_window=8,
                          max_window_layers=1, hidden_act="silu")
    yield "qwen3_yarn", config("qwen3", "Qwen3ForCausalLM", {}, head_dim=8, rope_scaling={
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16,
        "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 0.5})


def main():
    for target, seeds in (("tokenizer_fuzz", tokenizers), ("safetensors_fuzz", checkpoints),
                          ("model_config_fuzz", configs)):
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in seeds():
            (folder / f"{name}.seed").write_bytes(content)


if __name__ == "__main__":
    main()
