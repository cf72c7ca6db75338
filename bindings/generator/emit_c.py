"""The derived C files of the library itself: api.h, its table, the layout table, the exports."""

import re

NOTE = "/* Written by bindings/generate.py from include/millrace; edit the headers instead. */\n"
WIDTH = 100


def wrap(head, parts, tail, width=WIDTH):
    """`head` + parts joined by ", " + tail, broken and aligned behind head where it is too long."""
    lines, current = [], head
    for index, part in enumerate(parts):
        piece = part + (tail if index == len(parts) - 1 else ",")
        if current == head or current.isspace():
            current += piece
        elif len(current) + 1 + len(piece) <= width:
            current += " " + piece
        else:
            lines.append(current)
            current = " " * len(head) + piece
    lines.append(current)
    return "\n".join(lines)


def parameters(function, names=True):
    if not function.params:
        return ["void"]
    return [f"{p.type} {p.name}" if names else str(p.type) for p in function.params]


def signature(function, name=None, tail=")"):
    """`ret name(params)` over as many lines as it takes."""
    return wrap(f"{function.ret} {name or function.name}(", parameters(function), tail)


def api_header(model, template, functions):
    includes = "\n".join(f'#include "{name}"' for name in model.headers)
    slots = "\n".join(wrap(f"  {f.ret} (*{f.slot})(", parameters(f), ");") for f in functions)
    return template.replace("@INCLUDES@", includes).replace("@SLOTS@", slots)


def api_slots(text):
    """The slot names of an api.h, in order; [] for a file without a table."""
    match = re.search(r"typedef struct mr_api \{(.*?)\} mr_api;", text, flags=re.S)
    return re.findall(r"\(\*([a-z0-9_]+)\)", match.group(1)) if match else []


def api_table(functions):
    head = NOTE + "/* The initialiser of an mr_api. */\n"
    head += "sizeof(mr_api), MR_ABI_MAJOR, MR_ABI_MINOR, 0u,\n"
    return head + "".join(f"    {f.name},\n" for f in functions)


def abi_layout(model):
    lines = [NOTE, "/* Define MR_LAYOUT_STRUCT(type) and MR_LAYOUT_FIELD(type, field), "
                   "then include. */\n"]
    for struct in model.structs.values():
        lines.append(f"MR_LAYOUT_STRUCT({struct.name})\n")
        lines += [f"MR_LAYOUT_FIELD({struct.name}, {f.name})\n" for f in struct.fields]
    return "".join(lines)


def version_script(model, major):
    return ("/* Written by bindings/generate.py: what the library exports, and nothing else. */\n"
            f"MILLRACE_{major} {{\n  global:\n    mr_*;\n  local:\n    *;\n}};\n")


def exports(functions):
    return "".join(f"{name}\n" for name in sorted(f.name for f in functions))
