#pragma once

#include <string>

namespace headrace::testing_support {

// JPEG files FOLDER/class_i/j.jpg of varied size and content, always the same ones.
void MakeImages(const std::string& folder, int classes, int per_class);
// JPEG files FOLDER/class_0/i.jpg of one size and content: each is as dear as the others.
void MakeEqualImages(const std::string& folder, int count, int width, int height);

}  // namespace headrace::testing_support
