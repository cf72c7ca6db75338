#include "kernels/host/host_table.h"

#include "kernels/host/host_kernels.h"

namespace mr {

const KernelTable& host_kernels() {
  static const KernelTable table = {
      .embedding = host::embedding(),
      .rmsnorm = host::rmsnorm(),
      .add = host::add(),
      .gated_activation = host::gated_activation(),
      .rope = host::rope(),
      .qkv_post = host::qkv_post(),
      .attention = host::attention(),
      .matmul = host::matmul(),
      .argmax = host::argmax(),
      .sample = host::sample(),
  };
  return table;
}

}  // namespace mr
