#include "base/tensor_spec.h"

namespace headrace {

std::string_view DTypeName(DType type) {
  switch (type) {
    case DType::kU8:
      return "uint8";
    case DType::kI8:
      return "int8";
    case DType::kI16:
      return "int16";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
    case DType::kF16:
      return "float16";
    case DType::kF32:
      return "float32";
    case DType::kF64:
      return "float64";
    case DType::kBool:
      return "bool";
    case DType::kBF16:
      return "bfloat16";
  }
  return "?";
}

std::string TensorSpec::ToString() const {
  std::string text(DTypeName(dtype));
  text += "[";
  for (std::size_t i = 0; i < dims.rank(); ++i) {
    if (i > 0) text += ", ";
    text += dims[i] < 0 ? "?" : std::to_string(dims[i]);
  }
  return text + "]";
}

}  // namespace headrace
