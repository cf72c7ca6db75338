/* Lists the devices. Introduces mr_probe, mr_device_query and the way that structs are filled. */
#include "ladder.h"

int main(void) {
  mr_error error;
  mr_probe_info probe = MR_PROBE_INFO_INIT;
  check(mr_probe(&probe, &error), &error);
  printf("millrace %u.%u.%u, ABI %u.%u, built with %s\n", probe.version / 10000,
         probe.version / 100 % 100, probe.version % 100, probe.abi_version >> 16,
         probe.abi_version & 0xffff, probe.build);
  printf("CUDA: %s\n", mr_status_text(probe.cuda_status));
  for (uint32_t i = 0; i < probe.device_count; ++i) {
    mr_device_info device = MR_DEVICE_INFO_INIT;
    check(mr_device_query(i, &device, &error), &error);
    printf("%s %d: %s, %.1f GiB, %d multiprocessors, architecture %d%s\n",
           device.backend == MR_BACKEND_CUDA ? "cuda" : "host", device.ordinal, device.name,
           (double)device.memory_bytes / (1 << 30), device.multiprocessors, device.architecture,
           device.usable == MR_OK ? "" : " (no code for it in this build)");
  }
  return 0;
}
