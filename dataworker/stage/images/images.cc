// headrace._images: the operators for stage hosts, where user code edits pictures through PIL. Its
// surface is headrace/_images.pyi.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "dataworker/stage/images/jpeg_file.h"
#include "dataworker/stage/images/native_chain.h"
#include "dataworker/stage/images/number_functions.h"
#include "dataworker/stage/images/picture_functions.h"
#include "dataworker/stage/images/pixel_memory.h"
#include "dataworker/stage/images/spline_functions.h"
#include "dataworker/stage/images/tensor_colors.h"
#include "dataworker/stage/images/tensor_floats.h"

namespace nb = nanobind;

namespace headrace::images {
namespace {

using ArgIn =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;
using NodeIn = std::pair<std::string, std::map<std::string, ArgIn>>;
using StateIn = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using PixelsIn = nb::ndarray<const std::uint8_t, nb::c_contig, nb::device::cpu>;
using ColorsIn =
    nb::ndarray<const std::uint8_t, nb::shape<-1, -1, 3>, nb::c_contig, nb::device::cpu>;

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

ByteSpan FileIn(const nb::bytes& file) {
  return {reinterpret_cast<const std::byte*>(file.c_str()), file.size()};
}

MutableByteSpan BytesOf(const StateIn& state) {
  return std::as_writable_bytes(std::span(state.data(), state.size()));
}

template <typename T>
nb::object ToArray(Made made) {
  const std::vector<std::size_t> shape(made.spec.dims.begin(), made.spec.dims.end());
  auto* const data = made.memory.release();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<std::byte*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, T>(reinterpret_cast<T*>(data), shape.size(), shape.data(), owner));
}

bool HasArray(DType dtype) { return dtype == DType::kU8 || dtype == DType::kF32; }

nb::object ToObject(Result<Made> made) {
  if (!made.ok() || !HasArray(made->spec.dtype)) return nb::none();
  if (made->spec.dtype == DType::kU8) return ToArray<std::uint8_t>(std::move(made).value());
  return ToArray<float>(std::move(made).value());
}

// Memory that Python gives for one sample. Its function takes the shape, and whether the elements are
// floats, and gives an object and where its memory begins.
class PythonRoom {
 public:
  // `give`: None for none. REQUIRES: the GIL is held, also at the end.
  explicit PythonRoom(const nb::object& give) : give_(give) {}

  // For a run without the GIL.
  [[nodiscard]] Room room() {
    if (give_.is_none()) return {};
    return [this](const TensorSpec& spec) -> std::byte* {
      if (!HasArray(spec.dtype)) return nullptr;
      const nb::gil_scoped_acquire acquire;
      nb::list shape;
      for (const std::int64_t side : spec.dims) shape.append(side);
      const nb::tuple given =
          nb::cast<nb::tuple>(give_(nb::tuple(shape), spec.dtype == DType::kF32));
      made_ = given[0];
      return reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(given[1]));
    };
  }

  // What a run has made, as Python has it.
  nb::object ToObject(Result<Made> made) {
    if (give_.is_none()) return images::ToObject(std::move(made));
    return made.ok() ? std::move(made_) : nb::none();
  }

 private:
  const nb::object give_;
  nb::object made_ = nb::none();
};

class Chain {
 public:
  explicit Chain(NativeChain chain) : chain_(std::move(chain)) {}

  [[nodiscard]] bool is_random() const { return chain_.is_random(); }

  nb::object RunFile(const nb::bytes& file, const StateIn& state, const nb::object& give) {
    PythonRoom room(give);
    return room.ToObject(Run(file, state, room.room()));
  }

  nb::object RunFileDrawn(const nb::bytes& file, const StateIn& state) {
    Result<Made> made = Run(file, state, {});
    if (!made.ok()) return nb::none();
    const std::vector<std::int32_t> params = std::move(made->params);
    return nb::make_tuple(ToObject(std::move(made)), params);
  }

  nb::object RunPixels(const PixelsIn& pixels, const StateIn& state, const nb::object& give) {
    PythonRoom room(give);
    if (pixels.ndim() > Dims::kMost) return nb::none();
    const std::span sizes(pixels.shape_ptr(), pixels.ndim());
    const TensorSpec spec{DType::kU8, Layout::kPlain, Dims(sizes)};
    return room.ToObject([&, into = room.room()] {
      const nb::gil_scoped_release release;
      return chain_.RunPixels(std::as_bytes(std::span(pixels.data(), pixels.size())), spec,
                              BytesOf(state), into);
    }());
  }

 private:
  Result<Made> Run(const nb::bytes& file, const StateIn& state, const Room& room) {
    const nb::gil_scoped_release release;
    return chain_.RunFile(FileIn(file), BytesOf(state), room);
  }

  const NativeChain chain_;
};

class Renderer {
 public:
  Renderer(std::string pillow, std::string torch, std::string torchvision,
           std::string cpu_capability)
      : libraries_{std::move(pillow), std::move(torch), std::move(torchvision),
                   std::move(cpu_capability)},
        workshop_(std::make_shared<Workshop>()) {}

  std::unique_ptr<Chain> Compile(const std::vector<NodeIn>& nodes, const nb::bytes& torch_exp) {
    Result<NativeChain> chain =
        NativeChain::Make(ToNodes(nodes), libraries_, FileIn(torch_exp), workshop_);
    if (!chain.ok() || !HasArray(chain->dtype())) return nullptr;
    return std::make_unique<Chain>(std::move(chain).value());
  }

  nb::object Render(const nb::bytes& file, const std::vector<NodeIn>& nodes) {
    std::vector<Node> steps = ToNodes(nodes);
    return ToObject([&]() -> Result<Made> {
      const nb::gil_scoped_release release;
      HR_TRY(const auto chain, NativeChain::Make(std::move(steps), libraries_, {}, workshop_));
      if (chain.is_random()) return Unsupported("an operator that draws");
      return chain.RunFile(FileIn(file), {});
    }());
  }

  nb::object Edit(const ColorsIn& pixels, const std::vector<NodeIn>& nodes) {
    std::vector<Node> steps = ToNodes(nodes);
    const std::span sizes(pixels.shape_ptr(), pixels.ndim());
    const TensorSpec spec{DType::kU8, Layout::kPlain, Dims(sizes)};
    return ToObject([&]() -> Result<Made> {
      const nb::gil_scoped_release release;
      steps.insert(steps.begin(), Node{.op = "from_array", .args = {{"mode", "RGB"}}});
      HR_TRY(const auto chain, NativeChain::Make(std::move(steps), libraries_, {}, workshop_));
      if (chain.is_random()) return Unsupported("an operator that draws");
      return chain.RunPixels(std::as_bytes(std::span(pixels.data(), pixels.size())), spec, {});
    }());
  }

 private:
  const ClientLibraries libraries_;
  const std::shared_ptr<Workshop> workshop_;
};

}  // namespace
}  // namespace headrace::images

NB_MODULE(_images, module) {
  nanobind::set_leak_warnings(false);  // arrays that live until the interpreter ends are no leak
  using headrace::images::Chain;
  using headrace::images::Renderer;
  nb::class_<Chain>(module, "Chain")
      .def_prop_ro("is_random", &Chain::is_random)
      .def("run_file", &Chain::RunFile, nb::arg("file"), nb::arg("state"),
           nb::arg("room").none() = nb::none())
      .def("run_file_drawn", &Chain::RunFileDrawn, nb::arg("file"), nb::arg("state"))
      .def("run_pixels", &Chain::RunPixels, nb::arg("pixels"), nb::arg("state"),
           nb::arg("room").none() = nb::none());
  nb::class_<Renderer>(module, "Renderer")
      .def(nb::init<std::string, std::string, std::string, std::string>(), nb::arg("pillow"),
           nb::arg("torch"), nb::arg("torchvision"), nb::arg("cpu_capability"))
      .def("compile", &Renderer::Compile, nb::arg("nodes"), nb::arg("torch_exp"))
      .def("render", &Renderer::Render, nb::arg("file"), nb::arg("nodes"))
      .def("edit", &Renderer::Edit, nb::arg("pixels"), nb::arg("nodes"));
  headrace::BindJpegFiles(module);
  headrace::BindNumberFunctions(module);
  headrace::BindPictureFunctions(module);
  headrace::BindPixelMemory(module);
  headrace::BindSplineFunctions(module);
  headrace::BindTensorColors(module);
  headrace::BindTensorFloats(module);
}
