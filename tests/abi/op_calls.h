// A small valid call of every operator on the host, for tests that care about the call and not
// about its result. An operator without one here does not compile into those tests.
#pragma once

#include <millrace/millrace.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace op_calls {

// Memory of every kind that the calls below point into, zeroed. On the host backend all memory is
// device memory.
struct Arena {
  float floats[8][64] = {};
  int32_t ints[8][8] = {};
  int64_t longs[2][8] = {};
  uint64_t words[2][8] = {};
};

inline mr_tensor tensor(void* data, mr_dtype dtype, std::initializer_list<int64_t> shape) {
  mr_tensor t = MR_TENSOR_INIT;
  (void)mr_tensor_pack(data, dtype, static_cast<int32_t>(shape.size()), shape.begin(), &t, nullptr);
  return t;
}
inline mr_tensor floats(Arena& arena, int which, std::initializer_list<int64_t> shape) {
  return tensor(arena.floats[which], MR_F32, shape);
}
inline mr_tensor ints(Arena& arena, int which, std::initializer_list<int64_t> shape) {
  return tensor(arena.ints[which], MR_I32, shape);
}

inline void fill(mr_embedding_args& args, Arena& arena) {
  args.ids = ints(arena, 0, {2});
  args.table = floats(arena, 0, {3, 4});
  args.output = floats(arena, 1, {2, 4});
}
inline void fill(mr_rmsnorm_args& args, Arena& arena) {
  args.input = floats(arena, 0, {2, 4});
  args.weight = floats(arena, 1, {4});
  args.output = floats(arena, 2, {2, 4});
}
inline void fill(mr_add_args& args, Arena& arena) {
  args.a = floats(arena, 0, {2, 4});
  args.b = floats(arena, 1, {2, 4});
  args.output = floats(arena, 2, {2, 4});
}
inline void fill(mr_gated_activation_args& args, Arena& arena) {
  args.gate = floats(arena, 0, {2, 4});
  args.up = floats(arena, 1, {2, 4});
  args.output = floats(arena, 2, {2, 4});
}
inline void fill(mr_rope_args& args, Arena& arena) {
  args.input = floats(arena, 0, {2, 1, 4});
  args.positions = ints(arena, 0, {2});
  args.output = floats(arena, 1, {2, 1, 4});
  args.rope = MR_ROPE_CONFIG_INIT;
}
inline void fill(mr_qkv_post_args& args, Arena& arena) {
  arena.longs[0][0] = 0;
  arena.longs[0][1] = 1;
  args.q = floats(arena, 0, {2, 1, 4});
  args.k = floats(arena, 1, {2, 1, 4});
  args.v = floats(arena, 2, {2, 1, 4});
  args.slot = tensor(arena.longs[0], MR_I64, {2});
  args.q_output = floats(arena, 3, {2, 1, 4});
  args.k_cache = floats(arena, 4, {1, 2, 1, 4});
  args.v_cache = floats(arena, 5, {1, 2, 1, 4});
}
inline void fill(mr_attention_args& args, Arena& arena) {
  arena.ints[0][1] = 2;  // cu_q and cu_kv: one sequence of two tokens
  args.q = floats(arena, 0, {2, 1, 4});
  args.k = floats(arena, 1, {2, 1, 4});
  args.v = floats(arena, 2, {2, 1, 4});
  args.cu_q = ints(arena, 0, {2});
  args.cu_kv = ints(arena, 0, {2});
  args.output = floats(arena, 3, {2, 1, 4});
}
inline void fill(mr_matmul_args& args, Arena& arena) {
  args.x = floats(arena, 0, {2, 4});
  args.w = floats(arena, 1, {3, 4});
  args.d = floats(arena, 2, {2, 3});
}
inline void fill(mr_argmax_args& args, Arena& arena) {
  args.input = floats(arena, 0, {2, 4});
  args.output = ints(arena, 0, {2});
}
inline void fill(mr_sample_args& args, Arena& arena) {
  args.logits = floats(arena, 0, {2, 4});
  args.seed = tensor(arena.words[0], MR_U64, {2});
  args.rng_offset = tensor(arena.words[1], MR_U64, {2});
  args.output = ints(arena, 0, {2});
}

}  // namespace op_calls
