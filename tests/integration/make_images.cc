// make_images FOLDER CLASSES IMAGES_PER_CLASS
#include <cstdio>
#include <cstdlib>

#include "tests/integration/images.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: make_images FOLDER CLASSES IMAGES_PER_CLASS\n");
    return 2;
  }
  headrace::testing_support::MakeImages(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  return 0;
}
