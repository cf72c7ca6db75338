#!/usr/bin/env python3
"""Derives everything that repeats the C ABI from include/millrace/*.h.

    bindings/generate.py            writes the derived files
    bindings/generate.py --check    writes nothing; names stale files and exits 1

The order of the function table is kept in bindings/api_order.txt: new functions go to its end. Once
the ABI major is 1 or more, removing or moving an entry is refused; before that it is a warning, and
asks for an `abi:` line in CHANGELOG.md.
"""

import argparse
import sys
from pathlib import Path

from generator import emit_c, emit_cpp, emit_go, emit_loader, emit_python, emit_rust, emit_tests
from generator.abi_headers import read_headers, read_template
from generator.abi_model import HeaderError

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = ROOT / "bindings/generator"
ORDER = ROOT / "bindings/api_order.txt"
API = ROOT / "include/millrace/api.h"
ENTRY = "mr_get_api"  # found by symbol look-up, so it has no slot in the table


def table_order(model):
    """The functions of the table in their permanent order."""
    recorded = ORDER.read_text(encoding="utf-8").split() if ORDER.exists() else []
    if len(set(recorded)) != len(recorded):
        raise HeaderError(f"{ORDER.name} lists a function twice")
    declared = [name for name in model.functions if name != ENTRY]
    order = [name for name in recorded if name in declared]
    order += [name for name in declared if name not in recorded]
    before = emit_c.api_slots(API.read_text(encoding="utf-8")) if API.exists() else []
    after = [model.functions[name].slot for name in order]
    if after[: len(before)] != before:
        where = next(i for i, slot in enumerate(before) if i >= len(after) or after[i] != slot)
        text = f"the table changes from slot {where} on, which held {before[where]}"
        if model.constants["MR_ABI_MAJOR"].value >= 1:
            raise HeaderError(f"{text}; slots are permanent since ABI 1")
        print(f"warning: {text}; add an `abi:` line to CHANGELOG.md", file=sys.stderr)
    return [model.functions[name] for name in order]


def template(name):
    return (TEMPLATES / name).read_text(encoding="utf-8")


def derive():
    """Every derived file: path relative to the root -> text."""
    model = read_headers(ROOT / "include/millrace")
    read_template(model, TEMPLATES / "api.h.in")
    functions = table_order(model)
    everything = functions + [model.functions[ENTRY]]
    major = model.constants["MR_ABI_MAJOR"].value
    return {
        "bindings/api_order.txt": "".join(f"{f.name}\n" for f in functions),
        "include/millrace/api.h": emit_c.api_header(model, template("api.h.in"), functions),
        "src/api/api_table.inc": emit_c.api_table(functions),
        "src/api/abi_layout.inc": emit_c.abi_layout(model),
        "src/api/millrace.map": emit_c.version_script(model, major),
        "bindings/loader/millrace_loader.c":
            emit_loader.loader(model, template("millrace_loader.c.in"), functions),
        "bindings/cpp/millrace_structs.hpp": emit_cpp.structs(model),
        "bindings/go/constants.go": emit_go.constants(model),
        "bindings/go/structs.go": emit_go.structs(model),
        "bindings/go/operators.go": emit_go.operators(model),
        "bindings/go/layout_table_test.go": emit_go.layout_table(model),
        "bindings/python/_abi.py": emit_python.declarations(model, everything),
        "bindings/rust/millrace-sys/src/abi.rs":
            emit_rust.declarations(model, functions, model.functions[ENTRY]),
        "bindings/rust/millrace-sys/tests/layout_table.rs": emit_rust.layout_table(model),
        "bindings/rust/millrace/src/operators.rs": emit_rust.operators(model),
        "tests/abi/every_function.c": emit_tests.every_function(everything),
        "tests/abi/struct_table.inc": emit_tests.struct_table(model),
        "tests/abi/exports.txt": emit_c.exports(everything),
    }


def main():
    parser = argparse.ArgumentParser(description="Derives the table and the bindings of the C ABI.")
    parser.add_argument("--check", action="store_true",
                        help="write nothing; exit 1 if a file is stale")
    options = parser.parse_args()
    try:
        files = derive()
    except HeaderError as error:
        print(f"generate.py: {error}", file=sys.stderr)
        return 2
    stale = []
    for name, text in files.items():
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{'stale' if options.check else 'written'}: {name}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
