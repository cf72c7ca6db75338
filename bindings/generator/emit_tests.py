"""The derived files of tests/abi."""

from .abi_model import CType

NOTE = "/* Written by bindings/generate.py from include/millrace; edit the headers instead. */\n"

EVERY_HEAD = NOTE + """\
/* A C99 program that refers to every public function: it links only if all are exported. */
#include <millrace/millrace.h>
#include <stdio.h>

typedef void (*any_function)(void);

typedef struct named_function {
  const char* name;
  any_function address;
} named_function;

static const named_function functions[] = {
"""

EVERY_TAIL = """};

int main(void) {
  size_t i;
  for (i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    if (functions[i].address == NULL) {
      printf("%s has no address\\n", functions[i].name);
      return 1;
    }
  }
  if (mr_abi_version() != MR_ABI_MAJOR * 65536u + MR_ABI_MINOR) {
    printf("the header and the library disagree on the ABI version\\n");
    return 1;
  }
  printf("%u functions\\n", (unsigned)i);
  return 0;
}
"""


def every_function(functions):
    rows = "".join(f'    {{"{f.name}", (any_function){f.name}}},\n' for f in functions)
    return EVERY_HEAD + rows + EVERY_TAIL


def struct_table(model):
    """Which structs carry their size, and who takes or fills them."""
    lines = [NOTE,
             "/* MR_OPERATOR(op, args)              an operator with its argument struct\n"
             "   MR_CALLER_FILLS(struct, function)  a function that takes a sized struct to read\n"
             "   MR_LIBRARY_FILLS(struct, function) a function that fills a sized struct\n"
             "   Define all three, then include. */\n"]
    operators = model.operators()
    lines += [f"MR_OPERATOR({op}, {args.name})\n" for op, args in operators]
    taken = {args.name for _, args in operators}
    for function in model.functions.values():
        for param in function.params:
            struct = model.structs.get(param.type.base)
            if struct is None or not struct.sized or struct.name in taken:
                continue
            reads = param.type == CType(struct.name, True, 1)
            kind = "MR_CALLER_FILLS" if reads else "MR_LIBRARY_FILLS"
            if not (kind == "MR_LIBRARY_FILLS" and function.name.endswith("_kernel")
                    and function.name != "mr_matmul_plan_kernel"):
                lines.append(f"{kind}({struct.name}, {function.name})\n")
    return "".join(lines)
