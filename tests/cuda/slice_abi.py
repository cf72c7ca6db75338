"""The part of millrace's ABI that the device check needs, in ctypes: no other binding is used."""
import ctypes as ct

OK, INVALID_ARGUMENT, NOT_PREPARED, NOT_READY = 0, 10, 14, 17
OUT_OF_DEVICE_MEMORY = 21
BACKEND_CUDA = 2
ROW_ID_OUT_OF_RANGE = 8
ADD_C = 1
EMBEDDING_SCALE = 1
PLUS_ONE, ROUND_BEFORE_WEIGHT = 1, 2
SILU = 3


def dtype(code, bits):
    return code | bits << 8 | 1 << 16


DTYPES = {'int32': dtype(0, 32), 'int64': dtype(0, 64), 'float16': dtype(2, 16),
          'float32': dtype(2, 32), 'bfloat16': dtype(4, 16)}

u32, i32, u64, i64, f32 = ct.c_uint32, ct.c_int32, ct.c_uint64, ct.c_int64, ct.c_float
pointer = ct.c_void_p


class Error(ct.Structure):
    _fields_ = [('code', i32), ('domain', u32), ('native_code', i32), ('flags', u32),
                ('text', ct.c_char * 496)]


class Tensor(ct.Structure):
    _fields_ = [('data', pointer), ('dtype', u32), ('rank', i32), ('flags', u64), ('reserved', u64),
                ('shape', i64 * 6), ('strides', i64 * 6)]


def sized(name, *fields):
    """A struct that opens with its size and flags."""
    kind = type(name, (ct.Structure,),
                {'_fields_': [('struct_size', u32), ('flags', u32), *fields]})

    def make(**values):
        it = kind()
        it.struct_size = ct.sizeof(kind)
        for key, value in values.items():
            setattr(it, key, value)
        return it
    kind.make = staticmethod(make)
    return kind


ContextConfig = sized('ContextConfig', ('backend', u32), ('ordinal', i32), ('log', pointer),
                      ('log_user', pointer), ('log_level', i32), ('reserved', u32),
                      ('options', ct.c_char_p), ('memory', pointer))
StreamConfig = sized('StreamConfig', ('workspace_bytes', u64), ('priority', i32), ('reserved', u32))
ProbeInfo = sized('ProbeInfo', ('version', u32), ('abi_version', u32),
                  ('cuda_runtime_version', u32), ('cuda_driver_version', u32),
                  ('cuda_driver_minimum', u32), ('device_count', u32), ('cuda_status', i32),
                  ('reserved', u32), ('cuda_architectures', ct.c_char * 128),
                  ('build', ct.c_char * 64))
DeviceInfo = sized('DeviceInfo', ('backend', u32), ('ordinal', i32), ('architecture', i32),
                   ('multiprocessors', i32), ('usable', i32), ('reserved', u32),
                   ('memory_bytes', u64), ('l2_bytes', u64), ('shared_per_block', u64),
                   ('name', ct.c_char * 128))
KernelInfo = sized('KernelInfo', ('workspace_bytes', u64), ('threads_per_block', i32),
                   ('registers_per_thread', i32), ('blocks_per_multiprocessor', i32),
                   ('reserved', i32), ('shared_bytes_per_block', u64), ('limit', ct.c_char * 32),
                   ('name', ct.c_char * 64), ('refused', ct.c_char * 384))
RmsNormArgs = sized('RmsNormArgs', ('input', Tensor), ('residual', Tensor), ('weight', Tensor),
                    ('output', Tensor), ('residual_output', Tensor), ('epsilon', f32),
                    ('reserved', u32))
EmbeddingArgs = sized('EmbeddingArgs', ('ids', Tensor), ('table', Tensor), ('output', Tensor),
                      ('row_status', Tensor), ('scale', f32), ('reserved', u32))
MatmulArgs = sized('MatmulArgs', ('x', Tensor), ('w', Tensor), ('bias', Tensor), ('c', Tensor),
                   ('d', Tensor), ('alpha', f32), ('beta', f32), ('activation', u32),
                   ('reserved', u32))


def tensor(t):
    """A torch tensor as the library sees it; None is absent."""
    out = Tensor()
    if t is None:
        return out
    out.data = t.data_ptr()
    out.dtype = DTYPES[str(t.dtype).split('.')[1]]
    out.rank = t.dim()
    for i in range(t.dim()):
        out.shape[i] = t.shape[i]
        out.strides[i] = t.stride(i)
    return out


class Failed(Exception):
    def __init__(self, name, code, error):
        super().__init__(f'{name}: {code}: {error.text.decode(errors="replace")}')
        self.code = code
        self.text = error.text.decode(errors='replace')


class Library:
    """Calls by name; every fallible function gets the trailing error and raises Failed."""

    def __init__(self, path):
        self.raw = ct.CDLL(path)

    def status(self, name, *args):
        """The code alone."""
        function = getattr(self.raw, name)
        function.restype = i32
        self.error = Error()
        return function(*args, ct.byref(self.error))

    def __call__(self, name, *args):
        code = self.status(name, *args)
        if code != OK:
            raise Failed(name, code, self.error)

    def handle(self, name, *args):
        """A function with an out handle in front of the error."""
        out = pointer()
        self(name, *args, ct.byref(out))
        return out

    def release(self, name, handle):
        function = getattr(self.raw, name)
        function.restype = None
        function(handle)

    def run(self, op, stream, args):
        self('mr_' + op, stream, ct.byref(args))

    def kernel(self, op, stream, args):
        info = KernelInfo.make()
        self(f'mr_{op}_kernel', stream, ct.byref(args), ct.byref(info))
        return info


def rmsnorm(x, weight, y, residual=None, residual_output=None, epsilon=1e-5, flags=0):
    return RmsNormArgs.make(flags=flags, input=tensor(x), residual=tensor(residual),
                            weight=tensor(weight), output=tensor(y),
                            residual_output=tensor(residual_output), epsilon=epsilon)


def embedding(ids, table, y, status=None, scale=None):
    return EmbeddingArgs.make(flags=0 if scale is None else EMBEDDING_SCALE, ids=tensor(ids),
                              table=tensor(table), output=tensor(y), row_status=tensor(status),
                              scale=0.0 if scale is None else scale)


def matmul(x, w, d, bias=None, c=None, alpha=1.0, beta=0.0, activation=0):
    return MatmulArgs.make(flags=0 if c is None else ADD_C, x=tensor(x), w=tensor(w),
                           bias=tensor(bias), c=tensor(c), d=tensor(d), alpha=alpha, beta=beta,
                           activation=activation)
