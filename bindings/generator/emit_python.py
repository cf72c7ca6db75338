"""bindings/python/_abi.py: constants, ctypes structs and prototypes."""

from .emit_c import WIDTH, wrap
from .initializers import NULL, SIZE, STRUCT, ZERO, initial_values

HEAD = '''"""Written by bindings/generate.py from include/millrace; edit the headers instead."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int8
from ctypes import c_int32, c_int64, c_uint8, c_uint32, c_uint64, c_void_p
'''

SCALARS = {
    "char": "c_char", "float": "c_float", "double": "c_double",
    "int8_t": "c_int8", "int32_t": "c_int32", "int64_t": "c_int64",
    "uint8_t": "c_uint8", "uint32_t": "c_uint32", "uint64_t": "c_uint64",
}


def _type(model, ctype):
    """Handles and untyped addresses are c_void_p; a pointer to anything known is POINTER."""
    base = SCALARS.get(model.aliases.get(ctype.base, ctype.base))
    if ctype.stars == 0:
        return "None" if ctype.base == "void" else base or ctype.base
    if ctype.base == "char" and ctype.const:
        inner, stars = "c_char_p", ctype.stars - 1
    elif ctype.base == "void" or ctype.base in model.opaque:
        inner, stars = "c_void_p", ctype.stars - 1
    elif ctype.base == "char":
        return "c_void_p"
    else:
        inner, stars = base or ctype.base, ctype.stars
    for _ in range(stars):
        inner = f"POINTER({inner})"
    return inner


def _struct(model, struct):
    lines = [f"\n\nclass {struct.name}(Structure):\n", "    _fields_ = [\n"]
    for field in struct.fields:
        kind = _type(model, field.type) + (f" * {field.count}" if field.length else "")
        lines.append(f'        ("{field.name}", {kind}),\n')
    lines.append("    ]\n")
    if struct.init:
        lines.append(f'\n    @classmethod\n    def init(cls):\n        """{struct.init}"""\n'
                     "        s = cls()\n")
        for field, value in initial_values(model, struct):
            if value == SIZE:
                lines.append("        s.struct_size = ctypes.sizeof(cls)\n")
            elif value == STRUCT:
                inner = model.structs[field.type.base]
                if inner.init and any(v not in (NULL, ZERO, STRUCT) and v != 0
                                      for _, v in initial_values(model, inner)):
                    lines.append(f"        s.{field.name} = {inner.name}.init()\n")
            elif value not in (NULL, ZERO) and value != 0:
                lines.append(f"        s.{field.name} = {value}\n")
        lines.append("        return s\n")
    return "".join(lines)


def declarations(model, functions):
    parts = [HEAD, "\n"]
    parts += [f"{c.name} = {c.value}\n" for c in model.constants.values()]
    # A struct holds callbacks, and a callback takes pointers to structs: those are given as plain
    # addresses, for ctypes.cast().
    for callback in model.callbacks.values():
        types = [_type(model, t) for t in [callback.ret] + [p.type for p in callback.params]]
        types = ["c_void_p" if t.startswith("POINTER(mr_") else t for t in types]
        parts.append(f"\n{callback.name} = CFUNCTYPE({', '.join(types)})")
    parts.append("\n")
    parts += [_struct(model, struct) for struct in model.structs.values()]
    parts.append("\n\n# name: (result, arguments, whether it is fallible)\nFUNCTIONS = {\n")
    for function in functions:
        head = f'    "{function.name}": ({_type(model, function.ret)}, ['
        types = [_type(model, p.type) for p in function.params]
        tail = f"], {function.fallible}),"
        line = head + ", ".join(types) + tail
        if len(line) > WIDTH:
            line = head.removesuffix(" [") + "\n" + wrap("        [", types, tail)
        parts.append(f"{line}\n")
    parts.append("}\n\n# op: argument struct\nOPERATORS = {\n")
    parts += [f'    "{op}": {args.name},\n' for op, args in model.operators()]
    parts.append("}\n\nSTRUCTS = [\n")
    parts += [f"    {name},\n" for name in model.structs]
    return "".join(parts) + "]\n"
