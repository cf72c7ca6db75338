// The QKV post-operator: what it refuses.
#include <cmath>
#include <limits>

#include "support/op_test.h"
#include "support/refusals.h"

namespace {

using test::Place;
using test::Role;
using test::Tensor;
using Args = mr_qkv_post_args;

constexpr test::Functions<mr_qkv_post_args> kOp = {mr_qkv_post, mr_qkv_post_prepare,
                                                   mr_qkv_post_workspace, mr_qkv_post_kernel};

struct Fixture {
  explicit Fixture(Place& place)
      : q(place, MR_F16, {2, 4, 8}),
        k(place, MR_F16, {2, 2, 8}),
        v(place, MR_F16, {2, 2, 6}),
        q_bias(place, MR_F16, {4, 8}),
        k_bias(place, MR_F16, {2, 8}),
        v_bias(place, MR_F16, {2, 6}),
        q_norm(place, MR_F16, {8}),
        k_norm(place, MR_F16, {8}),
        positions(place, MR_I32, {2}),
        slot(place, MR_I64, {2}),
        q_output(place, MR_F16, {2, 4, 8}),
        k_cache(place, MR_F16, {3, 4, 2, 8}),
        v_cache(place, MR_F16, {3, 4, 2, 6}),
        status(place, MR_I32, {2}) {
    for (Tensor* t : {&q, &k, &v, &q_bias, &k_bias, &v_bias, &q_norm, &k_norm}) t->fill(1.0);
    positions.fill(0);
    slot.set({1, 2});
    args.flags = MR_QKV_POST_ROPE;
    args.q = q, args.k = k, args.v = v, args.q_bias = q_bias, args.k_bias = k_bias;
    args.v_bias = v_bias, args.q_norm = q_norm, args.k_norm = k_norm, args.positions = positions;
    args.slot = slot, args.q_output = q_output, args.k_cache = k_cache, args.v_cache = v_cache;
    args.row_status = status;
    for (mr_tensor* t : {&args.q, &args.k, &args.v, &args.q_bias, &args.k_bias, &args.v_bias,
                         &args.q_norm, &args.k_norm, &args.positions, &args.slot}) {
      t->flags = MR_TENSOR_READ_ONLY;
    }
  }
  bool untouched() {
    return q_output.all_untouched() && k_cache.all_untouched() && v_cache.all_untouched() &&
           status.all_untouched();
  }
  Tensor q, k, v, q_bias, k_bias, v_bias, q_norm, k_norm, positions, slot, q_output, k_cache,
      v_cache, status;
  Args args = MR_QKV_POST_ARGS_INIT;
};

TEST_CASE("qkv_post refuses every wrong tensor, and writes nothing") {
  test::for_each_place([](Place& place) {
    Fixture f(place);
    const auto bad = [&](mr_tensor Args::*field, const char* name, Role role) {
      CAPTURE(std::string(name));
      test::expect_bad_tensor_refused(kOp, place, f.args, field, name, role);
    };
    bad(&Args::q_bias, "args.q_bias", Role::kOptionalInput);
    bad(&Args::k_bias, "args.k_bias", Role::kOptionalInput);
    bad(&Args::v_bias, "args.v_bias", Role::kOptionalInput);
    bad(&Args::q_norm, "args.q_norm", Role::kOptionalInput);
    bad(&Args::k_norm, "args.k_norm", Role::kOptionalInput);
    bad(&Args::positions, "args.positions", Role::kInput);
    bad(&Args::slot, "args.slot", Role::kInput);
    bad(&Args::q, "args.q", Role::kOptionalInput);
    bad(&Args::k, "args.k", Role::kOptionalInput);
    bad(&Args::v, "args.v", Role::kInput);
    bad(&Args::q_output, "args.q_output", Role::kOutput);
    bad(&Args::k_cache, "args.k_cache", Role::kOutput);
    bad(&Args::v_cache, "args.v_cache", Role::kOutput);
    bad(&Args::row_status, "args.row_status", Role::kOptionalOutput);
    CHECK(f.untouched());
  });
}

TEST_CASE("qkv_post refuses what does not fit together, and writes nothing") {
  test::for_each_place([](Place& place) {
    Fixture f(place);
    const auto refuse = [&](const char* name, auto&& change) {
      CAPTURE(std::string(name));
      Args bad = f.args;
      change(bad);
      test::expect_all_refuse(kOp, place, bad, MR_INVALID_ARGUMENT, name);
    };
    const auto absent = [](mr_tensor& t) { t.dtype = MR_ABSENT; };
    refuse("args.flags", [](Args& a) { a.flags |= 0x4; });
    refuse("args.reserved", [](Args& a) { a.reserved = 1; });
    for (const float epsilon : {-1.0f, std::numeric_limits<float>::infinity(), NAN}) {
      refuse("args.epsilon", [&](Args& a) { a.epsilon = epsilon; });
    }
    refuse("args.rope.theta", [](Args& a) { a.rope.theta = -1.0f; });
    refuse("args.rope.rotary_dim", [](Args& a) { a.rope.rotary_dim = 10; });
    refuse("args.q", [&](Args& a) { absent(a.q), absent(a.k); });
    // What belongs to an absent part.
    refuse("args.q_bias", [&](Args& a) { absent(a.q); });
    refuse("args.q_norm", [&](Args& a) { absent(a.q), absent(a.q_bias); });
    refuse("args.q_output", [&](Args& a) { absent(a.q), absent(a.q_bias), absent(a.q_norm); });
    refuse("args.v", [&](Args& a) { absent(a.k); });
    Args alone = f.args;
    for (mr_tensor* t : {&alone.k, &alone.v, &alone.k_bias, &alone.v_bias, &alone.k_norm,
                         &alone.slot, &alone.k_cache, &alone.v_cache}) {
      absent(*t);
    }
    const std::pair<mr_tensor Args::*, const char*> strays[] = {{&Args::v, "args.v"},
                                                                {&Args::k_bias, "args.k_bias"},
                                                                {&Args::v_bias, "args.v_bias"},
                                                                {&Args::k_norm, "args.k_norm"},
                                                                {&Args::slot, "args.slot"},
                                                                {&Args::k_cache, "args.k_cache"},
                                                                {&Args::v_cache, "args.v_cache"}};
    for (const auto& [field, name] : strays) {
      Args bad = alone;
      bad.*field = f.args.*field;
      test::expect_all_refuse(kOp, place, bad, MR_INVALID_ARGUMENT, name);
    }
    // Shapes, dtypes and strides against each other.
    refuse("args.k", [](Args& a) { a.k.shape[0] = 1; });
    refuse("args.k", [](Args& a) { a.k.shape[2] = 6; });
    refuse("args.k", [](Args& a) { a.k.dtype = MR_BF16; });
    refuse("args.k", [](Args& a) { a.k.strides[2] = 2; });
    refuse("args.v", [](Args& a) { a.v.shape[0] = 1; });
    refuse("args.v", [](Args& a) { a.v.shape[1] = 1; });
    refuse("args.v", [](Args& a) { a.v.rank = 2; });
    refuse("args.q", [](Args& a) { a.q.strides[2] = -1; });
    refuse("args.q", [](Args& a) { a.q.shape[2] = 65538; });
    refuse("args.v", [](Args& a) { a.v.shape[2] = 65537; });
    refuse("args.q_output", [](Args& a) { a.q_output.shape[1] = 3; });
    refuse("args.q_output", [](Args& a) { a.q_output.strides[1] = 7; });
    refuse("args.q_bias", [](Args& a) { a.q_bias.shape[0] = 2; });
    refuse("args.k_bias", [](Args& a) { a.k_bias.shape[1] = 6; });
    refuse("args.v_bias", [](Args& a) { a.v_bias.dtype = MR_F32, a.v_bias.shape[0] = 1; });
    refuse("args.q_norm", [](Args& a) { a.q_norm.shape[0] = 4; });
    refuse("args.k_norm", [](Args& a) { a.k_norm.dtype = MR_BF16; });
    refuse("args.positions", [](Args& a) { a.positions.shape[0] = 1; });
    refuse("args.slot", [](Args& a) { a.slot.dtype = MR_I32; });
    refuse("args.slot", [](Args& a) { a.slot.shape[0] = 1; });
    refuse("args.k_cache", [](Args& a) { a.k_cache.rank = 3; });
    refuse("args.k_cache", [](Args& a) { a.k_cache.shape[2] = 1; });
    refuse("args.k_cache", [](Args& a) { a.k_cache.shape[3] = 6; });
    refuse("args.v_cache", [](Args& a) { a.v_cache.shape[3] = 5; });
    refuse("args.v_cache", [](Args& a) { a.v_cache.shape[0] = 2; });
    refuse("args.v_cache", [](Args& a) { a.v_cache.shape[1] = 3; });
    refuse("args.v_cache", [](Args& a) { a.v_cache.dtype = MR_BF16; });
    refuse("args.row_status", [](Args& a) { a.row_status.shape[0] = 1; });
    CHECK(f.untouched());

    // Without its flag the rotation is off: positions and rope are not looked at.
    f.args.flags = 0;
    f.args.positions.rank = -7;
    f.args.rope.theta = -1.0f;
    test::expect_run(kOp, place, f.args);
    test::expect_equal(f.status, {0, 0});
  });
}

}  // namespace
