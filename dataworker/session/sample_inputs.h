#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "dataworker/peers/cache_lease.h"
#include "dataworker/session/first_ask.h"
#include "dataworker/share/source_reads.h"
#include "dataworker/source/core/source.h"

namespace headrace::dataworker {

// What is known of a sample before a thread makes it. All of it belongs to this one request: it was
// asked after the request came.
struct SampleInput {
  bool asked = false;  // the cache; key and found are set
  CacheKey key;
  CacheLookup found;
  std::optional<RowAnswer> bytes;    // of the source, or why there are none
  std::optional<RowAnswer> witness;  // of the source
  Duration waited{};                 // for all of this
};

// Gets the inputs of some samples without a thread that waits for them:
//
//   identities (all together) -> look into the cache -> what it lacks (together) -> bytes
//   bytes (together) -> look into the cache, for rows of far sources that it seems to lack (FirstAsk),
//   and for all of them while it has nothing
//
// and tells of each sample as soon as it has what it needs: a cache entry, its bytes, or an error.
// It runs on the threads of the sources and tiers. It lives until the last sample is told.
class SampleInputs : public std::enable_shared_from_this<SampleInputs> {
 public:
  struct Parts {
    std::shared_ptr<SourceReads> reads;
    SourceReads::Asker asker;
    std::shared_ptr<const CacheLease> cache;  // nullptr: the samples are not looked for there
    EntryForm form{};                         // of a cache entry: see CacheKey
    Clock* clock = nullptr;
    std::shared_ptr<FirstAsk> first_ask = {};  // the session's; nullptr: identities are asked first
  };
  struct Sample {
    std::size_t index = 0;  // for the caller
    std::shared_ptr<Source> source;
    std::int64_t row = 0;
    SampleInput input;    // what is known already
    bool is_new = false;  // FirstAsk learns of it
  };
  // Takes an input; exactly once for each sample. Must not block or compute. Also kept alive until
  // the last one.
  using OnInput = std::function<void(std::size_t index, SampleInput)>;

  static void Get(Parts parts, std::vector<Sample> samples, OnInput on_input);

 private:
  // Rows that are asked for their bytes at the same time, if so many are known to be needed.
  static constexpr std::size_t kTogether = 16;

  SampleInputs(Parts parts, std::vector<Sample> samples, OnInput on_input);
  void Start();
  // Asks the source of all these samples, and has `then` called with each answer.
  void Fetch(Ask ask, std::vector<std::size_t> which,
             void (SampleInputs::*then)(Sample&, RowAnswer));
  void OnIdentity(Sample& sample, RowAnswer answer);
  void OnBytes(Sample& sample, RowAnswer answer);
  // Bytes that came before their identity was known.
  void OnFirstBytes(Sample& sample, RowAnswer answer);
  void LookUp(Sample& sample);
  void OnFound(Sample& sample, CacheLookup found);
  // The sample's identity is settled: it is in the cache, or its bytes are needed, or it failed.
  void Settle(std::optional<std::size_t> needs_bytes);
  void Tell(Sample& sample);

  const Parts parts_;
  const OnInput on_input_;
  const SteadyTime begin_;
  std::vector<Sample> samples_;  // each used by one thread at a time
  std::mutex mutex_;
  // Guarded by mutex_:
  std::size_t unsettled_ = 0;
  std::vector<std::size_t> needed_;  // samples whose bytes are not asked for yet
};

}  // namespace headrace::dataworker
