#include "dataworker/share/pictures_from_disk.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <utility>

#include "base/process/stats.h"
#include "dataworker/source/files/sample_file.h"
#include "ops/run/runner.h"
#include "ops/vision/jpeg/jpeg_decoder.h"

namespace headrace::dataworker {
namespace {

using Decoded = PicturesAhead::Decoded;
using As = PicturesAhead::As;

// A change within one step of the clock for files leaves a file's times as they are (leaf_keys.py).
constexpr std::int64_t kFileClockStepNs = 20'000'000;
constexpr std::array kJpegBegins{std::byte{0xff}, std::byte{0xd8}, std::byte{0xff}};

std::int64_t NanosOf(const struct timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

PicturesAhead::FileState StateOf(const struct stat& st) {
  const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
  return {word(st.st_dev), word(st.st_ino), word(st.st_size), word(NanosOf(st.st_mtim)),
          word(NanosOf(st.st_ctim))};
}

// What decodes.
struct DecoderTools {
  ops::OpContext context;
  ops::JpegDecoder jpeg;
  Bytes file;
};

class DiskDecoder {
 public:
  DiskDecoder(std::vector<std::string> roots, ops::ChainRunner pil)
      : opener_(std::move(roots)), pil_(std::move(pil)) {}

  Decoded Run(const std::string& path, As as, const PicturesAhead::Room& room) const {
    // Of the thread: one at idle priority must have no lock.
    thread_local DecoderTools tools;
    const std::uint64_t before = UsageOfThisThread().cpu_ns;
    Decoded decoded = Decode(path, as, room, tools);
    decoded.cpu_ns = UsageOfThisThread().cpu_ns - before;
    return decoded;
  }

 private:
  Decoded Decode(const std::string& path, As as, const PicturesAhead::Room& room,
                 DecoderTools& tools) const {
    Decoded decoded;
    Pace patient;
    const Result<File> file = opener_.Open(path, patient);
    struct stat st;
    if (!file.ok() || ::fstat(file->fd(), &st) != 0 || !S_ISREG(st.st_mode)) return decoded;
    decoded.file = StateOf(st);
    struct timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    const auto size = static_cast<std::uint64_t>(st.st_size);
    const bool settled = NanosOf(now) - NanosOf(st.st_ctim) >= kFileClockStepNs;
    if (!settled || size < kJpegBegins.size() || size > PicturesAhead::kMostFileBytes) {
      return decoded;
    }
    std::array<std::byte, kJpegBegins.size()> head{};
    Result<std::size_t> got = ReadFrom(file->fd(), 0, head, path, patient);
    if (!got.ok() || *got != head.size() || head != kJpegBegins) return decoded;
    tools.file.resize(size);
    got = ReadFrom(file->fd(), 0, tools.file, path, patient);
    if (!got.ok() || *got != size) return decoded;
    if (::fstat(file->fd(), &st) != 0 || StateOf(st) != decoded.file) return decoded;
    decoded.what = as == As::kPil ? ByPil(room, tools, decoded) : Whole(as, room, tools, decoded);
    return decoded;
  }

  // As Renderer of headrace._images, with the one node decode.
  Decoded::What ByPil(const PicturesAhead::Room& room, DecoderTools& tools,
                      Decoded& decoded) const {
    const auto no_more = [](std::size_t) { return ByteSpan(); };
    const Result<TensorSpec> source = ops::ChainRunner::ReadHeader(tools.file, no_more);
    if (!source.ok()) return Decoded::What::kNone;
    const Result<TensorSpec> made = pil_.OutputSpec(*source);
    if (!made.ok() || made->dims.rank() != 3 || made->dims[2] != 3) return Decoded::What::kNone;
    const std::optional<MutableByteSpan> out = room(made->bytes());
    if (!out) return Decoded::What::kNoRoom;
    if (!pil_.Run(tools.file, {}, tools.context, *out).ok()) return Decoded::What::kNone;
    decoded.height = static_cast<std::uint64_t>(made->dims[0]);
    decoded.width = static_cast<std::uint64_t>(made->dims[1]);
    return Decoded::What::kDone;
  }

  // As JpegFiles of headrace._images.
  static Decoded::What Whole(As as, const PicturesAhead::Room& room, DecoderTools& tools,
                             Decoded& decoded) {
    const Result<ops::JpegForm> form = tools.jpeg.ReadForm(tools.file);
    if (!form.ok() || form->header.progressive) return Decoded::What::kNone;
    const auto [width, height] = std::pair(form->header.width, form->header.height);
    constexpr std::int64_t kLongest = 1 << 16;
    if (width <= 0 || height <= 0 || width > kLongest || height > kLongest) {
      return Decoded::What::kNone;
    }
    const std::int64_t bytes = width * height * (as == As::kGray ? 1 : 3);
    const std::optional<MutableByteSpan> out = room(static_cast<std::size_t>(bytes));
    if (!out) return Decoded::What::kNoRoom;
    const ops::Channels channels = as == As::kRgb   ? ops::Channels::kRgb
                                   : as == As::kBgr ? ops::Channels::kBgr
                                                    : ops::Channels::kGray;
    if (!tools.jpeg.DecodeWhole(tools.file, channels, *out).ok()) return Decoded::What::kNone;
    decoded.height = static_cast<std::uint64_t>(height);
    decoded.width = static_cast<std::uint64_t>(width);
    return Decoded::What::kDone;
  }

  const Opener opener_;
  const ops::ChainRunner pil_;
};

}  // namespace

PicturesAhead::Decoder PicturesFromDisk(std::vector<std::string> allowed_roots) {
  // No library's version changes what this node does (Chain::prefix_text names them for others).
  Result<ops::Chain> chain =
      ops::Chain::Compile({Node{.op = "decode", .args = {{"mode", std::string("RGB")}}}}, {}, {});
  if (!chain.ok()) return nullptr;
  Result<ops::ChainRunner> runner =
      ops::ChainRunner::Make(std::make_shared<const ops::Chain>(std::move(chain).value()));
  if (!runner.ok()) return nullptr;
  const auto disk =
      std::make_shared<const DiskDecoder>(std::move(allowed_roots), std::move(runner).value());
  return [disk](const std::string& path, As as, const PicturesAhead::Room& room) {
    return disk->Run(path, as, room);
  };
}

}  // namespace headrace::dataworker
