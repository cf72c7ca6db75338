"""The library as a guest: the host's error and context state, its capture, results by ring."""
import ctypes as ct
import threading

import slice_abi as abi
from slice_host import check

# ---- The host application's state ----------------------------------------------------------------


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
                                        ('NULL', 0, 0, abi.INVALID_ARGUMENT),
                                        ('NULL', 0, 1, abi.OK)):
        config, out = abi.StreamConfig.make(flags=flags), ct.c_void_p()
        code = lib.status('mr_stream_wrap', host.context, ct.c_void_p(native), ct.byref(config),
                          ct.byref(out))
        check(f'wrapping the {name} stream, flags {flags}', code == wanted, f'{code}')
        lib.release('mr_stream_release', out)


# ---- Capture -------------------------------------------------------------------------------------


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
             ('rmsnorm', abi.rmsnorm(hidden, gain, hidden)),
             ('matmul', abi.matmul(hidden, w, logits)))
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
    check('1,000 replays of a captured step equal the eager step', wrong == 0,
          f'{wrong} wrong of 20')
    del graph


def check_ring(host):
    """Whether mr_ring_wait() right behind a launch waits for that launch's push and not for an
    older one, and whether a step can be read while the next one runs."""
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
