"""Cached memory beside PyTorch's allocator and cudaMallocAsync on one GPU: a table, and JSON with the
conditions. Needs PyTorch with CUDA, its headers, and g++.

    python3 tests/bench/memory_peers.py build/cuda/src/libmillrace.so [results.json]
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile

import torch
from torch.utils import cpp_extension

HERE = os.path.dirname(os.path.abspath(__file__))


def build(library, folder):
    """Compiles memory_peers.cpp against PyTorch's headers and returns the shared object's path."""
    out = os.path.join(folder, "memory_peers.so")
    includes = [f"-I{path}" for path in cpp_extension.include_paths("cuda")]
    cuda_home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    includes += [f"-I{os.path.join(HERE, '..', '..', 'include')}", f"-I{cuda_home}/include"]
    torch_lib = os.path.join(os.path.dirname(torch.__file__), "lib")
    abi = int(torch.compiled_with_cxx11_abi())
    runtime = next(line.split()[-1] for line in open("/proc/self/maps") if "libcudart.so" in line)
    subprocess.run(
        ["g++", "-O2", "-std=c++20", "-shared", "-fPIC", f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
         *includes, os.path.join(HERE, "memory_peers.cpp"), "-o", out, f"-L{torch_lib}",
         "-lc10_cuda", "-lc10", runtime, os.path.abspath(library),
         f"-Wl,-rpath,{os.path.dirname(os.path.abspath(library))}", "-lpthread"], check=True)
    return out


def conditions():
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                            capture_output=True, text=True).stdout.split("\n")[0]
    processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                      if line.startswith("model name")), "")
    return {"device": torch.cuda.get_device_name(0), "driver": driver, "torch": torch.__version__,
            "processor": processor, "cores": os.cpu_count(), "load_average": os.getloadavg()[0],
            "statistic": "batches of 64 pairs, 2,000 batches in each of 5 interleaved rounds: "
                         "median and 99th percentile of the time for one pair; threads: the best of "
                         "5 rounds of 100,000 pairs in each thread",
            "included": "allocate and free through the C interface, statistics on; the GPU is idle",
            "cudaMallocAsync": "default pool, release threshold at its maximum",
            "streams": "non-blocking streams of the process; millrace's own unless it says wrapped"}


def main():
    torch.zeros(1, device="cuda")
    with tempfile.TemporaryDirectory() as folder:
        bench = ctypes.CDLL(build(sys.argv[1], folder))
        bench.memory_peers.restype = ctypes.c_char_p
        rows = json.loads(bench.memory_peers().decode())
    for row in rows:
        if row["row"] == "threads":
            print(f"threads           {row['allocator']:38s} one {row['one_ns']:9.1f} ns, eight "
                  f"{row['eight_ns']:9.1f} ns a pair: {row['of_eight']:.2f} of eight times")
        else:
            print(f"{row['row']:18s}{row['allocator']:38s} {row['median_ns']:9.1f} ns a pair, "
                  f"99 % below {row['p99_ns']:9.1f}")
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as file:
            json.dump({"benchmark": "memory_peers", "conditions": conditions(), "rows": rows}, file,
                      indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
