"""A host application for the device check: PyTorch owns the device, the library is its guest."""
import ctypes as ct
import os

import slice_abi as abi

RESULTS = {'checks': [], 'measured': {}, 'conditions': {}}
# Half a unit in the last place, relative; and absolute, where numbers are subnormal.
ROUNDING = {'torch.bfloat16': (1.02 * 2.0 ** -8, 1e-30),
            'torch.float16': (1.02 * 2.0 ** -11, 2.0 ** -24),
            'torch.float32': (2.0 ** -20, 1e-30)}


def check(name, passed, note=''):
    RESULTS['checks'].append({'name': name, 'passed': bool(passed), 'note': str(note)})
    print(f'{"PASS" if passed else "FAIL"}  {name}{"  " + str(note) if note else ""}', flush=True)


def bound_of(dtype, want):
    """What one rounding to dtype may do to `want`, with a little for the float32 before it."""
    relative, absolute = ROUNDING[str(dtype)]
    return relative * want.abs() + absolute


def guarded(name, function):
    """A check that raises has failed, and the others still run."""
    try:
        function()
    except Exception as e:  # reported as the failure of this very check
        check(name, False, f'{type(e).__name__}: {e}')


def close(name, got, want, extra=0.0):
    """`want` in float64; one rounding to got's dtype, and `extra`, absolute."""
    error = (got.double() - want).abs()
    bound = bound_of(got.dtype, want) + extra
    worst = (error / bound).max().item() if got.numel() else 0.0
    return check(name, worst <= 1.0, f'worst {worst:.2f} of the bound')


class Host:
    """PyTorch and a context of ours on its device, with a wrapped stream."""

    def __init__(self, lib):
        import torch
        self.torch = torch
        self.lib = lib
        torch.cuda.init()
        torch.manual_seed(0)
        config = abi.ContextConfig.make(backend=abi.BACKEND_CUDA)
        self.context = lib.handle('mr_context_create', ct.byref(config))
        self.side = torch.cuda.Stream()
        self.stream = self.wrap(self.side.cuda_stream)
        self.runtime = self.loaded(['libcudart.so.13', 'libcudart.so.12'])
        self.driver = ct.CDLL('libcuda.so.1')
        RESULTS['conditions'].update(torch=torch.__version__, torch_cuda=torch.version.cuda)

    @staticmethod
    def loaded(names):
        for name in names:
            try:
                return ct.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
            except OSError:
                continue
        return None

    def wrap(self, native, flags=0):
        config = abi.StreamConfig.make(flags=flags)
        return self.lib.handle('mr_stream_wrap', self.context, ct.c_void_p(native),
                               ct.byref(config))

    def run(self, op, args):
        """On the wrapped stream, ordered with what PyTorch does on its own."""
        self.side.wait_stream(self.torch.cuda.current_stream())
        self.lib.run(op, self.stream, args)
        self.torch.cuda.current_stream().wait_stream(self.side)

    def normal(self, *shape, dtype=None):
        return self.torch.randn(*shape, device='cuda', dtype=self.torch.float32).to(
            dtype or self.torch.float32)

    @property
    def dtypes(self):
        return (self.torch.float32, self.torch.float16, self.torch.bfloat16)
