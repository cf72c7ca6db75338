// Adds two vectors on the host through the C++ binding, and sees a failure as an exception.
#include <cstdio>
#include <millrace.hpp>
#include <vector>

int main() {
  const millrace::Context context(MR_BACKEND_HOST);
  const millrace::Stream stream(context);
  const millrace::Buffer x(stream, 3 * sizeof(float));
  const std::vector<float> values = {1.0f, 2.0f, 3.0f};
  stream.upload(x.data(), values.data(), x.bytes());
  auto sum = millrace::args<mr_add_args>();
  sum.a = sum.b = sum.output = x.tensor(MR_F32, {3});
  stream.add(sum);
  const auto result = stream.download<float>(x.data(), 3);
  if (result != std::vector<float>{2.0f, 4.0f, 6.0f}) return 1;
  try {
    stream.add(millrace::args<mr_add_args>());
    return 2;
  } catch (const millrace::Error& error) {
    if (error.code() != MR_INVALID_ARGUMENT) return 3;
  }
  std::printf("C++: %s\n", context.device().name);
  return 0;
}
