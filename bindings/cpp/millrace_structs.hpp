// millrace_structs.hpp : initial values of the structs, and the functions of each operator.
//
// Written by bindings/generate.py from include/millrace; part of millrace.hpp, include that.
#ifndef MILLRACE_STRUCTS_HPP
#define MILLRACE_STRUCTS_HPP

#include <millrace/millrace.h>

namespace millrace {

// Initial<Struct>::value() : the struct as its _INIT macro sets it up; args<Struct>() calls it.
template <class Struct>
struct Initial;
template <>
struct Initial<mr_tensor> {
  static mr_tensor value() { return MR_TENSOR_INIT; }
};
template <>
struct Initial<mr_probe_info> {
  static mr_probe_info value() { return MR_PROBE_INFO_INIT; }
};
template <>
struct Initial<mr_device_info> {
  static mr_device_info value() { return MR_DEVICE_INFO_INIT; }
};
template <>
struct Initial<mr_memory_config> {
  static mr_memory_config value() { return MR_MEMORY_CONFIG_INIT; }
};
template <>
struct Initial<mr_memory_stats> {
  static mr_memory_stats value() { return MR_MEMORY_STATS_INIT; }
};
template <>
struct Initial<mr_memory_block> {
  static mr_memory_block value() { return MR_MEMORY_BLOCK_INIT; }
};
template <>
struct Initial<mr_context_config> {
  static mr_context_config value() { return MR_CONTEXT_CONFIG_INIT; }
};
template <>
struct Initial<mr_stream_config> {
  static mr_stream_config value() { return MR_STREAM_CONFIG_INIT; }
};
template <>
struct Initial<mr_kernel_info> {
  static mr_kernel_info value() { return MR_KERNEL_INFO_INIT; }
};
template <>
struct Initial<mr_embedding_args> {
  static mr_embedding_args value() { return MR_EMBEDDING_ARGS_INIT; }
};
template <>
struct Initial<mr_rmsnorm_args> {
  static mr_rmsnorm_args value() { return MR_RMSNORM_ARGS_INIT; }
};
template <>
struct Initial<mr_add_args> {
  static mr_add_args value() { return MR_ADD_ARGS_INIT; }
};
template <>
struct Initial<mr_gated_activation_args> {
  static mr_gated_activation_args value() { return MR_GATED_ACTIVATION_ARGS_INIT; }
};
template <>
struct Initial<mr_rope_config> {
  static mr_rope_config value() { return MR_ROPE_CONFIG_INIT; }
};
template <>
struct Initial<mr_rope_args> {
  static mr_rope_args value() { return MR_ROPE_ARGS_INIT; }
};
template <>
struct Initial<mr_qkv_post_args> {
  static mr_qkv_post_args value() { return MR_QKV_POST_ARGS_INIT; }
};
template <>
struct Initial<mr_attention_args> {
  static mr_attention_args value() { return MR_ATTENTION_ARGS_INIT; }
};
template <>
struct Initial<mr_matmul_args> {
  static mr_matmul_args value() { return MR_MATMUL_ARGS_INIT; }
};
template <>
struct Initial<mr_matmul_problem> {
  static mr_matmul_problem value() { return MR_MATMUL_PROBLEM_INIT; }
};
template <>
struct Initial<mr_matmul_operands> {
  static mr_matmul_operands value() { return MR_MATMUL_OPERANDS_INIT; }
};
template <>
struct Initial<mr_argmax_args> {
  static mr_argmax_args value() { return MR_ARGMAX_ARGS_INIT; }
};
template <>
struct Initial<mr_sample_args> {
  static mr_sample_args value() { return MR_SAMPLE_ARGS_INIT; }
};

// Operator<Args> : the four functions of the operator that takes Args.
template <class Args>
struct Operator;
template <>
struct Operator<mr_embedding_args> {
  static constexpr auto enqueue = mr_embedding;
  static constexpr auto prepare = mr_embedding_prepare;
  static constexpr auto workspace = mr_embedding_workspace;
  static constexpr auto kernel = mr_embedding_kernel;
};
template <>
struct Operator<mr_rmsnorm_args> {
  static constexpr auto enqueue = mr_rmsnorm;
  static constexpr auto prepare = mr_rmsnorm_prepare;
  static constexpr auto workspace = mr_rmsnorm_workspace;
  static constexpr auto kernel = mr_rmsnorm_kernel;
};
template <>
struct Operator<mr_add_args> {
  static constexpr auto enqueue = mr_add;
  static constexpr auto prepare = mr_add_prepare;
  static constexpr auto workspace = mr_add_workspace;
  static constexpr auto kernel = mr_add_kernel;
};
template <>
struct Operator<mr_gated_activation_args> {
  static constexpr auto enqueue = mr_gated_activation;
  static constexpr auto prepare = mr_gated_activation_prepare;
  static constexpr auto workspace = mr_gated_activation_workspace;
  static constexpr auto kernel = mr_gated_activation_kernel;
};
template <>
struct Operator<mr_rope_args> {
  static constexpr auto enqueue = mr_rope;
  static constexpr auto prepare = mr_rope_prepare;
  static constexpr auto workspace = mr_rope_workspace;
  static constexpr auto kernel = mr_rope_kernel;
};
template <>
struct Operator<mr_qkv_post_args> {
  static constexpr auto enqueue = mr_qkv_post;
  static constexpr auto prepare = mr_qkv_post_prepare;
  static constexpr auto workspace = mr_qkv_post_workspace;
  static constexpr auto kernel = mr_qkv_post_kernel;
};
template <>
struct Operator<mr_attention_args> {
  static constexpr auto enqueue = mr_attention;
  static constexpr auto prepare = mr_attention_prepare;
  static constexpr auto workspace = mr_attention_workspace;
  static constexpr auto kernel = mr_attention_kernel;
};
template <>
struct Operator<mr_matmul_args> {
  static constexpr auto enqueue = mr_matmul;
  static constexpr auto prepare = mr_matmul_prepare;
  static constexpr auto workspace = mr_matmul_workspace;
  static constexpr auto kernel = mr_matmul_kernel;
};
template <>
struct Operator<mr_argmax_args> {
  static constexpr auto enqueue = mr_argmax;
  static constexpr auto prepare = mr_argmax_prepare;
  static constexpr auto workspace = mr_argmax_workspace;
  static constexpr auto kernel = mr_argmax_kernel;
};
template <>
struct Operator<mr_sample_args> {
  static constexpr auto enqueue = mr_sample;
  static constexpr auto prepare = mr_sample_prepare;
  static constexpr auto workspace = mr_sample_workspace;
  static constexpr auto kernel = mr_sample_kernel;
};

// The operators as methods: stream.rmsnorm(args) enqueues mr_rmsnorm(); op.h holds their rules.
// `Self` is the class that inherits them; it has run(const Args&).
template <class Self>
class OperatorMethods {
 public:
  void embedding(const mr_embedding_args& args) const { self().run(args); }
  void rmsnorm(const mr_rmsnorm_args& args) const { self().run(args); }
  void add(const mr_add_args& args) const { self().run(args); }
  void gated_activation(const mr_gated_activation_args& args) const { self().run(args); }
  void rope(const mr_rope_args& args) const { self().run(args); }
  void qkv_post(const mr_qkv_post_args& args) const { self().run(args); }
  void attention(const mr_attention_args& args) const { self().run(args); }
  void matmul(const mr_matmul_args& args) const { self().run(args); }
  void argmax(const mr_argmax_args& args) const { self().run(args); }
  void sample(const mr_sample_args& args) const { self().run(args); }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace millrace

#endif
