// Samples of several files each (an image and its mask): a file table with the files of a row one
// after the other.
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/file_group.h"
#include "dataworker/source/files/file_source.h"

namespace headrace::dataworker {
namespace {

// One identity of several: equal ones mean that all of them are equal.
ContentIdentity Join(const std::vector<ContentIdentity>& identities) {
  if (identities.size() == 1) return identities.front();
  std::string places, versions;
  for (const ContentIdentity& identity : identities) {
    places += AsText(std::as_bytes(std::span(identity.place)));
    versions += AsText(std::as_bytes(std::span(identity.version)));
  }
  return ContentIdentity::OfText(places, versions, NameReach::kHost);
}

// The bytes of a sample are a FileGroup. Its spec is that of the first file, whose size all others
// have: a row of pictures of several sizes has none, and is made by the trainer.
class FileGroups final : public FileSource {
 public:
  FileGroups(Table table, int files, const SourceRegistry::Environment& environment)
      : FileSource(std::move(table.bytes), std::move(table.view), files, environment) {}

 private:
  [[nodiscard]] RowAnswer Answer(Ask ask, std::int64_t row, ScratchBuffer& buffer,
                                 Pace& pace) const override {
    RowAnswer answer;
    switch (ask) {
      case Ask::kIdentity:
        answer.status = Identify(row, answer, pace);
        break;
      case Ask::kSpec:
        answer.status = Describe(row, buffer, answer, pace);
        break;
      case Ask::kBytes:
        answer.status = Read(row, buffer, answer, pace);
        break;
      case Ask::kWitness:
      case Ask::kWholeWitness:
        answer.status = BearWitness(row, ask == Ask::kWholeWitness, answer, pace);
        break;
    }
    return answer;
  }

  Status Identify(std::int64_t row, RowAnswer& answer, Pace& pace) const {
    std::vector<ContentIdentity> identities;
    for (int file = 0; file < files(); ++file) {
      HR_TRY(const ContentIdentity identity, reader().Identify({.path = PathOf(row, file)}, pace));
      identities.push_back(identity);
    }
    answer.sample.content = Join(identities);
    return {};
  }

  Status Describe(std::int64_t row, ScratchBuffer& buffer, RowAnswer& answer, Pace& pace) const {
    for (int file = 0; file < files(); ++file) {
      const std::string path = PathOf(row, file);
      HR_TRY(const TensorSpec spec,
             reader().Describe({.path = path}, buffer, &answer.bytes_read, pace));
      if (file > 0 && spec != answer.spec) {
        return Unsupported(path + " is " + spec.ToString() + ", and " + PathOf(row) + " is " +
                           answer.spec.ToString());
      }
      answer.spec = spec;
    }
    return {};
  }

  Status Read(std::int64_t row, ScratchBuffer& buffer, RowAnswer& answer, Pace& pace) const {
    std::vector<FileReader::Opened> opened;
    std::vector<std::size_t> sizes;
    std::vector<ContentIdentity> identities;
    for (int file = 0; file < files(); ++file) {
      HR_TRY(FileReader::Opened next, reader().Open({.path = PathOf(row, file)}, pace));
      opened.push_back(std::move(next));
      sizes.push_back(opened.back().size);
      identities.push_back(opened.back().content);
    }
    if (std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}) > Source::kMaxEncodedBytes) {
      return Unsupported("larger than 1 GiB together: " + PathOf(row));
    }
    const std::size_t bytes = FileGroup::BytesOf(sizes);
    const MutableByteSpan group{reinterpret_cast<std::byte*>(buffer.Ensure(bytes)), bytes};
    const std::vector<MutableByteSpan> places = FileGroup::Lay(sizes, group);
    for (int file = 0; file < files(); ++file) {
      const auto i = static_cast<std::size_t>(file);
      HR_RETURN_IF_ERROR(FileReader::Read(opened[i], PathOf(row, file), places[i], pace));
      answer.bytes_read += sizes[i];
    }
    answer.sample = {.bytes = group, .encoded = true, .row = {}, .content = Join(identities)};
    return {};
  }

  Status BearWitness(std::int64_t row, bool whole, RowAnswer& answer, Pace& pace) const {
    std::vector<FileWitness> witnesses;
    for (int file = 0; file < files(); ++file) {
      HR_TRY(const FileWitness witness,
             reader().BearWitness({.path = PathOf(row, file)}, whole, &answer.bytes_read, pace));
      witnesses.push_back(witness);
    }
    answer.witness = JoinWitnesses(witnesses);
    return {};
  }
};

Result<std::unique_ptr<Source>> MakeFileGroups(const SourceLeaf& leaf,
                                               const SourceRegistry::Environment& environment) {
  for (const auto& [name, value] : leaf.args) {
    if (name != "files") {
      return InvalidArgument("the source 'file_groups' has no argument '" + name + "'");
    }
  }
  HR_TRY(const int files, FilesOf(leaf));
  HR_TRY(FileSource::Table table, FileSource::OpenTable(leaf, environment));
  if (table.view.size() % files != 0) {
    return InvalidArgument("a table of " + std::to_string(table.view.size()) +
                           " files, of which a row has " + std::to_string(files));
  }
  return std::unique_ptr<Source>(
      std::make_unique<FileGroups>(std::move(table), files, environment));
}

}  // namespace

void RegisterSourceFileGroups(SourceRegistry& registry) {
  registry.Add("file_groups", MakeFileGroups);
}

}  // namespace headrace::dataworker
