"""The _INIT macros, field by field, for languages that cannot use a C macro."""

import re

from .abi_model import HeaderError

# What a field starts as: a number, NULL, its struct's own initial value, or zeros all over.
SIZE, NULL, STRUCT, ZERO = "size", "null", "struct", "zero"


def _split(text):
    """The elements of `{a, {b, c}, d}`."""
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        raise HeaderError(f"not an initialiser: {text}")
    parts, depth, current = [], 0, ""
    for char in inner[1:-1]:
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return parts + [current.strip()]


def initial_values(model, struct):
    """[(field, value)] with value one of SIZE, NULL, STRUCT, ZERO or a number. A struct without an
    _INIT macro starts as zeros."""
    if not struct.init:
        return [(f, _zero(model, f)) for f in struct.fields]
    parts = _split(struct.init_text)
    if len(parts) != len(struct.fields):
        raise HeaderError(f"{struct.init} has {len(parts)} values for {len(struct.fields)} fields")
    return [(f, _value(model, struct, f, part)) for f, part in zip(struct.fields, parts)]


def _zero(model, field):
    if field.count > 1 or field.length:
        return ZERO
    if field.type.stars or field.type.base in model.callbacks:
        return NULL
    return STRUCT if field.type.base in model.structs else 0


def _value(model, struct, field, text):
    where = f"{struct.init}, field {field.name}"
    if text == f"sizeof({struct.name})" and field.name == "struct_size":
        return SIZE
    if text == "NULL":
        return NULL
    inner = model.structs.get(field.type.base)
    if inner is not None and not field.type.stars and not field.length and text == inner.init:
        return STRUCT
    if re.fullmatch(r"[{}0, ]+", text) and text.startswith("{"):
        if inner is not None and inner.init and not field.length:
            raise HeaderError(f"{where}: zeros where {inner.init} is meant")
        return ZERO if field.length else STRUCT
    if text in model.constants:
        return model.constants[text].value
    if re.fullmatch(r"-?\d+u?", text):
        return int(text.rstrip("u"))
    if re.fullmatch(r"-?\d+\.\d+f", text):
        return float(text.rstrip("f"))
    raise HeaderError(f"{where}: the generator does not know the value {text}")
