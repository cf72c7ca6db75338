// Matmul plans: every m of a plan against the formula, what a plan refuses, and how it is shared.
#include <thread>

#include "ops/matmul_support.h"
#include "support/same_bits.h"

namespace {

using test::Place;
using test::Product;
using test::Tensor;

// A plan that the test owns.
class Plan {
 public:
  Plan(Place& place, const mr_matmul_problem& problem) {
    mr_error error = {};
    const mr_status status = mr_matmul_plan_create(place.context(), &problem, &plan_, &error);
    REQUIRE_MESSAGE(status == MR_OK, mr_status_name(status) << ": " << error.text);
  }
  ~Plan() { mr_matmul_plan_release(plan_); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  operator mr_matmul_plan*() const { return plan_; }  // NOLINT: reads as the handle in a call

 private:
  mr_matmul_plan* plan_ = nullptr;
};

mr_matmul_problem problem_of(mr_dtype dtype, int64_t m_max, int64_t n, int64_t k) {
  mr_matmul_problem problem = MR_MATMUL_PROBLEM_INIT;
  problem.dtype = problem.d_dtype = dtype;
  problem.m_max = m_max;
  problem.n = n;
  problem.k = k;
  return problem;
}

mr_matmul_operands operands_of(const mr_tensor& x, const mr_tensor& w, const mr_tensor& d) {
  mr_matmul_operands operands = MR_MATMUL_OPERANDS_INIT;
  operands.x = x;
  operands.w = w;
  operands.d = d;
  return operands;
}

void run(Place& place, mr_matmul_plan* plan, const mr_matmul_operands& operands) {
  mr_error error = {};
  const mr_status status = mr_matmul_run(plan, place.stream(), &operands, &error);
  REQUIRE_MESSAGE(status == MR_OK, mr_status_name(status) << ": " << error.text);
}

TEST_CASE("a plan runs every m up to its m_max as the formula says") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    const Plan plan(place, problem_of(dtype, 70, 21, 40));
    for (int64_t m = 0; m <= 70; ++m) {
      CAPTURE(m);
      Tensor x(place, dtype, {m, 40}), w(place, dtype, {21, 40}), d(place, dtype, {m, 21});
      if (m > 0) x.randomize(1);
      w.randomize(2);
      Product product;
      product.m = m, product.n = 21, product.k = 40, product.w = w.get();
      if (m > 0) product.x = x.get();
      run(place, plan, operands_of(x, w, d));
      const auto [expected, scale] = product.evaluate();
      if (m > 0) test::expect_close(d, expected, scale);
      if (m == 0) CHECK(d.all_untouched());
    }
  });
}

TEST_CASE("a plan applies its bias, activation, alpha, beta and c, over batches too") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t batch : {0, 1, 3}) {
      for (const mr_dtype d_dtype : {dtype, MR_F32}) {
        mr_matmul_problem problem = problem_of(dtype, 40, 9, 20);
        problem.batch = batch;
        problem.d_dtype = d_dtype;
        problem.bias_dtype = MR_F32;
        problem.activation = MR_ACTIVATION_GELU_TANH;
        problem.flags = MR_MATMUL_ADD_C;
        const Plan plan(place, problem);
        for (const int64_t m : {1, 5, 40}) {
          const auto shape = [&](int64_t rows, int64_t columns) {
            return batch > 0 ? std::vector<int64_t>{batch, rows, columns}
                             : std::vector<int64_t>{rows, columns};
          };
          Tensor x(place, dtype, shape(m, 20)), w(place, dtype, shape(9, 20)),
              bias(place, MR_F32, {9}), c(place, d_dtype, shape(m, 9)),
              d(place, d_dtype, shape(m, 9));
          x.randomize(1, 0.5);
          w.randomize(2, 0.5);
          bias.randomize(3);
          c.randomize(4);
          Product product;
          product.batch = std::max<int64_t>(1, batch);
          product.m = m, product.n = 9, product.k = 20, product.alpha = 0.5, product.beta = 3.0;
          product.activation = MR_ACTIVATION_GELU_TANH;
          product.x = x.get(), product.w = w.get(), product.bias = bias.get(), product.c = c.get();
          mr_matmul_operands operands = operands_of(x, w, d);
          operands.bias = bias;
          operands.c = c;
          operands.alpha = 0.5f;
          operands.beta = 3.0f;
          run(place, plan, operands);
          const auto [expected, scale] = product.evaluate();
          test::expect_close(d, expected, scale);
          operands.d = c;  // in place
          run(place, plan, operands);
          test::expect_close(c, expected, scale);
          // beta 0 and alpha 0 read nothing.
          operands.alpha = operands.beta = 0.0f;
          operands.x.data = operands.w.data = operands.c.data = nullptr;
          run(place, plan, operands);
          product.alpha = product.beta = 0.0;
          test::expect_close(c, product.d(), product.scale());
        }
      }
    }
  });
}

TEST_CASE("a plan names the kernel and the scratch of each m, the same as a one-shot call") {
  for (const char* options : {"", "determinism=batch-invariant", "host.blas=off"}) {
    test::for_each_place(
        [](Place& place) {
          for (const mr_dtype dtype : test::kFloats) {
            const Plan plan(place, problem_of(dtype, 100, 64, 64));
            for (int64_t m = 0; m <= 100; ++m) {
              CAPTURE(m);
              mr_kernel_info info = MR_KERNEL_INFO_INIT;
              uint64_t bytes = 77;
              REQUIRE(mr_matmul_plan_kernel(plan, m, &info, nullptr) == MR_OK);
              REQUIRE(mr_matmul_plan_workspace(plan, m, &bytes, nullptr) == MR_OK);
              CHECK(bytes >= (m > 0 ? info.workspace_bytes : 0));
              CHECK(info.name[0] != '\0');
              if (!place.on_host() || m == 0) continue;
              mr_matmul_args args = MR_MATMUL_ARGS_INIT;
              const int64_t x_shape[] = {m, 64}, w_shape[] = {64, 64};
              mr_tensor_pack(nullptr, dtype, 2, x_shape, &args.x, nullptr);
              mr_tensor_pack(nullptr, dtype, 2, w_shape, &args.w, nullptr);
              args.d = args.x;
              CHECK(std::string(info.name) == test::kernel_name(place, args));
            }
          }
        },
        options);
  }
}

TEST_CASE("a plan takes operands of the least alignment") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    const Plan plan(place, problem_of(dtype, 40, 33, 16));
    for (const int64_t m : {1, 5, 40}) {
      Tensor x(place, dtype, {m, 16}, {16, 1}, 1), w(place, dtype, {33, 16}, {16, 1}, 1),
          d(place, dtype, {m, 33}, {33, 1}, 1);
      x.randomize(1);
      w.randomize(2);
      Product product;
      product.m = m, product.n = 33, product.k = 16, product.x = x.get(), product.w = w.get();
      run(place, plan, operands_of(x, w, d));
      test::expect_close(d, product.d(), product.scale());
    }
  });
}

TEST_CASE("a plan of nothing: n, k or m_max 0") {
  test::for_each_place([](Place& place) {
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{0, 4, 4}, {4, 0, 4}, {4, 4, 0}, {0, 0, 0}}) {
      const Plan plan(place, problem_of(MR_F32, m, n, k));
      Tensor x(place, MR_F32, {m, k}), w(place, MR_F32, {n, k}), d(place, MR_F32, {m, n});
      run(place, plan, operands_of(x, w, d));
      if (m * n > 0) test::expect_equal(d, std::vector<double>(static_cast<size_t>(m * n), 0.0));
      uint64_t bytes = 77;
      CHECK(mr_matmul_plan_workspace(plan, m, &bytes, nullptr) == MR_OK);
    }
  });
}

TEST_CASE("plan creation refuses what is no problem") {
  test::for_each_place([](Place& place) {
    const auto refuse = [&](mr_status code, const char* name, auto&& change) {
      mr_matmul_problem bad = problem_of(MR_BF16, 8, 8, 8);
      change(bad);
      mr_matmul_plan* plan = nullptr;
      mr_error error = {};
      test::expect_refused(mr_matmul_plan_create(place.context(), &bad, &plan, &error), error, code,
                           name);
      CHECK(plan == nullptr);
    };
    using P = mr_matmul_problem;
    constexpr int64_t kHuge = int64_t{1} << 62;
    refuse(MR_INVALID_ARGUMENT, "problem.flags:", [](P& p) { p.flags = 2; });
    refuse(MR_INVALID_ARGUMENT, "problem.dtype:", [](P& p) { p.dtype = MR_I32; });
    refuse(MR_INVALID_ARGUMENT, "problem.dtype:", [](P& p) { p.dtype = MR_ABSENT; });
    refuse(MR_INVALID_ARGUMENT, "problem.d_dtype:", [](P& p) { p.d_dtype = MR_F16; });
    refuse(MR_INVALID_ARGUMENT, "problem.d_dtype:", [](P& p) { p.d_dtype = MR_ABSENT; });
    refuse(MR_INVALID_ARGUMENT, "problem.bias_dtype:", [](P& p) { p.bias_dtype = MR_F16; });
    refuse(MR_INVALID_ARGUMENT, "problem.activation:", [](P& p) { p.activation = 6; });
    refuse(MR_INVALID_ARGUMENT, "problem.batch:", [](P& p) { p.batch = -1; });
    refuse(MR_INVALID_ARGUMENT, "problem.m_max:", [](P& p) { p.m_max = -1; });
    refuse(MR_INVALID_ARGUMENT, "problem.n:", [](P& p) { p.n = -1; });
    refuse(MR_INVALID_ARGUMENT, "problem.k:", [](P& p) { p.k = -1; });
    refuse(MR_INVALID_ARGUMENT, "problem.m_max:", [](P& p) { p.m_max = kHuge; });
    refuse(MR_INVALID_ARGUMENT, "problem.n:", [](P& p) { p.n = kHuge; });
    refuse(MR_INVALID_ARGUMENT, "problem.m_max:", [](P& p) { p.k = kHuge; });
    refuse(MR_INVALID_ARGUMENT, "problem.m_max:", [](P& p) { p.batch = kHuge; });
    refuse(MR_INVALID_ARGUMENT, "problem:", [](P& p) { p.struct_size = 4; });
  });
}

TEST_CASE("a run refuses operands that its plan was not made for, and writes nothing") {
  test::for_each_place([](Place& place) {
    mr_matmul_problem problem = problem_of(MR_BF16, 8, 5, 6);
    problem.batch = 2;
    problem.d_dtype = problem.bias_dtype = MR_F32;
    problem.flags = MR_MATMUL_ADD_C;
    const Plan plan(place, problem);
    problem.bias_dtype = MR_ABSENT;
    problem.flags = 0;
    const Plan plain(place, problem);
    Tensor x(place, MR_BF16, {2, 4, 6}), w(place, MR_BF16, {2, 5, 6}), bias(place, MR_F32, {5}),
        c(place, MR_F32, {2, 4, 5}), d(place, MR_F32, {2, 4, 5});
    mr_matmul_operands good = operands_of(x, w, d);
    good.bias = bias;
    good.c = c;
    good.beta = 1.0f;
    using O = mr_matmul_operands;
    const auto refuse = [&](mr_status code, const char* name, auto&& change) {
      O bad = good;
      change(bad);
      mr_error error = {};
      test::expect_refused(mr_matmul_run(plan, place.stream(), &bad, &error), error, code, name);
    };
    const auto invalid = [&](const char* name, auto&& change) {
      refuse(MR_INVALID_ARGUMENT, name, change);
    };
    invalid("operands:", [](O& o) { o.struct_size = 0; });
    invalid("operands.flags:", [](O& o) { o.flags = 1; });
    invalid("operands.x:", [](O& o) { o.x.dtype = o.w.dtype = MR_F16; });
    invalid("operands.x:", [](O& o) { o.x.dtype = o.w.dtype = MR_F32; });
    invalid("operands.w:", [](O& o) { o.w.dtype = MR_F16; });
    invalid("operands.d:", [](O& o) { o.d.dtype = o.c.dtype = MR_BF16; });
    invalid("operands.bias:", [](O& o) { o.bias.dtype = MR_BF16; });
    invalid("operands.bias:", [](O& o) { o.bias.dtype = MR_ABSENT; });
    invalid("operands.c:", [](O& o) { o.c.dtype = MR_ABSENT; });
    invalid("operands.x:", [](O& o) { o.x.data = nullptr; });
    invalid("operands.w:", [](O& o) { o.w.data = nullptr; });
    invalid("operands.d:", [](O& o) { o.d.data = nullptr; });
    invalid("operands.d:", [](O& o) { o.d.flags = MR_TENSOR_READ_ONLY; });
    refuse(MR_MISALIGNED, "operands.d:", [](O& o) { o.d.data = static_cast<char*>(o.d.data) + 2; });
    invalid("operands.x:", [](O& o) { o.x.shape[2] = o.w.shape[2] = 5; });
    invalid("operands.w:",
            [](O& o) { o.w.shape[1] = o.d.shape[2] = o.c.shape[2] = o.bias.shape[0] = 4; });
    invalid("operands.x:",
            [](O& o) { o.x.shape[0] = o.w.shape[0] = o.c.shape[0] = o.d.shape[0] = 1; });
    invalid("operands.x:", [](O& o) {
      o.x.shape[1] = o.c.shape[1] = o.d.shape[1] = 9;  // above m_max
      o.x.strides[0] = 54, o.c.strides[0] = o.d.strides[0] = 45;
    });
    invalid("operands.x:", [](O& o) { o.x.strides[1] = 7; });
    invalid("operands.x:", [](O& o) { o.x.strides[0] = 0; });
    invalid("operands.w:", [](O& o) {
      o.w.strides[1] = 1;
      o.w.strides[2] = 5;
    });
    invalid("operands.c:", [](O& o) { o.c.strides[0] = 21; });
    invalid("operands.d:", [](O& o) { o.d.strides[0] = 21; });
    invalid("operands.bias:", [](O& o) { o.bias.strides[0] = 0; });
    mr_error error = {};
    test::expect_refused(mr_matmul_run(plain, place.stream(), &good, &error), error,
                         MR_INVALID_ARGUMENT, "operands.bias:");
    uint64_t bytes = 0;
    mr_kernel_info info = MR_KERNEL_INFO_INIT;
    for (const int64_t m : {-1, 9}) {
      test::expect_refused(mr_matmul_plan_workspace(plan, m, &bytes, &error), error,
                           MR_INVALID_ARGUMENT, "m:");
      test::expect_refused(mr_matmul_plan_kernel(plan, m, &info, &error), error,
                           MR_INVALID_ARGUMENT, "m:");
    }
    place.synchronize();
    CHECK(d.all_untouched());
    // A stride along an extent of 1 is none.
    O one = good;
    one.x.shape[1] = one.c.shape[1] = one.d.shape[1] = 1;
    one.x.strides[0] = 6, one.c.strides[0] = one.d.strides[0] = 5;
    one.x.strides[1] = 1000, one.c.strides[1] = -7, one.d.strides[1] = 12345;
    CHECK(mr_matmul_run(plan, place.stream(), &one, &error) == MR_OK);
    place.synchronize();
  });
}

TEST_CASE("a run belongs to its plan's context, and so does its event") {
  test::for_each_place([](Place& place) {
    Place other(MR_BACKEND_HOST, "inline");
    const Plan plan(place, problem_of(MR_F32, 4, 4, 4));
    Tensor x(place, MR_F32, {4, 4}), w(place, MR_F32, {4, 4}), d(place, MR_F32, {4, 4});
    x.fill(1);
    w.fill(2);
    mr_matmul_operands operands = operands_of(x, w, d);
    mr_error error = {};
    test::expect_refused(mr_matmul_run(plan, other.stream(), &operands, &error), error,
                         MR_INVALID_ARGUMENT, "stream:");
    mr_event* foreign = nullptr;
    mr_event* event = nullptr;
    REQUIRE(mr_event_create(other.context(), 0, &foreign, nullptr) == MR_OK);
    REQUIRE(mr_event_create(place.context(), 0, &event, nullptr) == MR_OK);
    operands.event = foreign;
    test::expect_refused(mr_matmul_run(plan, place.stream(), &operands, &error), error,
                         MR_INVALID_ARGUMENT, "operands.event:");
    place.synchronize();
    CHECK(d.all_untouched());
    operands.event = event;
    run(place, plan, operands);
    CHECK(mr_event_synchronize(event, nullptr) == MR_OK);
    CHECK(mr_event_query(event, nullptr) == MR_OK);
    if (place.on_host()) CHECK(static_cast<const float*>(d.view().data)[15] == 8.0f);
    // Recorded also where there is nothing to compute.
    operands.x.shape[0] = operands.d.shape[0] = 0;
    run(place, plan, operands);
    CHECK(mr_event_synchronize(event, nullptr) == MR_OK);
    mr_event_release(event);
    mr_event_release(foreign);
  });
}

TEST_CASE("a plan outlives its creator's handle, and keeps the options it was made with") {
  Place place(MR_BACKEND_HOST, "inline", "force_kernel=host_matmul");
  const Plan plan(place, problem_of(MR_F32, 64, 64, 64));
  REQUIRE(mr_context_set_option(place.context(), "force_kernel", "", nullptr) == MR_OK);
  mr_kernel_info info = MR_KERNEL_INFO_INIT;
  for (const int64_t m : {1, 33, 64}) {
    REQUIRE(mr_matmul_plan_kernel(plan, m, &info, nullptr) == MR_OK);
    CHECK(std::string(info.name) == "host_matmul");
  }
  REQUIRE(mr_context_set_option(place.context(), "force_kernel", "no_such_kernel", nullptr) ==
          MR_OK);
  mr_matmul_plan* none = nullptr;
  const mr_matmul_problem problem = problem_of(MR_F32, 64, 64, 64);
  mr_error error = {};
  test::expect_refused(mr_matmul_plan_create(place.context(), &problem, &none, &error), error,
                       MR_UNSUPPORTED, "host_matmul: ");
  mr_matmul_plan_retain(plan);
  mr_matmul_plan_release(plan);
  mr_matmul_plan_release(nullptr);
  mr_matmul_plan_retain(nullptr);
  test::expect_refused(mr_matmul_plan_workspace(nullptr, 1, nullptr, &error), error,
                       MR_INVALID_ARGUMENT, "plan:");
}

TEST_CASE("threads share a plan, each with its own stream") {
  for (const char* mode : {"inline", "deferred"}) {
    Place place(MR_BACKEND_HOST, mode);
    const Plan plan(place, problem_of(MR_BF16, 16, 32, 64));
    Tensor w(place, MR_BF16, {32, 64}), x(place, MR_BF16, {16, 64}),
        wanted(place, MR_BF16, {16, 32});
    w.randomize(1);
    x.randomize(2);
    run(place, plan, operands_of(x, w, wanted));
    place.synchronize();
    std::vector<std::unique_ptr<Tensor>> results;
    for (int i = 0; i < 4; ++i)
      results.push_back(std::make_unique<Tensor>(place, MR_BF16, std::vector<int64_t>{16, 32}));
    std::vector<std::thread> threads;
    std::vector<int> failures(4, 0);
    for (size_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        mr_stream* stream = nullptr;
        failures[i] += mr_stream_create(place.context(), nullptr, &stream, nullptr) != MR_OK;
        const mr_matmul_operands operands = operands_of(x, w, *results[i]);
        for (int round = 0; round < 50; ++round) {
          failures[i] += mr_matmul_run(plan, stream, &operands, nullptr) != MR_OK;
        }
        failures[i] += mr_stream_synchronize(stream, nullptr) != MR_OK;
        mr_stream_release(stream);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < 4; ++i) {
      CHECK(failures[i] == 0);
      test::expect_same_bits(*results[i], wanted);
    }
  }
}

}  // namespace
