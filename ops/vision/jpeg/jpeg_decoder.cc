#include "ops/vision/jpeg/jpeg_decoder.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>
// jpeglib.h needs what <cstdio> declares.
// clang-format off
#include <jerror.h>
#include <jpeglib.h>
// clang-format on

#include "ops/vision/image_header.h"
#include "ops/vision/jpeg/jpeg_huffman.h"
#include "ops/vision/jpeg/jpeg_markers.h"

// Copied from libjpeg's jpegint.h, which is not installed. These two members have come first since
// version 5 of 1994, in libjpeg-turbo as well (ADR 0009).
struct jpeg_entropy_decoder {
  void (*start_pass)(j_decompress_ptr);
  boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW*);
};

namespace headrace::ops {
namespace {

// Columns beside the window whose chroma is needed to upsample its edge columns (1 is enough).
constexpr std::int64_t kMargin = 2;
// Narrower stripes would change libjpeg's choice of upsampling.
constexpr std::int64_t kMinStripe = 64;
constexpr int kRowsAtOnce = 16;

// Outcome of a call to libjpeg.
enum class Stop : std::uint8_t { kNone, kError, kWarning, kOutOfData, kOutOfMemory };

// PIL's CMYK -> RGB (libImaging Convert.c) after its inversion of Adobe's values; may work in
// place.
void CmykToRgb(const std::uint8_t* in, std::size_t pixels, std::size_t out_step,
               std::uint8_t* out) {
  for (std::size_t x = 0; x < pixels; ++x, in += 4, out += out_step) {
    const int white = in[3];
    int rgb[3];
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - in[c]) * white + 128;
      rgb[c] = std::max(white - (((product >> 8) + product) >> 8), 0);
    }
    for (int c = 0; c < 3; ++c) out[c] = static_cast<std::uint8_t>(rgb[c]);
  }
}

}  // namespace

// libjpeg's structures. Its errors leave by longjmp to the innermost Run. So code in between holds
// nothing that needs a destructor.
struct JpegDecoder::State {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  std::jmp_buf landing;
  Stop stop = Stop::kNone;
  char text[JMSG_LENGTH_MAX] = {};
  JpegHuffmanDecoder huffman;

  State() {
    std::memset(&info, 0, sizeof info);
    std::memset(&source, 0, sizeof source);
    info.err = jpeg_std_error(&errors);
    info.client_data = this;
    errors.error_exit = OnError;
    errors.emit_message = OnMessage;
    errors.output_message = [](j_common_ptr) {};
    source.init_source = [](j_decompress_ptr) {};
    source.term_source = [](j_decompress_ptr) {};
    source.fill_input_buffer = OnOutOfData;
    source.skip_input_data = OnSkip;
    source.resync_to_restart = jpeg_resync_to_restart;
    Create();
  }
  ~State() { jpeg_destroy_decompress(&info); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Calls f, which may call libjpeg. False: libjpeg stopped it (`stop`, `text` say why).
  template <typename F>
  bool Run(F f) {
    stop = Stop::kNone;
    if (setjmp(landing) != 0) return false;
    f();
    return true;
  }

  void Create() {
    Run([this] { jpeg_create_decompress(&info); });
  }
  // libjpeg keeps tables from file to file, and would use them for tables that a file lacks.
  void Reset() {
    jpeg_destroy_decompress(&info);
    Create();
  }

  static State& Of(j_common_ptr common) { return *static_cast<State*>(common->client_data); }
  [[noreturn]] void Leave(Stop reason) {
    stop = reason;
    std::longjmp(landing, 1);
  }
  [[noreturn]] static void OnError(j_common_ptr common) {
    State& state = Of(common);
    state.errors.format_message(common, state.text);
    const bool memory = state.errors.msg_code == JERR_OUT_OF_MEMORY;
    state.Leave(memory ? Stop::kOutOfMemory : Stop::kError);
  }
  // PIL ignores warnings, but libjpeg's result for damaged data depends on its version.
  static void OnMessage(j_common_ptr common, int level) {
    if (level >= 0) return;
    State& state = Of(common);
    state.errors.format_message(common, state.text);
    state.Leave(Stop::kWarning);
  }
  static boolean OnOutOfData(j_decompress_ptr decompress) {
    Of(reinterpret_cast<j_common_ptr>(decompress)).Leave(Stop::kOutOfData);
  }
  static void OnSkip(j_decompress_ptr decompress, long bytes) {
    jpeg_source_mgr& from = *decompress->src;
    if (bytes <= 0) return;
    if (static_cast<std::size_t>(bytes) > from.bytes_in_buffer) OnOutOfData(decompress);
    from.next_input_byte += bytes;
    from.bytes_in_buffer -= static_cast<std::size_t>(bytes);
  }

  static boolean OnMcu(j_decompress_ptr decompress, JBLOCKROW* blocks) {
    State& state = Of(reinterpret_cast<j_common_ptr>(decompress));
    const bool decoded = state.huffman.DecodeMcu(blocks);
    jpeg_source_mgr& from = *decompress->src;
    from.bytes_in_buffer -= static_cast<std::size_t>(state.huffman.next() - from.next_input_byte);
    from.next_input_byte = state.huffman.next();
    if (!decoded && from.bytes_in_buffer < 2) OnOutOfData(decompress);
    if (!decoded) {
      std::snprintf(state.text, sizeof state.text, "damaged entropy-coded data");
      state.Leave(Stop::kWarning);
    }
    return TRUE;
  }

  void SetSource(ByteSpan file) {
    source.next_input_byte = reinterpret_cast<const JOCTET*>(file.data());
    source.bytes_in_buffer = file.size();
    info.src = &source;
  }
  [[nodiscard]] Status Refusal() const;
  bool Start(std::int64_t left, std::int64_t width, std::int64_t skip_rows, PixelFormat format,
             std::int64_t* actual_left);
  bool StartWhole(const JpegHeader& header, Channels channels);
  bool StartEntropy();
  void WantColumns(std::int64_t left, std::int64_t width);
  bool ReadRows(std::int64_t rows, std::size_t row_stride, std::uint8_t* out);
  [[nodiscard]] Status CheckRest() const;
};

Status JpegDecoder::State::Refusal() const {
  switch (stop) {
    case Stop::kOutOfData:
      return DataLoss("JPEG: image file is truncated");
    case Stop::kError:
      return DataLoss(std::string("JPEG: ") + text);
    case Stop::kWarning:
      return Unsupported(std::string("JPEG: ") + text);
    case Stop::kOutOfMemory:
      return ResourceExhausted(std::string("JPEG: ") + text);
    case Stop::kNone:
      break;
  }
  return Internal("JPEG: no reason");
}

// Reads the header and starts decoding columns [left, left + width) after `skip_rows` rows. libjpeg
// begins at a block border: *actual_left <= left.
bool JpegDecoder::State::Start(std::int64_t left, std::int64_t width, std::int64_t skip_rows,
                               PixelFormat format, std::int64_t* actual_left) {
  return Run([=, this] {
    jpeg_read_header(&info, TRUE);
    info.dct_method = JDCT_ISLOW;
    info.do_fancy_upsampling = TRUE;
    if (info.num_components == 4) {
      info.out_color_space = JCS_CMYK;
    } else {
      info.out_color_space = format == PixelFormat::kRgb ? JCS_EXT_RGB : JCS_EXT_RGBX;
    }
    jpeg_start_decompress(&info);
    const bool by_us = StartEntropy();
    auto x = static_cast<JDIMENSION>(left);
    auto columns = static_cast<JDIMENSION>(width);
    if (columns < info.output_width) {
      jpeg_crop_scanline(&info, &x, &columns);
      if (by_us) WantColumns(x, columns);
    }
    if (skip_rows > 0) jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(skip_rows));
    *actual_left = x;
  });
}

// Says whether our entropy decoder has replaced libjpeg's.
bool JpegDecoder::State::StartEntropy() {
  if (jpeg_has_multiple_scans(&info) || !huffman.Begin(info)) return false;
  info.entropy->decode_mcu = OnMcu;
  return true;
}

// Also false if the colours are of another kind, or the size is not the header's; then `stop` is
// kNone.
bool JpegDecoder::State::StartWhole(const JpegHeader& header, Channels channels) {
  bool known = false;
  const bool ran = Run([this, &header, channels, &known] {
    jpeg_read_header(&info, TRUE);
    known = info.jpeg_color_space == JCS_YCbCr || info.jpeg_color_space == JCS_GRAYSCALE;
    known = known && info.image_width == header.width && info.image_height == header.height;
    if (!known) return;
    info.dct_method = JDCT_ISLOW;
    info.do_fancy_upsampling = TRUE;
    info.out_color_space = channels == Channels::kRgb   ? JCS_EXT_RGB
                           : channels == Channels::kBgr ? JCS_EXT_BGR
                                                        : JCS_GRAYSCALE;
    jpeg_start_decompress(&info);
    StartEntropy();
  });
  return ran && known;
}

// Asks for the blocks of these pixel columns, which libjpeg transforms. One more MCU on either side
// costs little.
void JpegDecoder::State::WantColumns(std::int64_t left, std::int64_t width) {
  if (info.comps_in_scan == 1) return;  // its MCU is a block, whatever its sampling
  const std::int64_t mcu = std::int64_t{info.max_h_samp_factor} * DCTSIZE;
  huffman.WantColumns(left / mcu - 1, (left + width) / mcu + 1);
}

bool JpegDecoder::State::ReadRows(std::int64_t rows, std::size_t row_stride, std::uint8_t* out) {
  return Run([=, this] {
    std::int64_t done = 0;
    while (done < rows) {
      JSAMPROW at[kRowsAtOnce];
      const auto n = static_cast<int>(std::min<std::int64_t>(kRowsAtOnce, rows - done));
      for (int i = 0; i < n; ++i) at[i] = out + (done + i) * row_stride;
      done += jpeg_read_scanlines(&info, at, static_cast<JDIMENSION>(n));
    }
  });
}

// PIL decodes to the last row and raises if the data ends before it. Decoding here may have stopped
// early, so this searches the rest of the scan for the marker that ends it.
Status JpegDecoder::State::CheckRest() const {
  if (jpeg_input_complete(const_cast<j_decompress_ptr>(&info))) return Status::Ok();
  constexpr int kRst0 = 0xD0, kRst7 = 0xD7, kEoi = 0xD9;
  const int pending = info.unread_marker;
  if (pending == kEoi) return Status::Ok();
  ScanEnd end = ScanEnd::kOtherMarker;
  if (pending == 0 || (pending >= kRst0 && pending <= kRst7)) {
    end = FindScanEnd(
        {reinterpret_cast<const std::byte*>(source.next_input_byte), source.bytes_in_buffer});
  }
  switch (end) {
    case ScanEnd::kEndOfImage:
      return Status::Ok();
    case ScanEnd::kOtherMarker:
      return Unsupported("JPEG: segments behind the first scan");
    case ScanEnd::kMissing:
      break;
  }
  return Unsupported("JPEG: no end marker; the file may be truncated");
}

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {}
JpegDecoder::~JpegDecoder() = default;

Result<JpegHeader> JpegDecoder::ReadHeader(ByteSpan file) {
  HR_TRY(const ImageHeader header, ReadImageHeader(file));
  if (header.need_bytes > 0) return DataLoss("JPEG: image file is truncated");
  if (header.format != ImageFormat::kJpeg) return InvalidArgument("not a JPEG file");
  return JpegHeader{header.width, header.height, header.channels, header.progressive};
}

Result<JpegForm> JpegDecoder::ReadForm(ByteSpan file) {
  JpegForm form;
  HR_TRY(form.header, ReadHeader(file));
  HR_TRY(const JpegMarkers markers, WalkJpegMarkers(file));
  form.sampling = markers.sampling;
  form.orientation = markers.orientation;
  return form;
}

Status JpegDecoder::DecodeWhole(ByteSpan file, Channels channels, MutableByteSpan out) {
  HR_TRY(const JpegHeader header, ReadHeader(file));
  const std::size_t row_stride =
      static_cast<std::size_t>(header.width) * (channels == Channels::kGray ? 1 : 3);
  if (out.size() != row_stride * static_cast<std::size_t>(header.height)) {
    return InvalidArgument("JPEG: the picture has another size");
  }
  State& state = *state_;
  state.Reset();
  state.SetSource(file);
  if (!state.StartWhole(header, channels)) {
    return state.stop == Stop::kNone ? Unsupported("JPEG: another kind of colours")
                                     : state.Refusal();
  }
  auto* const pixels = reinterpret_cast<std::uint8_t*>(out.data());
  if (!state.ReadRows(header.height, row_stride, pixels)) return state.Refusal();
  const Status rest = state.CheckRest();
  jpeg_abort_decompress(&state.info);  // releases the image's memory
  return rest;
}

Status JpegDecoder::DecodeRgb(ByteSpan file, const std::optional<Window>& window,
                              PixelFormat format, ScratchBuffer& memory, Image* out) {
  HR_TRY(const JpegHeader header, ReadHeader(file));
  const Window part = window.value_or(Window{0, 0, header.height, header.width});
  if (part.width <= 0 || part.height <= 0 || part.left < 0 || part.top < 0 ||
      part.left > header.width - part.width || part.top > header.height - part.height) {
    return InvalidArgument("JPEG: the window is not inside the image");
  }
  std::int64_t left = std::max<std::int64_t>(part.left - kMargin, 0);
  std::int64_t right = std::min(part.left + part.width + kMargin, header.width);
  right = std::min(std::max(right, left + kMinStripe), header.width);
  left = std::max<std::int64_t>(std::min(left, right - kMinStripe), 0);

  State& state = *state_;
  state.Reset();
  state.SetSource(file);
  if (!state.Start(left, right - left, part.top, format, &left)) return state.Refusal();
  const auto decoded_bytes = static_cast<std::size_t>(state.info.output_components);
  const std::size_t row_stride = decoded_bytes * state.info.output_width;
  std::uint8_t* pixels = memory.Ensure(row_stride * static_cast<std::size_t>(part.height));
  if (!state.ReadRows(part.height, row_stride, pixels)) return state.Refusal();
  const Status rest = state.CheckRest();
  const bool is_cmyk = state.info.out_color_space == JCS_CMYK;
  jpeg_abort_decompress(&state.info);  // releases the image's memory
  HR_RETURN_IF_ERROR(rest);

  out->row_stride = row_stride;
  out->pixel_stride = static_cast<std::size_t>(format);
  std::uint8_t* const first = pixels + static_cast<std::size_t>(part.left - left) * decoded_bytes;
  out->data = first;
  out->spec = ImageSpec{part.height, part.width, 3, DType::kU8, Layout::kHwc};
  out->held = Window{0, 0, part.height, part.width};
  if (is_cmyk) {
    for (std::int64_t y = 0; y < part.height; ++y) {
      std::uint8_t* row = first + y * row_stride;
      CmykToRgb(row, static_cast<std::size_t>(part.width), out->pixel_stride, row);
    }
  }
  return Status::Ok();
}

}  // namespace headrace::ops
