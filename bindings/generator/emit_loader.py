"""bindings/loader/millrace_loader.c: one function per slot, before the hand-written opening."""

from .abi_model import CType
from .emit_c import signature, wrap

BY_HAND = {"mr_get_api", "mr_status_name", "mr_status_text"}


def _function(function):
    call = f"api->{function.slot}"
    arguments = [p.name for p in function.params]
    missing = f"api == NULL || {call} == NULL"
    table = "mrl_late" if function.name.endswith("_release") else "mrl_api"
    lines = [signature(function, tail=") {"), f"  const mr_api* const api = {table}();"]
    if function.fallible:
        lines.append(f"  if ({missing}) {{")
        lines.append(f'    return mrl_refuse(api, "{function.name}", err);')
        lines.append("  }")
        lines.append(wrap(f"  return {call}(", arguments, ");"))
    elif function.ret == CType("void"):
        lines.append(wrap(f"  if (api != NULL && {call} != NULL) {call}(", arguments, ");"))
    else:
        nothing = "NULL" if function.ret.stars else "0"
        lines.append(f"  if ({missing}) return {nothing};")
        lines.append(wrap(f"  return {call}(", arguments or [""], ");"))
    return "\n".join(lines) + "\n}\n"


def loader(model, template, functions):
    codes = [c for c in model.constants.values()
             if c.header == "status.h" and c.type == "int32_t"]
    names = "\n".join(f'    case {c.name}: return "{c.name}";' for c in codes)
    body = "\n".join(_function(f) for f in functions if f.name not in BY_HAND)
    return (template.replace("@STATUS_NAMES@", names).replace("@FUNCTIONS@\n", body)
            .replace("@MAJOR@", str(model.constants["MR_ABI_MAJOR"].value)))
