#pragma once

#include <cstdint>
#include <vector>

#include "base/graph.h"
#include "base/result.h"

// Nodes that use the draws of another node, which their argument "draws_of" names.
namespace headrace::ops {

inline constexpr const char* kDrawsOf = "draws_of";

// Gives for each node the node whose draws it uses; -1: it draws itself. kInvalidArgument: not an
// earlier node. kUnsupported: another operator, one whose draws mean something for one picture
// alone, or arguments by which the two would draw differently.
Result<std::vector<std::int32_t>> ReadSharedDraws(const std::vector<Node>& nodes);

}  // namespace headrace::ops
