#pragma once

#include <string>
#include <vector>

#include "dataworker/share/pictures_ahead.h"

namespace headrace::dataworker {

// Reads JPEG files and decodes them, by the operators that lanes have in headrace._images. What they leave to a
// library is no picture here. `allowed_roots`: real paths that files are read below; none: anywhere. Thread-safe.
[[nodiscard]] PicturesAhead::Decoder PicturesFromDisk(std::vector<std::string> allowed_roots);

}  // namespace headrace::dataworker
