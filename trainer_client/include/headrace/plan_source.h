#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/export.h"
#include "base/graph.h"
#include "base/result.h"
#include "headrace/client.h"

// Where the samples of a plan come from, for C++ trainers. A function below makes a PlanSource, and
// PlanBuilder (headrace/plan_builder.h) takes it. Workers read the samples by themselves: paths must
// lead to the same files on their hosts.
namespace headrace {

// The rows of a data set. Keys of batches are 0 .. samples() - 1, in the order that the function says.
struct PlanSource {
  std::string name;  // for people: "ImageFolder(/data/train)"
  std::vector<SourceLeaf> leaves;
  std::map<BlobHash, Blob> blobs;  // what the leaves refer to
  std::vector<std::string>
      classes;  // what the labels 0, 1, ... are called; empty: they have no names
  [[nodiscard]] std::int64_t samples() const {
    std::int64_t all = 0;
    for (const SourceLeaf& leaf : leaves) all += leaf.rows;
    return all;
  }
};

// Encoded pictures in files, in the order of `paths`. Paths are below `root`, or absolute. `labels`: one
// for each path, any int64. kInvalidArgument: there is no path, as many labels as paths are not given, or
// the paths together are 2 GiB or more (JoinSources joins several).
HEADRACE_PUBLIC Result<PlanSource> FilesSource(const std::string& root,
                                               const std::vector<std::string>& paths,
                                               const std::vector<std::int64_t>& labels);
// The same of samples of several files each, such as a picture and its mask. Each of `rows` has as many
// paths, 2..16. The step `decode` takes one of them by its argument "file". Workers make rows alone whose
// pictures have one size. kInvalidArgument: also rows of unequal length.
HEADRACE_PUBLIC Result<PlanSource> FileGroupsSource(
    const std::string& root, const std::vector<std::vector<std::string>>& rows,
    const std::vector<std::int64_t>& labels);
// A folder of images with one subfolder for each class, in the order of torchvision's ImageFolder.
// O(files); follows symbolic links to folders. kNotFound: no such folder, no class folder in it, or a
// class without an image.
HEADRACE_PUBLIC Result<PlanSource> ImageFolderSource(const std::string& root);

// What a sample of a tar in WebDataset's layout is: neighbours whose names are the same up to the first
// point of the file name.
struct TarOptions {
  // Endings in lower case; the first one that a sample has is its picture.
  std::vector<std::string> images = {"jpg", "jpeg", "png",  "ppm", "bmp",
                                     "pgm", "tif",  "tiff", "webp"};
  // The ending of the member that gives the label. Empty: all labels are 0.
  std::string target = "cls";
  // Makes a label of such a member's bytes. Empty: they are a whole number as text.
  std::function<Result<std::int64_t>(std::string_view)> label;
};
// Pictures in tars that lie on this host's disks, tar by tar. Reads the headers of all members. The tars
// must not change: workers refuse one that has another size or time than now. kNotFound: no such file, or
// no sample. kDataLoss: a tar that is torn or none. kUnsupported: a form of tar whose members are no
// ranges of it. kInvalidArgument: a sample without picture or label, or a label that is none.
HEADRACE_PUBLIC Result<PlanSource> TarSource(const std::vector<std::string>& paths,
                                             const TarOptions& options);

struct ZipOptions {
  std::vector<std::string> images = {"jpg", "jpeg", "png",  "ppm", "bmp",
                                     "pgm", "tif",  "tiff", "webp"};
  std::string folder;   // the classes lie in it; empty: at the top of the zip
  bool classes = true;  // labels are the folders' numbers, over all zips; false: all labels are 0
};
// Pictures in zips on this host's disks, zip by zip, as ImageFolder has the unpacked zip. Reads the zips'
// directories alone. Errors as TarSource; kUnsupported: also a member that is encrypted.
HEADRACE_PUBLIC Result<PlanSource> ZipSource(const std::vector<std::string>& paths,
                                             const ZipOptions& options);

// A file or an object that holds many samples. Row i is its bytes [firsts[i], firsts[i] + sizes[i]).
struct Shard {
  std::string name;  // a path; of objects: below StoreOptions::base, or a whole URL
  // The state that the ranges are of. Of files empty: as the file is now. Of objects: the store's ETag;
  // empty: not known, and then nobody sees a change.
  std::string version;
  std::vector<std::uint64_t> firsts;  // bytes
  std::vector<std::uint32_t> sizes;   // bytes
  std::vector<std::int64_t> labels;
};
// Encoded pictures that are ranges of files, shard by shard. kInvalidArgument: lists of unequal length, or
// no row. kNotFound: no such file.
HEADRACE_PUBLIC Result<PlanSource> FileRangesSource(std::vector<Shard> shards);

// A bucket or a web server. Credentials are no part of a plan: workers have their own.
struct StoreOptions {
  std::string base;        // "s3://bucket/prefix/", "gs://bucket/prefix/", "https://host/path/"
  std::string endpoint;    // of a store like S3: "http://host:9000"; empty: the scheme's own
  std::string region;      // of S3; empty: the worker's
  std::string addressing;  // "path" or "virtual", where the bucket's name stands; empty: the usual
  bool anonymous = false;  // requests are not signed
  // For so many seconds a worker believes the version of an object that it has in its cache. 0: it asks
  // before each use.
  std::int64_t remember_seconds = 0;
};
// Encoded pictures that are objects. `names`: below the base. Nobody looks here whether they are there.
// kInvalidArgument: as FilesSource, a base that has no scheme, or remember_seconds is not in 0..2^31 - 1.
HEADRACE_PUBLIC Result<PlanSource> ObjectsSource(const StoreOptions& store,
                                                 const std::vector<std::string>& names,
                                                 const std::vector<std::int64_t>& labels);
// The same of ranges of objects. Errors as FileRangesSource and ObjectsSource.
HEADRACE_PUBLIC Result<PlanSource> ObjectRangesSource(const StoreOptions& store,
                                                      std::vector<Shard> shards);

// Rows in memory, row-major: row i has the shape `row_shape` ({}: a scalar).
struct ArrayColumn {
  DType dtype = DType::kU8;
  std::vector<std::int64_t> row_shape;
  Blob data;  // of all rows; its `owner` keeps the memory alive. What is in it must not change
};
// Rows of arrays: field i of a sample is a row of column i. They travel to the workers with the plan.
// kInvalidArgument: no column, or bytes that are not `rows` rows.
HEADRACE_PUBLIC Result<PlanSource> ArraysSource(std::int64_t rows,
                                                const std::vector<ArrayColumn>& columns);

// An array in a file. Row i is the bytes from first + i * stride on: with a stride that is less than a
// row's bytes, rows are windows that overlap.
struct FileColumn {
  std::string path;
  std::int64_t first = 0;   // byte of row 0
  std::int64_t stride = 0;  // bytes from row to row; may be negative
  DType dtype = DType::kU8;
  std::vector<std::int64_t> row_shape;
  // What the elements are in the file, as NumPy writes it ("<u2", ">f4"); empty: `dtype`, little-endian.
  // Integers become any type of integers, float32 or float64; others keep their type.
  std::string elements;
};
// A column of a .npy file, and how many rows the file has. kNotFound: no such file. kDataLoss: none of
// NumPy's. kUnsupported: Fortran's order, or elements that are no numbers.
struct NpyRows {
  std::int64_t rows = 0;
  FileColumn column;
};
HEADRACE_PUBLIC Result<NpyRows> NpyColumn(const std::string& path);
// Rows of arrays in files, which workers read from there. The files must not change, as with TarSource.
// kInvalidArgument: no column or more than 64, a row that reaches beyond its file. kNotFound: no such file.
HEADRACE_PUBLIC Result<PlanSource> ArrayFilesSource(std::int64_t rows,
                                                    const std::vector<FileColumn>& columns);

// Several sources as one, their rows one after the other. The labels stay as they are; the classes are the
// first one's. kInvalidArgument: none, or sources of another kind of sample than the first.
HEADRACE_PUBLIC Result<PlanSource> JoinSources(std::vector<PlanSource> sources);

}  // namespace headrace
