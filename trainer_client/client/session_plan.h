#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "ops/core/graph.h"
#include "schemas/wire/control.h"
#include "trainer_client/draws/size_table.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/session/session_pump.h"

namespace headrace::client {

// The image sizes that sessions have read, for later sessions of the same rows. Thread-safe.
class KnownSizes {
 public:
  // The sizes of the plan's rows; those of array sources are known from the start.
  [[nodiscard]] std::shared_ptr<SizeTable> Of(const Plan& plan, std::int64_t rows);

 private:
  std::mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<SizeTable>>> tables_;  // by the sources
};

// A plan with its blobs on the way to a session: checked, and compiled as far as the trainer needs
// it. It asks nobody, and waits for nothing but FilesOfLeaves. Thread-compatible.
class SessionPlan {
 public:
  // kInvalidArgument: an inconsistent plan, or a blob that is missing or is none. kUnsupported: the
  // plan has no native form (the message says which node).
  static Result<SessionPlan> Make(Plan plan, std::map<BlobHash, Blob> blobs, KnownSizes& sizes);

  [[nodiscard]] const Plan& plan() const { return plan_; }
  // What the leaves' files are, whatever path leads to them (FilesIdentity); 0: not known. Looks at files.
  [[nodiscard]] std::vector<std::uint64_t> FilesOfLeaves() const;
  // Whether a coordinator that answered so runs all of the plan; one of another release may not.
  [[nodiscard]] bool RunsWhole(const wire::Split& split) const;
  // What a session starts from. The caller adds what is not of the plan: options, ids, the arena.
  // Once.
  [[nodiscard]] SessionPump::Setup Finish(const wire::Split& split);

 private:
  Plan plan_;
  std::map<BlobHash, Blob> blobs_;
  std::shared_ptr<const ops::Graph> graph_;  // null: Python plans, and plans without operators
  SessionPump::Setup setup_;
};

}  // namespace headrace::client
