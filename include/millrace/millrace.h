/* millrace/millrace.h : the whole interface, in reading order.
 *
 * millrace is a runtime library that an inference engine embeds: an execution context on a device,
 * a caching allocator, operators, attention over a paged KV cache, and matrix products, all enqueued
 * on streams. There are three ways in:
 *
 *   1. Link libmillrace and call the functions below.
 *   2. Open it as a plugin: dlopen, look up mr_get_api (api.h), and call through its table; or
 *      compile bindings/loader/millrace_loader.c, which does that behind the same names.
 *   3. From C++, bindings/cpp/millrace.hpp; from Rust and Go, bindings/rust and bindings/go.
 *
 * A first program: mr_context_create, mr_stream_create, mr_buffer_create for each tensor,
 * mr_tensor_pack to describe them, an operator, mr_stream_synchronize, and the releases.
 *
 * Start at base.h: it holds the conventions that every declaration relies on. */
#ifndef MILLRACE_MILLRACE_H
#define MILLRACE_MILLRACE_H

#include "base.h"
#include "status.h"
#include "tensor.h"
#include "probe.h"
#include "memory.h"
#include "context.h"
#include "stream.h"
#include "event.h"
#include "graph.h"
#include "ring.h"
#include "op.h"
#include "embedding.h"
#include "norm.h"
#include "elementwise.h"
#include "rope.h"
#include "attention.h"
#include "matmul.h"
#include "sampling.h"
#include "api.h"

#endif
