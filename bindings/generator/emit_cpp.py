"""bindings/cpp/millrace_structs.hpp: the parts of the C++ interface that exist once per struct or
operator."""

HEAD = """\
// millrace_structs.hpp : initial values of the structs, and the functions of each operator.
//
// Written by bindings/generate.py from include/millrace; part of millrace.hpp, include that.
#ifndef MILLRACE_STRUCTS_HPP
#define MILLRACE_STRUCTS_HPP

#include <millrace/millrace.h>

namespace millrace {

// Initial<Struct>::value() : the struct as its _INIT macro sets it up; args<Struct>() calls it.
template <class Struct>
struct Initial;
"""

OPERATOR_HEAD = """
// Operator<Args> : the four functions of the operator that takes Args.
template <class Args>
struct Operator;
"""

METHODS_HEAD = """
// The operators as methods: stream.rmsnorm(args) enqueues mr_rmsnorm(); op.h holds their rules.
// `Self` is the class that inherits them; it has run(const Args&).
template <class Self>
class OperatorMethods {
 public:
"""


def _operator(op, args):
    return (f"template <>\nstruct Operator<{args.name}> {{\n"
            f"  static constexpr auto enqueue = mr_{op};\n"
            f"  static constexpr auto prepare = mr_{op}_prepare;\n"
            f"  static constexpr auto workspace = mr_{op}_workspace;\n"
            f"  static constexpr auto kernel = mr_{op}_kernel;\n}};\n")


def _method(op, args):
    line = f"  void {op}(const {args.name}& args) const {{ self().run(args); }}\n"
    if len(line) > 101:
        line = f"  void {op}(const {args.name}& args) const {{\n    self().run(args);\n  }}\n"
    return line


def structs(model):
    parts = [HEAD]
    for struct in model.structs.values():
        if struct.init:
            parts.append(f"template <>\nstruct Initial<{struct.name}> {{\n"
                         f"  static {struct.name} value() {{ return {struct.init}; }}\n}};\n")
    parts.append(OPERATOR_HEAD)
    operators = model.operators()
    parts += [_operator(op, args) for op, args in operators]
    parts.append(METHODS_HEAD)
    parts += [_method(op, args) for op, args in operators]
    parts.append("\n private:\n"
                 "  const Self& self() const { return static_cast<const Self&>(*this); }\n"
                 "};\n\n}  // namespace millrace\n\n#endif\n")
    return "".join(parts)
