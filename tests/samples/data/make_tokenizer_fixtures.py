"""Makes the tokenizer fixtures beside this file: small tokenizers of each style that the readers
support, and what the reference implementation makes of difficult texts with them.

    pip install tokenizers==0.23.3
    python3 make_tokenizer_fixtures.py

A fixture (of spellings, a list of them) is
{"tokenizer": a whole tokenizer.json, "encode": [...], "decode": [...]}:
  encode   text; ids without and with special tokens
  decode   ids; text with special tokens left out, and with all of them
"""
import json
import os
import random

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

HERE = os.path.dirname(os.path.abspath(__file__))

# Own sentences, so that the small vocabularies hold words of several scripts.
CORPUS = [
    "The miller opened the gate, and the water of the mill race turned the wheel that ground the "
    "wheat.",
    "When the wheel stood still, the miller's daughter said: \"We're out of water; they've closed "
    "the gate!\"",
    "I'll walk there, you'll see; it isn't far, and he'd rather wait. She said she'd come. Don't "
    "worry.",
    "In 1998 there were 12345 sacks, in 2024 only 678; the price was 3.14 for each, or 2,500 for "
    "all.",
    "    for row in rows:\n        total += row.weight * 2\n\n    return total\n",
    "Der Müller öffnete das Tor, und über das Wehr floß das Wasser schäumend zurück in den Bach.",
    "Le meunier était là, près de l'écluse, où l'eau s'élève; ça va très bien aujourd'hui.",
    "Мельник открыл ворота, и вода побежала по жёлобу, и колесо повернулось.",
    "水車は水の流れで回ります。水が止まると、水車も止まります。",
    "水轮随着水流转动,水停了,水轮也就停了。",
    "방앗간 주인이 문을 열자 물이 흘러 바퀴가 돌았다.",
    "नदी का पानी चक्की को घुमाता है।",
    "ดูกังหันน้ำหมุนไปตามสายน้ำ",
    "The end 🙂 of the story 👍🏽, said the family 👨‍👩‍👧‍👦 of millers.",
] * 4

TEXTS = [
    "",
    " ",
    "  ",
    "a",
    " a",
    "a ",
    "Hello, world!",
    "The miller's wheel",
    "multiple   spaces    here     now",
    "   leading and trailing   ",
    "tab\tseparated\t\tvalues\t",
    "line\nbreaks\n\nand\r\nWindows\r\n\r\nones",
    "\n\n\n",
    " \n \n  x",
    "trailing newline\n",
    "\t\n \t\n",
    "1", "12", "123", "1234", "1234567890", "3.14159", "2,500,000", "x1y22z333",
    "½ ² Ⅷ ٣٤ 一二三",
    "can't won't they've I'LL WE'RE he'D SHE'S it'm",
    "CAN'T Don'T 'S 's 'tis ''re",
    "l\u2019eau s\u2019\u00e9l\u00e8ve",
    "\u00e9l\u00e8ve e\u0301le\u0300ve \u212b \u2126 \ufb01 \ufdfa",
    "a\u0301\u0323 a\u0323\u0301 q\u0307\u0323",
    "\u1112\u1161\u11ab\u1100\u1173\u11af 한글",
    "水車は水の流れで回ります。",
    "水轮,水!?",
    "नमस्ते दुनिया क्ष",
    "ดูกังหันน้ำ",
    "Привет, мельник! ЁЖ",
    "İSTANBUL ıI ß ẞ Σας ΣΑΣ ǅ",
    "مرحبا بالعالم ١٢٣",
    "🙂", "👍🏽", "👨‍👩‍👧‍👦 family", "🏳️‍🌈🇩🇪", "a🙂b 🙂 c",
    "\u00a0nbsp\u00a0\u2003em\u3000ideographic\u200bzero\u200d\u2028sep\u0085nel\u180emvs",
    "control \x01\x02\x7f chars \x00 nul",
    "\ufeffbom \ufffd replacement \ue000 private \U0010ffff last",
    "snake_case CamelCase kebab-case x->y a+=b; {\"k\": [1, 2]} <tag/> #!@$%^&*()~`|\\",
    "!!!???...---___***",
    "https://example.org/a?b=c&d=%20#e",
    "def f(x):\n    return x  # comment\n\n\n    y = 1\n",
    "the the  the   thethe The THE",
    "▁ lower one eighth ▁▁block",
    "<0x41> <0xE2> <unk>",
    "<s>", "</s>", "<s>Hello</s>", "Hello <s> there </s> ", "<s><s></s>", "<ss>", "< s>",
    "<|begin|>", "text<|end|>more", "<|begin|> x <|end|>", "<|beg", "<|begin|><|end|>",
    "a [LEFT] b", "a   [LEFT]b", "a[RIGHT]   b", "x [BOTH]  y", "  [BOTH][LEFT] [RIGHT]  ",
    "[RIGHT]  [LEFT]",
    "WORD", "aWORDb", "a WORD b", "WORD.", "WORD_", "éWORD", "WORD WORDWORD WORD",
    "Café", "CAFÉ", "cafe\u0301", "new Normal form", "NORMAL", "xnormaly",
    "millrace", "millraces millrac", " millrace",
]
REPEATS = [("a", 300), (" ", 300), ("ab", 200), ("the ", 100), ("\n", 150), ("水", 100), ("🙂", 60),
           ("1", 200), ("!", 150), ("'s", 100), ("e\u0301", 100)]


def added_tokens():
    """One of each kind. The contents differ from one another in their first characters or not, so
    that the longest has to win."""
    return [
        AddedToken("<|end|>", special=True, normalized=False),
        AddedToken("<|end|>more", special=False, normalized=False),
        AddedToken("[LEFT]", lstrip=True, normalized=False),
        AddedToken("[RIGHT]", rstrip=True, normalized=False),
        AddedToken("[BOTH]", lstrip=True, rstrip=True, normalized=False, special=True),
        AddedToken("WORD", single_word=True, normalized=False),
        AddedToken("Café", normalized=True),
        AddedToken("Normal", normalized=True),
    ]


LLAMA3_WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
                r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2_WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
               r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def train(tokenizer, size, special, alphabet):
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False))
    return tokenizer


def byte_level(pre_tokenizer, size=420, special=("<|begin|>",), normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    return train(tokenizer, size, list(special), pre_tokenizers.ByteLevel.alphabet())


def gpt2():
    return byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))


def gpt2_prefix_space():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.add_tokens(added_tokens())
    return tokenizer


def llama3():
    words = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3_WORDS), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer = byte_level(words, special=("<|begin|>", "<|end|>"))
    described = json.loads(tokenizer.to_str())
    # Tokens that no merge makes: only ignore_merges finds them.
    for token in ("millrace", "Ġmillrace"):
        described["model"]["vocab"][token] = len(described["model"]["vocab"])
    described["model"]["ignore_merges"] = True
    tokenizer = Tokenizer.from_str(json.dumps(described))
    begin = tokenizer.token_to_id("<|begin|>")
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin|> $A", pair="<|begin|> $A <|begin|> $B:1",
                                      special_tokens=[("<|begin|>", begin)])])
    return tokenizer


def qwen2():
    words = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2_WORDS), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer = byte_level(words, normalizer=normalizers.NFC())
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=False)
    tokenizer.add_tokens(added_tokens())
    return tokenizer


def sentencepiece(pre_tokenizer, normalizer, decoder, size=420, bytes_too=True, fuse_unk=True):
    """Trained on words that begin with the mark; then byte tokens are put into the vocabulary."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    train(tokenizer, size, ["<unk>", "<s>", "</s>"], [])
    model = json.loads(tokenizer.to_str())["model"]
    tokens = list(model["vocab"])
    if bytes_too:
        tokens[3:3] = [f"<0x{byte:02X}>" for byte in range(256)]
    merges = [tuple(merge) for merge in model["merges"]]
    tokenizer = Tokenizer(models.BPE(
        vocab={token: i for i, token in enumerate(tokens)}, merges=merges, unk_token="<unk>",
        fuse_unk=fuse_unk, byte_fallback=bytes_too))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    if decoder:
        tokenizer.decoder = decoder
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True)
                                  for t in ("<unk>", "<s>", "</s>")])
    return tokenizer


def llama2_decoder():
    return decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                              decoders.Strip(" ", 1, 0)])


def llama2():
    marks = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer = sentencepiece(None, marks, llama2_decoder())
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A <s> $B",
        special_tokens=[("<s>", 1 + tokenizer.token_to_id("<unk>")),
                        ("</s>", tokenizer.token_to_id("</s>"))])
    tokenizer.add_tokens(added_tokens())
    return tokenizer


def metaspace_first():
    return sentencepiece(pre_tokenizers.Metaspace(prepend_scheme="first", split=False), None,
                         llama2_decoder(), fuse_unk=False)


def metaspace_always():
    tokenizer = sentencepiece(pre_tokenizers.Metaspace(prepend_scheme="always", split=True), None,
                              decoders.Metaspace(prepend_scheme="always"), bytes_too=False,
                              fuse_unk=True)
    tokenizer.add_tokens(added_tokens())
    return tokenizer


def metaspace_never():
    return sentencepiece(pre_tokenizers.Metaspace(prepend_scheme="never", split=True), None,
                         decoders.Metaspace(prepend_scheme="never"), bytes_too=False,
                         fuse_unk=False)


def lowercase_digits():
    """Normalizers and pre-tokenizers that the families above do not use together; no decoder."""
    tokenizer = sentencepiece(
        pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                 pre_tokenizers.Punctuation()]),
        normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(),
                              normalizers.Replace(Regex(r"\s{2,}"), " ")]),
        None, bytes_too=False, fuse_unk=True)
    tokenizer.add_tokens(added_tokens())
    return tokenizer


def split_behaviors():
    """Each way to treat what a Split matches, one after the other."""
    split = pre_tokenizers.Split
    tokenizer = byte_level(pre_tokenizers.Sequence([
        split("x", behavior="removed"),
        split(Regex(r"\s+"), behavior="merged_with_previous"),
        split(Regex(r"\d"), behavior="contiguous"),
        split(Regex(r"[A-Z]"), behavior="merged_with_next"),
        split(Regex(r"[\w\s]+"), behavior="isolated", invert=True),
        split(Regex(r"(?=の)|$"), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
        normalizer=normalizers.NFD())
    return tokenizer


def spelling(**components):
    """Every character for itself but for one merge, so that each cut and each rewriting shows in
    the ids."""
    tokens = list("abcdefx AB▁!1") + ["é", "<0xC3>", "<0xA9>", "<0xFF>", "ab", "a b"]
    vocab = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[("a", "b")]))
    for name, component in components.items():
        setattr(tokenizer, name, component)
    return tokenizer


def spellings():
    """Combinations that no model family uses, to pin what each component does alone and after
    another."""
    split, metaspace, replace = pre_tokenizers.Split, pre_tokenizers.Metaspace, decoders.Replace
    behaviors = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
    fuse, strip = decoders.Fuse(), decoders.Strip
    made = [spelling(pre_tokenizer=split(Regex("[abx]"), behavior=b, invert=i), decoder=fuse)
            for b in behaviors for i in (False, True)]
    made += [spelling(pre_tokenizer=pre_tokenizers.Sequence([
        split("x", behavior="isolated"), metaspace(prepend_scheme=scheme)]), decoder=fuse)
             for scheme in ("first", "always", "never")]
    made += [spelling(pre_tokenizer=pre_tokenizers.Sequence([
        split("x", behavior="removed"), split("!", behavior="isolated"),
        metaspace(prepend_scheme="first")]), decoder=fuse)]
    made += [spelling(decoder=decoder) for decoder in (
        strip("a", 1, 0), strip("b", 0, 1), decoders.Sequence([fuse, strip("a", 2, 1)]),
        decoders.Sequence([fuse, replace("ba", "x")]),
        decoders.Sequence([fuse, replace(Regex("b+"), "-")]),
        decoders.Sequence([replace("a", "é"), decoders.ByteFallback()]),
        decoders.Sequence([decoders.ByteFallback(), decoders.ByteLevel(), replace("a", "bb")]),
        decoders.Sequence([fuse, decoders.ByteLevel()]),
        decoders.Sequence([decoders.ByteLevel(), strip("b", 3, 3)]),
        decoders.Sequence([fuse, decoders.Metaspace()]),
        decoders.Metaspace(prepend_scheme="first"))]
    return made


SPELLED = ["", "a", "ab", "aab", "xab", "abxab", "xx", "a b", "  ab", "abab  x", "x ab", "AB!1",
           "b", "aaa", "aba", "ba", "▁a", "é", "a x b x", "bbab"]

STYLES = [gpt2, gpt2_prefix_space, llama3, qwen2, llama2, metaspace_first, metaspace_always,
          metaspace_never, lowercase_digits, split_behaviors]


def id_lists(tokenizer, texts, random_lists):
    """Lists to decode: what texts give, cut, and ids at random, whose bytes are rarely UTF-8."""
    pick = random.Random(7)
    size = tokenizer.get_vocab_size()
    lists = [[], [size + 5], [0, size + 5, 1]]
    for text in texts[::6]:
        ids = tokenizer.encode(text, add_special_tokens=True).ids
        lists += [ids, ids[len(ids) // 3:]]
    lists += [[pick.randrange(size) for _ in range(pick.randrange(1, 12))]
              for _ in range(random_lists)]
    return lists


def decoded(tokenizer, ids):
    """One entry of "decode"; nothing where the reference panics, as its Strip does on a token that
    it empties."""
    try:
        return {"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=True),
                "text_all": tokenizer.decode(ids, skip_special_tokens=False)}
    except BaseException as panic:
        if type(panic).__name__ != "PanicException":
            raise
        return None


def fixture(tokenizer, texts, random_lists=40):
    def encoded(text, special):
        return tokenizer.encode(text, add_special_tokens=special).ids

    return {
        "tokenizer": json.loads(tokenizer.to_str()),
        "encode": [{"text": t, "ids": encoded(t, False), "ids_special": encoded(t, True)}
                   for t in texts],
        "decode": [entry for ids in id_lists(tokenizer, texts, random_lists)
                   if (entry := decoded(tokenizer, ids))],
    }


def write(name, content):
    path = os.path.join(HERE, f"tokenizer_{name}.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(content, out, ensure_ascii=False, separators=(",", ":"))
        out.write("\n")
    print(os.path.basename(path), os.path.getsize(path))


def main():
    texts = TEXTS + [text * count for text, count in REPEATS]
    for make in STYLES:
        write(make.__name__, fixture(make(), texts))
    write("spellings", [fixture(tokenizer, SPELLED, random_lists=2) for tokenizer in spellings()])


if __name__ == "__main__":
    main()
