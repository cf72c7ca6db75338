#!/usr/bin/env python3
"""Checks the CUDA slice (RMSNorm, embedding, matmul, streams, capture, ring) inside a host
application that owns the device: PyTorch, with its streams, its allocator and its graph capture.

    slice_check.py libmillrace.so [results.json] [--no-timing] [--compile]

Prints a line per check; the exit code is the number of failures. Results, with the conditions they
were found under, go to the JSON file. References are computed in float64."""
import argparse
import ctypes as ct
import json
import os
import sys
import time

import slice_abi as abi
import slice_capture
import slice_ops
import slice_timing
from slice_host import RESULTS, Host, check, guarded


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
    RESULTS['conditions'].update(
        device=device.name.decode(), architecture=device.architecture,
        driver_cuda=probe.cuda_driver_version, runtime_cuda=probe.cuda_runtime_version,
        architectures=probe.cuda_architectures.decode(), build=probe.build.decode())


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
    for section in (slice_capture.check_state, slice_ops.check_rmsnorm,
                    slice_ops.check_rmsnorm_bits, slice_ops.check_embedding,
                    slice_ops.check_matmul, slice_capture.check_capture, slice_capture.check_ring):
        guarded(section.__name__, lambda: section(host))
    if not options.no_timing:
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
