#include "headrace/image_folder.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "base/hash.h"
#include "ops/core/chain.h"
#include "ops/torch/torch_exp.h"
#include "schemas/wire/message.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

// Source: torchvision/datasets/folder.py, IMG_EXTENSIONS.
constexpr std::string_view kExtensions[] = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                            ".pgm", ".tif",  ".tiff", ".webp"};

bool IsImage(const std::string& name) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(kExtensions, [&](auto end) { return lower.ends_with(end); });
}

std::string Text(const fs::path& path) { return path.string(); }

// Walks as sorted(os.walk(folder, followlinks=True)): folders by their path, files by name in each.
Status FindImages(const std::string& root, const std::string& class_name, std::int64_t label,
                  wire::FileTable& table) {
  std::error_code error;
  std::vector<std::pair<std::string, std::vector<std::string>>> folders;
  std::vector<std::string> todo{class_name};
  while (!todo.empty()) {
    const std::string folder = std::move(todo.back());
    todo.pop_back();
    auto& [path, files] = folders.emplace_back(folder, std::vector<std::string>());
    for (fs::directory_iterator it(root + "/" + folder, error), end; !error && it != end;
         it.increment(error)) {
      const std::string name = Text(it->path().filename());
      std::error_code unreadable;
      if (it->is_directory(unreadable)) {
        todo.push_back(folder + "/" + name);
      } else if (IsImage(name)) {
        files.push_back(name);
      }
    }
    if (error) return ErrnoStatus(error.value(), root + "/" + folder);
  }
  std::ranges::sort(folders);
  const std::size_t before = table.paths.size();
  for (auto& [folder, files] : folders) {
    std::ranges::sort(files);
    for (const std::string& file : files) {
      table.paths.push_back(folder + "/" + file);
      table.labels.push_back(label);
    }
  }
  if (table.paths.size() == before) {
    return NotFound("no image for class " + class_name + " in " + root);
  }
  return Status::Ok();
}

Node MakeNode(std::string op, Args args, Purity purity = Purity::kPure) {
  Node node;
  node.label = op;
  node.op = std::move(op);
  node.args = std::move(args);
  node.purity = purity;
  return node;
}

std::vector<Node> MakeChain(const ImageFolderOptions& options) {
  using Numbers = std::vector<double>;
  using Ints = std::vector<std::int64_t>;
  std::vector<Node> chain{MakeNode("decode", {})};
  if (options.train) {
    chain.push_back(MakeNode("random_resized_crop",
                             {{"size", Ints{options.image_size, options.image_size}}},
                             Purity::kRandom));
    chain.push_back(MakeNode("random_horizontal_flip", {}, Purity::kRandom));
  } else {
    chain.push_back(MakeNode("resize", {{"size", Ints{options.short_side}}}));
    chain.push_back(
        MakeNode("center_crop", {{"size", Ints{options.image_size, options.image_size}}}));
  }
  chain.push_back(MakeNode("to_tensor", {}));
  chain.push_back(
      MakeNode("normalize", {{"mean", Numbers(options.mean.begin(), options.mean.end())},
                             {"std", Numbers(options.std.begin(), options.std.end())}}));
  return chain;
}

BlobHash AddBlob(Bytes bytes, std::map<BlobHash, Blob>& blobs) {
  const auto owner = std::make_shared<const Bytes>(std::move(bytes));
  const BlobHash hash = HashBlob(*owner);
  blobs.emplace(hash, Blob{*owner, owner});
  return hash;
}

// There is no torch here to agree with: its exp is the correctly rounded one.
Status AddExp(Plan& plan, std::map<BlobHash, Blob>& blobs) {
  HR_TRY(const ops::Chain chain, ops::Chain::Compile(plan.chain, plan.libraries, {}));
  const std::vector<ops::ExpRange> ranges = chain.exp_ranges();
  if (ranges.empty()) return Status::Ok();
  HR_TRY(Bytes table,
         ops::BuildTorchExpTable(ranges, [](std::span<const float> in, std::span<float> out) {
           std::ranges::transform(in, out.begin(), ops::ExpFloat);
           return Status::Ok();
         }));
  plan.constants["torch_exp"] = AddBlob(std::move(table), blobs);
  return Status::Ok();
}

}  // namespace

Result<ImageFolder> OpenImageFolder(const std::string& root, const ImageFolderOptions& options) {
  ImageFolder folder;
  std::error_code error;
  const std::string absolute = Text(fs::absolute(root, error));
  for (fs::directory_iterator it(absolute, error), end; !error && it != end; it.increment(error)) {
    std::error_code unreadable;
    if (it->is_directory(unreadable)) folder.classes.push_back(Text(it->path().filename()));
  }
  if (error) return ErrnoStatus(error.value(), absolute);
  if (folder.classes.empty()) return NotFound("no class folder in " + absolute);
  std::ranges::sort(folder.classes);

  wire::FileTable table;
  table.root = absolute;
  for (std::size_t i = 0; i < folder.classes.size(); ++i) {
    HR_RETURN_IF_ERROR(
        FindImages(absolute, folder.classes[i], static_cast<std::int64_t>(i), table));
  }
  folder.samples = static_cast<std::int64_t>(table.paths.size());

  Plan& plan = folder.plan;
  plan.name = "ImageFolder(" + absolute + ")";
  SourceLeaf& leaf = plan.leaves.emplace_back();
  leaf.rows = folder.samples;
  leaf.table = AddBlob(wire::EncodeFileTable(table), folder.blobs);
  plan.libraries = {"13.0.0", "2.13.0", "0.28.0", "AVX2"};
  plan.chain = MakeChain(options);
  plan.fields = {FieldSpec{FieldSpec::Kind::kChain, 0}, FieldSpec{FieldSpec::Kind::kArray, 1}};
  plan.rng = options.train ? options.rng : RngMode::kNone;
  plan.lanes = options.lanes;
  HR_RETURN_IF_ERROR(AddExp(plan, folder.blobs));
  return folder;
}

}  // namespace headrace
