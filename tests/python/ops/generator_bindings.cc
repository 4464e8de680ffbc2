#include "tests/python/ops/generator_bindings.h"

#include <nanobind/stl/vector.h>

#include <vector>

#include "ops/core/generators.h"
#include "tests/python/ops/bind_util.h"

namespace headrace::ops {
namespace {

// What generators with a KeptTwister share.
template <typename Generator>
void AddKept(nb::class_<Generator>& of) {
  of.def("position", &Generator::position)
      .def("resumable", &Generator::resumable)
      .def("state", [](const Generator& g) { return ToPython(g.State()); })
      .def("set_state",
           [](Generator& g, const nb::bytes& state) { Check(g.SetState(View(state))); });
}

template <typename Of, auto kChoose>
std::vector<std::uint32_t> ChooseNumbers(NumpyGenerator& g, Of of, std::size_t count) {
  std::vector<std::uint32_t> out(count);
  (g.*kChoose)(of, out);
  return out;
}

}  // namespace

void BindGenerators(nb::module_& m) {
  auto python = nb::class_<PythonGenerator>(m, "PythonGenerator");
  python.def(nb::init<std::uint64_t>())
      .def("random", &PythonGenerator::Random)
      .def("uniform", &PythonGenerator::Uniform)
      .def("gauss", &PythonGenerator::Gauss)
      .def("below", &PythonGenerator::Below)
      .def("shuffled",
           [](PythonGenerator& g, std::vector<std::int64_t> values) {
             g.Shuffle(values);
             return values;
           })
      .def("choose", [](PythonGenerator& g,
                        const std::vector<double>& cumulative) { return g.Choose(cumulative); })
      .def("discard", &PythonGenerator::Discard)
      .def("draws", &PythonGenerator::draws)
      .def_static("at", &PythonGenerator::At);
  AddKept(python);
  auto numpy = nb::class_<NumpyGenerator>(m, "NumpyGenerator");
  numpy.def(nb::init<std::uint32_t>())
      .def_static("of_worker", &NumpyGenerator::OfWorker)
      .def("choose", &ChooseNumbers<std::uint32_t, &NumpyGenerator::Choose>)
      .def("choose_weighted",
           &ChooseNumbers<const std::vector<double>&, &NumpyGenerator::ChooseWeighted>)
      .def("at", &NumpyGenerator::At);
  AddKept(numpy);
  nb::class_<TorchGenerator>(m, "Generator")
      .def(nb::init<std::uint64_t>())
      .def("rand", &TorchGenerator::Rand)
      .def("uniform", [](TorchGenerator& g, float low, float high,
                         int rounding) { return g.Uniform(low, high, ToRounding(rounding)); })
      .def("randint", &TorchGenerator::RandInt)
      .def("randperm",
           [](TorchGenerator& g, std::size_t n) {
             std::vector<std::int64_t> out(n);
             g.RandPerm(out);
             return out;
           })
      .def("dirichlet",
           [](TorchGenerator& g, float alpha, std::size_t n) {
             std::vector<float> out(n);
             g.Dirichlet(alpha, out);
             return out;
           })
      .def("discard", &TorchGenerator::Discard)
      .def("position", &TorchGenerator::position)
      .def("resumable", &TorchGenerator::resumable)
      .def_static("at", &TorchGenerator::At)
      .def("draws", &TorchGenerator::draws)
      .def("state", [](const TorchGenerator& g) { return ToPython(g.TorchState()); })
      .def("set_state",
           [](TorchGenerator& g, const nb::bytes& state) { Check(g.SetTorchState(View(state))); });
}

}  // namespace headrace::ops
