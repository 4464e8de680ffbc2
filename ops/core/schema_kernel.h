#pragma once

namespace headrace::ops {

// A kernel that runs by its operator's description, an S. Base: the kind of kernel.
template <typename Base, typename S>
class SchemaKernel : public Base {
 public:
  explicit SchemaKernel(const S& schema) : schema_(schema) {}

 protected:
  const S& schema_;  // the chain's, which outlives its kernels
};

}  // namespace headrace::ops
