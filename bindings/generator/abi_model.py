"""The model of the ABI that every emitter works from, and the layout of its structs."""

from dataclasses import dataclass, field


class HeaderError(Exception):
    """Something in a header that the generator does not understand."""


SCALARS = {
    "char": 1,
    "int8_t": 1, "uint8_t": 1,
    "int16_t": 2, "uint16_t": 2,
    "int32_t": 4, "uint32_t": 4,
    "int64_t": 8, "uint64_t": 8,
    "float": 4, "double": 8,
}


@dataclass(frozen=True)
class CType:
    """`const base` followed by `stars` asterisks. The const belongs to the base."""

    base: str
    const: bool = False
    stars: int = 0

    def __str__(self):
        return ("const " if self.const else "") + self.base + "*" * self.stars


@dataclass(frozen=True)
class Param:
    type: CType
    name: str


@dataclass
class Function:
    name: str
    ret: CType
    params: list
    header: str

    @property
    def slot(self):
        return self.name[len("mr_"):]

    @property
    def fallible(self):
        return self.ret == CType("mr_status") and self.params[-1:] == [ERROR_PARAM]


ERROR_PARAM = Param(CType("mr_error", False, 1), "err")


@dataclass
class Callback:
    name: str
    ret: CType
    params: list
    header: str


@dataclass
class Field:
    type: CType
    name: str
    length: str = ""  # "" for a scalar, else the array length as written
    count: int = 1
    offset: int = 0
    size: int = 0


@dataclass
class Struct:
    name: str
    fields: list
    header: str
    size: int = 0
    align: int = 1
    init: str = ""       # name of the _INIT macro
    init_text: str = ""  # its text

    @property
    def sized(self):
        """A struct that carries its own size (see base.h)."""
        return bool(self.fields) and self.fields[0].name == "struct_size"


@dataclass
class Constant:
    name: str
    value: int
    type: str    # "int32_t", "uint32_t" or "mr_dtype"
    header: str


@dataclass
class Model:
    headers: list = field(default_factory=list)    # file names in reading order
    opaque: dict = field(default_factory=dict)     # name -> header
    aliases: dict = field(default_factory=dict)    # name -> scalar
    callbacks: dict = field(default_factory=dict)
    structs: dict = field(default_factory=dict)
    constants: dict = field(default_factory=dict)
    functions: dict = field(default_factory=dict)

    def operators(self):
        """(op, args struct) for every operator: mr_<op>(stream, const mr_<op>_args*, err)."""
        found = []
        for function in self.functions.values():
            args = self.structs.get(function.name + "_args")
            if args is not None:
                found.append((function.slot, args))
        return found


# ---- Layout --------------------------------------------------------------------------------------


def lay_out(model, struct):
    """Offsets by the x86-64 and AArch64 C rules. Implicit padding is refused: bindings and hosts
    would disagree about what is in it."""
    offset = 0
    for part in struct.fields:
        size, align = _size(model, part.type)
        if offset % align:
            raise HeaderError(f"{struct.header}: {struct.name}.{part.name} needs padding before it")
        part.offset, part.size = offset, size * part.count
        offset += part.size
        struct.align = max(struct.align, align)
    if offset % struct.align:
        raise HeaderError(f"{struct.header}: {struct.name} needs padding at its end")
    struct.size = offset


def _size(model, ctype):
    if ctype.stars or ctype.base in model.callbacks:
        return 8, 8
    if ctype.base in model.structs:
        inner = model.structs[ctype.base]
        return inner.size, inner.align
    scalar = SCALARS.get(model.aliases.get(ctype.base, ctype.base))
    if scalar is None:
        raise HeaderError(f"a field of type {ctype}")
    return scalar, scalar


def check_sized(struct):
    """Refuses a struct with struct_size that is not set up the way base.h says."""
    if struct.sized and [f.name for f in struct.fields[:2]] != ["struct_size", "flags"]:
        raise HeaderError(f"{struct.header}: {struct.name} must open with struct_size, flags")
    if struct.sized and not struct.init:
        raise HeaderError(f"{struct.header}: {struct.name} has no {struct.name.upper()}_INIT")
