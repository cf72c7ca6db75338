"""millrace from Python: ctypes over the C interface, no other package needed.

    library = millrace.open()                   # MILLRACE_LIBRARY, or by the system's search path
    context = library.context(backend=millrace.abi.MR_BACKEND_HOST)
    stream = context.stream()                   # or context.wrap(torch_stream.cuda_stream)
    x = stream.buffer(4 * 8)
    t = millrace.tensor(x.data, "f32", (2, 4))
    stream.op("rmsnorm", input=t, output=t, epsilon=1e-5)
    stream.synchronize()

Meant for tests against frameworks and for scripts. An operator's fields are those of its C argument
struct (include/millrace); a tensor is made from an address, a data type, a shape and element
strides, so torch tensors need no conversion: tensor(t.data_ptr(), "bf16", t.shape, t.stride()).
A call holds no reference to the memory that it is given: the caller keeps it alive.
"""

import ctypes
import os
from ctypes import byref

import _abi as abi

DTYPES = {
    "i8": abi.MR_I8, "i32": abi.MR_I32, "i64": abi.MR_I64,
    "u8": abi.MR_U8, "u32": abi.MR_U32, "u64": abi.MR_U64,
    "f16": abi.MR_F16, "f32": abi.MR_F32, "f64": abi.MR_F64, "bf16": abi.MR_BF16,
}


class Error(Exception):
    """A failed call: code (an MR_ constant), domain, native_code, flags, and the library's text."""

    def __init__(self, name, error):
        self.code, self.domain = error.code, error.domain
        self.native_code, self.flags = error.native_code, error.flags
        self.text = error.text.decode("utf-8", "replace")
        super().__init__(f"{name}: {self.text}")


def tensor(data, dtype, shape, strides=None):
    """An mr_tensor at an address. dtype is a name of DTYPES or a number; strides count elements and
    default to row-major."""
    if len(shape) > abi.MR_MAX_RANK:
        raise ValueError(f"{len(shape)} dimensions; at most {abi.MR_MAX_RANK}")
    t = abi.mr_tensor.init()
    t.data = data or None
    t.dtype = DTYPES.get(dtype, dtype)
    t.rank = len(shape)
    step = 1
    for d in reversed(range(len(shape))):
        t.shape[d] = shape[d]
        t.strides[d] = step if strides is None else strides[d]
        step *= shape[d]
    return t


def open(path=None):  # noqa: A001: reads as millrace.open()
    """Opens the library: path, else MILLRACE_LIBRARY, else by the system's search path."""
    named = path or os.environ.get("MILLRACE_LIBRARY") or f"libmillrace.so.{abi.MR_ABI_MAJOR}"
    return Library(ctypes.CDLL(named, mode=os.RTLD_NOW | os.RTLD_LOCAL))


class Library:
    """Every C function under its name without mr_. A fallible one is called without its trailing
    mr_error and raises Error; constants and structs are in millrace.abi."""

    def __init__(self, shared):
        self._shared = shared
        for name, (result, arguments, fallible) in abi.FUNCTIONS.items():
            function = getattr(shared, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name[len("mr_"):], self._raising(function) if fallible else function)
        if self.abi_version() >> 16 != abi.MR_ABI_MAJOR:
            raise ImportError(f"the library has ABI {self.abi_version() >> 16}.x, "
                              f"this module drives {abi.MR_ABI_MAJOR}.x")

    def _raising(self, function):
        def call(*arguments):
            error = abi.mr_error()
            status = function(*arguments, byref(error))
            if status != abi.MR_OK:
                raise Error(self.status_name(status).decode(), error)
        call.__name__ = function.__name__
        return call

    def probe_info(self):
        info = abi.mr_probe_info.init()
        self.probe(byref(info))
        return info

    def context(self, backend=abi.MR_BACKEND_AUTO, ordinal=0, options="", log=None):
        """log(level, text) receives the library's lines."""
        return Context(self, backend, ordinal, options, log)

    def layout(self):
        """[(struct, field, offset, size)] as the library was compiled; see mr_abi_layout."""
        rows = []
        while True:
            s, f = ctypes.c_char_p(), ctypes.c_char_p()
            offset, size = ctypes.c_uint32(), ctypes.c_uint32()
            try:
                self.abi_layout(len(rows), byref(s), byref(f), byref(offset), byref(size))
            except Error as error:
                if error.code != abi.MR_INVALID_ARGUMENT:
                    raise
                return rows
            rows.append((s.value.decode(), f.value.decode(), offset.value, size.value))


class _Object:
    """A counted reference; released when closed, left by `with`, or collected."""

    kind = ""

    def __init__(self, library, handle):
        self.library, self.handle = library, handle

    def close(self):
        handle, self.handle = self.handle, None
        if handle is not None:
            getattr(self.library, f"{self.kind}_release")(handle)

    def __del__(self):
        if getattr(self, "handle", None) is not None:
            self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _make(self, create, *arguments):
        out = ctypes.c_void_p()
        create(*arguments, byref(out))
        return out.value


class Context(_Object):
    kind = "context"

    def __init__(self, library, backend, ordinal, options, log):
        config = abi.mr_context_config.init()
        config.backend, config.ordinal = backend, ordinal
        config.options = options.encode() or None
        if log is not None:
            # Kept as long as the library, not the context: children may outlive this object.
            config.log = abi.mr_log_fn(lambda _, level, text, n: log(level, text.decode()))
            config.log_level = abi.MR_LOG_DEBUG
            library.__dict__.setdefault("_logs", []).append(config.log)
        super().__init__(library, None)
        self.handle = self._make(library.context_create, byref(config))

    def stream(self, workspace_bytes=0):
        config = abi.mr_stream_config.init()
        config.workspace_bytes = workspace_bytes
        make = self.library.stream_create
        return Stream(self.library, self._make(make, self.handle, byref(config)))

    def wrap(self, native, workspace_bytes=0, flags=0):
        """Borrows a stream of the host application by its integer handle, for example
        torch.cuda.Stream.cuda_stream."""
        config = abi.mr_stream_config.init()
        config.workspace_bytes, config.flags = workspace_bytes, flags
        make = self.library.stream_wrap
        return Stream(self.library, self._make(make, self.handle, native or None, byref(config)))

    def memory_stats(self):
        stats = abi.mr_memory_stats.init()
        memory = self.library.context_memory(self.handle)
        self.library.memory_get_stats(memory, byref(stats))
        return stats

    def device(self):
        info = abi.mr_device_info.init()
        self.library.context_device(self.handle, byref(info))
        return info


class Stream(_Object):
    kind = "stream"

    def arguments(self, op, **fields):
        """The operator's argument struct with its initial values and these fields."""
        args = abi.OPERATORS[op].init()
        for name, value in fields.items():
            if not hasattr(args, name):
                raise TypeError(f"{op} has no argument {name}")
            setattr(args, name, value)
        return args

    def op(self, op, **fields):
        """Enqueues an operator: op("rmsnorm", input=t, output=t, epsilon=1e-5)."""
        getattr(self.library, op)(self.handle, byref(self.arguments(op, **fields)))

    def prepare(self, op, **fields):
        getattr(self.library, f"{op}_prepare")(self.handle, byref(self.arguments(op, **fields)))

    def workspace(self, op, **fields):
        """Bytes of scratch that the call takes."""
        need = ctypes.c_uint64()
        ask = getattr(self.library, f"{op}_workspace")
        ask(self.handle, byref(self.arguments(op, **fields)), byref(need))
        return need.value

    def kernel(self, op, **fields):
        """The mr_kernel_info of the call."""
        info = abi.mr_kernel_info.init()
        ask = getattr(self.library, f"{op}_kernel")
        ask(self.handle, byref(self.arguments(op, **fields)), byref(info))
        return info

    def buffer(self, size, tag=abi.MR_TAG_OTHER, kind=abi.MR_MEMORY_DEVICE):
        make = self.library.buffer_create
        return Buffer(self.library, self._make(make, self.handle, size, kind, tag))

    def synchronize(self):
        self.library.stream_synchronize(self.handle)

    def upload(self, address, data):
        """Copies a bytes-like object to a device address, and waits."""
        view = bytes(data)
        self.library.upload(self.handle, address, view, len(view))

    def download(self, address, size):
        """The bytes at a device address, after a wait."""
        data = ctypes.create_string_buffer(size)
        self.library.download(self.handle, data, address, size)
        return data.raw


class Buffer(_Object):
    kind = "buffer"

    @property
    def data(self):
        return self.library.buffer_data(self.handle)

    @property
    def bytes(self):
        return self.library.buffer_bytes(self.handle)
