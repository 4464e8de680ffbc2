#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dataworker/cache/sample_store.h"
#include "dataworker/exec/executor.h"
#include "dataworker/exec/io_executor.h"
#include "dataworker/memory/payload_pool.h"
#include "dataworker/neighbours/neighbours.h"
#include "dataworker/peers/peer_cache.h"
#include "dataworker/session/blob_table.h"
#include "dataworker/session/leaf_shelf.h"
#include "dataworker/session/picture_memory.h"
#include "dataworker/session/quotas.h"
#include "dataworker/session/stage_losses.h"
#include "dataworker/share/job_ledger.h"
#include "dataworker/share/source_reads.h"
#include "dataworker/share/work_queue.h"
#include "dataworker/source/core/source.h"
#include "dataworker/stage/stage_bases.h"
#include "net/reactor.h"
#include "schemas/wire/host_identity.h"
#include "schemas/wire/message.h"

namespace headrace::dataworker {

class FilesAhead;
class PicturesAhead;

// What the worker's operator lets sessions do.
struct Limits {
  Confinement stages;                      // of the Python processes that the worker starts
  std::vector<std::string> allowed_roots;  // real paths that files are read below; none: anywhere
  Quotas quotas = {};
};

// What sessions share. All of it outlives them. Reactor thread.
struct SessionEnvironment {
  using Send =
      std::function<void(const std::string& peer, wire::Body, std::vector<net::PayloadFrame>)>;

  net::Reactor& reactor;
  Executor& executor;
  WorkQueue& queue;
  const SourceRegistry& sources;
  IoExecutor& io;
  remote::ObjectClient& objects;
  std::shared_ptr<SourceReads> reads;
  std::shared_ptr<SampleStore> cache;
  std::shared_ptr<PeerCache> peers;
  BlobTable& blobs;
  PayloadPool& payloads;
  std::shared_ptr<WorkerMemory> memory;
  PictureMemory& pictures;
  StageLosses& losses;
  LeafShelf& leaves;
  Neighbours& neighbours;
  FilesAhead& ahead;
  PicturesAhead& decoded_ahead;
  StageBases& bases;
  JobLedger& ledger;
  wire::HostIdentity host;  // of this process
  Limits limits;
  Send send;
  // The cores for the stage processes of one session of the job: see JobLedger.
  std::function<double(JobId)> stage_cores;
  std::uint64_t samples_made = 0;
  // CPU time of the processes of lanes that trainers have started, in nanoseconds. Never falls.
  std::uint64_t lanes_cpu_ns = 0;

  void CountSamples(JobId job, std::uint64_t samples) {
    samples_made += samples;
    ledger.AddSamples(job, samples);
  }
};

}  // namespace headrace::dataworker
