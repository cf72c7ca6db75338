"""Reads include/millrace/*.h into a model.

This is not a C parser. It knows the conventions of our own headers (see base.h) and refuses, with
file and line, whatever it does not know: a header that this file cannot read breaks the rules of
the ABI or extends them, and somebody must decide which.
"""

import re
from pathlib import Path

from .abi_model import (ERROR_PARAM, SCALARS, Callback, Constant, CType, Field, Function,
                        HeaderError, Model, Param, Struct, check_sized, lay_out)
from .initializers import initial_values

# ---- Reading one file ----------------------------------------------------------------------------

_CONDITIONS = [
    # Each condition that a header may hold, and whether its first branch is read.
    (re.compile(r"ifndef MILLRACE_[A-Z_]+_H$"), True),
    (re.compile(r"ifndef MR_API$"), False),
    (re.compile(r"if defined\(_WIN32\)$"), False),
    (re.compile(r"ifdef __cplusplus$"), False),
]
_LINKAGE_MACROS = {"MR_API", "MR_NOEXCEPT", "MR_EXTERN_C_BEGIN", "MR_EXTERN_C_END"}
_INTEGER = re.compile(r"(?:0x[0-9A-Fa-f]+|[0-9]+)(u?)$")
_DTYPE = re.compile(r"MR_DTYPE\((\d+), (\d+), (\d+)\)$")
_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"


class _Reader:
    def __init__(self, path, model):
        self.path = path
        self.model = model
        self.line = 0

    def fail(self, text):
        raise HeaderError(f"{self.path.name}:{self.line}: {text}")

    def read(self):
        text = self.path.read_text(encoding="utf-8")
        if not text.isascii():
            self.fail("headers are ASCII")
        # Comments become blanks of the same number of lines, so that line numbers stay right.
        text = re.sub(r"/\*.*?\*/", lambda m: " " + "\n" * m.group().count("\n"), text, flags=re.S)
        if "//" in text:
            self.fail("a // comment; the headers are C90-style throughout")
        self.statements(self.directives(text))

    def directives(self, text):
        """Executes the preprocessor lines and yields (line number, line) for the rest."""
        stack = []
        pending = ""
        for number, line in enumerate(text.split("\n"), 1):
            self.line = number
            if line.rstrip().endswith("\\"):
                pending += line.rstrip()[:-1] + " "
                continue
            line, pending = (pending + line).strip(), ""
            live = all(stack)
            if not line.startswith("#"):
                if live and line:
                    yield number, line
                continue
            directive = re.sub(r"\s+", " ", line[1:].strip())
            if directive.startswith("if"):
                for pattern, taken in _CONDITIONS:
                    if pattern.match(directive):
                        stack.append(taken)
                        break
                else:
                    self.fail(f"unknown condition #{directive}")
            elif directive == "else":
                stack[-1] = not stack[-1]
            elif directive == "endif":
                stack.pop()
            elif live:
                self.directive(directive)
        if stack:
            self.fail("an #if without its #endif")

    def directive(self, directive):
        if re.match(r'include ("[a-z_]+\.h"|<stddef\.h>|<stdint\.h>)$', directive):
            return
        match = re.match(rf"define ({_IDENTIFIER})(\([^)]*\))? ?(.*)$", directive)
        if not match:
            self.fail(f"unknown directive #{directive}")
        name, arguments, value = match.groups()
        if name in _LINKAGE_MACROS or (re.match(r"MILLRACE_[A-Z_]+_H$", name) and not value):
            return
        if name == "MR_DTYPE" and arguments:
            return
        if arguments:
            self.fail(f"function-like macro {name}")
        if not name.startswith("MR_"):
            self.fail(f"macro {name} does not begin with MR_")
        if name.endswith("_INIT"):
            self.initializer(name, value)
        else:
            self.constant(name, value)

    def constant(self, name, value):
        if name in self.model.constants:
            self.fail(f"{name} is defined twice")
        integer, dtype = _INTEGER.match(value), _DTYPE.match(value)
        if integer:
            number = int(value.rstrip("u"), 0)
            kind = "uint32_t" if integer.group(1) else "int32_t"
            if number > (0xFFFFFFFF if kind == "uint32_t" else 0x7FFFFFFF):
                self.fail(f"{name} does not fit {kind}")
        elif dtype:
            code, bits, lanes = map(int, dtype.groups())
            number, kind = code | bits << 8 | lanes << 16, "mr_dtype"
        else:
            self.fail(f"constant {name} has the value {value!r}, which is no integer")
        self.model.constants[name] = Constant(name, number, kind, self.path.name)

    def initializer(self, name, value):
        struct = self.model.structs.get(name[: -len("_INIT")].lower())
        if struct is None:
            self.fail(f"{name} follows no struct of that name")
        struct.init, struct.init_text = name, value

    # ---- Declarations ----

    def statements(self, lines):
        """Cuts the text into statements at each `;` outside braces."""
        statement, depth, first = "", 0, 0
        for number, line in lines:
            self.line = number
            if not statement.strip() and line in ("MR_EXTERN_C_BEGIN", "MR_EXTERN_C_END"):
                continue
            for char in line:
                if not statement.strip():
                    first = number
                statement += char
                depth += {"{": 1, "}": -1}.get(char, 0)
                if char == ";" and depth == 0:
                    self.line = first
                    self.statement(re.sub(r"\s+", " ", statement).strip())
                    statement = ""
            statement += " "
        if statement.strip():
            self.fail(f"unfinished declaration: {statement.strip()[:60]}")

    def statement(self, text):
        name = _IDENTIFIER
        match = re.match(rf"typedef struct ({name}) ({name});$", text)
        if match:
            self.same_tag(*match.groups())
            self.declare(self.model.opaque, match.group(1), self.path.name)
            return
        match = re.match(rf"typedef ({name}) ({name});$", text)
        if match:
            if match.group(1) not in SCALARS:
                self.fail(f"typedef of {match.group(1)}, which is no fixed-width scalar")
            self.declare(self.model.aliases, match.group(2), match.group(1))
            return
        match = re.match(rf"typedef struct ({name}) {{ (.*) }} ({name});$", text)
        if match:
            self.same_tag(match.group(1), match.group(3))
            fields = [self.field(part.strip())
                      for part in match.group(2).split(";") if part.strip()]
            self.declare(self.model.structs, match.group(1),
                         Struct(match.group(1), fields, self.path.name))
            return
        match = re.match(rf"typedef (.+?) ?\(\*({name})\)\((.*)\);$", text)
        if match:
            self.declare(self.model.callbacks, match.group(2),
                         Callback(match.group(2), self.type(match.group(1)),
                                  self.params(match.group(3)), self.path.name))
            return
        match = re.match(rf"MR_API (.+?[ *])({name})\((.*)\) MR_NOEXCEPT;$", text)
        if match:
            self.function(*match.groups())
            return
        self.fail(f"not a declaration that the generator knows: {text[:80]}")

    def function(self, ret, name, params):
        function = Function(name, self.type(ret.strip()), self.params(params), self.path.name)
        if not name.startswith("mr_"):
            self.fail(f"function {name} does not begin with mr_")
        errors = [p for p in function.params if p.type.base == "mr_error"]
        if errors and (errors != [ERROR_PARAM] or function.params[-1] != ERROR_PARAM):
            self.fail(f"{name}: `mr_error* err` must be the last parameter and the only one")
        if errors and function.ret != CType("mr_status"):
            self.fail(f"{name} takes an mr_error but does not return mr_status")
        self.declare(self.model.functions, name, function)

    def same_tag(self, tag, name):
        if tag != name:
            self.fail(f"struct tag {tag} and typedef {name} differ")

    def declare(self, table, name, value):
        if not name.startswith("mr_"):
            self.fail(f"{name} does not begin with mr_")
        if name in table:
            self.fail(f"{name} is declared twice")
        table[name] = value

    def params(self, text):
        if text.strip() == "void":
            return []
        result = []
        for part in text.split(","):
            match = re.match(rf"(.*[ *])({_IDENTIFIER})$", part.strip())
            if not match:
                self.fail(f"a parameter without a name: {part.strip()}")
            param = Param(self.type(match.group(1).strip()), match.group(2))
            if param.type.base in self.model.structs and not param.type.stars:
                self.fail(f"struct {param.type.base} by value")
            result.append(param)
        return result

    def field(self, text):
        match = re.match(rf"(.*[ *])({_IDENTIFIER})(?:\[(\w+)\])?$", text)
        if not match:
            self.fail(f"not a field that the generator knows: {text}")
        ctype, name = self.type(match.group(1).strip()), match.group(2)
        length = match.group(3) or ""
        if not length:
            count = 1
        elif length.isdigit():
            count = int(length)
        elif length in self.model.constants:
            count = self.model.constants[length].value
        else:
            self.fail(f"{name}[{length}]: the length is unknown")
        return Field(ctype, name, length, count)

    def type(self, text):
        match = re.match(rf"(const )?({_IDENTIFIER}) ?(\**)$", text)
        if not match:
            self.fail(f"not a type of the ABI: {text}")
        const, base, stars = bool(match.group(1)), match.group(2), len(match.group(3))
        model = self.model
        if base in model.opaque and stars == 0:
            self.fail(f"{base} is opaque and crosses by pointer only")
        known = (base == "void" or base in SCALARS or base in model.aliases
                 or base in model.opaque or base in model.structs or base in model.callbacks)
        if not known:
            self.fail(f"unknown type {text}")
        return CType(base, const, stars)


# ---- Entry ---------------------------------------------------------------------------------------


DERIVED = "api.h"


def read_headers(folder: Path) -> Model:
    """Reads every header that millrace.h includes, in its order. api.h is derived, so it is
    skipped; a header that millrace.h does not include is an error."""
    model = Model()
    text = (folder / "millrace.h").read_text(encoding="utf-8")
    names = re.findall(r'^#include "([a-z_]+\.h)"$', text, flags=re.M)
    present = {path.name for path in folder.glob("*.h")} - {"millrace.h"}
    if set(names) | {DERIVED} != present | {DERIVED}:
        raise HeaderError(f"millrace.h and the folder differ: {sorted(set(names) ^ present)}")
    for name in names:
        if name != DERIVED:
            model.headers.append(name)
            read_more(model, folder / name)
    return model


def read_template(model: Model, path: Path):
    """Adds the hand-worded functions of api.h.in, which deal in the table itself."""
    model.opaque["mr_api"] = DERIVED
    reader = _Reader(path.with_name(DERIVED), model)
    for text in re.findall(r"^MR_API .*?;", path.read_text(encoding="utf-8"), flags=re.M | re.S):
        reader.statement(re.sub(r"\s+", " ", text))


def read_more(model: Model, path: Path):
    """Adds the declarations of one file to the model."""
    known = set(model.structs)
    _Reader(path, model).read()
    for name, struct in model.structs.items():
        if name not in known:
            lay_out(model, struct)
            check_sized(struct)
            initial_values(model, struct)
