#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/core/graph.h"

// What is drawn for the samples of a graph, and what the draws make. Pure.
namespace headrace::ops {

// As Chain::draws_from_python and draws_from_numpy, of any of its chains.
[[nodiscard]] bool DrawsFromPython(const Graph& graph);
[[nodiscard]] bool DrawsFromNumpy(const Graph& graph);

// Whether the size of a value depends on what is drawn.
[[nodiscard]] bool DrawsSizes(const Graph& graph);

// Of each of the plan's `nodes`, where its words begin in a sample's record; -1: it draws nothing. A
// node that uses the draws of another one has that one's place.
[[nodiscard]] std::vector<std::int32_t> WordPlaces(const Graph& graph, std::size_t nodes);

// Gives the values whose size is drawn, for a source of spec `in` with params that were drawn for it;
// the others stay as they are. Errors as Graph::Shapes. REQUIRES: params.size() ==
// graph.param_words(), values.size() == graph.values().size().
Status DrawnValues(const Graph& graph, const TensorSpec& in, Params params,
                   std::span<TensorSpec> values);

}  // namespace headrace::ops
