// Where a fuzz target leaves the inputs that break it: in the build folder under the target's name,
// not in whatever folder it was started from.
#include <vector>

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);  // called before flags are read

int LLVMFuzzerInitialize(int* argc, char*** argv) {
  static char flag[] = "-artifact_prefix=" MR_FUZZ_ARTIFACTS;
  // Used for the length of the run. First, so that a flag on the command line still wins.
  static auto& arguments = *new std::vector<char*>(*argv, *argv + *argc);
  arguments.insert(arguments.begin() + 1, flag);
  *argc = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  *argv = arguments.data();
  return 0;
}
