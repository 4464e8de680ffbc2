#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "remote/intake.h"
#include "remote/object_fetch.h"
#include "remote/transfer.h"

namespace headrace::remote {

// A part of an object that is to be asked for, or was. A value of the client's thread.
struct TransferJob {
  std::shared_ptr<ObjectFetch> fetch;
  std::shared_ptr<ObjectFetch::Part> part;
  int generation = 0;
  // Of its fetch. Later by what a meter made it wait.
  SteadyTime deadline{};
  ObjectUrl url;
  bool is_signed = false;
  std::uint64_t credentials = 0;  // generation of those that signed it
  std::string region = {};        // that it was asked in; empty: there are none
  SteadyTime lined{};             // since when it waits in line

  // Nobody waits for it any more.
  [[nodiscard]] bool is_stale() const {
    return fetch->answered() || fetch->generation() != generation;
  }
  // nullptr: nobody pays.
  [[nodiscard]] Meter* meter() const { return fetch->request().meter.get(); }
};

// A job in libcurl's hands.
struct RunningTransfer {
  TransferJob job;
  std::unique_ptr<Intake> intake;  // empty without a meter
  std::unique_ptr<Transfer> transfer;
  std::uint64_t number = 0;  // in the order of their starts
};
using RunningTransfers = std::map<CURL*, RunningTransfer>;

}  // namespace headrace::remote
