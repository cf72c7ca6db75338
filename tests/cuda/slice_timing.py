"""Times of the CUDA slice: RMSNorm beside PyTorch's and beside a copy, and what one enqueue costs
the host. Device times come from graph replay with inputs that are rotated past the L2 cache,
medians of interleaved repeats, after a warm-up of 200 ms."""
import ctypes as ct
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import slice_abi as abi

L2_BYTES = 60 << 20
METHOD = ('graph replay, inputs rotated past 3 x L2, normal data, warm-up 200 ms, median of 9 '
          'interleaved repeats of about 25 ms')


class Replay:
    """Calls captured into one graph, k of them, rotating over `functions`."""

    def __init__(self, host, functions):
        torch = host.torch
        self.torch = torch
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.side = host.side
        torch.cuda.synchronize()
        with torch.cuda.stream(self.side):
            for function in functions * 2:
                function()
            torch.cuda.synchronize()
            self.start.record()
            for function in functions:
                function()
            self.stop.record()
        torch.cuda.synchronize()
        each = max(self.start.elapsed_time(self.stop) / len(functions), 1e-3)
        count = max(len(functions), min(2000, int(25 / each)))
        self.count = (count + len(functions) - 1) // len(functions) * len(functions)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.side):
            for i in range(self.count):
                functions[i % len(functions)]()

    def microseconds(self):
        with self.torch.cuda.stream(self.side):
            self.start.record()
            self.graph.replay()
            self.stop.record()
        self.stop.synchronize()
        return self.start.elapsed_time(self.stop) / self.count * 1e3


def compare(torch, contenders):
    """{name: Replay} to {name: median microseconds}."""
    until = time.perf_counter() + 0.2
    while time.perf_counter() < until:
        for replay in contenders.values():
            replay.microseconds()
    times = {name: [] for name in contenders}
    for _ in range(9):
        for name, replay in contenders.items():
            times[name].append(replay.microseconds())
    return {name: statistics.median(values) for name, values in times.items()}


def copy_bandwidth(host):
    torch = host.torch
    x = torch.randn(1 << 28, device='cuda')
    y = torch.empty_like(x)
    times = compare(torch, {'multiply': Replay(host, [lambda: torch.mul(x, 1.0, out=y)]),
                            'copy': Replay(host, [lambda: y.copy_(x)])})
    return 2 * x.numel() * 4 / min(times.values()) / 1e6


def measure_rmsnorm(host, measured, with_compile):
    torch, lib = host.torch, host.lib
    copy = copy_bandwidth(host)
    measured['copy_TBps'] = copy
    print(f'copy {copy:.2f} TB/s')
    print('rmsnorm bf16        ours us  TB/s   of copy   torch us  compiled us')
    norm = torch.nn.functional.rms_norm
    rows_of = measured['rmsnorm'] = []
    for rows, width in ((1, 4096), (64, 4096), (2048, 4096), (8192, 8192), (4096 * 40, 128)):
        moved = 2 * rows * width * 2
        sets = max(1, min(16, -(-3 * L2_BYTES // moved)))
        w = torch.randn(width, device='cuda').bfloat16()
        xs = [torch.randn(rows, width, device='cuda').bfloat16() for _ in range(sets)]
        ys = [torch.empty_like(x) for x in xs]
        calls = [abi.rmsnorm(x, w, y) for x, y in zip(xs, ys)]
        contenders = {
            'ours': Replay(host, [lambda a=a: lib.run('rmsnorm', host.stream, a) for a in calls]),
            'torch': Replay(host, [lambda x=x: norm(x, (width,), w, 1e-5) for x in xs])}
        if with_compile:
            compiled = torch.compile(lambda x: norm(x, (width,), w, 1e-5), dynamic=False)
            contenders['compiled'] = Replay(host, [lambda x=x: compiled(x) for x in xs])
        times = compare(torch, contenders)
        rate = moved / times['ours'] / 1e6
        kernel = lib.kernel('rmsnorm', host.stream, calls[0])
        rows_of.append({'rows': rows, 'width': width, 'dtype': 'bf16', 'microseconds': times,
                        'TBps': rate, 'of_copy': rate / copy, 'kernel': kernel.name.decode(),
                        'registers': kernel.registers_per_thread,
                        'blocks_per_multiprocessor': kernel.blocks_per_multiprocessor,
                        'limit': kernel.limit.decode(), 'sets': sets, 'method': METHOD})
        print(f'{rows:>8} x {width:<6} {times["ours"]:9.2f} {rate:6.2f} {rate / copy:8.1%} '
              f'{times["torch"]:10.2f} {times.get("compiled", float("nan")):10.2f}', flush=True)


LOOP = r'''
#define _GNU_SOURCE
#include <stdint.h>
#include <time.h>
typedef int32_t (*call)(void*, const void*, void*);
double loop(call f, void* stream, const void* args, int n) {
  struct timespec a, b;
  int i, bad = 0;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (i = 0; i < n; ++i) bad |= f(stream, args, 0);
  clock_gettime(CLOCK_MONOTONIC, &b);
  return bad ? -1.0 : ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / n;
}
'''


def compiled_loop():
    """A loop in C, or None where there is no compiler."""
    compiler = shutil.which('cc') or shutil.which('gcc')
    if compiler is None:
        return None
    folder = tempfile.mkdtemp()
    source, library = os.path.join(folder, 'loop.c'), os.path.join(folder, 'loop.so')
    with open(source, 'w') as file:
        file.write(LOOP)
    subprocess.run([compiler, '-O2', '-shared', '-fPIC', source, '-o', library], check=True)
    loop = ct.CDLL(library).loop
    loop.restype = ct.c_double
    return loop


def measure_enqueue(host, measured):
    """Nanoseconds of host time per call, over 10,000 calls in runs of 100 with the device idle at
    the start of each, so that the queue never fills up."""
    torch, lib = host.torch, host.lib
    x = torch.randn(1, 4096, device='cuda').bfloat16()
    y, w = torch.empty_like(x), torch.randn(4096, device='cuda').bfloat16()
    table, ids = torch.randn(64, 4096, device='cuda').bfloat16(), torch.zeros(
        1, device='cuda', dtype=torch.int32)
    weight = torch.randn(256, 4096, device='cuda').bfloat16()
    d = torch.empty(1, 256, device='cuda', dtype=torch.bfloat16)
    product = abi.matmul(x, weight, d)
    lib('mr_matmul_prepare', host.stream, ct.byref(product))
    loop = compiled_loop()
    for op, args in (('rmsnorm', abi.rmsnorm(x, w, y)), ('embedding', abi.embedding(ids, table, y)),
                     ('matmul', product)):
        function = getattr(lib.raw, 'mr_' + op)
        runs = []
        for _ in range(100):
            torch.cuda.synchronize()
            if loop is not None:
                runs.append(loop(ct.cast(function, ct.c_void_p), host.stream, ct.byref(args), 100))
                continue
            reference = ct.byref(args)
            begin = time.perf_counter_ns()
            for _ in range(100):
                function(host.stream, reference, None)
            middle = time.perf_counter_ns()
            for _ in range(100):
                lib.raw.mr_abi_version(host.stream, reference, None)  # the cost of ctypes alone
            end = time.perf_counter_ns()
            runs.append((middle - begin - (end - middle)) / 100)
        torch.cuda.synchronize()
        measured[f'enqueue_{op}_ns'] = statistics.median(runs)
        print(f'host time of one mr_{op}: {statistics.median(runs):.0f} ns '
              f'({"C" if loop is not None else "ctypes, its own cost taken off"})', flush=True)


def measure(host, measured, with_compile):
    measured['method'] = METHOD
    measure_rmsnorm(host, measured, with_compile)
    measure_enqueue(host, measured)
