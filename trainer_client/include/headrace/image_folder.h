#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/export.h"
#include "base/graph.h"
#include "base/result.h"
#include "headrace/client.h"

// Plans for C++ trainers: a folder of images with one subfolder for each class.
namespace headrace {

struct ImageFolderOptions {
  // True: RandomResizedCrop(image_size), RandomHorizontalFlip. False: Resize(short side),
  // CenterCrop.
  bool train = true;
  std::int64_t image_size = 224;  // pixels
  std::int64_t short_side = 256;  // pixels; only without train
  std::array<double, 3> mean{0.485, 0.456, 0.406};
  std::array<double, 3> std{0.229, 0.224, 0.225};
  // kSample: numbers that depend on (base seed, key, occurrence) alone. kTorch: the numbers of a
  // PyTorch DataLoader with `lanes` workers.
  RngMode rng = RngMode::kSample;
  std::int32_t lanes = 1;
};

// Everything that Client::OpenSession needs. Fields of a batch: float32 [B, 3, size, size] and the
// class as int64 [B]. Keys are 0 .. samples-1, in the order of torchvision's ImageFolder.
struct ImageFolder {
  std::vector<std::string> classes;
  std::int64_t samples = 0;
  Plan plan;
  std::map<BlobHash, Blob> blobs;
};

// Makes a plan for the folder. O(files); follows symbolic links to folders. kNotFound: no such
// folder, no class folder in it, or a class without an image (as torchvision).
HEADRACE_PUBLIC Result<ImageFolder> OpenImageFolder(const std::string& root,
                                                    const ImageFolderOptions& options);

}  // namespace headrace
