// headrace._images: the operators for stage hosts, where user code edits pictures through PIL. Its
// surface is headrace/_images.pyi.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "ops/core/chain.h"
#include "ops/core/runner.h"

namespace nb = nanobind;

namespace headrace {
namespace {

using ArgIn = std::variant<std::int64_t, std::string, std::vector<std::int64_t>>;
using NodeIn = std::pair<std::string, std::map<std::string, ArgIn>>;

std::vector<Node> ToNodes(const std::vector<NodeIn>& nodes) {
  std::vector<Node> chain;
  for (const auto& [op, args] : nodes) {
    Node& node = chain.emplace_back();
    node.op = op;
    for (const auto& [name, value] : args) {
      node.args[name] = std::visit([](const auto& v) { return ArgValue(v); }, value);
    }
  }
  return chain;
}

// A finished sample in memory of its own.
struct Made {
  ops::ImageSpec spec;
  std::unique_ptr<std::byte[]> memory;
};

Result<Made> Make(ByteSpan file, std::vector<Node> nodes, const ClientLibraries& libraries,
                  ops::OpContext& context) {
  HR_TRY(auto chain, ops::Chain::Compile(std::move(nodes), libraries, {}));
  if (chain.is_random()) return Unsupported("an operator that draws");
  HR_TRY(const auto runner,
         ops::ChainRunner::Make(std::make_shared<const ops::Chain>(std::move(chain))));
  const auto no_more = [](std::size_t) { return ByteSpan(); };
  HR_TRY(const ops::ImageSpec source, ops::ChainRunner::ReadHeader(file, no_more));
  Made made;
  HR_TRY(made.spec, runner.OutputSpec(source));
  made.memory = std::make_unique_for_overwrite<std::byte[]>(made.spec.bytes());
  HR_RETURN_IF_ERROR(runner.Run(file, {}, context, {made.memory.get(), made.spec.bytes()}));
  return made;
}

template <typename T>
nb::object ToArray(Made made) {
  const auto height = static_cast<std::size_t>(made.spec.height);
  const auto width = static_cast<std::size_t>(made.spec.width);
  const auto channels = static_cast<std::size_t>(made.spec.channels);
  const bool planes = made.spec.layout == ops::Layout::kChw;
  const std::vector<std::size_t> shape = planes ? std::vector<std::size_t>{channels, height, width}
                                                : std::vector<std::size_t>{height, width, channels};
  auto* const data = made.memory.release();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<std::byte*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, T>(reinterpret_cast<T*>(data), shape.size(), shape.data(), owner));
}

// Thread-safe: one call renders at a time, without the GIL.
class Renderer {
 public:
  Renderer(std::string pillow, std::string torch, std::string torchvision,
           std::string cpu_capability)
      : libraries_{std::move(pillow), std::move(torch), std::move(torchvision),
                   std::move(cpu_capability)} {}

  nb::object Render(const nb::bytes& file, const std::vector<NodeIn>& nodes) {
    const ByteSpan data{reinterpret_cast<const std::byte*>(file.c_str()), file.size()};
    std::vector<Node> chain = ToNodes(nodes);
    Result<Made> made = [&]() -> Result<Made> {
      const nb::gil_scoped_release release;
      const std::scoped_lock lock(mutex_);
      return Make(data, std::move(chain), libraries_, context_);
    }();
    if (!made.ok()) return nb::none();
    switch (made->spec.dtype) {
      case DType::kU8:
        return ToArray<std::uint8_t>(std::move(made).value());
      case DType::kF32:
        return ToArray<float>(std::move(made).value());
      default:
        return nb::none();
    }
  }

 private:
  const ClientLibraries libraries_;
  std::mutex mutex_;
  ops::OpContext context_;
};

}  // namespace
}  // namespace headrace

NB_MODULE(_images, module) {
  nanobind::set_leak_warnings(false);  // arrays that live until the interpreter ends are no leak
  using headrace::Renderer;
  nb::class_<Renderer>(module, "Renderer")
      .def(nb::init<std::string, std::string, std::string, std::string>(), nb::arg("pillow"),
           nb::arg("torch"), nb::arg("torchvision"), nb::arg("cpu_capability"))
      .def("render", &Renderer::Render, nb::arg("file"), nb::arg("nodes"));
}
