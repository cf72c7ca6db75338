"""bindings/rust/millrace-sys: the declarations, and the table for its layout test."""

from .abi_model import CType, HeaderError
from .initializers import NULL, SIZE, STRUCT, ZERO, initial_values

NOTE = "// Written by bindings/generate.py from include/millrace; edit the headers instead.\n"

SCALARS = {
    "char": "c_char", "void": "c_void", "float": "f32", "double": "f64",
    "int8_t": "i8", "int16_t": "i16", "int32_t": "i32", "int64_t": "i64",
    "uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64",
}
KEYWORDS = {"as", "box", "const", "dyn", "fn", "impl", "in", "let", "loop", "match", "mod", "move",
            "mut", "pub", "ref", "self", "type", "unsafe", "use", "where", "yield"}


def _name(name):
    if name in KEYWORDS:
        raise HeaderError(f"`{name}` is a Rust keyword; choose another name in the header")
    return name


def _type(ctype):
    text = SCALARS.get(ctype.base, ctype.base)
    for level in range(ctype.stars):
        # The const of a C type belongs to what the innermost pointer points to.
        text = ("*const " if ctype.const and level == 0 else "*mut ") + text
    return text


def _result(ctype):
    return "" if ctype == CType("void") else f" -> {_type(ctype)}"


def _parameters(function):
    return ", ".join(f"{_name(p.name)}: {_type(p.type)}" for p in function.params)


def _field_type(field):
    return f"[{_type(field.type)}; {field.count}]" if field.length else _type(field.type)


def _default(model, struct):
    lines = [f"impl {struct.name} {{", f"    /// {struct.init or 'All zeros'}.",
             f"    pub const INIT: {struct.name} = {struct.name} {{"]
    for field, value in initial_values(model, struct):
        lines.append(f"        {field.name}: {_constant(struct, field, value)},")
    lines += ["    };", "}", f"impl Default for {struct.name} {{",
              "    fn default() -> Self {", "        Self::INIT", "    }", "}"]
    return "\n".join(lines) + "\n"


def _constant(struct, field, value):
    if value == SIZE:
        return f"core::mem::size_of::<{struct.name}>() as u32"
    if value == NULL:
        if not field.type.stars:
            return "None"
        return "ptr::null()" if field.type.const else "ptr::null_mut()"
    if value == STRUCT:
        return f"{field.type.base}::INIT"
    if value == ZERO:
        element = "0.0" if field.type.base in ("float", "double") else "0"
        if field.type.base.startswith("mr_") and field.type.base not in ("mr_status", "mr_dtype"):
            element = f"{field.type.base}::INIT"
        return f"[{element}; {field.count}]"
    return repr(float(value)) if field.type.base in ("float", "double") else str(value)


def _types(model):
    parts = []
    for name, base in model.aliases.items():
        parts.append(f"pub type {name} = {SCALARS[base]};\n")
    for constant in model.constants.values():
        kind = SCALARS.get(constant.type, constant.type)
        parts.append(f"pub const {constant.name}: {kind} = {constant.value};\n")
    for name, header in model.opaque.items():
        if name != "mr_api":
            parts.append(f"\n/// Opaque; see millrace/{header}.\n#[repr(C)]\npub struct {name} {{\n"
                         "    _opaque: [u8; 0],\n"
                         "    _marker: PhantomData<(*mut u8, PhantomPinned)>,\n}\n")
    for callback in model.callbacks.values():
        parts.append(f"\n/// See millrace/{callback.header}.\npub type {callback.name} =\n"
                     f"    Option<unsafe extern \"C\" fn({_parameters(callback)})"
                     f"{_result(callback.ret)}>;\n")
    for struct in model.structs.values():
        fields = "".join(f"    pub {_name(f.name)}: {_field_type(f)},\n" for f in struct.fields)
        parts.append(f"\n/// See millrace/{struct.header}.\n#[repr(C)]\n"
                     "#[derive(Clone, Copy, Debug)]\n"
                     f"pub struct {struct.name} {{\n{fields}}}\n{_default(model, struct)}")
    return "".join(parts)


def declarations(model, functions, entry):
    head = NOTE + ("\nuse core::marker::{PhantomData, PhantomPinned};\nuse core::ptr;\n"
                   "use std::os::raw::{c_char, c_void};\n\n")
    slots = "".join(f"    pub {_name(f.slot)}:\n        Option<unsafe extern \"C\" fn("
                    f"{_parameters(f)}){_result(f.ret)}>,\n" for f in functions)
    table = ("\n/// The function table; see millrace/api.h. A slot beyond `struct_size` must not"
             " be\n/// read: copy the table with [`crate::full_table`] to get `None` there.\n"
             "#[repr(C)]\n#[derive(Clone, Copy)]\npub struct mr_api {\n    pub struct_size: u32,\n"
             "    pub abi_major: u32,\n    pub abi_minor: u32,\n    pub reserved: u32,\n"
             f"{slots}}}\n")
    linked = "".join(f"    /// See millrace/{f.header}.\n    pub fn {f.name}({_parameters(f)})"
                     f"{_result(f.ret)};\n" for f in functions + [entry])
    pointer = (f"\n/// The type of `mr_get_api`.\npub type mr_get_api_fn =\n"
               f"    unsafe extern \"C\" fn({_parameters(entry)}){_result(entry.ret)};\n")
    return (head + _types(model) + table + pointer
            + f"\n#[cfg(feature = \"link\")]\nextern \"C\" {{\n{linked}}}\n")


def layout_table(model):
    """A function that lists (struct, field, offset, size) the way mr_abi_layout() does."""
    lines = [NOTE, "\nuse core::mem::{size_of, MaybeUninit};\nuse core::ptr::addr_of;\n",
             "use millrace_sys::*;\n\n",
             "macro_rules! field {\n    ($out:ident, $s:ident, $f:ident) => {{\n",
             "        let place = MaybeUninit::<$s>::uninit();\n",
             "        let base = place.as_ptr();\n",
             "        // Only addresses are taken; nothing is read.\n",
             "        let at = unsafe { addr_of!((*base).$f) };\n",
             "        let size = size_of_pointee(at);\n",
             "        $out.push((stringify!($s), stringify!($f), at as usize - base as usize, ",
             "size));\n    }};\n}\n\n",
             "fn size_of_pointee<T>(_: *const T) -> usize {\n    size_of::<T>()\n}\n\n",
             "pub fn layout() -> Vec<(&'static str, &'static str, usize, usize)> {\n",
             "    let mut out = Vec::new();\n"]
    for struct in model.structs.values():
        lines.append(f"    out.push((\"{struct.name}\", \"\", 0, size_of::<{struct.name}>()));\n")
        lines += [f"    field!(out, {struct.name}, {f.name});\n" for f in struct.fields]
    return "".join(lines) + "    out\n}\n"


def operators(model):
    """The safe crate's trait implementations: which slots serve which argument struct."""
    parts = [NOTE, "\nuse crate::operator::{Enqueue, Kernel, Operator, Workspace};\n",
             "use millrace_sys::*;\n"]
    for op, args in model.operators():
        parts.append(f"\nimpl Operator for {args.name} {{\n"
                     f"    const NAME: &'static str = \"mr_{op}\";\n")
        for method, kind, slot in (("enqueue", "Enqueue", op),
                                   ("prepare", "Enqueue", op + "_prepare"),
                                   ("workspace", "Workspace", op + "_workspace"),
                                   ("kernel", "Kernel", op + "_kernel")):
            parts.append(f"    fn {method}(api: &mr_api) -> {kind}<Self> {{\n"
                         f"        api.{slot}\n    }}\n")
        parts.append("}\n")
    return "".join(parts)
