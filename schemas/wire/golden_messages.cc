#include "schemas/wire/golden_messages_internal.h"

namespace headrace::wire {
namespace {

Bytes Raw(std::string_view text) { return CopyBytes(AsBytes(text)); }

HostIdentity Host() {
  return {.hostname = "node7", .boot_id = "0f2c-11", .uid = 1000, .pid = 4242};
}

WorkerInfo Worker() {
  return {.worker = WorkerId(3),
          .endpoints = {"ipc:///run/w3", "tcp://10.0.0.7:41000"},
          .arena_path = "/run/w3.arena",
          .host = Host(),
          .cores = 16,
          .version = "0.1.0"};
}

SessionLoad Load() {
  return {.session = SessionId(0x1234567890abcdef),
          .batches = 100,
          .samples = 6400,
          .stall_ns = 1'000'000,
          .step_ns = 50'000'000'000,
          .outstanding_bytes = 19'267'584};
}

WorkerHeartbeat Heartbeat() {
  return {.request = 17,
          .worker = WorkerId(3),
          .cpu_seconds = 12.5,
          .resident_bytes = 1 << 30,
          .cache_bytes = 1 << 29,
          .cache_hits = 1000,
          .cache_misses = 24,
          .samples = 6400,
          .queued_samples = 128,
          .jobs = {JobId(1), JobId(2)}};
}

Split ASplit() {
  return {.worker_nodes = 2, .cache_node = 1};  // the frozen ones have reasons, too
}

std::vector<GoldenMessage> ControlMessages() {
  const Status refused(Code::kInfeasible, "no worker can run this plan");
  return {
      {"open_job", OpenJob{.request = 1,
                           .token = "00112233445566778899aabbccddeeff",
                           .name = "train.py",
                           .host = Host(),
                           .version = "0.1.0",
                           .wanted_workers = 4,
                           .cache_bytes = 1 << 30}},
      {"job_opened", JobOpened{.request = 1,
                               .status = Status(Code::kUnknown, "of a newer release"),
                               .job = JobId(5),
                               .consumer = ConsumerId(6),
                               .heartbeat_ms = 500}},
      {"open_session", OpenSession{.request = 2,
                                   .job = JobId(5),
                                   .session = SessionId(0x1234567890abcdef),
                                   .plan = GoldenPlan()}},
      {"session_opened", SessionOpened{.request = 2, .status = refused, .split = ASplit()}},
      {"consumer_heartbeat", ConsumerHeartbeat{.request = 3,
                                               .job = JobId(5),
                                               .consumer = ConsumerId(6),
                                               .sessions = {Load(), {}},
                                               .suspected = {WorkerId(3)}}},
      {"leases", Leases{.request = 3,
                        .status = Status(Code::kNotFound, "job 5"),
                        .job = JobId(5),
                        .generation = 9,
                        .workers = {Worker(), {}}}},
      {"close_session", CloseSession{.job = JobId(5), .session = SessionId(77)}},
      {"close_job", CloseJob{.job = JobId(5)}},
      {"register_worker", RegisterWorker{.request = 4, .token = "ffee", .info = Worker()}},
      {"worker_registered", WorkerRegistered{.request = 4,
                                             .status = Status(Code::kUnsupported, "version"),
                                             .worker = WorkerId(3),
                                             .heartbeat_ms = 250}},
      {"worker_heartbeat", Heartbeat()},
      {"worker_directive", WorkerDirective{.request = 17,
                                           .status = Status(Code::kNotFound, "worker 3"),
                                           .drain = true,
                                           .jobs = {JobId(2)}}},
      {"leave_worker", LeaveWorker{.worker = WorkerId(3)}},
      {"status_query", StatusQuery{.request = 8}},
      {"cluster_status", ClusterStatus{.request = 8,
                                       .status = Status(Code::kInternal, "half of it"),
                                       .version = "0.1.0",
                                       .wall_ms = 1'700'000'000'000,
                                       .coordinator_cpu_seconds = 1.25,
                                       .ended_workers_cpu_seconds = 2.5,
                                       .jobs = {{.job = JobId(5),
                                                 .name = "train.py",
                                                 .hostname = "node7",
                                                 .pid = 4242,
                                                 .state = "running",
                                                 .opened_ms = 1'699'999'000'000,
                                                 .sessions = {Load()},
                                                 .workers = {WorkerId(3)}}},
                                       .workers = {{.info = Worker(),
                                                    .state = "ready",
                                                    .last = Heartbeat(),
                                                    .silent_ms = 120}}}},
      {"dataset_order", DatasetOrder{.request = 9,
                                     .action = DatasetAction::kPin,
                                     .name = "ImageFolder(/data)",
                                     .bytes = 1ULL << 40}},
      {"dataset_ordered", DatasetOrdered{.request = 9,
                                         .status = Status(Code::kNotFound, "no data set"),
                                         .dataset = 0xfedcba9876543210,
                                         .name = "ImageFolder(/data)",
                                         .text = "dropped",
                                         .workers = 3}},
      {"cluster_order", ClusterOrder{.request = 9,
                                     .action = ClusterAction::kDrain,
                                     .workers = {WorkerId(3), WorkerId(4)},
                                     .job = JobId(5),
                                     .priority = -2}},
      {"cluster_ordered",
       ClusterOrdered{
           .request = 9, .status = Status(Code::kNotFound, "no worker"), .text = "drained"}},
  };
}

std::vector<GoldenMessage> DataMessages() {
  const SessionId session(0x1234567890abcdef);
  return {
      {"attach", Attach{.request = 10,
                        .session = session,
                        .job = JobId(5),
                        .host = Host(),
                        .use_arena = true,
                        .plan = GoldenPlan(),
                        .split = ASplit(),
                        .cache_bytes = 1 << 20}},
      {"attached", Attached{.request = 10,
                            .session = session,
                            .status = Status(Code::kResourceExhausted, "no memory"),
                            .use_arena = true,
                            .needed_blobs = {BlobHash(1), BlobHash(1LL << 62)}}},
      {"blob_part",
       BlobPart{
           .session = session, .hash = BlobHash(99), .total_bytes = 1 << 24, .offset = 1 << 20}},
      {"detach", Detach{.session = session}},
      {"describe", Describe{.request = 11, .session = session, .keys = {0, 5, -1, 1LL << 40}}},
      {"described",
       Described{.request = 11,
                 .session = session,
                 .status = Status(Code::kCancelled, "x"),
                 .specs = {TensorSpec{DType::kU8, Layout::kHwc, {480, 640, 3}}, std::nullopt}}},
      {"batch_request", BatchRequest{.session = session,
                                     .iteration = IterationId(2),
                                     .batch = BatchId(100),
                                     .attempt = 1,
                                     .keys = {7, 8, 9},
                                     .params = {1, -2, 3, -4, 5, -6},
                                     .seeds = {~0ULL, 0, 1},
                                     .skip = {1},
                                     .slot = SlotId(4),
                                     .slot_offset = 1 << 26,
                                     .slot_bytes = 1 << 25,
                                     .lane = LaneId(2),
                                     .base_seed = 0xfedcba9876543210,
                                     .lane_state = Raw("state")}},
      {"batch_done",
       BatchDone{.session = session,
                 .iteration = IterationId(2),
                 .batch = BatchId(100),
                 .attempt = 1,
                 .status = Status(Code::kDataLoss, "torn"),
                 .needed_bytes = 1 << 26,
                 .used_bytes = 1 << 25,
                 .fields = {{.dtype = DType::kF32, .shape = {3, 3, 224, 224}, .offset = 0},
                            {.dtype = DType::kI64, .shape = {3}, .offset = 1'806'336}},
                 .failures = {{.position = 1, .code = Code::kUnsupported, .message = "a.webp"}},
                 .cost = {.source_ns = 1,
                          .compute_ns = 2,
                          .queue_ns = 3,
                          .decoded_hits = 4,
                          .encoded_hits = 5,
                          .misses = 6},
                 .pickle = Raw("pickle"),
                 .buffer_offsets = {0, 64},
                 .buffer_sizes = {60, 1000},
                 .python_error = Raw("error"),
                 .lane_state = Raw("after"),
                 .output = "hello from user code\n"}},
      {"batch_done_of_lists",
       BatchDone{.session = session,
                 .iteration = IterationId(2),
                 .batch = BatchId(101),
                 .attempt = 1,
                 .used_bytes = 1 << 20,
                 .fields = {{.dtype = DType::kF32,
                             .shape = {3, -1, -1, -1},
                             .offset = 64,
                             .row_sizes = {3, 24, 32, 0, 0, 0, 3, 100, 50}}},
                 .failures = {{.position = 1, .code = Code::kUnsupported, .message = "a.webp"}}}},
      {"cancel_iterations", CancelIterations{.session = session, .before = IterationId(3)}},
      {"peer_find", PeerFind{.request = 12,
                             .worker = WorkerId(3),
                             .job = JobId(5),
                             .pass = "00ff",
                             .keys = {{1, 2, 3, 4, 5, 6, 7}, {~0ULL, 0, 0, 0, 0, 0, 0}}}},
      {"peer_found", PeerFound{.request = 12,
                               .status = Status(Code::kNotFound, "no pass"),
                               .answers = {PeerAnswer::kMake, PeerAnswer::kFound},
                               .sizes = {605'000}}},
      {"peer_put", PeerPut{.worker = WorkerId(3),
                           .job = JobId(5),
                           .pass = "00ff",
                           .key = {1, 2, 3, 4, 5, 6, 7},
                           .made = true}},
      {"ping", Ping{.sequence = 123}},
      {"pong", Pong{.sequence = 123}},
  };
}

}  // namespace

std::vector<GoldenMessage> GoldenMessages() {
  std::vector<GoldenMessage> all = ControlMessages();
  for (GoldenMessage& message : DataMessages()) all.push_back(std::move(message));
  return all;
}

Plan GoldenPlan() {
  Plan plan;
  plan.name = "ImageFolder(/data/train)";
  plan.leaves = {{.rows = 1000, .table = BlobHash(11)},
                 {.source = "arrays",
                  .rows = 10,
                  .arrays = {{.blob = BlobHash(12), .dtype = DType::kU8, .row_shape = {32, 32, 3}},
                             {.blob = BlobHash(13), .dtype = DType::kI64, .row_shape = {}}}}};
  plan.row_map = BlobHash(14);
  plan.chain = {{.op = "decode",
                 .args = {{"mode", std::string("RGB")}},
                 .purity = Purity::kPure,
                 .form = Form::kNative,
                 .label = "pil_loader",
                 .reason = ""},
                {.op = "random_resized_crop",
                 .args = {{"antialias", std::int64_t{1}},
                          {"fill", -0.0},
                          {"raw", Raw("bytes")},
                          {"scale", std::vector<double>{0.08, 1.0}},
                          {"size", std::vector<std::int64_t>{224, 224}}},
                 .purity = Purity::kRandom,
                 .form = Form::kNative,
                 .label = "RandomResizedCrop(size=(224, 224))",
                 .reason = ""},
                {.op = "python",
                 .args = {},
                 .purity = Purity::kStateful,
                 .form = Form::kPython,
                 .label = "Lambda",
                 .reason = "it writes a global"}};
  plan.fields = {{.kind = FieldSpec::Kind::kChain, .index = 0},
                 {.kind = FieldSpec::Kind::kArray, .index = 1}};
  plan.rng = RngMode::kTorch;
  plan.lanes = 4;
  plan.libraries = {.pillow = "13.0.0",
                    .torch = "2.13.0+cpu",
                    .torchvision = "0.28.0",
                    .cpu_capability = "AVX512"};
  plan.constants = {{"torch_exp", BlobHash(15)}};
  plan.has_python_stage = true;
  plan.python = {.bundle = BlobHash(16),
                 .executable = "/usr/bin/python3",
                 .version = "3.11",
                 .sys_path = {"/src", "/site-packages"},
                 .working_directory = "/src",
                 .packages = {{"numpy", "2.1.0"}, {"torch", "2.13.0"}}};
  return plan;
}

Plan GoldenViews() {
  Plan plan;
  plan.leaves = {{.rows = 1000, .table = BlobHash(11)}};
  plan.chain = {{.op = "decode", .args = {{"mode", std::string("RGB")}}},
                {.op = "random_horizontal_flip", .args = {{"p", 0.5}}, .purity = Purity::kRandom},
                {.op = "to_tensor"},
                {.op = "to_tensor", .inputs = {0}},
                {.op = "stack", .inputs = {2, 3}}};
  plan.fields = {{.kind = FieldSpec::Kind::kValue, .index = 4},
                 {.kind = FieldSpec::Kind::kValue, .index = 3},
                 {.kind = FieldSpec::Kind::kArray, .index = 1}};
  plan.rng = RngMode::kSample;
  return plan;
}

Plan GoldenPictures() {
  Plan plan;
  plan.leaves = {{.source = "file_groups",
                  .args = {{"files", std::int64_t{2}}},
                  .rows = 1000,
                  .table = BlobHash(11)}};
  plan.chain = {{.op = "decode", .args = {{"mode", std::string("RGB")}}},
                {.op = "random_horizontal_flip", .args = {{"p", 0.5}}, .purity = Purity::kRandom},
                {.op = "to_tensor"},
                {.op = "decode",
                 .args = {{"file", std::int64_t{1}}, {"mode", std::string("index")}},
                 .inputs = {Node::kSource}},
                {.op = "random_horizontal_flip",
                 .args = {{"draws_of", std::int64_t{1}}, {"p", 0.5}},
                 .purity = Purity::kRandom},
                {.op = "pil_to_tensor"}};
  plan.fields = {{.kind = FieldSpec::Kind::kValue, .index = 2},
                 {.kind = FieldSpec::Kind::kValue, .index = 5}};
  plan.rng = RngMode::kTorch;
  return plan;
}

Plan GoldenLists() {
  Plan plan;
  plan.leaves = {{.rows = 1000, .table = BlobHash(11)}};
  plan.chain = {{.op = "decode", .args = {{"mode", std::string("RGB")}}},
                {.op = "pil_to_tensor"},
                {.op = "channels_last"}};
  plan.fields = {{.kind = FieldSpec::Kind::kList, .index = 2},
                 {.kind = FieldSpec::Kind::kArray, .index = 1}};
  return plan;
}

FileTable GoldenFileTable() {
  return {.root = "/data/train",
          .paths = {"cat/1.jpg", "dog/\xc3\xa9t\xc3\xa9.jpg", "/elsewhere/2.png", ""},
          .labels = {0, 1, -1, 1LL << 40}};
}

}  // namespace headrace::wire
