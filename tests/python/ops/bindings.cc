#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/file_group.h"
#include "ops/core/chain.h"
#include "ops/core/graph.h"
#include "ops/core/graph_draws.h"
#include "ops/run/graph_runner.h"
#include "ops/run/runner.h"
#include "tests/python/ops/bind_util.h"
#include "tests/python/ops/generator_bindings.h"

// The operators as Python sees them in the property tests: one chain, one sample at a time.
namespace nb = nanobind;

namespace headrace::ops {
namespace {

using FloatsIn = nb::ndarray<const float, nb::numpy, nb::ndim<1>>;
using PixelsIn = nb::ndarray<const std::uint8_t, nb::c_contig, nb::device::cpu>;
using NodeIn = std::pair<std::string, nb::dict>;
using RangeTuple = std::tuple<float, float, int>;

ArgValue ToArg(nb::handle value) {
  if (nb::isinstance<nb::bool_>(value)) return std::int64_t{nb::cast<bool>(value)};
  if (nb::isinstance<nb::int_>(value)) return nb::cast<std::int64_t>(value);
  if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  bool whole = true;
  for (nb::handle item : value) whole = whole && nb::isinstance<nb::int_>(item);
  if (whole) return nb::cast<std::vector<std::int64_t>>(value);
  return nb::cast<std::vector<double>>(value);
}

using Memory = std::unique_ptr<std::vector<std::uint64_t>>;

// Poisoned, so that a byte which the runner leaves out is seen.
Memory MemoryFor(const TensorSpec& spec) {
  return std::make_unique<std::vector<std::uint64_t>>(spec.bytes() / 8 + 1, 0xabababababababab);
}
MutableByteSpan BytesOf(const TensorSpec& spec, const Memory& memory) {
  return std::as_writable_bytes(std::span(*memory)).first(spec.bytes());
}

nb::object ToNumpy(const TensorSpec& spec, Memory memory) {
  void* const data = memory->data();
  const nb::capsule owner(memory.release(), [](void* p) noexcept {
    delete static_cast<std::vector<std::uint64_t>*>(p);
  });
  const std::vector<std::size_t> shape(spec.dims.begin(), spec.dims.end());
  // Floats of 16 bits as their bits: numpy has no bfloat16.
  const auto array = [&]<typename T>(T /*element*/) {
    return nb::cast(nb::ndarray<nb::numpy, T>(data, shape.size(), shape.data(), owner));
  };
  switch (spec.dtype) {
    case DType::kI8:
      return array(std::int8_t{});
    case DType::kI16:
      return array(std::int16_t{});
    case DType::kI32:
      return array(std::int32_t{});
    case DType::kI64:
      return array(std::int64_t{});
    case DType::kF16:
    case DType::kBF16:
      return array(std::uint16_t{});
    case DType::kF32:
      return array(float{});
    case DType::kF64:
      return array(double{});
    default:
      return array(std::uint8_t{});
  }
}

Node ToNode(const std::string& op, const nb::dict& args) {
  Node node;
  node.op = op;
  for (const auto& [name, value] : args) node.args[nb::cast<std::string>(name)] = ToArg(value);
  return node;
}
ClientLibraries ToLibraries(const nb::dict& libraries) {
  const auto text = [&](const char* name) { return nb::cast<std::string>(libraries[name]); };
  return {text("pillow"), text("torch"), text("torchvision"), text("cpu_capability")};
}
Constants ToConstants(const nb::bytes& torch_exp) {
  Constants constants;
  if (torch_exp.size() > 0) constants["torch_exp"] = View(torch_exp);
  return constants;
}

std::vector<RangeTuple> ToTuples(const std::vector<ExpRange>& ranges) {
  std::vector<RangeTuple> all;
  for (const ExpRange& r : ranges) all.emplace_back(r.low, r.high, static_cast<int>(r.rounding));
  return all;
}

// A compiled graph over samples of several files.
class PyGraph {
 public:
  // nodes: operator, arguments, inputs.
  PyGraph(const std::vector<std::tuple<std::string, nb::dict, std::vector<std::int32_t>>>& nodes,
          const std::vector<std::int32_t>& values, const nb::dict& libraries,
          const nb::bytes& torch_exp) {
    std::vector<Node> all;
    for (const auto& [op, args, inputs] : nodes) {
      all.push_back(ToNode(op, args));
      all.back().inputs = inputs;
    }
    graph_ = std::make_shared<const Graph>(
        Take(Graph::Compile(all, values, ToLibraries(libraries), ToConstants(torch_exp))));
    runner_.emplace(Take(GraphRunner::Make(graph_)));
  }
  [[nodiscard]] std::vector<RangeTuple> exp_ranges() const {
    return ToTuples(graph_->exp_ranges());
  }
  // The values, and how often torch's generator was asked. `cached`: by way of what a cache keeps.
  nb::tuple Run(const std::vector<nb::bytes>& files, std::uint64_t seed, bool cached) {
    std::vector<std::size_t> sizes;
    for (const nb::bytes& file : files) sizes.push_back(file.size());
    Bytes group(FileGroup::BytesOf(sizes));
    const std::vector<MutableByteSpan> places = FileGroup::Lay(sizes, group);
    for (std::size_t i = 0; i < files.size(); ++i) {
      std::ranges::copy(View(files[i]), places[i].begin());
    }
    const TensorSpec source = Take(runner_->ReadSource(group));
    Generators rng(seed, DrawsFromPython(*graph_), DrawsFromNumpy(*graph_));
    std::vector<std::int32_t> params(static_cast<std::size_t>(graph_->param_words()));
    std::vector<TensorSpec> specs(graph_->values().size());
    Check(graph_->Draw(source, rng, params, specs));
    std::vector<Memory> memory;
    std::vector<MutableByteSpan> outs;
    for (const TensorSpec& spec : specs) {
      memory.push_back(MemoryFor(spec));
      outs.push_back(BytesOf(spec, memory.back()));
    }
    if (cached) {
      Bytes payload;
      Check(runner_->RunPrefix(group, context_, &payload));
      Check(runner_->RunFromPrefix(payload, params, context_, outs));
    } else {
      Check(runner_->Run(group, params, context_, outs));
    }
    nb::list values;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      values.append(ToNumpy(specs[i], std::move(memory[i])));
    }
    return nb::make_tuple(values, rng.torch.draws());
  }

 private:
  std::shared_ptr<const Graph> graph_;
  std::optional<GraphRunner> runner_;
  OpContext context_;
};

// A compiled chain with its runner, and the thread's scratch.
class PyChain {
 public:
  PyChain(const std::vector<NodeIn>& nodes, const nb::dict& libraries, const nb::bytes& torch_exp) {
    std::vector<Node> chain;
    for (const auto& [op, args] : nodes) chain.push_back(ToNode(op, args));
    chain_ = std::make_shared<const Chain>(
        Take(Chain::Compile(std::move(chain), ToLibraries(libraries), ToConstants(torch_exp))));
    runner_.emplace(Take(ChainRunner::Make(chain_)));
  }

  [[nodiscard]] std::vector<RangeTuple> exp_ranges() const {
    return ToTuples(chain_->exp_ranges());
  }
  // After the last sample.
  [[nodiscard]] const TorchGenerator& generator() const { return state_.torch; }
  // The states of all generators that the chain draws from.
  [[nodiscard]] nb::bytes States() const { return ToPython(state_.State()); }
  [[nodiscard]] int pure_prefix() const { return chain_->pure_prefix(); }
  [[nodiscard]] int tail() const { return chain_->tail(); }

  // start: where earlier samples of the lane left the generator (TorchGenerator::position).
  nb::tuple Run(const nb::bytes& file, std::uint64_t seed, std::uint64_t start) {
    const TensorSpec source = Take(ChainRunner::ReadHeader(View(file), NoMore));
    return Sample(
        source, seed,
        [&](Params params, MutableByteSpan out) {
          return runner_->Run(View(file), params, context_, out);
        },
        start);
  }
  void RunParams(const nb::bytes& file, const std::vector<std::int32_t>& params) {
    const TensorSpec source = Take(ChainRunner::ReadHeader(View(file), NoMore));
    Bytes out(Take(runner_->OutputSpec(source)).bytes());
    Check(runner_->Run(View(file), params, context_, out));
  }
  nb::tuple RunArray(const PixelsIn& pixels, std::uint64_t seed, std::uint64_t start) {
    const std::span sizes(pixels.shape_ptr(), pixels.ndim());
    const TensorSpec source{DType::kU8, Layout::kPlain, Dims(sizes)};
    const ByteSpan bytes{reinterpret_cast<const std::byte*>(pixels.data()), pixels.size()};
    return Sample(
        source, seed,
        [&](Params params, MutableByteSpan out) {
          return runner_->RunPixels(bytes, source, params, context_, out);
        },
        start);
  }
  nb::bytes Prefix(const nb::bytes& file) {
    Bytes payload;
    Check(runner_->RunPrefix(View(file), context_, &payload));
    return ToPython(payload);
  }
  nb::tuple RunCached(const nb::bytes& payload, std::uint64_t seed) {
    const TensorSpec source = Take(ChainRunner::PayloadSource(View(payload)));
    return Sample(source, seed, [&](Params params, MutableByteSpan out) {
      return runner_->RunFromPrefix(View(payload), params, context_, out);
    });
  }

  // Draws for images of these sizes from one stream, as a lane does: params of each, and where the
  // stream stands afterwards.
  std::pair<std::vector<std::vector<std::int32_t>>, std::uint64_t> Draw(
      const std::vector<std::pair<int, int>>& sizes, std::uint64_t seed) {
    TorchGenerator rng(seed);
    std::vector<std::vector<std::int32_t>> all;
    for (const auto& [height, width] : sizes) {
      auto& params = all.emplace_back(static_cast<std::size_t>(chain_->param_words()));
      TensorSpec out;
      Check(chain_->Draw({DType::kU8, Layout::kHwc, {height, width, 3}}, rng, params, &out));
    }
    return {std::move(all), rng.draws()};
  }

 private:
  static ByteSpan NoMore(std::size_t /*wanted*/) { return {}; }

  template <typename Run>
  nb::tuple Sample(const TensorSpec& source, std::uint64_t seed, Run run, std::uint64_t start = 0) {
    Generators rng(seed, chain_->draws_from_python(), chain_->draws_from_numpy());
    rng.torch = TorchGenerator::At(seed, start);
    const std::uint64_t before = rng.torch.draws();
    std::vector<std::int32_t> params(static_cast<std::size_t>(chain_->param_words()));
    TensorSpec spec;
    Check(chain_->Draw(source, rng, params, &spec));
    state_ = rng;
    Memory memory = MemoryFor(spec);
    Check(run(params, BytesOf(spec, memory)));
    return nb::make_tuple(ToNumpy(spec, std::move(memory)), rng.torch.draws() - before);
  }

  std::shared_ptr<const Chain> chain_;
  std::optional<ChainRunner> runner_;
  OpContext context_;
  Generators state_;
};

nb::bytes BuildTable(const std::vector<RangeTuple>& ranges, const nb::callable& torch_exp) {
  std::vector<ExpRange> all;
  for (const auto& [low, high, rounding] : ranges) all.push_back({low, high, ToRounding(rounding)});
  const auto evaluate = [&](std::span<const float> in, std::span<float> out) {
    const nb::object result =
        torch_exp(nb::ndarray<nb::numpy, const float>(in.data(), {in.size()}, nb::handle()));
    const auto values = nb::cast<FloatsIn>(result);
    std::copy_n(values.data(), out.size(), out.begin());
    return Status::Ok();
  };
  return ToPython(Take(BuildTorchExpTable(all, evaluate)));
}

nb::tuple ReadHeader(const nb::bytes& file, std::size_t first) {
  const ByteSpan all = View(file);
  int calls = 0;
  const auto more = [&](std::size_t wanted) {
    ++calls;
    return all.first(std::min(wanted, all.size()));
  };
  const TensorSpec spec =
      Take(ChainRunner::ReadHeader(all.first(std::min(first, all.size())), more));
  return nb::make_tuple(spec.dims[0], spec.dims[1], calls);
}

}  // namespace
}  // namespace headrace::ops

NB_MODULE(_headrace_ops, m) {
  using namespace headrace::ops;  // NOLINT(build/namespaces): a module body
  nb::exception<OpsError>(m, "Error", PyExc_RuntimeError);
  nb::class_<PyChain>(m, "Chain")
      .def(nb::init<const std::vector<NodeIn>&, const nb::dict&, const nb::bytes&>())
      .def("exp_ranges", &PyChain::exp_ranges)
      .def("pure_prefix", &PyChain::pure_prefix)
      .def("tail", &PyChain::tail)
      .def("run", &PyChain::Run, nb::arg("file"), nb::arg("seed"), nb::arg("start") = 0)
      .def("run_params", &PyChain::RunParams)
      .def("run", &PyChain::RunArray, nb::arg("pixels"), nb::arg("seed"), nb::arg("start") = 0)
      .def("generator", [](const PyChain& chain) { return chain.generator(); })
      .def("states", &PyChain::States)
      .def("prefix", &PyChain::Prefix)
      .def("run_cached", &PyChain::RunCached)
      .def("draw", &PyChain::Draw);
  nb::class_<PyGraph>(m, "Graph")
      .def(
          nb::init<const std::vector<std::tuple<std::string, nb::dict, std::vector<std::int32_t>>>&,
                   const std::vector<std::int32_t>&, const nb::dict&, const nb::bytes&>())
      .def("exp_ranges", &PyGraph::exp_ranges)
      .def("run", &PyGraph::Run, nb::arg("files"), nb::arg("seed"), nb::arg("cached") = false);
  m.def("build_torch_exp", &BuildTable);
  m.def("read_header", &ReadHeader);
  BindGenerators(m);
}
