#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "headrace/plan_source.h"
#include "trainer_client/plans/local_file.h"
#include "trainer_client/plans/range_leaf.h"
#include "trainer_client/shards/tar_scan.h"
#include "trainer_client/shards/zip_scan.h"

namespace headrace {
namespace {

using client::LocalFile;
using client::ShardRows;

constexpr std::uint64_t kFirstRead = 4096, kMostRead = 1 << 20;  // bytes

// Gives a scan what it wants: more at once, while it goes on from where the last read ended.
template <typename Scan>
Status RunScan(const LocalFile& file, Scan& scan) {
  std::uint64_t end = 0, last = 0;
  while (const auto want = scan.wants()) {
    const bool goes_on = last > 0 && want->first <= end;
    std::uint64_t bytes = goes_on ? std::min(2 * last, kMostRead) : kFirstRead;
    bytes =
        std::min(std::max(bytes, want->bytes), file.size() - std::min(file.size(), want->first));
    HR_TRY(const Bytes read, file.Read(want->first, bytes));
    if (read.size() < want->bytes) HR_RETURN_IF_ERROR(file.CheckSame());
    const Status taken = scan.Take(read);
    if (!taken.ok()) return taken.WithContext(file.path());
    end = want->first + read.size();
    last = read.size();
  }
  return file.CheckSame();
}

std::string_view Trimmed(std::string_view text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

Result<std::int64_t> WholeNumber(std::string_view text) {
  text = Trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && at == text.data() + text.size()) return number;
  return InvalidArgument(std::string(text) + " is no whole number of 64 bits");
}

// The i-th of texts that lie one after the other.
std::string_view TextAt(std::string_view pool, const std::vector<std::int64_t>& ends,
                        std::size_t i) {
  const auto begin = static_cast<std::size_t>(i == 0 ? 0 : ends[i - 1]);
  return pool.substr(begin, static_cast<std::size_t>(ends[i]) - begin);
}

Result<ShardRows> ReadTar(const std::string& path, const TarOptions& options) {
  HR_TRY(const LocalFile file, LocalFile::Open(path));
  client::SampleRules rules{options.images, {}, options.target};
  if (!options.target.empty()) rules.targets.push_back(options.target);
  client::TarScan scan(file.size(), std::move(rules));
  HR_RETURN_IF_ERROR(RunScan(file, scan));
  const client::TarSamples& samples = scan.samples();
  ShardRows rows{file.path(),
                 file.version(),
                 samples.firsts,
                 samples.sizes,
                 std::vector<std::int64_t>(samples.firsts.size()),
                 {}};
  if (options.target.empty()) return rows;
  for (std::size_t i = 0; i < rows.labels.size(); ++i) {
    const std::string_view text = TextAt(samples.kept, samples.kept_ends, i);
    const Result<std::int64_t> label = options.label ? options.label(text) : WholeNumber(text);
    if (!label.ok()) {
      return label.status().WithContext(rows.name + ": the label of '" +
                                        std::string(TextAt(samples.keys, samples.key_ends, i)) +
                                        "'");
    }
    rows.labels[i] = *label;
  }
  return rows;
}

// A zip's rows, and the name of each row's class.
struct ZipRows {
  ShardRows rows;
  std::vector<std::string> classes;
};

Result<ZipRows> ReadZip(const std::string& path, const ZipOptions& options,
                        const std::string& folder) {
  HR_TRY(const LocalFile file, LocalFile::Open(path));
  client::ZipScan scan(file.size(), client::ZipRules{options.images, folder, options.classes});
  HR_RETURN_IF_ERROR(RunScan(file, scan));
  const client::ZipSamples& samples = scan.samples();
  ZipRows made{{file.path(), file.version(), samples.firsts, samples.sizes,
                std::vector<std::int64_t>(samples.firsts.size()), samples.members},
               {}};
  if (!options.classes) return made;
  for (std::size_t i = 0; i < samples.firsts.size(); ++i) {
    const std::string_view below = TextAt(samples.keys, samples.key_ends, i).substr(folder.size());
    made.classes.emplace_back(below.substr(0, below.find('/')));
  }
  return made;
}

Result<PlanSource> OfFiles(std::string what, const std::vector<ShardRows>& shards) {
  const bool any =
      std::ranges::any_of(shards, [](const ShardRows& shard) { return !shard.firsts.empty(); });
  if (!any)
    return NotFound("there is no sample in " + (shards.empty() ? "no file" : shards[0].name));
  HR_TRY(PlanSource source, client::OfRanges("file_ranges", "", shards));
  source.name = std::move(what) + "(" + shards[0].name + (shards.size() > 1 ? ", ...)" : ")");
  return source;
}

std::vector<ShardRows> RowsOf(std::vector<Shard> shards) {
  std::vector<ShardRows> rows;
  for (Shard& shard : shards) {
    rows.push_back({std::move(shard.name),
                    std::move(shard.version),
                    std::move(shard.firsts),
                    std::move(shard.sizes),
                    std::move(shard.labels),
                    {}});
  }
  return rows;
}

}  // namespace

Result<PlanSource> TarSource(const std::vector<std::string>& paths, const TarOptions& options) {
  if (options.images.empty()) return InvalidArgument("images names no ending");
  std::vector<ShardRows> shards;
  for (const std::string& path : paths) {
    HR_TRY(ShardRows rows, ReadTar(path, options));
    shards.push_back(std::move(rows));
  }
  return OfFiles("Tars", shards);
}

Result<PlanSource> ZipSource(const std::vector<std::string>& paths, const ZipOptions& options) {
  if (options.images.empty()) return InvalidArgument("images names no ending");
  std::string folder = options.folder;
  while (folder.ends_with('/')) folder.pop_back();
  if (!folder.empty()) folder += "/";
  std::vector<ZipRows> zips;
  std::map<std::string, std::int64_t> numbers;
  for (const std::string& path : paths) {
    HR_TRY(ZipRows zip, ReadZip(path, options, folder));
    for (const std::string& name : zip.classes) numbers.emplace(name, 0);
    zips.push_back(std::move(zip));
  }
  std::vector<std::string> classes;
  for (auto& [name, number] : numbers) {
    number = static_cast<std::int64_t>(classes.size());
    classes.push_back(name);
  }
  std::vector<ShardRows> shards;
  for (ZipRows& zip : zips) {
    for (std::size_t i = 0; i < zip.classes.size(); ++i) {
      zip.rows.labels[i] = numbers.at(zip.classes[i]);
    }
    shards.push_back(std::move(zip.rows));
  }
  HR_TRY(PlanSource source, OfFiles("Zips", shards));
  source.classes = std::move(classes);
  return source;
}

Result<PlanSource> FileRangesSource(std::vector<Shard> shards) {
  for (Shard& shard : shards) {
    HR_TRY(const LocalFile file, LocalFile::Open(shard.name));
    shard.name = file.path();
    if (shard.version.empty()) shard.version = file.version();
  }
  return OfFiles("Ranges", RowsOf(std::move(shards)));
}

Result<PlanSource> ObjectRangesSource(const StoreOptions& store, std::vector<Shard> shards) {
  HR_TRY(PlanSource of_store, ObjectsSource(store, {"any"}, {0}));
  SourceLeaf& said = of_store.leaves.front();
  const std::string base = std::get<std::string>(said.args.at("base"));
  for (Shard& shard : shards) {
    if (shard.name.starts_with(base)) shard.name.erase(0, base.size());
  }
  HR_TRY(PlanSource source, client::OfRanges("object_ranges", base, RowsOf(std::move(shards))));
  source.leaves.front().args.merge(said.args);
  source.name = "Ranges(" + base + ")";
  return source;
}

}  // namespace headrace
