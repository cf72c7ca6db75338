// The checks that a one-shot matmul and a planned one share.
#pragma once

#include "kernel_api/matmul_args.h"
#include "millrace/matmul.h"
#include "ops/dispatch.h"

namespace mr {

// The operands of one product with the names that the caller knows them by.
struct MatmulOperand {
  const mr_tensor& tensor;
  const char* name;
};
struct MatmulOperands {
  MatmulOperand x, w, bias, c, d;
  float alpha;
  float beta;
  bool add_c;
  uint32_t activation;  // known to be valid
};

// Every check of matmul.h on tensors, then the flat form, but for what belongs to a context.
Status flatten_matmul(const MatmulOperands& operands, Purpose purpose, MatmulArgs* out);

Status check_activation(uint32_t activation, const char* name);

// d has no elements.
bool matmul_empty(const MatmulArgs& args);

}  // namespace mr
