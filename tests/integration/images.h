#pragma once

#include <string>

namespace headrace::testing_support {

// JPEG files FOLDER/class_i/j.jpg of varied size and content, always the same ones.
void MakeImages(const std::string& folder, int classes, int per_class);

}  // namespace headrace::testing_support
