// This file is long because it has one random value for each message of the protocol.
#include "schemas/wire/random_body_internal.h"

namespace headrace::wire {

Plan RandomBody::MakePlan() {
  Plan plan;
  plan.name = Text();
  plan.leaves = Some([this] {
    SourceLeaf leaf;
    leaf.source = Coin() ? "local_dir" : Coin() ? "arrays" : "source" + Text();
    for (std::uint64_t i = Below(3); i > 0; --i) leaf.args[Text()] = Arg();
    leaf.rows = Count();
    leaf.table = AnId<BlobHash>();
    leaf.arrays = Some([this] {
      return SourceLeaf::Array{
          .blob = AnId<BlobHash>(),
          .dtype = static_cast<DType>(Below(10)),
          .row_shape = Some([this] { return static_cast<std::int64_t>(Below(1 << 15)); })};
    });
    return leaf;
  });
  plan.row_map = AnId<BlobHash>();
  plan.chain = Some([this] {
    Node node;
    node.op = "op" + Text();
    for (std::uint64_t i = Below(4); i > 0; --i) node.args[Text()] = Arg();
    node.purity = static_cast<Purity>(Below(3));
    node.form = static_cast<Form>(Below(2));
    node.label = Text();
    node.reason = Text();
    return node;
  });
  bool inputs = false;
  for (std::size_t i = 1; i < plan.chain.size(); ++i) {
    for (std::uint64_t n = Below(3); n > 0; --n) {
      plan.chain[i].inputs.push_back(static_cast<std::int32_t>(Below(i)));
    }
    if (plan.chain[i].inputs.empty() && Below(4) == 0) plan.chain[i].inputs = {Node::kSource};
    // The node before it is not named.
    if (plan.chain[i].inputs == std::vector{static_cast<std::int32_t>(i) - 1}) {
      plan.chain[i].inputs.clear();
    }
    inputs = inputs || !plan.chain[i].inputs.empty();
  }
  plan.fields = Some([&] {
    const FieldSpec value{
        .kind = Coin() ? FieldSpec::Kind::kValue : FieldSpec::Kind::kList,
        .index = static_cast<std::int32_t>(plan.chain.empty() ? 0 : Below(plan.chain.size()))};
    if (!plan.chain.empty() && (inputs || Coin())) return value;
    return FieldSpec{.kind = static_cast<FieldSpec::Kind>(inputs ? 1 : Below(2)), .index = Count()};
  });
  plan.rng = static_cast<RngMode>(Below(3));
  plan.lanes = 1 + Count() / 2;
  plan.libraries = {
      .pillow = Text(), .torch = Text(), .torchvision = Text(), .cpu_capability = Text()};
  for (std::uint64_t i = Below(3); i > 0; --i) plan.constants[Text()] = AnId<BlobHash>();
  plan.has_python_stage = Coin();
  if (plan.has_python_stage) {
    plan.python.bundle = AnId<BlobHash>();
    plan.python.executable = Text();
    plan.python.version = Text();
    plan.python.sys_path = Some([this] { return Text(); });
    plan.python.working_directory = Text();
    for (std::uint64_t i = Below(3); i > 0; --i) plan.python.packages[Text()] = Text();
    plan.python.replayed = Coin();
    plan.python.hash_seed = Text();
  }
  return plan;
}

Split RandomBody::ASplit(std::int32_t nodes) {
  Split split;
  split.worker_nodes = static_cast<std::int32_t>(Below(static_cast<std::uint64_t>(nodes) + 1));
  split.cache_node =
      static_cast<std::int32_t>(Below(static_cast<std::uint64_t>(split.worker_nodes) + 1));
  split.tail_node =
      static_cast<std::int32_t>(Below(static_cast<std::uint64_t>(split.worker_nodes) + 1));
  return split;
}

SessionLoad RandomBody::Load() {
  SessionLoad out{.session = AnId<SessionId>()};
  Measure(out);
  out.idle_known = Coin();
  out.tiers = TierHitsList();
  out.remaining_samples = Coin() ? -1 : Count();
  return out;
}

WorkerInfo RandomBody::Worker() {
  return {.worker = AnId<WorkerId>(),
          .endpoints = Some([this] { return Text(); }),
          .arena_path = Text(),
          .host = Host(),
          .cores = Count(),
          .version = Text(),
          .cache_bytes = Number(),
          .local = Coin(),
          .tiers = TierBytesList(),
          .pass = Text(),
          .share_from_bytes = Number(),
          .millicores = static_cast<std::uint32_t>(Count()),
          .link_bytes_per_second = Number(),
          .rack = Text(),
          .member = Text()};
}

JobUsage RandomBody::Usage() {
  JobUsage out{.job = AnId<JobId>()};
  Measure(out);
  out.tiers = TierUseList();
  out.sampled_below = Number();
  out.sampled = Some([this] { return Number(); });
  return out;
}

JobStatus RandomBody::Job() {
  JobStatus out{.job = AnId<JobId>(),
                .name = Text(),
                .hostname = Text(),
                .pid = Signed(),
                .state = Text(),
                .opened_ms = Signed(),
                .sessions = Some([this] { return Load(); }),
                .workers = Some([this] { return AnId<WorkerId>(); }),
                .tenant = Text(),
                .priority = static_cast<std::int32_t>(Signed()),
                .group = Text(),
                .rank = static_cast<std::int32_t>(Signed())};
  Measure(out);
  out.advice = Text();
  out.unfit = Some([this] { return Unfit(); });
  out.bad = Some([this] { return Bad(); });
  out.bad_known = Number32();
  out.remaining_samples = Coin() ? -1 : Count();
  Measure(out.totals);
  if (Coin()) out.need = {12.5, 0.001, 0.02, 1e5, 0.25};
  if (Coin()) {
    out.why = {Text(), 0.5, 2, 1.5, 0.5, AnId<JobId>(), 3, Text()};
  }
  return out;
}

UnfitWorker RandomBody::Unfit() {
  return {.worker = AnId<WorkerId>(), .reason = Text(), .slow = Coin()};
}

BadSample RandomBody::Bad() {
  return {.data_set = Number(),
          .row = Signed(),
          .name = Text(),
          .cause = Text(),
          .times = Number(),
          .held_back = Coin()};
}

WorkerHeartbeat RandomBody::Heartbeat() {
  WorkerHeartbeat out{.request = Number(), .worker = AnId<WorkerId>()};
  Measure(out);
  out.jobs = Some([this] { return AnId<JobId>(); });
  out.usage = Some([this] { return Usage(); });
  out.tiers = TierUseList();
  out.token = Text();
  out.dropped = Number();
  return out;
}

std::optional<TensorSpec> RandomBody::ASpec() {
  if (Below(5) == 0) return std::nullopt;
  std::vector<std::int64_t> dims(Below(Dims::kMost + 1));
  for (std::int64_t& size : dims)
    size = Coin() ? Count() : static_cast<std::int64_t>(Number() >> 1);
  return TensorSpec{static_cast<DType>(Below(10)), static_cast<Layout>(Below(3)),
                    Dims(std::span<const std::int64_t>(dims))};
}

BatchRequest RandomBody::Request() {
  BatchRequest out;
  out.session = AnId<SessionId>();
  out.iteration = AnId<IterationId>();
  out.batch = AnId<BatchId>();
  out.attempt = Number32();
  const std::size_t samples = Below(70);
  const std::size_t words = Below(12);
  for (std::size_t i = 0; i < samples; ++i) out.keys.push_back(Signed());
  for (std::size_t i = 0; i < samples * words; ++i) {
    out.params.push_back(static_cast<std::int32_t>(Number()));
  }
  if (Coin()) {
    for (std::size_t i = 0; i < samples; ++i) out.seeds.push_back(Number());
  }
  for (std::size_t i = 0; i < samples; i += 1 + Below(30)) {
    out.skip.push_back(static_cast<std::int32_t>(i));
  }
  out.slot = AnId<SlotId>();
  out.slot_offset = Number() >> 1;
  out.slot_bytes = Number() >> 1;
  out.lane = AnId<LaneId>();
  out.base_seed = Number();
  for (std::size_t i = Coin() ? samples : 0; i > 0; --i) out.specs.push_back(ASpec());
  for (std::size_t i = 0; i < samples; i += 1 + Below(30)) {
    out.witness.push_back(static_cast<std::int32_t>(i));
    if (Coin()) out.witness_whole.push_back(static_cast<std::int32_t>(i));
  }
  out.lane_state = Raw();
  out.index = Raw();
  out.lane_set = Number();
  out.tail_node = Count();
  out.lane_after = Count() - 1;
  return out;
}

BatchDone RandomBody::Done() {
  BatchDone out;
  out.session = AnId<SessionId>();
  out.iteration = AnId<IterationId>();
  out.batch = AnId<BatchId>();
  out.attempt = Number32();
  out.status = AStatus();
  out.needed_bytes = Number();
  out.used_bytes = std::uint64_t{1} << 40;
  out.fields = Some([this] {
    FieldLayout field{.dtype = static_cast<DType>(Below(10)),
                      .shape = Some([this] { return static_cast<std::int64_t>(Below(1000)); }),
                      .offset = Below(std::uint64_t{1} << 39)};
    if (Coin()) {
      field.shape = {static_cast<std::int64_t>(1 + Below(4)), Dims::kAny};
      for (std::int64_t row = 0; row < field.shape[0]; ++row) {
        field.row_sizes.push_back(static_cast<std::int64_t>(Below(1000)));
      }
    }
    return field;
  });
  out.failures = Some([this] {
    return SampleFailure{.position = Count(),
                         .code = Coin() ? Code::kUnknown : Code::kUnsupported,
                         .message = Text(),
                         .detail = ADetail()};
  });
  Measure(out.cost);
  out.tiers = TierHitsList();
  for (std::uint64_t i = Below(4); i > 0; --i) {
    out.witnesses.push_back({.position = Count(),
                             .file = {.device = Number(),
                                      .inode = Number(),
                                      .mtime_ns = Signed(),
                                      .ctime_ns = Signed(),
                                      .size = Number(),
                                      .ends = Number(),
                                      .whole = Number()}});
  }
  out.lane_ended = Coin();
  out.samples = Coin() ? -1 : Count();
  if (!out.lane_ended) {
    out.pickle = Raw();
    out.python_error = Raw();
  }
  for (std::uint64_t i = Below(4); i > 0; --i) {
    out.buffer_offsets.push_back(Below(std::uint64_t{1} << 39));
    out.buffer_sizes.push_back(Below(std::uint64_t{1} << 39));
  }
  out.lane_state = Raw();
  out.output = Text();
  out.error_output = Text();
  out.state_change = Text();
  out.tail_node = Count();
  return out;
}

EntryWords RandomBody::Entry() {
  EntryWords words{};
  for (std::uint64_t& word : words) word = Number();
  return words;
}

Body RandomBody::MakeControl(std::size_t index) {
  switch (index) {
    case 1:
      return OpenJob{.request = Number(),
                     .token = Text(),
                     .name = Text(),
                     .host = Host(),
                     .version = Text(),
                     .wanted_workers = Count(),
                     .cache_bytes = Number(),
                     .tenant = Text(),
                     .priority = static_cast<std::int32_t>(Signed()),
                     .group = Text(),
                     .rank = static_cast<std::int32_t>(Signed()),
                     .link_bytes_per_second = Number(),
                     .rack = Text()};
    case 2:
      return JobOpened{.request = Number(),
                       .status = AStatus(),
                       .job = AnId<JobId>(),
                       .consumer = AnId<ConsumerId>(),
                       .heartbeat_ms = 1 + Number32() / 2};
    case 3:
      return OpenSession{.request = Number(),
                         .job = AnId<JobId>(),
                         .session = AnId<SessionId>(),
                         .plan = MakePlan(),
                         .token = Text(),
                         .files = Some([this] { return Number(); }),
                         .warm = Coin()};
    case 4:
      return SessionOpened{.request = Number(),
                           .status = AStatus(),
                           .split = ASplit(20),
                           .held_back = Some([this] { return Bad(); })};
    case 5:
      return ConsumerHeartbeat{.request = Number(),
                               .job = AnId<JobId>(),
                               .consumer = AnId<ConsumerId>(),
                               .sessions = Some([this] { return Load(); }),
                               .suspected = Some([this] { return AnId<WorkerId>(); }),
                               .token = Text(),
                               .unfit = Some([this] { return Unfit(); }),
                               .bad = Some([this] { return Bad(); }),
                               .data_sets = Some([this] { return Number(); })};
    case 6:
      return Leases{.request = Number(),
                    .status = AStatus(),
                    .job = AnId<JobId>(),
                    .generation = Number(),
                    .workers = Some([this] { return Worker(); }),
                    .held_back = Some([this] { return Bad(); })};
    case 7:
      return CloseSession{.job = AnId<JobId>(), .session = AnId<SessionId>(), .token = Text()};
    case 8:
      return CloseJob{.job = AnId<JobId>(), .token = Text()};
    case 9:
      return RegisterWorker{.request = Number(), .token = Text(), .info = Worker()};
    case 10:
      return WorkerRegistered{.request = Number(),
                              .status = AStatus(),
                              .worker = AnId<WorkerId>(),
                              .heartbeat_ms = 1 + Number32() / 2};
    case 11:
      return Heartbeat();
    case 12:
      return WorkerDirective{
          .request = Number(),
          .status = AStatus(),
          .drain = Coin(),
          .jobs = Some([this] { return AnId<JobId>(); }),
          .grants = Some([this] { return Grant(); }),
          .kept = Some([this] { return KeptJob{.job = AnId<JobId>(), .bytes = Number()}; }),
          .drops = Some([this] {
            return DropOrder{.number = Number(), .jobs = Some([this] { return AnId<JobId>(); })};
          }),
          .fills = Some([this] {
            return FillOrder{
                .job = AnId<JobId>(), .bytes_per_second = Number(), .part = 2, .parts = 3};
          })};
    case 13:
      return LeaveWorker{.worker = AnId<WorkerId>(), .token = Text()};
    case 14:
      return StatusQuery{.request = Number(),
                         .job = AnId<JobId>(),
                         .token = Text(),
                         .whole = AnId<JobId>(),
                         .ended = Coin()};
    default:
      break;
  }
  ClusterStatus out;
  out.request = Number();
  out.status = AStatus();
  out.version = Text();
  out.wall_ms = Signed();
  Measure(out);
  if (Coin()) {
    out.rules = {Text(), 1e9, 0.25, Coin(),
                 Some([this] { return TenantRules{Text(), 2, 8, 16, 1e12, 1e8}; })};
  }
  out.jobs = Some([this] { return Job(); });
  out.workers = Some([this] {
    return WorkerStatus{.info = Worker(),
                        .state = Text(),
                        .last = Heartbeat(),
                        .silent_ms = Signed(),
                        .reason = Text(),
                        .slow_for = Some([this] { return AnId<JobId>(); }),
                        .speed = std::abs(Real())};
  });
  out.pools = Some([this] {
    PoolStatus pool{.name = Text(),
                    .kind = Text(),
                    .state = Text(),
                    .preemptible = Coin(),
                    .most = Number32(),
                    .trouble = AStatus(),
                    .trouble_ms = Signed(),
                    .trouble_stands = Coin(),
                    .what = Text(),
                    .remedy = Text()};
    Measure(pool);
    return pool;
  });
  out.datasets = Some([this] {
    DatasetStatus dataset{.dataset = Number(),
                          .name = Text(),
                          .form = Text(),
                          .rows = Signed(),
                          .bytes = Number(),
                          .jobs = Some([this] { return AnId<JobId>(); }),
                          .parts = Some([this] {
                            return DatasetPart{.worker = AnId<WorkerId>(),
                                               .quota_bytes = Number(),
                                               .bytes = Number(),
                                               .entries = Number(),
                                               .hits = Number(),
                                               .misses = Number()};
                          }),
                          .phase = Text(),
                          .hit_share = 0.25,
                          .hit_when_full = 0.5,
                          .tenant = Text(),
                          .pinned = Coin(),
                          .pinned_bytes = Number(),
                          .warm = Coin(),
                          .dropping = Number32()};
    Measure(dataset);
    return dataset;
  });
  out.ended = Some([this] {
    EndedJob ended{.job = AnId<JobId>(),
                   .name = Text(),
                   .hostname = Text(),
                   .pid = Signed(),
                   .tenant = Text(),
                   .group = Text(),
                   .rank = static_cast<std::int32_t>(Signed()),
                   .opened_ms = Signed(),
                   .ended_ms = Signed(),
                   .end = Text(),
                   .totals = {}};
    Measure(ended.totals);
    return ended;
  });
  return out;
}

Body RandomBody::MakeData(std::size_t index) {
  switch (index) {
    case 16: {
      Attach out;
      out.request = Number();
      out.session = AnId<SessionId>();
      out.job = AnId<JobId>();
      out.host = Host();
      out.use_arena = Coin();
      out.plan = MakePlan();
      out.split = ASplit(static_cast<std::int32_t>(out.plan.chain.size()));
      out.cache_bytes = Number();
      out.lanes_given = Coin();
      out.pass = Text();
      return out;
    }
    case 17:
      return Attached{.request = Number(),
                      .session = AnId<SessionId>(),
                      .status = AStatus(),
                      .use_arena = Coin(),
                      .needed_blobs = Some([this] { return AnId<BlobHash>(); })};
    case 18: {
      const std::uint64_t total = Number();
      return BlobPart{.session = AnId<SessionId>(),
                      .hash = AnId<BlobHash>(),
                      .total_bytes = total,
                      .offset = total == 0 ? 0 : Below(total)};
    }
    case 19:
      return Detach{.session = AnId<SessionId>()};
    case 20:
      return Describe{.request = Number(), .session = AnId<SessionId>(), .keys = Some([this] {
                                                                           return Signed();
                                                                         })};
    case 21: {
      Described out;
      out.request = Number();
      out.session = AnId<SessionId>();
      out.status = AStatus();
      for (std::uint64_t i = Below(5); i > 0; --i) out.specs.push_back(ASpec());
      return out;
    }
    case 22:
      return Request();
    case 23:
      return Done();
    case 24:
      return CancelIterations{.session = AnId<SessionId>(), .before = AnId<IterationId>()};
    case 25:
      return PeerFind{.request = Number(),
                      .worker = AnId<WorkerId>(),
                      .job = AnId<JobId>(),
                      .pass = Text(),
                      .keys = Some([this] { return Entry(); }),
                      .wait = Coin(),
                      .take = Coin(),
                      .offer = Coin()};
    case 26: {
      PeerFound out{.request = Number(), .status = AStatus(), .answers = {}, .sizes = {}};
      out.answers = Some([this] { return static_cast<PeerAnswer>(Below(4)); });
      for (const PeerAnswer answer : out.answers) {
        if (answer == PeerAnswer::kFound) out.sizes.push_back(Number());
      }
      if (Coin()) out.costs_ns = out.sizes;
      return out;
    }
    case 27:
      return PeerPut{.worker = AnId<WorkerId>(),
                     .job = AnId<JobId>(),
                     .pass = Text(),
                     .key = Entry(),
                     .made = Coin(),
                     .cost_ns = Number()};
    case 28:
      return Ping{.sequence = Number()};
    case 29:
      return Pong{.sequence = Number()};
    case 30:
      return DatasetOrder{.request = Number(),
                          .action = static_cast<DatasetAction>(Below(5)),
                          .name = Text(),
                          .bytes = Number()};
    case 31:
      return DatasetOrdered{.request = Number(),
                            .status = AStatus(),
                            .dataset = Number(),
                            .name = Text(),
                            .text = Text(),
                            .workers = Number32()};
    case 32:
      return ClusterOrder{.request = Number(),
                          .action = static_cast<ClusterAction>(Below(5)),
                          .workers = Some([this] { return AnId<WorkerId>(); }),
                          .job = AnId<JobId>(),
                          .priority = static_cast<std::int32_t>(Signed())};
    default:
      return ClusterOrdered{.request = Number(), .status = AStatus(), .text = Text()};
  }
}

Body RandomBody::Make(std::size_t index) {
  if (index == 0) return {};
  return index < 16 ? MakeControl(index) : MakeData(index);
}

}  // namespace headrace::wire
