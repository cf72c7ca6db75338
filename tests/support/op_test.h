// What operator tests share: the places to run on, tensors with contents, and closeness by dtype.
//
// A test body takes a Place and asks it for tensors; for_each_place() runs the body on every device
// and stream mode of this machine. Contents live in ordinary memory as the values that the device
// sees (already rounded to the dtype), so that an oracle in double starts from the very same
// numbers.
#pragma once

#include <doctest/doctest.h>
#include <millrace/millrace.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace test {

// ---- Numbers ------------------------------------------------------------------------------------

// Rounds to the dtype and back, independently of the library's conversions.
double round_to(mr_dtype dtype, double value);
const char* dtype_name(mr_dtype dtype);
int64_t dtype_size(mr_dtype dtype);
inline constexpr mr_dtype kFloats[] = {MR_F32, MR_BF16, MR_F16};

// Writes and reads one element of any dtype that the library knows.
void store(mr_dtype dtype, void* at, double value);
double load(mr_dtype dtype, const void* at);

// Standard normal numbers from a fixed seed.
std::vector<double> normal(size_t count, uint64_t seed);

// What a result may differ from its formula: `units` times the dtype's unit round-off (2^-24, 2^-11
// for F16, 2^-8 for BF16) relative to |expected|, plus what float32 arithmetic inside may lose:
// `inner` times 2^-24 relative to the larger of |expected| and `scale`.
bool close(mr_dtype dtype, double actual, double expected, double scale = 0.0, double units = 1.01,
           double inner = 8.0);

// ---- Places -------------------------------------------------------------------------------------

// A device with one stream on it. mode is "inline" or "deferred" on the host, "cuda" on a GPU.
class Place {
 public:
  Place(uint32_t backend, const std::string& mode, const char* options = nullptr);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  const std::string& name() const { return name_; }
  bool on_host() const { return host_; }
  mr_context* context() const { return context_; }
  mr_stream* stream() const { return stream_; }
  void synchronize() const;

 private:
  std::string name_;
  bool host_;
  mr_context* context_ = nullptr;
  mr_stream* stream_ = nullptr;
};

// Runs the body as a subcase-free loop: every place, its name in the failure text. `options` as in
// mr_context_config. Devices that this machine lacks are left out and counted: see
// skipped_devices().
void for_each_place(const std::function<void(Place&)>& body, const char* options = nullptr);
void for_each_float(const std::function<void(Place&, mr_dtype)>& body);

// ---- Tensors ------------------------------------------------------------------------------------

// A tensor in the place's memory with a mirror on the host. Strides are in elements; the allocation
// holds exactly the addressed range plus guard bytes on both sides, which verify_guards() checks.
class Tensor {
 public:
  // Contiguous.
  Tensor(Place& place, mr_dtype dtype, std::vector<int64_t> shape);
  // With strides (negative and 0 allowed; 0 for inputs only). `offset_elements` shifts the base
  // address by that many elements, to misalign vector paths.
  Tensor(Place& place, mr_dtype dtype, std::vector<int64_t> shape, std::vector<int64_t> strides,
         int64_t offset_elements = 0);
  ~Tensor();
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  mr_tensor view() const { return view_; }
  operator mr_tensor() const { return view_; }  // NOLINT: reads as the tensor in an args struct
  int64_t count() const { return count_; }

  // Contents in row-major order of indices; rounded to the dtype on the way in. Each waits.
  void set(const std::vector<double>& values);
  void fill(double value);
  void randomize(uint64_t seed, double scale = 1.0, double shift = 0.0);
  std::vector<double> get();
  // Fills the whole allocation, gaps between strided elements included, with a pattern that get()
  // recognises as untouched; all_untouched() says that nothing was written since.
  void poison();
  bool all_untouched();
  // Guards, and the gaps between strided elements, still hold what they held.
  bool gaps_intact();

 private:
  void read_back();
  int64_t offset_of(int64_t flat) const;

  Place& place_;
  mr_buffer* buffer_ = nullptr;
  mr_tensor view_;
  int64_t count_ = 0;
  int64_t base_bytes_ = 0;  // of element 0 within the allocation
  std::vector<unsigned char> mirror_;
};

// ---- Expectations -------------------------------------------------------------------------------

// The call returns `code`, and the error's text names `part` (an argument, usually).
void expect_refused(mr_status status, const mr_error& error, mr_status code, const char* part);

// Compares element by element and reports the first difference with its index.
void expect_close(Tensor& actual, const std::vector<double>& expected, double scale = 0.0,
                  double units = 1.01, double inner = 8.0);
void expect_equal(Tensor& actual, const std::vector<double>& expected);

// Devices of other kinds that this run could not test on, with the reason, for the run's summary.
std::string skipped_devices();

}  // namespace test
