#include "support/op_test.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace test {
namespace {

constexpr unsigned char kPoison = 0xa5;
constexpr int64_t kGuard = 256;

void check(mr_status status, const mr_error& error) {
  if (status != MR_OK) FAIL(mr_status_name(status) << ": " << error.text);
}

}  // namespace

// ---- Places -------------------------------------------------------------------------------------

Place::Place(uint32_t backend, const std::string& mode, const char* options)
    : name_(mode), host_(backend == MR_BACKEND_HOST) {
  std::string all = host_ ? "host.streams=" + mode : "";
  if (options != nullptr) all += std::string(";") + options;
  mr_context_config config = MR_CONTEXT_CONFIG_INIT;
  config.backend = backend;
  config.options = all.c_str();
  mr_error error;
  check(mr_context_create(&config, &context_, &error), error);
  check(mr_stream_create(context_, nullptr, &stream_, &error), error);
}

Place::~Place() {
  mr_stream_release(stream_);
  mr_context_release(context_);
}

void Place::synchronize() const {
  mr_error error;
  check(mr_stream_synchronize(stream_, &error), error);
}

namespace {

bool have_cuda(std::string* why) {
  mr_probe_info info = MR_PROBE_INFO_INIT;
  mr_error error;
  check(mr_probe(&info, &error), error);
  *why = info.cuda_status == MR_UNSUPPORTED
             ? "CUDA: built without it"
             : std::string("CUDA: ") + mr_status_text(info.cuda_status);
  return info.cuda_status == MR_OK;
}

// The operators that have CUDA kernels. A test in ops/ belongs to the operator that its file is
// named after; one whose operator is not here leaves CUDA out and says so.
constexpr const char* kOnCuda[] = {"embedding", "matmul", "rmsnorm"};

bool served_by_cuda(std::string* which) {
  const std::string file = doctest::getContextOptions()->currentTest->m_file.c_str();
  const size_t folder = file.rfind("/ops/");
  if (folder == std::string::npos) return true;
  *which = file.substr(folder + 5, file.find('_', folder) - folder - 5);
  return std::find(std::begin(kOnCuda), std::end(kOnCuda), *which) != std::end(kOnCuda);
}

std::set<std::string> not_on_cuda;

}  // namespace

std::string skipped_devices() {
  std::string why;
  if (!have_cuda(&why)) return why;
  why.clear();
  for (const std::string& name : not_on_cuda)
    why += (why.empty() ? "CUDA, for want of kernels: " : ", ") + name;
  return why;
}

void for_each_place(const std::function<void(Place&)>& body, const char* options) {
  for (const char* mode : {"inline", "deferred"}) {
    CAPTURE(std::string(mode));
    Place place(MR_BACKEND_HOST, mode, options);
    body(place);
  }
  std::string why;
  if (!have_cuda(&why)) return;
  std::string name;
  if (!served_by_cuda(&name)) {
    not_on_cuda.insert(name);
    return;
  }
  CAPTURE(std::string("cuda"));
  Place place(MR_BACKEND_CUDA, "cuda", options);
  body(place);
}

void for_each_float(const std::function<void(Place&, mr_dtype)>& body) {
  for_each_place([&](Place& place) {
    for (const mr_dtype dtype : kFloats) {
      CAPTURE(std::string(dtype_name(dtype)));
      body(place, dtype);
    }
  });
}

// ---- Tensors ------------------------------------------------------------------------------------

namespace {

std::vector<int64_t> packed(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= std::max<int64_t>(shape[d], 1);
  }
  return strides;
}

}  // namespace

Tensor::Tensor(Place& place, mr_dtype dtype, std::vector<int64_t> shape)
    : Tensor(place, dtype, shape, packed(shape)) {}

Tensor::Tensor(Place& place, mr_dtype dtype, std::vector<int64_t> shape,
               std::vector<int64_t> strides, int64_t offset_elements)
    : place_(place), view_(MR_TENSOR_INIT) {
  REQUIRE(shape.size() == strides.size());
  REQUIRE(shape.size() <= MR_MAX_RANK);
  int64_t low = 0, high = 0;
  count_ = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    count_ *= shape[d];
    const int64_t reach = (std::max<int64_t>(shape[d], 1) - 1) * strides[d];
    (reach < 0 ? low : high) += reach;
    view_.shape[d] = shape[d];
    view_.strides[d] = strides[d];
  }
  const int64_t size = dtype_size(dtype);
  base_bytes_ = kGuard + (offset_elements - low) * size;
  const int64_t bytes = base_bytes_ + (high + 1) * size + kGuard;
  mr_error error;
  check(mr_buffer_create(place.stream(), static_cast<uint64_t>(bytes), MR_MEMORY_DEVICE,
                         MR_TAG_ACTIVATIONS, &buffer_, &error),
        error);
  view_.data = static_cast<char*>(mr_buffer_data(buffer_)) + base_bytes_;
  view_.dtype = dtype;
  view_.rank = static_cast<int32_t>(shape.size());
  mirror_.resize(static_cast<size_t>(bytes));
  poison();
}

Tensor::~Tensor() {
  place_.synchronize();
  mr_buffer_release(buffer_);
}

int64_t Tensor::offset_of(int64_t flat) const {
  int64_t offset = 0;
  for (int32_t d = view_.rank - 1; d >= 0; --d) {
    offset += (flat % view_.shape[d]) * view_.strides[d];
    flat /= view_.shape[d];
  }
  return base_bytes_ + offset * dtype_size(view_.dtype);
}

void Tensor::poison() {
  std::fill(mirror_.begin(), mirror_.end(), kPoison);
  mr_error error;
  check(mr_upload(place_.stream(), mr_buffer_data(buffer_), mirror_.data(), mirror_.size(), &error),
        error);
}

void Tensor::set(const std::vector<double>& values) {
  REQUIRE(static_cast<int64_t>(values.size()) == count_);
  for (int64_t i = 0; i < count_; ++i) {
    store(view_.dtype, mirror_.data() + offset_of(i), values[static_cast<size_t>(i)]);
  }
  mr_error error;
  check(mr_upload(place_.stream(), mr_buffer_data(buffer_), mirror_.data(), mirror_.size(), &error),
        error);
}

void Tensor::fill(double value) { set(std::vector<double>(static_cast<size_t>(count_), value)); }

void Tensor::randomize(uint64_t seed, double scale, double shift) {
  std::vector<double> values = normal(static_cast<size_t>(count_), seed);
  for (double& value : values) value = value * scale + shift;
  set(values);
}

void Tensor::read_back() {
  mr_error error;
  check(
      mr_download(place_.stream(), mirror_.data(), mr_buffer_data(buffer_), mirror_.size(), &error),
      error);
}

std::vector<double> Tensor::get() {
  read_back();
  std::vector<double> values(static_cast<size_t>(count_));
  for (int64_t i = 0; i < count_; ++i) {
    values[static_cast<size_t>(i)] = load(view_.dtype, mirror_.data() + offset_of(i));
  }
  return values;
}

bool Tensor::all_untouched() {
  read_back();
  return std::all_of(mirror_.begin(), mirror_.end(), [](unsigned char b) { return b == kPoison; });
}

bool Tensor::gaps_intact() {
  read_back();
  std::vector<bool> used(mirror_.size(), false);
  const int64_t size = dtype_size(view_.dtype);
  for (int64_t i = 0; i < count_; ++i) {
    const int64_t at = offset_of(i);
    std::fill(used.begin() + at, used.begin() + at + size, true);
  }
  for (size_t i = 0; i < mirror_.size(); ++i) {
    if (!used[i] && mirror_[i] != kPoison) return false;
  }
  return true;
}

// ---- Expectations -------------------------------------------------------------------------------

void expect_refused(mr_status status, const mr_error& error, mr_status code, const char* part) {
  CHECK_MESSAGE(status == code, "got " << mr_status_name(status) << ", wanted "
                                       << mr_status_name(code) << " about " << part);
  if (status != code) return;
  CHECK(error.code == code);
  CHECK_MESSAGE(std::string(error.text).find(part) != std::string::npos,
                "the text does not name " << part << ": " << error.text);
}

void expect_close(Tensor& actual, const std::vector<double>& expected, double scale, double units,
                  double inner) {
  const std::vector<double> got = actual.get();
  REQUIRE(got.size() == expected.size());
  const mr_dtype dtype = actual.view().dtype;
  for (size_t i = 0; i < got.size(); ++i) {
    if (close(dtype, got[i], expected[i], scale, units, inner)) continue;
    FAIL_CHECK("element " << i << " of " << got.size() << " is " << got[i] << ", expected "
                          << expected[i]);
    break;
  }
  CHECK_MESSAGE(actual.gaps_intact(), "bytes between or around the elements were written");
}

void expect_equal(Tensor& actual, const std::vector<double>& expected) {
  const std::vector<double> got = actual.get();
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))) continue;
    FAIL_CHECK("element " << i << " of " << got.size() << " is " << got[i] << ", expected "
                          << expected[i]);
    break;
  }
  CHECK_MESSAGE(actual.gaps_intact(), "bytes between or around the elements were written");
}

}  // namespace test
