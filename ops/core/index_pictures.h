#pragma once

#include "base/graph.h"
#include "base/result.h"

namespace headrace::ops {

// Whether the node decodes a picture as the file has it: gray in mode L, or indices in mode P. Which
// of the two it is differs from file to file.
[[nodiscard]] bool MakesIndices(const Node& node);

// Whether the operator makes the same of a PIL image of mode L and of one of mode P: it moves pixels,
// fills with a value, or makes a tensor. kUnsupported for all others, and for other interpolations
// than the nearest pixel, which PIL takes for mode P whatever is asked.
[[nodiscard]] Status CheckOnIndices(const Node& node);

}  // namespace headrace::ops
