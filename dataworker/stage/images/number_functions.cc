#include "dataworker/stage/images/number_functions.h"

#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>

#include "dataworker/stage/images/normal_numbers.h"

namespace nb = nanobind;

namespace headrace {
namespace {

constexpr std::size_t kWords = 624;

using StateWords = nb::ndarray<std::uint32_t, nb::shape<kWords + 1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// False, with nothing drawn: no such state, or an odd number of numbers. The two must not overlap. TypeError: what
// would have to be converted, so that nothing came back.
bool Normals(const StateWords& state, double mean, double deviation, const Numbers& out) {
  std::uint32_t* const words = state.data();
  const std::span<double> numbers(out.data(), out.size());
  if (words[kWords] > kWords || numbers.size() % 2 != 0) return false;
  const nb::gil_scoped_release release;
  images::DrawNormals({std::span<std::uint32_t, kWords>(words, kWords), words[kWords]}, mean,
                      deviation, numbers);
  return true;
}

}  // namespace

void BindNumberFunctions(nb::module_& module) {
  module.def("draw_normals", &Normals, nb::arg("state").noconvert(), nb::arg("mean"),
             nb::arg("deviation"), nb::arg("out").noconvert());
}

}  // namespace headrace
