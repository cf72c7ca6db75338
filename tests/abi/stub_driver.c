/* A CUDA driver of long ago, as far as a program can tell that asks for its version first. Built
   twice: under the name that drivers have, and under the one that toolkits give to their stub (case
   E02). */
#define EXPORTED __attribute__((visibility("default")))
EXPORTED int cuInit(unsigned int flags);
EXPORTED int cuDriverGetVersion(int* version);

int cuInit(unsigned int flags) {
  (void)flags;
  return 34; /* CUDA_ERROR_STUB_LIBRARY */
}

int cuDriverGetVersion(int* version) {
  *version = 7000; /* 7.0 */
  return 0;
}
