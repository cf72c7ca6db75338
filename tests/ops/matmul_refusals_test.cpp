// Matmul: what it refuses, which kernels it names, and where a BLAS comes from.
#include <cstring>

#include "ops/matmul_support.h"

namespace {

using test::Place;
using test::Product;
using test::Role;
using test::Tensor;

TEST_CASE("matmul refuses every wrong description and writes nothing") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Tensor x(place, dtype, {4, 6}), w(place, dtype, {5, 6}), bias(place, dtype, {5}),
        c(place, dtype, {4, 5}), d(place, dtype, {4, 5});
    mr_matmul_args good = test::matmul_args(x, w, d);
    good.bias = bias;
    good.c = c;
    good.beta = 1.0f;
    good.flags = MR_MATMUL_ADD_C;
    using Args = mr_matmul_args;
    test::expect_bad_tensor_refused(test::kMatmul, place, good, &Args::x, "args.x", Role::kInput);
    test::expect_bad_tensor_refused(test::kMatmul, place, good, &Args::w, "args.w", Role::kInput);
    test::expect_bad_tensor_refused(test::kMatmul, place, good, &Args::bias, "args.bias",
                                    Role::kOptionalInput);
    test::expect_bad_tensor_refused(test::kMatmul, place, good, &Args::c, "args.c", Role::kInput);
    test::expect_bad_tensor_refused(test::kMatmul, place, good, &Args::d, "args.d", Role::kOutput);
    const auto refuse = [&](const char* name, auto&& change) {
      Args bad = good;
      change(bad);
      test::expect_all_refuse(test::kMatmul, place, bad, MR_INVALID_ARGUMENT, name);
    };
    const mr_dtype other = dtype == MR_F16 ? MR_BF16 : MR_F16;
    refuse("args.flags", [](Args& a) { a.flags = 2; });
    refuse("args.reserved", [](Args& a) { a.reserved = 1; });
    refuse("args.activation", [](Args& a) { a.activation = MR_ACTIVATION_GELU_ERF + 1; });
    refuse("args.x", [](Args& a) { a.x.rank = 1; });
    refuse("args.x", [](Args& a) { a.x.rank = 4; });
    refuse("args.x", [](Args& a) { a.x.dtype = MR_I32; });
    refuse("args.w", [](Args& a) { a.w.rank = 3; });
    refuse("args.w", [&](Args& a) { a.w.dtype = other; });
    refuse("args.w", [](Args& a) { a.w.shape[1] = 5; });
    refuse("args.bias", [](Args& a) { a.bias.shape[0] = 4; });
    refuse("args.bias", [](Args& a) { a.bias.rank = 2; });
    refuse("args.bias", [&](Args& a) { a.bias.dtype = other; });
    refuse("args.c", [](Args& a) { a.c.shape[0] = 3; });
    refuse("args.c", [](Args& a) { a.c.shape[1] = 4; });
    refuse("args.c", [](Args& a) { a.c.rank = 3; });
    refuse("args.c", [&](Args& a) { a.c.dtype = other; });
    refuse("args.d", [](Args& a) { a.d.shape[0] = 5; });
    refuse("args.d", [](Args& a) { a.d.shape[1] = 4; });
    refuse("args.d", [](Args& a) { a.d.rank = 3; });
    refuse("args.d", [&](Args& a) { a.d.dtype = other; });
    refuse("args.d", [](Args& a) { a.d.strides[0] = 4; });  // rows overlap
    CHECK(d.all_untouched());
    // c is not looked at where it is not asked for.
    Args without = good;
    without.flags = 0;
    without.c.dtype = MR_I32;
    without.c.shape[0] = -5;
    test::run_matmul(place, without);
  });
}

TEST_CASE("matmul refuses batches that do not match") {
  test::for_each_place([](Place& place) {
    Tensor x(place, MR_F32, {2, 4, 6}), w(place, MR_F32, {2, 5, 6}), c(place, MR_F32, {2, 4, 5}),
        d(place, MR_F32, {2, 4, 5});
    mr_matmul_args good = test::matmul_args(x, w, d);
    good.c = c;
    good.beta = 1.0f;
    good.flags = MR_MATMUL_ADD_C;
    using Args = mr_matmul_args;
    for (const auto& [field, name] :
         {std::pair{&Args::w, "args.w"}, {&Args::c, "args.c"}, {&Args::d, "args.d"}}) {
      for (const int64_t batch : {1, 3, 0}) {
        Args bad = good;
        (bad.*field).shape[0] = batch;
        test::expect_all_refuse(test::kMatmul, place, bad, MR_INVALID_ARGUMENT, name);
      }
    }
    CHECK(d.all_untouched());
  });
}

TEST_CASE("matmul's queries say the kernel, why not a better one, and its scratch") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t m : {1, 64}) {
      mr_matmul_args args = MR_MATMUL_ARGS_INIT;
      const int64_t x_shape[] = {m, 64}, w_shape[] = {64, 64};
      mr_tensor_pack(nullptr, dtype, 2, x_shape, &args.x, nullptr);
      mr_tensor_pack(nullptr, dtype, 2, w_shape, &args.w, nullptr);
      mr_tensor_pack(nullptr, dtype, 2, x_shape, &args.d, nullptr);
      mr_kernel_info info = MR_KERNEL_INFO_INIT;
      REQUIRE(mr_matmul_kernel(place.stream(), &args, &info, nullptr) == MR_OK);
      uint64_t bytes = 77;
      REQUIRE(mr_matmul_workspace(place.stream(), &args, &bytes, nullptr) == MR_OK);
      CHECK(bytes == info.workspace_bytes);
      if (!place.on_host()) continue;
      CHECK(std::string(info.name).starts_with("host_matmul"));
      CHECK(info.threads_per_block == 0);
      if (m == 1) CHECK(std::strstr(info.refused, "host_matmul_blas: ") != nullptr);
    }
  });
}

// Every kernel of the host serves what it does not refuse.
TEST_CASE("each host kernel of matmul, forced, gives the formula") {
  for (const char* name : {"host_matmul", "host_matmul_v3", "host_matmul_v4", "host_matmul_blas"}) {
    CAPTURE(std::string(name));
    const std::string option = "force_kernel=" + std::string(name);
    Place place(MR_BACKEND_HOST, "inline", option.c_str());
    int served = 0;
    for (const mr_dtype dtype : test::kFloats) {
      for (const auto& [m, n, k] :
           {std::array<int64_t, 3>{1, 70, 300}, {6, 13, 515}, {33, 21, 1030}, {65, 130, 515}}) {
        Tensor x(place, dtype, {m, k}), w(place, dtype, {n, k}), d(place, dtype, {m, n}),
            bias(place, dtype, {n});
        x.randomize(1);
        w.randomize(2);
        bias.randomize(3);
        mr_matmul_args args = test::matmul_args(x, w, d);
        args.bias = bias;
        if (test::kernel_name(place, args).empty()) {
          mr_error error = {};
          test::expect_refused(mr_matmul(place.stream(), &args, &error), error, MR_UNSUPPORTED,
                               name);
          CHECK(d.all_untouched());
          continue;
        }
        CHECK(test::kernel_name(place, args) == name);
        ++served;
        Product product;
        product.m = m, product.n = n, product.k = k;
        product.x = x.get(), product.w = w.get(), product.bias = bias.get();
        test::run_matmul(place, args);
        const auto [expected, scale] = product.evaluate();
        test::expect_close(d, expected, scale);
      }
    }
    if (std::string(name) == "host_matmul") CHECK(served == 12);
  }
}

TEST_CASE("host.blas: off, a file, and a file that is none") {
  mr_matmul_args args = MR_MATMUL_ARGS_INIT;
  const int64_t shape[] = {256, 256};
  mr_tensor_pack(nullptr, MR_F32, 2, shape, &args.x, nullptr);
  args.w = args.d = args.x;
  {
    Place place(MR_BACKEND_HOST, "inline", "host.blas=off");
    CHECK(test::kernel_name(place, args) != "host_matmul_blas");
  }
  mr_context_config config = MR_CONTEXT_CONFIG_INIT;
  config.backend = MR_BACKEND_HOST;
  for (const char* file :
       {"host.blas=libno-such-blas.so.9", "host.blas=/proc/self/cmdline", "host.blas=libc.so.6"}) {
    config.options = file;
    mr_context* context = nullptr;
    mr_error error = {};
    test::expect_refused(mr_context_create(&config, &context, &error), error, MR_DEPENDENCY_MISSING,
                         "host.blas");
    CHECK(context == nullptr);
  }
  // Whatever "auto" finds can be told, and named as a file it is found again.
  Place place(MR_BACKEND_HOST, "inline");
  char text[512] = {};
  mr_error error = {};
  const mr_status told = mr_dependency("blas", text, sizeof text, nullptr, &error);
  CHECK((told == MR_OK) == (test::kernel_name(place, args) == "host_matmul_blas"));
  if (told != MR_OK) {
    CHECK(told == MR_DEPENDENCY_MISSING);
    return;
  }
  const std::string path = std::string(text).substr(0, std::string(text).find(" ("));
  Place again(MR_BACKEND_HOST, "inline", ("host.blas=" + path).c_str());
  CHECK(test::kernel_name(again, args) == "host_matmul_blas");
}

// A BLAS that keeps to the letter of the reference: slow, but its special values are known to be
// right.
TEST_CASE("a BLAS passes NaN on as the library's own kernels do") {
  for (const char* file : {"auto", "libopenblas.so.0", "libblis.so.4", "libblas.so.3"}) {
    mr_context_config config = MR_CONTEXT_CONFIG_INIT;
    config.backend = MR_BACKEND_HOST;
    const std::string option = "host.blas=" + std::string(file);
    config.options = option.c_str();
    mr_context* context = nullptr;
    if (mr_context_create(&config, &context, nullptr) != MR_OK) continue;  // not on this machine
    mr_context_release(context);
    CAPTURE(std::string(file));
    Place place(MR_BACKEND_HOST, "inline", option.c_str());
    Tensor x(place, MR_F32, {160, 160}), w(place, MR_F32, {160, 160}), d(place, MR_F32, {160, 160});
    x.randomize(1);
    std::vector<double> xs = x.get(), ws(160 * 160, 0.0);
    xs[5 * 160 + 3] = std::nan("");
    xs[6 * 160 + 3] = INFINITY;
    x.set(xs);
    w.set(ws);
    d.fill(std::nan(""));
    CHECK(test::kernel_name(place, test::matmul_args(x, w, d)) == "host_matmul_blas");
    test::run_matmul(place, test::matmul_args(x, w, d));
    const std::vector<double> got = d.get();
    CHECK(got[4 * 160] == 0.0);
    CHECK(std::isnan(got[5 * 160 + 159]));
    CHECK(std::isnan(got[6 * 160 + 159]));
    CHECK(got[7 * 160] == 0.0);
  }
}

}  // namespace
