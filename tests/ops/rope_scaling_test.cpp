// RoPE's frequency scalings, each against numbers that another program computed, and the checks of
// mr_rope_config.
//
// Recipe of the numbers: Python's mpmath at 50 digits, the formulas of rope.h typed anew; for YaRN
// the bounds of the ramp are floor and ceil of dim ln(L / (2 pi beta)) / (2 ln theta), clamped to
// [0, dim - 1], a thousandth apart if equal, and the gain is 0.1 ln(factor) + 1. Printed are
// gain * cos and gain * sin of position * frequency. Pairs stand below, at both ends of, within and
// beyond the stretch where kept and divided frequencies mix.
#include <cmath>
#include <limits>

#include "support/op_test.h"
#include "support/refusals.h"
#include "support/same_bits.h"

namespace {

using test::Place;
using test::Tensor;
using Args = mr_rope_args;
using Values = std::vector<double>;

constexpr test::Functions<mr_rope_args> kOp = {mr_rope, mr_rope_prepare, mr_rope_workspace,
                                               mr_rope_kernel};

struct Point {
  int64_t position;
  size_t pair;
  double cos, sin;
};

struct Case {
  const char* name;
  int64_t dim;
  uint32_t scaling;
  float theta, factor;
  int32_t original_max_position;
  float low_freq_factor, high_freq_factor;
  std::vector<Point> points;
};

// clang-format off
const Case kCases[] = {
    {"linear", 64, MR_ROPE_SCALING_LINEAR, 10000, 4, 0, 0, 0,
     {{1000, 0, 0.240988305285, -0.970528019542},
      {1000, 7, -0.344130852871, 0.9389216986},
      {1000, 31, 0.999444339152, 0.0333318606949},
      {131071, 0, 0.590899425867, 0.806745231476},
      {131071, 7, -0.953639443049, 0.300951512144},
      {131071, 31, -0.336068315681, -0.941837611903}}},
    {"ntk", 64, MR_ROPE_SCALING_NTK, 10000, 8, 0, 0, 0,
     {{1000, 1, -0.785636099631, -0.618688870885},
      {1000, 16, -0.961790391936, -0.273786855016},
      {1000, 31, 0.999861075138, 0.0166682459812},
      {131071, 1, -0.492922643773, 0.870073139027},
      {131071, 16, -0.429928492272, 0.902862941721},
      {131071, 31, -0.576164769974, 0.817333565835}}},
    {"yarn, factor 40", 64, MR_ROPE_SCALING_YARN, 10000, 40, 4096, 0, 0,
     {{1000, 10, 1.30173066529, -0.423499093434},
      {1000, 11, 0.35585719979, 1.32182444388},
      {1000, 17, -1.24969036772, -0.55868434015},
      {1000, 22, 1.34730090348, 0.24214558139},
      {1000, 23, 1.36812730797, 0.0456275823034},
      {131071, 10, 1.20934589985, 0.641355362961},
      {131071, 11, -0.358751182642, -1.32104193576},
      {131071, 17, -0.466898973005, 1.28680206563},
      {131071, 22, -0.343783877061, -1.32501579348},
      {131071, 23, -0.46003986617, -1.28927015347}}},
    {"yarn, factor 4", 128, MR_ROPE_SCALING_YARN, 1000000, 4, 32768, 0, 0,
     {{1000, 23, 0.874440652834, 0.729267123523},
      {1000, 24, 0.700747707672, -0.897457320976},
      {1000, 32, 0.937856426983, 0.645679731096},
      {1000, 39, 1.1362320272, 0.0738496658753},
      {1000, 40, 1.13750441441, 0.0506033592581},
      {131071, 23, -1.02524403238, -0.495329856601},
      {131071, 24, 0.766744073413, 0.841772248691},
      {131071, 32, -1.00556684642, -0.534146337772},
      {131071, 39, -0.691838267823, 0.904343299835},
      {131071, 40, 1.02220341107, -0.501574699494}}},
    {"yarn, no ramp", 64, MR_ROPE_SCALING_YARN, 10000, 2, 6, 0, 0,
     {{1000, 0, 0.601360223404, 0.88419446275},
      {1000, 1, -0.487342857948, -0.951804026604},
      {1000, 31, 1.06693867308, 0.0712448884376},
      {131071, 0, -0.874681795022, -0.615114398878},
      {131071, 1, -0.776494032061, -0.735180919519},
      {131071, 31, -0.827773818761, 0.676922795616}}},
    {"llama3, factor 8", 128, MR_ROPE_SCALING_LLAMA3, 500000, 8, 8192, 1, 4,
     {{1000, 28, -0.997561247262, -0.0697965469161},
      {1000, 29, -0.561149934949, 0.827714171986},
      {1000, 32, 0.865401037494, 0.501079878167},
      {1000, 34, 0.984109743008, 0.177561295658},
      {1000, 35, 0.995437414032, 0.0954167424828},
      {131071, 28, 0.998943216204, -0.0459614055456},
      {131071, 29, 0.333052075999, 0.942908433875},
      {131071, 32, 0.948310549763, -0.317343821758},
      {131071, 34, -0.16400313143, -0.986459818179},
      {131071, 35, 0.999161767439, -0.0409360780731}}},
    {"llama3, factor 32", 64, MR_ROPE_SCALING_LLAMA3, 500000, 32, 8192, 1, 4,
     {{1000, 14, -0.997561247262, -0.0697965469161},
      {1000, 15, 0.276594364847, 0.96098676231},
      {1000, 16, 0.909150418969, 0.416467904752},
      {1000, 17, 0.995291157577, 0.096930447478},
      {1000, 18, 0.999810628297, 0.0194604096748},
      {131071, 14, 0.998943216204, -0.0459614055456},
      {131071, 15, 0.881108238758, -0.472914655717},
      {131071, 16, 0.969838519228, -0.243748326396},
      {131071, 17, 0.987484195074, 0.157717990349},
      {131071, 18, -0.830530819162, 0.556972672959}}},
};
// clang-format on

mr_rope_config config_of(const Case& c) {
  mr_rope_config config = MR_ROPE_CONFIG_INIT;
  config.scaling = c.scaling;
  config.theta = c.theta;
  config.factor = c.factor;
  config.original_max_position = c.original_max_position;
  config.low_freq_factor = c.low_freq_factor;
  config.high_freq_factor = c.high_freq_factor;
  return config;
}

// What becomes of (1, 0) in every pair: cosines in the first half, sines in the second.
Values turned(Place& place, const mr_rope_config& config, int64_t dim, int64_t position) {
  Tensor input(place, MR_F32, {1, 1, dim}), output(place, MR_F32, {1, 1, dim}),
      positions(place, MR_I64, {1});
  const int64_t rotary = config.rotary_dim > 0 ? config.rotary_dim : dim;
  Values x(static_cast<size_t>(dim), 0.0);
  for (int64_t i = 0; i < rotary / 2; ++i) x[static_cast<size_t>(i)] = 1.0;
  input.set(x);
  positions.set({static_cast<double>(position)});
  Args args = MR_ROPE_ARGS_INIT;
  args.input = input, args.positions = positions, args.output = output;
  args.rope = config;
  test::expect_run(kOp, place, args);
  return output.get();
}

TEST_CASE("rope scales frequencies as published") {
  test::for_each_place([](Place& place) {
    for (const Case& c : kCases) {
      CAPTURE(std::string(c.name));
      for (const Point& point : c.points) {
        CAPTURE(point.position);
        CAPTURE(point.pair);
        const Values got = turned(place, config_of(c), c.dim, point.position);
        // Frequencies and angles in float32 are within the contract.
        const double slack = place.on_host() ? 0.0 : static_cast<double>(point.position) * 0x1p-22;
        const double cos = got[point.pair];
        const double sin = got[point.pair + static_cast<size_t>(c.dim / 2)];
        CHECK(std::fabs(cos - point.cos) <= 0x1p-23 + slack);
        CHECK(std::fabs(sin - point.sin) <= 0x1p-23 + slack);
      }
    }
  });
}

TEST_CASE("rope with a factor of 1 is unscaled") {
  test::for_each_place([](Place& place) {
    mr_rope_config config = MR_ROPE_CONFIG_INIT;
    const Values plain = turned(place, config, 64, 5000);
    config.original_max_position = 4096;
    config.low_freq_factor = 1.0f, config.high_freq_factor = 4.0f;
    for (uint32_t scaling = 1; scaling <= MR_ROPE_SCALING_LLAMA3; ++scaling) {
      CAPTURE(scaling);
      config.scaling = scaling;
      const Values got = turned(place, config, 64, 5000);
      for (size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got[i] - plain[i]) <= 1e-6 * 600);
    }
  });
}

TEST_CASE("rope of one pair turns it by the position, whatever the base's scaling") {
  test::for_each_place([](Place& place) {
    mr_rope_config config = MR_ROPE_CONFIG_INIT;
    config.scaling = MR_ROPE_SCALING_NTK;  // the exponent of the factor is 2 / 0 here
    config.factor = 8.0f;
    const Values got = turned(place, config, 2, 3);
    CHECK(std::fabs(got[0] - std::cos(3.0)) < 1e-6);
    CHECK(std::fabs(got[1] - std::sin(3.0)) < 1e-6);
  });
}

TEST_CASE("rope takes YaRN's gain from the factor unless it is given") {
  test::for_each_place([](Place& place) {
    mr_rope_config config = MR_ROPE_CONFIG_INIT;
    config.scaling = MR_ROPE_SCALING_YARN;
    config.original_max_position = 4096;
    const std::pair<float, double> gains[] = {{1.0f, 1.0},
                                              {0.5f, 1.0},
                                              {4.0f, 0.1 * std::log(4.0) + 1},
                                              {40.0f, 0.1 * std::log(40.0) + 1}};
    for (const auto& pair : gains) {
      const float factor = pair.first;
      const double gain = pair.second;
      CAPTURE(factor);
      config.factor = factor;
      config.attention_factor = 0.0f;
      CHECK(std::fabs(turned(place, config, 64, 0)[0] - gain) <= 0x1p-23);
      for (const float given : {1.0f, 0.70710678f, 1.2773f}) {
        config.attention_factor = given;
        CHECK(turned(place, config, 64, 0)[0] == given);
        const Values got = turned(place, config, 64, 12345);
        CHECK(std::fabs(std::hypot(got[0], got[32]) - given) < 1e-6);
      }
    }
    // Other scalings know no gain.
    config.scaling = MR_ROPE_SCALING_LINEAR;
    CHECK(turned(place, config, 64, 0)[0] == 1.0);
  });
}

TEST_CASE("rope's YaRN betas are 32 and 1 where they are 0") {
  test::for_each_place([](Place& place) {
    mr_rope_config config = config_of(kCases[2]);
    REQUIRE(config.scaling == MR_ROPE_SCALING_YARN);
    const Values wanted = turned(place, config, 64, 1000);
    config.beta_fast = 32.0f, config.beta_slow = 1.0f;
    CHECK(turned(place, config, 64, 1000) == wanted);
    config.beta_fast = 16.0f;
    CHECK(turned(place, config, 64, 1000) != wanted);
    config.beta_fast = 32.0f, config.beta_slow = 4.0f;
    CHECK(turned(place, config, 64, 1000) != wanted);
  });
}

TEST_CASE("rope's theta is 10000 where it is 0, in every scaling") {
  test::for_each_place([](Place& place) {
    for (const Case& c : kCases) {
      CAPTURE(std::string(c.name));
      mr_rope_config config = config_of(c);
      config.theta = 10000.0f;
      const Values wanted = turned(place, config, c.dim, 1000);
      for (const float zero : {0.0f, -0.0f}) {
        config.theta = zero;
        test::expect_same_bits(turned(place, config, c.dim, 1000), wanted);
      }
    }
    const mr_rope_config initial = MR_ROPE_CONFIG_INIT;
    test::expect_same_bits(turned(place, mr_rope_config{}, 64, 1000),
                           turned(place, initial, 64, 1000));
  });
}

// The frequencies of partial rotary heads are those of heads of rotary_dim.
TEST_CASE("rope's frequencies come from rotary_dim, in every scaling") {
  test::for_each_place([](Place& place) {
    for (const Case& c : kCases) {
      CAPTURE(std::string(c.name));
      mr_rope_config config = config_of(c);
      const Values alone = turned(place, config, c.dim, 1000);
      config.rotary_dim = static_cast<int32_t>(c.dim);
      const Values partial = turned(place, config, c.dim + 48, 1000);
      test::expect_same_bits(Values(partial.begin(), partial.begin() + c.dim), alone);
    }
  });
}

TEST_CASE("rope ignores what its scaling does not use") {
  test::for_each_place([](Place& place) {
    mr_rope_config config = MR_ROPE_CONFIG_INIT;
    const Values wanted = turned(place, config, 64, 1000);
    config.factor = NAN, config.low_freq_factor = -1.0f, config.high_freq_factor = INFINITY;
    config.beta_fast = -1.0f, config.beta_slow = 9.0f, config.attention_factor = -3.0f;
    config.original_max_position = -5;
    CHECK(turned(place, config, 64, 1000) == wanted);
    config.factor = 0.0f;
    CHECK(turned(place, config, 64, 1000) == wanted);
  });
}

TEST_CASE("rope refuses a config that its header forbids, and writes nothing") {
  test::for_each_place([](Place& place) {
    Tensor input(place, MR_F32, {2, 3, 8}), output(place, MR_F32, {2, 3, 8}),
        positions(place, MR_I32, {2}), odd(place, MR_F32, {2, 3, 7}),
        odd_out(place, MR_F32, {2, 3, 7});
    input.fill(1), positions.fill(0), odd.fill(1);
    Args good = MR_ROPE_ARGS_INIT;
    good.input = input, good.positions = positions, good.output = output;
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const auto refuse = [&](const char* field, auto&& change) {
      Args bad = good;
      change(bad.rope);
      test::expect_all_refuse(kOp, place, bad, MR_INVALID_ARGUMENT,
                              std::string("args.rope.") + field);
    };
    using Config = mr_rope_config;
    refuse("pairing", [](Config& c) { c.pairing = 2; });
    refuse("scaling", [](Config& c) { c.scaling = 5; });
    refuse("rotary_dim", [](Config& c) { c.rotary_dim = -2; });
    refuse("rotary_dim", [](Config& c) { c.rotary_dim = 3; });
    refuse("rotary_dim", [](Config& c) { c.rotary_dim = 10; });
    refuse("rotary_dim", [](Config& c) { c.rotary_dim = std::numeric_limits<int32_t>::max(); });
    for (const int i : {0, 4}) refuse("reserved", [&](Config& c) { c.reserved[i] = 1; });
    for (const float theta : {-1.0f, NAN, kInf, -kInf}) {
      refuse("theta", [&](Config& c) { c.theta = theta; });
    }
    Args bad = good;
    bad.input = odd, bad.output = odd_out;
    test::expect_all_refuse(kOp, place, bad, MR_INVALID_ARGUMENT, "args.rope.rotary_dim");

    for (uint32_t scaling = MR_ROPE_SCALING_LINEAR; scaling <= MR_ROPE_SCALING_LLAMA3; ++scaling) {
      CAPTURE(scaling);
      good.rope.scaling = scaling;
      good.rope.original_max_position = 4096;
      good.rope.low_freq_factor = 1.0f, good.rope.high_freq_factor = 4.0f;
      test::expect_run(kOp, place, good);
      output.poison();
      for (const float factor : {0.0f, -2.0f, NAN, kInf}) {
        refuse("factor", [&](Config& c) { c.factor = factor; });
      }
      if (scaling < MR_ROPE_SCALING_YARN) continue;
      for (const int32_t length : {0, -1}) {
        refuse("original_max_position", [&](Config& c) { c.original_max_position = length; });
      }
    }
    for (const float low : {0.0f, -1.0f, NAN, kInf}) {
      refuse("low_freq_factor", [&](Config& c) { c.low_freq_factor = low; });
    }
    for (const float high : {1.0f, 0.5f, -1.0f, NAN, kInf}) {
      refuse("high_freq_factor", [&](Config& c) { c.high_freq_factor = high; });
    }
    good.rope.scaling = MR_ROPE_SCALING_YARN;
    for (const float fast : {-1.0f, NAN, kInf, 1.0f, 0.5f}) {
      refuse("beta_fast", [&](Config& c) { c.beta_fast = fast; });
    }
    refuse("beta_fast", [](Config& c) { c.beta_slow = 32.0f; });
    for (const float slow : {-1.0f, NAN, kInf}) {
      refuse("beta_slow", [&](Config& c) { c.beta_slow = slow; });
    }
    for (const float gain : {-1.0f, NAN, kInf}) {
      refuse("attention_factor", [&](Config& c) { c.attention_factor = gain; });
    }
    for (const float theta : {1.0f, 0.5f}) refuse("theta", [&](Config& c) { c.theta = theta; });
    CHECK(output.all_untouched());
  });
}

}  // namespace
