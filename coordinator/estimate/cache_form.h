#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "coordinator/estimate/hit_share.h"

// Decides in which form the samples of a data set are cached: encoded as they were read, decoded, or
// after the longest pure prefix. Encoded samples save the read; the others save the read and the work,
// and take more room. All functions are pure.
namespace headrace::coordinator {

struct CacheForm {
  std::string_view name;
  double saved_s = 0;  // what a hit saves: seconds of reading, and core-seconds of making
  double bytes = 0;    // of a sample
  friend bool operator==(const CacheForm&, const CacheForm&) = default;
};

// What is measured of a data set's samples. Zero: not known.
struct FormCosts {
  double fetch_s = 0;        // to read one at its source
  double encoded_bytes = 0;  // of one
  double decode_s = 0;       // core-seconds from its bytes to pixels
  double decoded_bytes = 0;
  double prefix_s = 0;  // core-seconds from pixels to the cache point
  double prefix_bytes = 0;
};
// The three forms, in the order of the file's comment. A form without bytes saves nothing.
struct CacheForms {
  CacheForm encoded, decoded, prefix;
};
[[nodiscard]] CacheForms FormsOf(const FormCosts& costs);

[[nodiscard]] double SecondsPerByte(const CacheForm& form);

// Seconds saved for each sample read, if the data set may take `room` bytes of caches. While a form does
// not fit, it is in proportion to its seconds saved a byte. Where all fit, it is what a hit saves.
[[nodiscard]] double SavedPerRead(const CacheForm& form, double rows, double room,
                                  std::span<const CacheHost> hosts);

// Another form must save this much more than the one that is held: what is cached is lost with a change.
constexpr double kChangeGain = 1.5;

// The position of the form that saves most. `held`: the present one stays unless another saves
// kChangeGain times as much. REQUIRES: forms.
[[nodiscard]] std::size_t ChooseForm(std::span<const CacheForm> forms,
                                     std::optional<std::size_t> held, double rows, double room,
                                     std::span<const CacheHost> hosts);

}  // namespace headrace::coordinator
