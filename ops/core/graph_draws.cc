#include "ops/core/graph_draws.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace headrace::ops {
namespace {

// The value for a source of spec `in` with params that were drawn for it.
Result<TensorSpec> DrawnValue(const Chain& chain, const TensorSpec& in, Params params) {
  TensorSpec spec = in;
  for (int i = 0; i < std::ssize(chain.nodes()); ++i) {
    // Nodes in gates leave the shape as it is, run or not.
    const auto governs = [i](const Chain::Part& part) { return part.first <= i && i < part.last; };
    if (std::ranges::any_of(chain.parts(), governs)) continue;
    const auto words = static_cast<std::size_t>(chain.schema(i).param_words());
    const auto first = static_cast<std::size_t>(chain.param_offset(i));
    TensorSpec next;
    HR_RETURN_IF_ERROR(chain.InferNode(i, spec, params.subspan(first, words), &next));
    spec = next;
  }
  return spec;
}

bool AnyChain(const Graph& graph, bool (Chain::*is)() const) {
  for (std::size_t i = 0; i < graph.chains(); ++i) {
    if ((graph.chain(i).*is)()) return true;
  }
  return false;
}

}  // namespace

bool DrawsFromPython(const Graph& graph) { return AnyChain(graph, &Chain::draws_from_python); }
bool DrawsFromNumpy(const Graph& graph) { return AnyChain(graph, &Chain::draws_from_numpy); }
bool DrawsSizes(const Graph& graph) { return AnyChain(graph, &Chain::draws_size); }

std::vector<std::int32_t> WordPlaces(const Graph& graph, std::size_t nodes) {
  std::vector<std::int32_t> places(nodes, -1), memory;
  std::vector<std::int32_t> numbered(static_cast<std::size_t>(graph.param_words()));
  std::iota(numbered.begin(), numbered.end(), 0);  // each word says its place
  for (std::size_t c = 0; c < graph.chains(); ++c) {
    const Chain& chain = graph.chain(c);
    const Params words = graph.ParamsOf(c, numbered, memory);
    for (int i = 0; i < std::ssize(chain.nodes()); ++i) {
      if (chain.schema(i).param_words() == 0) continue;
      const auto first = static_cast<std::size_t>(chain.param_offset(i));
      places[static_cast<std::size_t>(chain.number(i))] = words[first];
    }
  }
  return places;
}

Status DrawnValues(const Graph& graph, const TensorSpec& in, Params params,
                   std::span<TensorSpec> values) {
  HR_CHECK(values.size() == graph.values().size());
  HR_CHECK(params.size() == static_cast<std::size_t>(graph.param_words()));
  std::vector<std::int32_t> memory;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Graph::Value& value = graph.values()[i];
    const Chain& chain = graph.chain(value.first);
    if (!chain.draws_size()) continue;
    HR_TRY(values[i], DrawnValue(chain, in, graph.ParamsOf(value.first, params, memory)));
    if (value.squeezed) {  // of one channel, as Compile has seen
      const Dims& dims = values[i].dims;
      values[i] = {values[i].dtype, Layout::kPlain, {dims[1], dims[2]}};
    }
  }
  return Status::Ok();
}

}  // namespace headrace::ops
