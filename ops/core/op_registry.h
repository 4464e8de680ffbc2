#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/graph.h"
#include "base/result.h"
#include "ops/core/op.h"
#include "ops/core/op_spec.h"
#include "ops/torch/torch_functions.h"

// The operators of this build by name. Filled by generated calls, one for each operator folder:
// RegisterSchemas(SchemaRegistry&) and RegisterKernels(KernelRegistry&).
namespace headrace::ops {

// What an operator's factory may use.
struct CompileContext {
  const ClientLibraries* libraries = nullptr;
  // Null if the plan has no constant "torch_exp".
  std::shared_ptr<const TorchExpTable> torch_exp;
  // The operator's input. A size is Dims::kAny where it differs between samples.
  TensorSpec input;
  // For draws that go through torch; null where they are not made.
  const TorchFunctions* torch = nullptr;
};

using SchemaPtr = std::shared_ptr<const OpSchema>;
using SchemaFactory =
    std::function<Result<SchemaPtr>(const OpArgs& args, const CompileContext& context)>;
using KernelPtr = std::shared_ptr<const Kernel>;
// `schema` is the object that this operator's SchemaFactory made; it outlives the kernel.
using KernelFactory =
    std::function<Result<KernelPtr>(const OpSchema& schema, const CompileContext& context)>;

// Makes a new object, as the pointer that the factories return.
template <typename T, typename... Args>
SchemaPtr MakeSchema(Args&&... args) {
  return std::make_shared<const T>(std::forward<Args>(args)...);
}
template <typename T, typename... Args>
KernelPtr MakeKernel(Args&&... args) {
  return std::make_shared<const T>(std::forward<Args>(args)...);
}

// Thread-safe once filled.
class SchemaRegistry {
 public:
  struct Entry {
    OpSpec spec;
    SchemaFactory make;
  };
  // REQUIRES: no entry with that name.
  void Add(OpSpec spec, SchemaFactory make);
  // Null if there is none.
  [[nodiscard]] const Entry* Find(std::string_view name) const;
  // Sorted by name.
  [[nodiscard]] const std::map<std::string, Entry, std::less<>>& entries() const {
    return entries_;
  }
  // All operators of this build.
  static const SchemaRegistry& Builtin();

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

// Thread-safe once filled. Worker only.
class KernelRegistry {
 public:
  // REQUIRES: no entry with that name.
  void Add(std::string name, KernelFactory make);
  // Adds an operator whose kernel K is made from its description, an S, or from nothing.
  // REQUIRES: as above.
  template <typename K, typename S = void>
  void Add(std::string name) {
    Add(std::move(name),
        [](const OpSchema& schema, const CompileContext& /*context*/) -> Result<KernelPtr> {
          if constexpr (std::is_void_v<S>) {
            return MakeKernel<K>();
          } else {
            return MakeKernel<K>(static_cast<const S&>(schema));
          }
        });
  }
  // Null if there is none.
  [[nodiscard]] const KernelFactory* Find(std::string_view name) const;
  // All operators of this build.
  static const KernelRegistry& Builtin();

 private:
  std::map<std::string, KernelFactory, std::less<>> entries_;
};

}  // namespace headrace::ops
