#include "trainer_client/python/bindings/plan.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/core/graph.h"
#include "ops/core/graph_draws.h"
#include "ops/torch/torch_functions.h"
#include "trainer_client/python/bindings/blob.h"
#include "trainer_client/python/bindings/errors.h"
#include "trainer_client/python/bindings/integers.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

constexpr std::pair<const char*, DType> kDTypes[] = {
    {"uint8", DType::kU8},     {"int8", DType::kI8},     {"int16", DType::kI16},
    {"int32", DType::kI32},    {"int64", DType::kI64},   {"float16", DType::kF16},
    {"float32", DType::kF32},  {"float64", DType::kF64}, {"bool", DType::kBool},
    {"bfloat16", DType::kBF16}};

// One dict of the plan. It reads keys, and knows which keys it has not read.
class Reader {
 public:
  Reader(nb::handle source, std::string what) : what_(std::move(what)) {
    if (!PyDict_Check(source.ptr())) Raise(InvalidArgument(what_ + " is no dict"));
    source_ = nb::borrow<nb::dict>(source);
  }
  // None when the key is missing.
  nb::object Get(const char* key) {
    PyObject* value = PyDict_GetItemString(source_.ptr(), key);
    if (value != nullptr) ++read_;
    return value == nullptr ? nb::none() : nb::borrow(value);
  }
  template <typename T>
  void Read(const char* key, T& into) {
    const nb::object value = Get(key);
    if (!value.is_none() && !nb::try_cast(value, into)) {
      Raise(InvalidArgument(what_ + ": " + key + " is of a wrong type"));
    }
  }
  template <typename E>
  void ReadEnum(const char* key, std::initializer_list<std::pair<const char*, E>> names, E& into) {
    std::string name;
    Read(key, name);
    if (name.empty()) return;
    for (const auto& [known, value] : names) {
      if (name == known) {
        into = value;
        return;
      }
    }
    Raise(InvalidArgument(what_ + ": " + key + " is " + name));
  }
  // Called when all keys are read.
  void Done() const {
    if (static_cast<Py_ssize_t>(read_) == PyDict_Size(source_.ptr())) return;
    Raise(InvalidArgument(what_ + " has a key that is not known: " +
                          nb::cast<std::string>(nb::str(nb::list(source_.keys())))));
  }

 private:
  std::string what_;
  nb::dict source_;
  std::size_t read_ = 0;
};

class Parser {
 public:
  PlanWithBlobs Parse(nb::dict source) {
    Reader reader(source, "plan");
    Plan& plan = result_.plan;
    reader.Read("name", plan.name);
    for (nb::handle leaf : Items(reader.Get("leaves"))) plan.leaves.push_back(ParseLeaf(leaf));
    plan.row_map = AddBlob(reader.Get("row_map"));
    for (nb::handle node : Items(reader.Get("chain"))) plan.chain.push_back(ParseNode(node));
    for (nb::handle item : Items(reader.Get("fields"))) {
      Reader field(item, "field");
      FieldSpec& spec = plan.fields.emplace_back();
      field.ReadEnum("kind",
                     {{"chain", FieldSpec::Kind::kChain},
                      {"array", FieldSpec::Kind::kArray},
                      {"value", FieldSpec::Kind::kValue},
                      {"list", FieldSpec::Kind::kList}},
                     spec.kind);
      field.Read("index", spec.index);
      field.Done();
    }
    reader.ReadEnum(
        "rng", {{"none", RngMode::kNone}, {"torch", RngMode::kTorch}, {"sample", RngMode::kSample}},
        plan.rng);
    reader.Read("lanes", plan.lanes);
    if (const nb::object libraries = reader.Get("libraries"); !libraries.is_none()) {
      Reader versions(libraries, "libraries");
      versions.Read("pillow", plan.libraries.pillow);
      versions.Read("torch", plan.libraries.torch);
      versions.Read("torchvision", plan.libraries.torchvision);
      versions.Read("cpu_capability", plan.libraries.cpu_capability);
      versions.Done();
    }
    if (const nb::object constants = reader.Get("constants"); !constants.is_none()) {
      for (auto [name, blob] : nb::cast<nb::dict>(constants)) {
        plan.constants[nb::cast<std::string>(name)] = AddBlob(nb::borrow(blob));
      }
    }
    if (const nb::object python = reader.Get("python"); !python.is_none()) ParsePython(python);
    reader.Done();
    return std::move(result_);
  }

 private:
  static nb::object Items(nb::object list) { return list.is_none() ? nb::make_tuple() : list; }

  BlobHash AddBlob(nb::object source) {
    if (source.is_none()) return {};
    BlobObject* blob = nullptr;
    if (!nb::try_cast(source, blob) || blob == nullptr) {
      Raise(InvalidArgument("content in a plan must be a Blob"));
    }
    result_.blobs.emplace(blob->hash, blob->blob);
    return blob->hash;
  }

  SourceLeaf ParseLeaf(nb::handle source) {
    Reader reader(source, "leaf");
    SourceLeaf leaf;
    reader.Read("source", leaf.source);
    leaf.args = ParseArgs(leaf.source, reader.Get("args"));
    reader.Read("rows", leaf.rows);
    leaf.table = AddBlob(reader.Get("table"));
    for (nb::handle item : Items(reader.Get("arrays"))) {
      Reader array(item, "array");
      SourceLeaf::Array& parsed = leaf.arrays.emplace_back();
      parsed.blob = AddBlob(array.Get("blob"));
      std::string dtype = "uint8";
      array.Read("dtype", dtype);
      bool known = false;
      for (const auto& [name, type] : kDTypes) {
        if (dtype == name) {
          parsed.dtype = type;
          known = true;
        }
      }
      if (!known) Raise(InvalidArgument("array: dtype is " + dtype));
      if (const nb::object shape = array.Get("row_shape"); !shape.is_none()) {
        parsed.row_shape = Integers(shape);
      }
      array.Done();
    }
    reader.Done();
    return leaf;
  }

  Node ParseNode(nb::handle source) {
    Reader reader(source, "node");
    Node node;
    reader.Read("op", node.op);
    node.args = ParseArgs(node.op, reader.Get("args"));
    reader.ReadEnum(
        "purity",
        {{"pure", Purity::kPure}, {"random", Purity::kRandom}, {"stateful", Purity::kStateful}},
        node.purity);
    reader.ReadEnum("form", {{"native", Form::kNative}, {"python", Form::kPython}}, node.form);
    reader.Read("label", node.label);
    reader.Read("reason", node.reason);
    reader.Read("inputs", node.inputs);
    reader.Done();
    return node;
  }

  // `owner`: the operator or the source whose arguments they are.
  static Args ParseArgs(const std::string& owner, nb::handle source) {
    Args args;
    if (source.is_none()) return args;
    for (auto [name, value] : nb::cast<nb::dict>(source)) {
      if (!value.is_none()) args[nb::cast<std::string>(name)] = ParseArg(owner, value);
    }
    return args;
  }

  static ArgValue ParseArg(const std::string& op, nb::handle value) {
    PyObject* p = value.ptr();
    if (PyLong_Check(p)) return nb::cast<std::int64_t>(value);  // bool too
    if (PyFloat_Check(p)) return PyFloat_AsDouble(p);
    if (PyUnicode_Check(p)) return nb::cast<std::string>(value);
    if (PyBytes_Check(p)) {
      const auto* data = reinterpret_cast<const std::byte*>(PyBytes_AsString(p));
      return Bytes(data, data + PyBytes_Size(p));
    }
    if (PyList_Check(p) || PyTuple_Check(p)) {
      bool all_ints = true;
      for (nb::handle item : nb::borrow(value)) all_ints = all_ints && PyLong_Check(item.ptr());
      if (all_ints) return Integers(value);
      std::vector<double> numbers;
      if (nb::try_cast(value, numbers)) return numbers;
    }
    Raise(InvalidArgument("an argument of " + op + " is of a type that a plan cannot hold"));
  }

  void ParsePython(nb::handle source) {
    Reader reader(source, "python");
    result_.plan.has_python_stage = true;
    PythonStage& stage = result_.plan.python;
    const nb::object bundle = reader.Get("bundle");
    if (!bundle.is_none()) stage.bundle = AddBlob(bundle);
    reader.Read("executable", stage.executable);
    reader.Read("version", stage.version);
    reader.Read("sys_path", stage.sys_path);
    reader.Read("working_directory", stage.working_directory);
    reader.Read("hash_seed", stage.hash_seed);
    reader.Read("replayed", stage.replayed);
    if (const nb::object packages = reader.Get("packages"); !packages.is_none()) {
      for (auto [name, version] : nb::cast<nb::dict>(packages)) {
        stage.packages[nb::cast<std::string>(name)] = nb::cast<std::string>(version);
      }
    }
    reader.Done();
  }

  PlanWithBlobs result_;
};

ops::Graph CompileGraph(nb::dict source) {
  PlanWithBlobs parsed = ParsePlan(source);
  ops::Constants constants;
  for (const auto& [name, hash] : parsed.plan.constants) {
    if (const auto at = parsed.blobs.find(hash); at != parsed.blobs.end()) {
      constants[name] = at->second.data;
    }
  }
  Check(CheckGraph(parsed.plan));
  return Check(ops::Graph::Compile(parsed.plan.chain, ValuesOf(parsed.plan), parsed.plan.libraries,
                                   constants, ops::TorchFunctions::Loaded(), ListsOf(parsed.plan)));
}

nb::bytes GaussianWeightsOf(const std::vector<float>& positions, float sigma, int api) {
  const ops::TorchFunctions* torch = ops::TorchFunctions::Loaded();
  if (torch == nullptr) Raise(Unsupported("this process has no torch that can be called"));
  std::vector<float> weights(positions.size());
  Check(ops::GaussianWeights(*torch, positions, sigma, api, weights));
  return nb::bytes(weights.data(), weights.size() * sizeof(float));
}

}  // namespace

PlanWithBlobs ParsePlan(nb::dict source) { return Parser().Parse(source); }

void AddPlans(nb::module_& module) {
  module.def("gaussian_weights", &GaussianWeightsOf, nb::arg("positions"), nb::arg("sigma"),
             nb::arg("api"));
  module.def("sample_seed", &ops::Chain::SampleSeed, nb::arg("base_seed"), nb::arg("key"),
             nb::arg("occurrence"));
  module.def(
      "check_plan",
      [](nb::dict plan) {
        if (ParsePlan(plan).plan.chain.empty()) return;
        (void)CompileGraph(plan);
      },
      nb::arg("plan"));
  module.def(
      "draw_places",
      [](nb::dict plan) {
        return ops::WordPlaces(CompileGraph(plan), ParsePlan(plan).plan.chain.size());
      },
      nb::arg("plan"));
  module.def(
      "exp_ranges",
      [](nb::dict plan) {
        std::vector<std::tuple<float, float, bool>> ranges;
        for (const ops::ExpRange& range : CompileGraph(plan).exp_ranges()) {
          ranges.emplace_back(range.low, range.high,
                              range.rounding == ops::TorchGenerator::Rounding::kFused);
        }
        return ranges;
      },
      nb::arg("plan"));
}

}  // namespace headrace::python
