// cuBLASLt, loaded at run time by its exact SONAME: nothing here is linked against it.
#pragma once

#include <cublasLt.h>

#include <string>

#include "core/result.h"

namespace mr {

struct CublasLt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetVersion) get_version = nullptr;
  decltype(&cublasLtGetStatusName) get_status_name = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) get_heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoCheck) check = nullptr;
  // The headers' ...Init() functions are inline calls of these, with the struct's size.
  decltype(&cublasLtMatrixLayoutInit_internal) layout_init = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulDescInit_internal) desc_init = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatmulPreferenceInit_internal) preference_init = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
};

// The library: a copy that the process has loaded already, else the file `path` if it is not empty,
// else the system's. Loaded once and kept; later calls ignore `path`. DEPENDENCY_MISSING with what
// was tried. May take long: 500 MB are mapped.
Status load_cublaslt(const std::string& path, const CublasLt** out);

// "path (cuBLASLt 13.1.0)" of the loaded library, or DEPENDENCY_MISSING. Loads nothing.
Status describe_cublaslt(std::string* out);

// A failed call of it; the sentence says what was attempted.
Status cublaslt_status(const CublasLt& library, cublasStatus_t result, const char* sentence);

}  // namespace mr
