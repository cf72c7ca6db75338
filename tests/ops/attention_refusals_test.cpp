// Attention: what it refuses, and which kernels it names.
#include "ops/attention_support.h"

namespace {

using test::Place;
using test::Ragged;
using test::Role;
using test::Shape;
using test::Tensor;
using Args = mr_attention_args;

Shape plain_shape(int64_t page_size) {
  Shape shape;
  shape.sequences = {{2, 5}, {3, 9}};
  shape.q_heads = 4;
  shape.kv_heads = 2;
  shape.dim = 8;
  shape.v_dim = 24;
  shape.page_size = page_size;
  return shape;
}

TEST_CASE("attention refuses every wrong description and writes nothing") {
  for (const int64_t page_size : {0, 4}) {
    test::for_each_float([&](Place& place, mr_dtype dtype) {
      const Ragged ragged(place, dtype, plain_shape(page_size), 1);
      const Args good = ragged.args();
      const auto bad_tensor = [&](mr_tensor Args::*field, const char* name, Role role) {
        test::expect_bad_tensor_refused(test::kAttention, place, good, field, name, role);
      };
      bad_tensor(&Args::q, "args.q", Role::kInput);
      bad_tensor(&Args::k, "args.k", Role::kInput);
      bad_tensor(&Args::v, "args.v", Role::kInput);
      bad_tensor(&Args::cu_q, "args.cu_q", Role::kInput);
      if (page_size > 0) {
        bad_tensor(&Args::kv_len, "args.kv_len", Role::kInput);
        bad_tensor(&Args::block_table, "args.block_table", Role::kInput);
      } else {
        bad_tensor(&Args::cu_kv, "args.cu_kv", Role::kInput);
      }
      bad_tensor(&Args::output, "args.output", Role::kOutput);
      bad_tensor(&Args::lse, "args.lse", Role::kOptionalOutput);
      bad_tensor(&Args::row_status, "args.row_status", Role::kOptionalOutput);
      CHECK(ragged.output->all_untouched());
      CHECK(ragged.lse->all_untouched());
      CHECK(ragged.row_status->all_untouched());
    });
  }
}

TEST_CASE("attention refuses shapes, dtypes and scalars that do not fit together") {
  for (const int64_t page_size : {0, 4}) {
    test::for_each_float([&](Place& place, mr_dtype dtype) {
      const bool paged = page_size > 0;
      const Ragged ragged(place, dtype, plain_shape(page_size), 1);
      const auto refuse = [&](const char* name, auto&& change) {
        Args bad = ragged.args();
        change(bad);
        test::expect_all_refuse(test::kAttention, place, bad, MR_INVALID_ARGUMENT, name);
      };
      const mr_dtype other = dtype == MR_F16 ? MR_BF16 : MR_F16;
      const int32_t last = paged ? 3 : 2;
      refuse("args.flags", [](Args& a) { a.flags = 4; });
      refuse("args.reserved", [](Args& a) { a.reserved = 1; });
      refuse("args.max_q", [](Args& a) { a.max_q = -1; });
      refuse("args.max_kv", [](Args& a) { a.max_kv = -1; });
      refuse("args.window_left",
             [](Args& a) { a.flags = MR_ATTENTION_WINDOW, a.window_left = -2; });
      refuse("args.window_right",
             [](Args& a) { a.flags = MR_ATTENTION_WINDOW, a.window_right = -2; });
      refuse("args.q", [](Args& a) { a.q.rank = 2; });
      refuse("args.q", [](Args& a) { a.q.strides[2] = 2; });
      refuse("args.q", [](Args& a) { a.q.shape[2] = 0; });
      refuse("args.q", [](Args& a) { a.q.shape[2] = 257; });
      refuse("args.q", [](Args& a) { a.q.shape[1] = 3; });  // heads no multiple
      refuse("args.k", [&](Args& a) { a.k.dtype = other; });
      refuse("args.k", [](Args& a) { a.k.rank = 2; });
      refuse("args.k", [](Args& a) { a.k.rank = 5; });
      refuse("args.k", [&](Args& a) { a.k.shape[last] = 7; });
      refuse("args.k", [&](Args& a) { a.k.strides[last] = 2; });
      refuse("args.k", [&](Args& a) { a.k.shape[last - 1] = a.v.shape[last - 1] = 0; });
      refuse("args.v", [&](Args& a) { a.v.dtype = other; });
      refuse("args.v", [&](Args& a) { a.v.rank = paged ? 3 : 4; });
      refuse("args.v", [&](Args& a) { a.v.shape[last] = 0; });
      refuse("args.v", [&](Args& a) { a.v.shape[last] = 257; });
      refuse("args.v", [&](Args& a) { a.v.strides[last] = -1; });
      refuse("args.v", [&](Args& a) { a.v.shape[last - 1] = 1; });
      refuse("args.v", [](Args& a) { a.v.shape[0] -= 1; });
      refuse("args.cu_q", [](Args& a) { a.cu_q.dtype = MR_I64; });
      refuse("args.cu_q", [](Args& a) { a.cu_q.rank = 2; });
      refuse("args.cu_q", [](Args& a) { a.cu_q.shape[0] = 0; });
      refuse("args.output", [&](Args& a) { a.output.dtype = other; });
      refuse("args.output", [](Args& a) { a.output.rank = 2; });
      refuse("args.output", [](Args& a) {
        a.output.strides[2] = 2, a.output.strides[1] = 48, a.output.strides[0] = 192;
      });
      refuse("args.output", [](Args& a) { a.output.shape[0] -= 1; });
      refuse("args.output", [](Args& a) { a.output.shape[1] = 3; });
      refuse("args.output", [](Args& a) { a.output.shape[2] = 8; });  // dim, not v_dim
      refuse("args.lse", [](Args& a) { a.lse.dtype = MR_BF16; });
      refuse("args.lse", [](Args& a) { a.lse.rank = 1; });
      refuse("args.lse", [](Args& a) { a.lse.shape[0] = 1; });
      refuse("args.lse", [](Args& a) { a.lse.shape[1] = 1; });
      refuse("args.row_status", [](Args& a) { a.row_status.dtype = MR_I64; });
      refuse("args.row_status", [](Args& a) { a.row_status.shape[0] = 1; });
      if (paged) {
        refuse("args.k", [](Args& a) { a.k.shape[1] = a.v.shape[1] = 0; });
        refuse("args.kv_len", [](Args& a) { a.kv_len.dtype = MR_I64; });
        refuse("args.kv_len", [](Args& a) { a.kv_len.shape[0] = 1; });
        refuse("args.block_table", [](Args& a) { a.block_table.dtype = MR_I64; });
        refuse("args.block_table", [](Args& a) { a.block_table.shape[0] = 1; });
        refuse("args.block_table", [](Args& a) { a.block_table.rank = 1; });
        refuse("args.cu_kv", [](Args& a) { a.cu_kv = a.cu_q; });
      } else {
        refuse("args.cu_kv", [](Args& a) { a.cu_kv.dtype = MR_I64; });
        refuse("args.cu_kv", [](Args& a) { a.cu_kv.shape[0] = 2; });
        refuse("args.kv_len", [](Args& a) { a.kv_len = a.cu_q; });
        refuse("args.block_table", [](Args& a) { a.block_table = a.cu_q; });
      }
      CHECK(ragged.output->all_untouched());
      // Windows are not looked at without their flag; bounds may be given.
      Args fine = ragged.args();
      fine.window_left = fine.window_right = -100;
      fine.max_q = 3;
      fine.max_kv = 9;
      test::run_attention(place, fine);
    });
  }
}

TEST_CASE("each host kernel of attention, forced, gives the formula") {
  for (const char* name : {"host_attention", "host_attention_v3", "host_attention_v4"}) {
    CAPTURE(std::string(name));
    Place place(MR_BACKEND_HOST, "inline", ("force_kernel=" + std::string(name)).c_str());
    for (const mr_dtype dtype : test::kFloats) {
      for (const int64_t page_size : {0, 4}) {
        for (const int64_t dim : {8, 40, 65}) {
          Shape shape = plain_shape(page_size);
          shape.sequences = {{7, 70}, {1, 33}, {3, 2}};
          shape.flags = MR_ATTENTION_CAUSAL;
          shape.dim = dim;
          Ragged ragged(place, dtype, shape, 1);
          const Args args = ragged.args();
          mr_kernel_info info = MR_KERNEL_INFO_INIT;
          if (mr_attention_kernel(place.stream(), &args, &info, nullptr) != MR_OK) {
            CHECK(std::string(name) != "host_attention");
            mr_error error = {};
            test::expect_refused(mr_attention(place.stream(), &args, &error), error, MR_UNSUPPORTED,
                                 "architecture");
            continue;
          }
          CHECK(std::string(info.name) == name);
          ragged.check(place);
        }
      }
    }
  }
}

}  // namespace
