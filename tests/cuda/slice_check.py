#!/usr/bin/env python3
"""Checks the CUDA slice (RMSNorm, embedding, matmul, streams, capture, ring) inside a host application
that owns the device: PyTorch, with its streams, its allocator and its graph capture.

    slice_check.py libmillrace.so [results.json] [--no-timing] [--compile]

Prints a line per check; the exit code is the number of failures. Results, with the conditions they were
found under, go to the JSON file. References are computed in float64."""
import argparse
import ctypes as ct
import json
import os
import sys
import threading
import time

import slice_abi as abi

RESULTS = {'checks': [], 'measured': {}}
ULP = {'torch.bfloat16': 2.0 ** -8, 'torch.float16': 2.0 ** -11, 'torch.float32': 2.0 ** -21}


def check(name, passed, note=''):
    RESULTS['checks'].append({'name': name, 'passed': bool(passed), 'note': str(note)})
    print(f'{"PASS" if passed else "FAIL"}  {name}{"  " + str(note) if note else ""}', flush=True)


def guarded(name, function):
    """A check that raises has failed, and the others still run."""
    try:
        function()
    except Exception as e:  # reported as the failure of this very check
        check(name, False, f'{type(e).__name__}: {e}')


def close(name, got, want, extra=0.0):
    """`want` in float64; one rounding to got's dtype, and `extra`, absolute."""
    error = (got.double() - want).abs()
    bound = ULP[str(got.dtype)] * want.abs() + 1e-30 + extra
    worst = (error / bound).max().item() if got.numel() else 0.0
    return check(name, worst <= 1.0, f'worst {worst:.2f} of the bound')


# ---- Before the host application touches the device -------------------------------------------------


def check_probe(lib):
    driver = ct.CDLL('libcuda.so.1')
    probe = abi.ProbeInfo.make()
    lib('mr_probe', ct.byref(probe))
    device = abi.DeviceInfo.make()
    lib('mr_device_query', 0, ct.byref(device))
    check('probe finds a usable CUDA device', device.backend == abi.BACKEND_CUDA and
          device.usable == abi.OK, f'{device.name.decode()}, sm_{device.architecture}, code for '
          f'{probe.cuda_architectures.decode()}')
    flags, active = ct.c_uint(), ct.c_int(-1)
    result = driver.cuDevicePrimaryCtxGetState(0, ct.byref(flags), ct.byref(active))
    check('listing devices makes no context', result == 0 and active.value == 0,
          f'active {active.value}')
    RESULTS['conditions'] = {
        'device': device.name.decode(), 'architecture': device.architecture,
        'driver_cuda': probe.cuda_driver_version, 'runtime_cuda': probe.cuda_runtime_version,
        'architectures': probe.cuda_architectures.decode(), 'build': probe.build.decode()}


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


# ---- The host application's state -------------------------------------------------------------------


def check_state(host):
    lib, torch, runtime = host.lib, host.torch, host.runtime
    x = host.normal(4, 256)
    y = torch.empty_like(x)
    args = abi.rmsnorm(x, None, y)
    torch.cuda.synchronize()
    if runtime is not None:
        runtime.cudaGetLastError()
        runtime.cudaSetDevice(9999)
        pending = runtime.cudaPeekAtLastError()
        lib.run('rmsnorm', host.stream, args)
        check('a pending error of the host stays pending', pending != 0 and
              runtime.cudaPeekAtLastError() == pending, f'{pending}')
        runtime.cudaGetLastError()
        memory = lib.raw.mr_context_memory
        memory.restype = ct.c_void_p
        out = ct.c_void_p()
        code = lib.status('mr_memory_allocate', ct.c_void_p(memory(host.context)), host.stream,
                          ct.c_uint64(1 << 50), ct.c_uint64(0), 0, ct.byref(out))
        check('a failed call leaves no error behind', code == abi.OUT_OF_DEVICE_MEMORY and
              runtime.cudaPeekAtLastError() == 0, f'{code}: {lib.error.text.decode()[:80]}')

    seen = {}

    def on_a_fresh_thread():
        before, after = ct.c_void_p(), ct.c_void_p()
        host.driver.cuCtxGetCurrent(ct.byref(before))
        lib.run('rmsnorm', host.stream, args)
        lib('mr_stream_synchronize', host.stream)
        host.driver.cuCtxGetCurrent(ct.byref(after))
        seen.update(before=before.value, after=after.value)
    thread = threading.Thread(target=on_a_fresh_thread)
    thread.start()
    thread.join()
    check('a thread without a context has none afterwards',
          seen == {'before': None, 'after': None}, seen)
    for name, native, flags, wanted in (('per-thread', 2, 0, abi.INVALID_ARGUMENT),
                                        ('NULL', 0, 0, abi.INVALID_ARGUMENT), ('NULL', 0, 1, abi.OK)):
        config, out = abi.StreamConfig.make(flags=flags), ct.c_void_p()
        code = lib.status('mr_stream_wrap', host.context, ct.c_void_p(native), ct.byref(config),
                          ct.byref(out))
        check(f'wrapping the {name} stream, flags {flags}', code == wanted, f'{code}')
        lib.release('mr_stream_release', out)


# ---- RMSNorm ----------------------------------------------------------------------------------------


def norm_reference(torch, x, weight, epsilon, flags, residual=None):
    s = x.double()
    if residual is not None:
        s = (x.float() + residual.float()).to(x.dtype).double()
    n = s / (s.square().mean(-1, keepdim=True) + epsilon).sqrt()
    if flags & abi.ROUND_BEFORE_WEIGHT:
        n = n.to(x.dtype).double()
    if weight is not None:
        n = n * (weight.double() + (1.0 if flags & abi.PLUS_ONE else 0.0))
    return n


def check_rmsnorm(host):
    torch = host.torch
    for dtype in host.dtypes:
        for width in (1, 7, 8, 9, 127, 128, 512, 1000, 2048, 4096, 8192, 16384, 40000):
            x, r = host.normal(5, width, dtype=dtype), host.normal(5, width, dtype=dtype)
            w = host.normal(width, dtype=dtype)
            y, s = torch.empty_like(x), torch.empty_like(x)
            args = abi.rmsnorm(x, w, y)
            host.run('rmsnorm', args)
            kernel = host.lib.kernel('rmsnorm', host.stream, args).name.decode()
            close(f'rmsnorm {str(dtype)[6:]} width {width} ({kernel})', y,
                  norm_reference(torch, x, w, 1e-5, 0))
            host.run('rmsnorm', abi.rmsnorm(x, w, s, residual=r, residual_output=y))
            rounded = (x.float() + r.float()).to(dtype)
            again = torch.empty_like(x)
            host.run('rmsnorm', abi.rmsnorm(rounded, w, again))
            check('  with a residual, the same bits as add, then norm',
                  torch.equal(y, rounded) and torch.equal(s, again))
    for flags in (abi.PLUS_ONE, abi.ROUND_BEFORE_WEIGHT, abi.PLUS_ONE | abi.ROUND_BEFORE_WEIGHT):
        for weight_dtype in (torch.bfloat16, torch.float32, None):
            x = host.normal(33, 4096, dtype=torch.bfloat16)
            w = None if weight_dtype is None else host.normal(4096, dtype=weight_dtype)
            y = torch.empty_like(x)
            host.run('rmsnorm', abi.rmsnorm(x, w, y, flags=flags))
            # A value that is rounded twice may land on either neighbour.
            close(f'rmsnorm flags {flags} weight {weight_dtype}', y,
                  norm_reference(torch, x, w, 1e-5, flags & abi.PLUS_ONE),
                  extra=2 * ULP['torch.bfloat16'] * y.abs().max().item()
                  if flags & abi.ROUND_BEFORE_WEIGHT else 0.0)


def check_rmsnorm_bits(host):
    torch = host.torch
    for width in (8, 7, 128, 1024, 3584, 8192, 20000):
        big = host.normal(1000, width, dtype=torch.float16)
        w = host.normal(width, dtype=torch.float16)
        rows = {}
        for count in (1, 2, 64, 1000):
            y = torch.empty_like(big[:count])
            host.run('rmsnorm', abi.rmsnorm(big[:count], w, y))
            rows[count] = y[0].clone()
        check(f'rmsnorm width {width}: a row does not depend on how many there are',
              all(torch.equal(rows[1], other) for other in rows.values()))
        pad = torch.empty(3 * width + 1, device='cuda', dtype=torch.float16)
        x = pad[1:].view(3, width).copy_(big[:3])
        out = torch.empty(3 * width + 1, device='cuda', dtype=torch.float16)[1:].view(3, width)
        weight = torch.empty(width + 1, device='cuda', dtype=torch.float16)[1:].copy_(w)
        host.run('rmsnorm', abi.rmsnorm(x, weight, out))
        check(f'rmsnorm width {width}: nor on the alignment of its address',
              torch.equal(out[0], rows[1]))
    x = host.normal(64, 4096, dtype=torch.bfloat16)
    y = torch.empty_like(x)
    host.run('rmsnorm', abi.rmsnorm(x, None, y))
    host.run('rmsnorm', abi.rmsnorm(x, None, x))
    check('rmsnorm in place', torch.equal(x, y))
    packed = host.normal(70, 48, 128, dtype=torch.bfloat16)  # q and k heads of a packed tensor
    w = host.normal(128, dtype=torch.bfloat16)
    heads, y = packed[:, 8:40], torch.zeros_like(packed)
    host.run('rmsnorm', abi.rmsnorm(heads, w, y[:, 8:40]))
    close('rmsnorm of heads inside a packed tensor', y[:, 8:40].contiguous(),
          norm_reference(torch, heads, w, 1e-5, 0))
    check('  and nothing else written', not y[:, :8].any() and not y[:, 40:].any())
    for count in (65535, 65536, 70000):
        x = (torch.arange(count, device='cuda') % 251).float().view(-1, 1).expand(-1, 4).contiguous()
        y = torch.empty_like(x)
        host.run('rmsnorm', abi.rmsnorm(x, None, y, epsilon=1.0))
        close(f'rmsnorm of {count} rows', y, norm_reference(torch, x, None, 1.0, 0))


# ---- Embedding --------------------------------------------------------------------------------------


def check_embedding(host):
    torch = host.torch
    for dtype in host.dtypes:
        for width in (1, 7, 64, 4096, 8200):
            table = host.normal(1000, width, dtype=dtype)
            for ids_dtype in (torch.int32, torch.int64):
                ids = torch.randint(0, 1000, (77,), device='cuda', dtype=ids_dtype)
                ids[3], ids[5], ids[7] = -1, 1000, -2
                y = torch.full((77, width), float('nan'), device='cuda', dtype=dtype)
                status = torch.full((77,), 99, device='cuda', dtype=torch.int32)
                host.run('embedding', abi.embedding(ids, table, y, status))
                valid = (ids >= 0) & (ids < 1000)
                want = table[ids.clamp(0, 999).long()] * valid.view(-1, 1)
                bad = torch.zeros(77, dtype=torch.int32, device='cuda')
                bad[5] = bad[7] = abi.ROW_ID_OUT_OF_RANGE
                check(f'embedding {str(dtype)[6:]} width {width} {str(ids_dtype)[6:]}',
                      torch.equal(y, want) and torch.equal(status, bad))
        view = table.t()[::2].t()  # every second column
        y = torch.empty(77, view.shape[1], device='cuda', dtype=dtype)
        host.run('embedding', abi.embedding(ids, view, y, scale=3.25))
        close(f'embedding {str(dtype)[6:]} strided, scaled', y,
              (view[ids.clamp(0, 999).long()] * valid.view(-1, 1)).double() * 3.25)


# ---- Matmul -----------------------------------------------------------------------------------------


def matmul_close(name, d, x, w, want):
    size = x.double().abs() @ w.double().abs().transpose(-1, -2)
    error = (d.double() - want).abs()
    bound = ULP[str(d.dtype)] * want.abs() + 2.0 ** -20 * size + 1e-30
    worst = (error / bound).max().item()
    check(name, worst <= 1.0, f'worst {worst:.2f} of the bound')


def check_matmul(host):
    torch, lib = host.torch, host.lib
    shapes = ((1, 4096, 4096), (16, 6144, 4096), (128, 512, 1024), (300, 4096, 512), (17, 19, 5),
              (1, 105, 107), (33, 1000, 129))
    for dtype in host.dtypes:
        for m, n, k in shapes:
            for d_dtype in {dtype, torch.float32}:
                x, w = host.normal(m, k, dtype=dtype), host.normal(n, k, dtype=dtype)
                bias = host.normal(n, dtype=d_dtype)
                d = torch.full((m, n), float('nan'), device='cuda', dtype=d_dtype)
                args = abi.matmul(x, w, d, bias=bias, alpha=0.5)
                lib('mr_matmul_prepare', host.stream, ct.byref(args))
                host.run('matmul', args)
                kernel = lib.kernel('matmul', host.stream, args).name.decode()
                matmul_close(f'matmul {m}x{n}x{k} {str(dtype)[6:]} to {str(d_dtype)[6:]} ({kernel})',
                             d, x, w, 0.5 * (x.double() @ w.double().t()) + bias.double())
    x, w = host.normal(40, 64, dtype=torch.float16), host.normal(48, 64, dtype=torch.float16)
    d, c = (host.normal(40, 48, dtype=torch.float16) for _ in range(2))
    product = x.double() @ w.double().t()
    code = lib.status('mr_matmul', host.stream, ct.byref(abi.matmul(x, w, d)))
    check('matmul of a shape that was not prepared is NOT_PREPARED', code == abi.NOT_PREPARED, code)

    def prepared(name, args, want):
        lib('mr_matmul_prepare', host.stream, ct.byref(args))
        host.run('matmul', args)
        kernel = lib.kernel('matmul', host.stream, args).name.decode()
        matmul_close(f'matmul {name} ({kernel})', d, x, w, want)
    prepared('+ beta c', abi.matmul(x, w, d, c=c, beta=-2.0), product - 2.0 * c.double())
    swapped = w.t().contiguous().t()
    prepared('with w stored [k, n]', abi.matmul(x, swapped, d), product)
    prepared('silu', abi.matmul(x, w, d, activation=abi.SILU), torch.nn.functional.silu(product))
    bias = torch.zeros(49, device='cuda', dtype=torch.float16)[1:].copy_(torch.arange(48))
    prepared('with a bias off by one element', abi.matmul(x, w, d, bias=bias),
             product + bias.double())
    nan = torch.full_like(x, float('nan'))
    prepared('alpha 0 reads neither x nor w', abi.matmul(nan, w, d, c=c, alpha=0.0, beta=1.0),
             c.double())
    xs, ws = host.normal(5, 12, 32), host.normal(1, 24, 32)
    ds = torch.empty(5, 12, 24, device='cuda')
    args = abi.matmul(xs, ws.expand(5, 24, 32), ds)
    lib('mr_matmul_prepare', host.stream, ct.byref(args))
    host.run('matmul', args)
    matmul_close('matmul batch, w broadcast', ds, xs, ws, xs.double() @ ws.double().transpose(1, 2))


# ---- Capture ----------------------------------------------------------------------------------------


def check_capture(host):
    """A decode step inside the host's capture: 1,000 replays between allocations of the host."""
    torch, lib = host.torch, host.lib
    rows, width, vocab = 4, 4096, 4096
    table = host.normal(vocab, width, dtype=torch.bfloat16)
    w = host.normal(vocab, width, dtype=torch.bfloat16)
    gain = host.normal(width, dtype=torch.bfloat16)
    ids = torch.zeros(rows, device='cuda', dtype=torch.int32)
    hidden = torch.empty(rows, width, device='cuda', dtype=torch.bfloat16)
    logits = torch.empty(rows, vocab, device='cuda', dtype=torch.float32)
    steps = (('embedding', abi.embedding(ids, table, hidden)),
             ('rmsnorm', abi.rmsnorm(hidden, gain, hidden)), ('matmul', abi.matmul(hidden, w, logits)))
    lib('mr_matmul_prepare', host.stream, ct.byref(steps[2][1]))
    lib('mr_stream_reserve_capture', host.stream, ct.c_uint64(64 << 20))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=host.side):
        for op, args in steps:
            lib.run(op, host.stream, args)
    wrong = 0
    with torch.cuda.stream(host.side):
        for step in range(1000):
            ids.random_(0, vocab)
            junk = torch.empty(1 + step * 7919 % (8 << 20), device='cuda').fill_(float('nan'))
            graph.replay()
            del junk
            if step % 50 == 0:
                replayed = logits.clone()
                for op, args in steps:
                    lib.run(op, host.stream, args)
                wrong += not torch.equal(replayed, logits)
    torch.cuda.synchronize()
    check('1,000 replays of a captured step equal the eager step', wrong == 0, f'{wrong} wrong of 20')
    del graph


def check_ring(host):
    """Whether mr_ring_wait() right behind a launch waits for that launch's push and not for an older
    one, and whether a step can be read while the next one runs."""
    torch, lib = host.torch, host.lib
    ring = lib.handle('mr_ring_create', host.context, ct.c_uint32(2), ct.c_uint64(64))
    counter = torch.zeros(1, device='cuda', dtype=torch.int64)
    graphs = []
    torch.cuda.synchronize()
    for slot, cycles in ((0, 1_000_000), (1, 40_000_000)):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=host.side):
            torch.cuda._sleep(cycles)
            counter.add_(1)
            lib('mr_ring_push', ring, ct.c_uint32(slot), host.stream,
                ct.c_void_p(counter.data_ptr()), ct.c_uint64(8))
        graphs.append(graph)
    counter.zero_()
    torch.cuda.synchronize()

    def wait(slot):
        data = ct.c_void_p()
        lib('mr_ring_wait', ring, ct.c_uint32(slot), ct.byref(data))
        return ct.c_int64.from_address(data.value).value
    stale = []
    with torch.cuda.stream(host.side):
        for step in range(1, 201):
            graphs[0].replay()
            got = wait(0)
            if got != step:
                stale.append((step, got))
        check('ring: a wait behind a launch gives that launch\'s data', not stale,
              f'{len(stale)} of 200 stale {stale[:3]}')
        torch.cuda.synchronize()
        base, early, right = counter.item(), 0, 0
        for step in range(20):
            graphs[0].replay()
            graphs[1].replay()
            first = wait(0)
            early += lib.status('mr_ring_query', ring, ct.c_uint32(1)) == abi.NOT_READY
            right += first == base + 2 * step + 1 and wait(1) == base + 2 * step + 2
            torch.cuda.synchronize()
        check('ring: step n is read while step n + 1 runs', early == 20 and right == 20,
              f'{early} read early, {right} right, of 20')
    lib.release('mr_ring_release', ring)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('library')
    parser.add_argument('results', nargs='?')
    parser.add_argument('--no-timing', action='store_true')
    parser.add_argument('--compile', action='store_true', help='time torch.compile as well')
    options = parser.parse_args()
    lib = abi.Library(os.path.abspath(options.library))
    guarded('probe', lambda: check_probe(lib))
    host = Host(lib)
    for section in (check_state, check_rmsnorm, check_rmsnorm_bits, check_embedding, check_matmul,
                    check_capture, check_ring):
        guarded(section.__name__, lambda: section(host))
    if not options.no_timing:
        import slice_timing
        guarded('timing', lambda: slice_timing.measure(host, RESULTS['measured'], options.compile))
    host.torch.cuda.synchronize()
    lib.release('mr_stream_release', host.stream)
    lib.release('mr_context_release', host.context)
    failures = sum(not it['passed'] for it in RESULTS['checks'])
    RESULTS['when'] = time.strftime('%Y-%m-%d')
    if options.results:
        with open(options.results, 'w') as file:
            json.dump(RESULTS, file, indent=1)
    print(f'{len(RESULTS["checks"])} checks, {failures} failed')
    return min(failures, 100)


if __name__ == '__main__':
    sys.exit(main())
