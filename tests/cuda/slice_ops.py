"""The operators of the slice against their formulas in float64."""
import ctypes as ct

import slice_abi as abi
from slice_host import bound_of, check, close

# ---- RMSNorm -------------------------------------------------------------------------------------


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
                  extra=2.0 ** -7 * y.abs().max().item()
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
        x = (torch.arange(count, device='cuda') % 251).float()
        x = x.view(-1, 1).expand(-1, 4).contiguous()
        y = torch.empty_like(x)
        host.run('rmsnorm', abi.rmsnorm(x, None, y, epsilon=1.0))
        close(f'rmsnorm of {count} rows', y, norm_reference(torch, x, None, 1.0, 0))


# ---- Embedding -----------------------------------------------------------------------------------


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


# ---- Matmul --------------------------------------------------------------------------------------


def matmul_close(name, d, x, w, want):
    size = x.double().abs() @ w.double().abs().transpose(-1, -2)
    error = (d.double() - want).abs()
    bound = bound_of(d.dtype, want) + 2.0 ** -20 * size
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
                kinds = f'{str(dtype)[6:]} to {str(d_dtype)[6:]}'
                matmul_close(f'matmul {m}x{n}x{k} {kinds} ({kernel})', d, x, w,
                             0.5 * (x.double() @ w.double().t()) + bias.double())
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
