// A CUDA driver without a device, for the tests of the CUDA backend: a library named libcuda.so.1
// that answers the entry points which the backend looks up, and writes down how they were called.
//
// FAKE_CUDA=old gives a driver that is too old, FAKE_CUDA=empty one without devices; else there are
// two devices, of architectures 90 and 75.
#pragma once

#include <cuda.h>

#include <map>
#include <string>

struct FakeCuda {
  // What the next call of a name returns, once.
  std::map<std::string, CUresult> fail;
  std::map<std::string, int> calls;

  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  CUstreamCaptureMode begun_in = CU_STREAM_CAPTURE_MODE_GLOBAL;
  unsigned record_flags = 99;
  unsigned wait_flags = 99;
  unsigned event_flags = 99;
  unsigned stream_flags = 99;
  CUcontext stream_context = nullptr;  // of every stream that is asked about
  CUgreenCtx stream_green = nullptr;
  int primary_contexts = 0;    // made
  bool graph_is_null = false;  // what the end of a capture gives
  int live_graphs = 0;
  int live_instances = 0;
  // The object that a graph retains.
  void (*destroy)(void*) = nullptr;
  void* destroy_data = nullptr;
  CUmemorytype pointer_type = static_cast<CUmemorytype>(0);
  bool pointer_managed = false;
  // Set where an unsafe call came while the thread was not relaxed, or without the right context.
  std::string unsafe;
};

// Of the calling thread.
struct FakeThread {
  CUcontext stack[8] = {};
  int depth = 0;  // 0: no context is current
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
};

// Exported by the library under these names.
using FakeCudaState = FakeCuda& (*)();              // "fake_cuda_state"
using FakeCudaThread = FakeThread& (*)();           // "fake_cuda_thread"
using FakeCudaContext = CUcontext (*)(int device);  // "fake_cuda_context"
