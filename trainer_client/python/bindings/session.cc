// This file is long because it binds each call of a client and of a session.
#include "trainer_client/python/bindings/session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process/allowance.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/python/bindings/batch.h"
#include "trainer_client/python/bindings/blob.h"
#include "trainer_client/python/bindings/errors.h"
#include "trainer_client/python/bindings/integers.h"
#include "trainer_client/python/bindings/plan.h"
#include "trainer_client/python/bindings/stats.h"
#include "trainer_client/session/copy_team.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

using std::chrono::milliseconds;

// Ctrl-C is noticed after at most this long.
constexpr milliseconds kSlice{100};

WireForm WireFormOf(const std::string& name) {
  if (name == "auto") return WireForm::kAuto;
  if (name == "uint8") return WireForm::kUint8;
  if (name == "as-made") return WireForm::kAsMade;
  Raise(InvalidArgument("no wire form '" + name + "'"));
}

NoWorkers NoWorkersOf(const std::string& name) {
  if (name == "fail") return NoWorkers::kFail;
  if (name == "wait") return NoWorkers::kWait;
  if (name == "local") return NoWorkers::kLocal;
  Raise(InvalidArgument("no way to be without workers '" + name + "'"));
}

milliseconds Timeout(double seconds) {
  constexpr double kMost = 1e9;  // keeps infinity representable
  if (std::isnan(seconds)) Raise(InvalidArgument("timeout is not a number"));
  return milliseconds(static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, kMost) * 1e3)));
}

// A contiguous buffer for the time of a call.
class BorrowedBuffer {
 public:
  explicit BorrowedBuffer(nb::handle source) {
    if (PyObject_GetBuffer(source.ptr(), &view_, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
  }
  ~BorrowedBuffer() { PyBuffer_Release(&view_); }
  BorrowedBuffer(const BorrowedBuffer&) = delete;
  BorrowedBuffer& operator=(const BorrowedBuffer&) = delete;
  [[nodiscard]] ByteSpan bytes() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

// The Python class Session; close() leaves it empty.
class SessionObject {
 public:
  SessionObject(std::shared_ptr<Client> client, std::unique_ptr<Session> session,
                std::int64_t max_outstanding)
      : client_(std::move(client)),
        session_(std::move(session)),
        max_outstanding_(max_outstanding) {}

  Session& get() {
    if (!session_) Raise(Unavailable("the session is closed"));
    return *session_;
  }
  void Close() {
    copy_team_.reset();
    session_.reset();
    client_.reset();
    ReleaseBuffers();
  }
  [[nodiscard]] std::int64_t max_outstanding() const { return max_outstanding_; }

  // Addresses of memory that the caller keeps. Also on a closed session.
  void Copy(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
    const nb::gil_scoped_release unlocked;
    if (!copy_team_) {
      copy_team_ = std::make_unique<client::CopyTeam>(client::CopyTeam::HelpersFor(UsableCpus()));
    }
    copy_team_->Copy({reinterpret_cast<std::byte*>(to), bytes},
                     {reinterpret_cast<const std::byte*>(from), bytes});
  }

  void Begin(std::uint64_t base_seed, bool continue_lanes, std::int64_t first_batch,
             std::vector<std::uint64_t> lane_draws, std::vector<std::uint64_t> lane_seeds,
             nb::handle lane_states, nb::handle doubts, std::int32_t lane_window) {
    IterationOptions options;
    options.lane_window = lane_window;
    options.base_seed = base_seed;
    options.continue_lanes = continue_lanes;
    options.first_batch = first_batch;
    options.lane_draws = std::move(lane_draws);
    options.lane_seeds = std::move(lane_seeds);
    for (const nb::handle state : lane_states) {
      options.lane_states.push_back(CopyBytes(BorrowedBuffer(state).bytes()));
    }
    if (!doubts.is_none()) {
      const ByteSpan number = BorrowedBuffer(doubts).bytes();
      if (number.size() < sizeof(std::uint64_t)) Raise(InvalidArgument("doubts are 8 bytes"));
      options.doubts = reinterpret_cast<const std::uint64_t*>(number.data());
    }
    Session& session = get();
    Status status;
    {
      nb::gil_scoped_release unlocked;
      status = session.Begin(options);
    }
    Check(status);
  }

  void SetLanes(const std::vector<std::pair<int, std::int64_t>>& lanes) {
    std::vector<LaneProcess> processes;
    for (const auto& [control, pid] : lanes) processes.push_back({.control = control, .pid = pid});
    Session& session = get();
    Status status;
    {
      nb::gil_scoped_release unlocked;
      status = session.SetLanes(processes);
    }
    Check(status);
  }

  std::int64_t Submit(nb::handle keys, std::optional<std::int64_t> rows, std::int32_t lane,
                      nb::handle index) {
    if (!rows) {
      if (index.is_none()) return Check(get().Submit(Integers(keys), lane));
      const BorrowedBuffer pickled(index);
      return Check(get().Submit(Integers(keys), lane, pickled.bytes()));
    }
    std::vector<std::int64_t> values;
    try {
      values = Integers(keys);
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_OverflowError)) throw;
      return -1;
    }
    const auto is_row = [&](std::int64_t key) { return key >= 0 && key < *rows; };
    return std::ranges::all_of(values, is_row) ? Check(get().Submit(values)) : -1;
  }

  nb::object Next(double timeout) {
    Session& session = get();
    const SteadyTime deadline = Clock::Real().Now() + Timeout(timeout);
    // Taking the GIL back can cost milliseconds when other threads compute: not for a ready batch.
    Result<Event> event = session.Next(milliseconds(0));
    while (event.status().code() == Code::kDeadlineExceeded) {
      const Duration left = deadline - Clock::Real().Now();
      if (left <= Duration(0)) return nb::none();
      {
        nb::gil_scoped_release unlocked;
        event = session.Next(std::min(kSlice, std::chrono::ceil<milliseconds>(left)));
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    return EventObject(Check(std::move(event)));
  }

  // Waits in slices like Next, so that Ctrl-C is noticed.
  bool AwaitServed(double timeout) {
    Session& session = get();
    const SteadyTime deadline = Clock::Real().Now() + Timeout(timeout);
    for (;;) {
      Status status;
      {
        nb::gil_scoped_release unlocked;
        status = session.AwaitServed(kSlice);
      }
      if (status.ok()) return true;
      if (status.code() != Code::kDeadlineExceeded) Raise(status);
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (Clock::Real().Now() >= deadline) return false;
    }
  }

  void Resolve(std::int64_t batch, std::int32_t position, nb::handle state, bool failed) {
    const BorrowedBuffer buffer(state);
    Check(get().ResolveSample(batch, position, buffer.bytes(), failed));
  }
  nb::list LaneStates(bool end) {
    Session& session = get();
    Result<std::vector<Bytes>> states = [&] {
      nb::gil_scoped_release unlocked;
      return session.LaneStates(end);
    }();
    nb::list list;
    for (const Bytes& state : Check(std::move(states))) {
      list.append(nb::bytes(state.data(), state.size()));
    }
    return list;
  }
  void Replan(std::int64_t batch, nb::handle state) {
    const BorrowedBuffer buffer(state);
    Check(get().ReplanLane(batch, buffer.bytes()));
  }
  // (batches of the worker that were taken, those of this iteration)
  std::pair<std::uint64_t, std::vector<std::int64_t>> Judge(std::uint64_t suspicion, bool equal) {
    Session& session = get();
    Result<Withdrawal> withdrawal = [&] {
      nb::gil_scoped_release unlocked;
      return session.Judge(suspicion, equal);
    }();
    Withdrawal known = Check(std::move(withdrawal));
    return {known.consumed, std::move(known.batches)};
  }
  std::int64_t Undecided() {
    Session& session = get();
    nb::gil_scoped_release unlocked;
    return session.Undecided();
  }
  std::int64_t MakeAgain(const std::vector<std::int32_t>& lanes) {
    Session& session = get();
    Result<std::int64_t> again = [&] {
      nb::gil_scoped_release unlocked;
      return session.MakeAgain(lanes);
    }();
    return again.status().code() == Code::kUnsupported ? -1 : Check(std::move(again));
  }
  nb::dict Stats() { return StatsOf(get().Stats()); }
  // Does nothing on a closed session: an iterator also leaves next() after the end.
  template <void (Session::*kCall)()>
  void Mark() {
    if (session_) ((*session_).*kCall)();
  }
  void AddComparison(bool equal) {
    if (session_) session_->AddComparison(equal);
  }
  void Expect(std::int64_t samples) {
    if (session_) session_->Expect(samples);
  }
  void AddIdle(std::int64_t ns) {
    if (session_) session_->AddIdle(std::chrono::nanoseconds(std::max<std::int64_t>(ns, 0)));
  }

 private:
  std::shared_ptr<Client> client_;  // outlives the session
  std::unique_ptr<Session> session_;
  std::unique_ptr<client::CopyTeam> copy_team_;  // none before the first copy
  std::int64_t max_outstanding_;
};

// The Python class Client.
class ClientObject {
 public:
  explicit ClientObject(const ClientOptions& options) {
    Result<std::shared_ptr<Client>> client = [&] {
      nb::gil_scoped_release unlocked;
      return Client::Open(options);
    }();
    client_ = Check(std::move(client));
  }
  ~ClientObject() { Close(); }
  ClientObject(const ClientObject&) = delete;
  ClientObject& operator=(const ClientObject&) = delete;

  std::unique_ptr<SessionObject> Open(nb::dict plan, const SessionOptions& options) {
    ReleaseBuffers();
    PlanWithBlobs parsed = ParsePlan(plan);
    Result<std::unique_ptr<Session>> session = [&] {
      nb::gil_scoped_release unlocked;
      return client_->OpenSession(std::move(parsed.plan), std::move(parsed.blobs), options);
    }();
    return std::make_unique<SessionObject>(client_, Check(std::move(session)),
                                           options.max_outstanding);
  }
  void Close() {
    {
      nb::gil_scoped_release unlocked;
      if (client_) client_->Close();
    }
    ReleaseBuffers();
  }
  Client& get() { return *client_; }

 private:
  std::shared_ptr<Client> client_;
};

}  // namespace

void AddSessions(nb::module_& module) {
  nb::class_<SessionObject>(module, "Session", nb::is_final())
      .def("begin", &SessionObject::Begin, nb::kw_only(), nb::arg("base_seed"),
           nb::arg("continue_lanes") = false, nb::arg("first_batch") = 0,
           nb::arg("lane_draws") = std::vector<std::uint64_t>(),
           nb::arg("lane_seeds") = std::vector<std::uint64_t>(),
           nb::arg("lane_states") = nb::make_tuple(), nb::arg("doubts") = nb::none(),
           nb::arg("lane_window") = 1)
      .def("end",
           [](SessionObject& self) {
             Session& session = self.get();
             nb::gil_scoped_release unlocked;
             session.End();
           })
      .def(
          "skip",
          [](SessionObject& self, nb::handle keys) { Check(self.get().Skip(Integers(keys))); },
          nb::arg("keys"))
      .def(
          "submit",
          [](SessionObject& self, nb::handle keys, std::optional<std::int64_t> rows,
             std::int32_t lane, nb::handle index) { return self.Submit(keys, rows, lane, index); },
          nb::arg("keys"), nb::arg("rows") = nb::none(), nb::arg("lane") = -1,
          nb::arg("index") = nb::none())
      .def("set_lanes", &SessionObject::SetLanes, nb::arg("lanes"))
      .def("next", &SessionObject::Next, nb::arg("timeout"))
      .def("learn_names",
           [](SessionObject& self, nb::bytes pickle) {
             const ByteSpan bytes(static_cast<const std::byte*>(pickle.data()), pickle.size());
             Session& session = self.get();
             const nb::gil_scoped_release unlocked;
             session.LearnNames(bytes);
           })
      .def("undecided", &SessionObject::Undecided)
      .def("make_again", &SessionObject::MakeAgain, nb::arg("lanes"))
      .def("judge", &SessionObject::Judge, nb::arg("suspicion"), nb::kw_only(), nb::arg("equal"))
      .def("await_served", &SessionObject::AwaitServed, nb::arg("timeout"))
      .def("resolve_sample", &SessionObject::Resolve, nb::arg("batch"), nb::arg("position"),
           nb::arg("state_after"), nb::arg("failed") = false)
      .def("replan_lane", &SessionObject::Replan, nb::arg("batch"), nb::arg("state_after"))
      .def(
          "report_bad_sample",
          [](SessionObject& self, std::int64_t key, std::string name, std::string cause,
             bool hold_back, bool left_out) {
            Check(self.get().ReportBadSample({.key = key,
                                              .name = std::move(name),
                                              .cause = std::move(cause),
                                              .hold_back = hold_back,
                                              .left_out = left_out}));
          },
          nb::arg("key"), nb::kw_only(), nb::arg("name"), nb::arg("cause"),
          nb::arg("hold_back") = false, nb::arg("left_out") = false)
      .def("lane_draws", [](SessionObject& self) { return Check(self.get().LaneDraws()); })
      .def("lane_states", &SessionObject::LaneStates, nb::kw_only(), nb::arg("end"))
      .def_prop_ro("outstanding", [](SessionObject& self) { return self.get().outstanding(); })
      .def_prop_ro("max_outstanding", &SessionObject::max_outstanding)
      .def("stats", &SessionObject::Stats)
      .def_prop_ro("cache_node", [](SessionObject& self) { return self.get().CacheNode(); })
      .def_prop_ro("tail_node", [](SessionObject& self) { return self.get().TailNode(); })
      .def("enter_next", &SessionObject::Mark<&Session::EnterNext>)
      .def("leave_next", &SessionObject::Mark<&Session::LeaveNext>)
      .def("enter_sampler", &SessionObject::Mark<&Session::EnterSampler>)
      .def("leave_sampler", &SessionObject::Mark<&Session::LeaveSampler>)
      .def("expect", &SessionObject::Expect, nb::arg("samples"))
      .def("add_idle", &SessionObject::AddIdle, nb::arg("ns"))
      .def("add_comparison", &SessionObject::AddComparison, nb::arg("equal"))
      .def("copy", &SessionObject::Copy, nb::arg("to"), nb::arg("from_"), nb::arg("nbytes"))
      .def("interrupt", [](SessionObject& self) { self.get().Interrupt(); })
      .def("before_fork", [](SessionObject& self) { return self.get().BeforeFork(); })
      .def("close", &SessionObject::Close);

  nb::class_<ClientObject>(module, "Client", nb::is_final())
      .def(
          "__init__",
          [](ClientObject* self, std::string coordinator, std::string binary, std::int32_t workers,
             std::int32_t threads, std::optional<std::uint64_t> cache_bytes, std::string job_name,
             bool local_worker, std::string tenant, std::int32_t priority, std::string group,
             std::int32_t rank, double connect_timeout, std::string keys, std::uint64_t link,
             std::string rack, bool warm) {
            ClientOptions options;
            options.coordinator = std::move(coordinator);
            options.keys = std::move(keys);
            options.binary = std::move(binary);
            options.workers = workers;
            options.threads = threads;
            options.cache_bytes = cache_bytes;
            options.job_name = std::move(job_name);
            options.local_worker = local_worker;
            options.tenant = std::move(tenant);
            options.priority = priority;
            options.group = std::move(group);
            options.rank = rank;
            options.connect_timeout = Timeout(connect_timeout);
            options.link_bytes_per_second = link;
            options.rack = std::move(rack);
            options.warm = warm;
            new (self) ClientObject(options);
          },
          nb::kw_only(), nb::arg("coordinator") = "", nb::arg("binary") = "",
          nb::arg("workers") = 1, nb::arg("threads") = 0, nb::arg("cache_bytes") = nb::none(),
          nb::arg("job_name") = "", nb::arg("local_worker") = true, nb::arg("tenant") = "",
          nb::arg("priority") = 0, nb::arg("group") = "", nb::arg("rank") = -1,
          nb::arg("connect_timeout") = 10.0, nb::arg("keys") = "", nb::arg("link") = 0,
          nb::arg("rack") = "", nb::arg("warm") = false)
      .def(
          "open_session",
          [](ClientObject& self, nb::dict plan, std::int64_t max_outstanding, bool in_order,
             std::uint64_t slot_bytes_hint, std::uint64_t max_arena_bytes, bool gives_lanes,
             std::uint64_t compare_every, std::int64_t only_worker, const std::string& wire,
             const std::string& no_workers, bool tell_draws, std::vector<std::string> answer_names,
             std::vector<std::string> closed_modules, double sample_deadline) {
            SessionOptions options;
            options.max_outstanding = max_outstanding;
            options.in_order = in_order;
            options.slot_bytes_hint = slot_bytes_hint;
            options.max_arena_bytes = max_arena_bytes;
            options.gives_lanes = gives_lanes;
            options.compare_every = compare_every;
            options.only_worker = only_worker;
            options.wire = WireFormOf(wire);
            options.no_workers = NoWorkersOf(no_workers);
            options.tell_draws = tell_draws;
            options.answer_names = std::move(answer_names);
            options.closed_modules = std::move(closed_modules);
            options.sample_deadline = Timeout(sample_deadline);
            return self.Open(plan, options);
          },
          nb::arg("plan"), nb::kw_only(), nb::arg("max_outstanding"), nb::arg("in_order") = true,
          nb::arg("slot_bytes_hint") = SessionOptions().slot_bytes_hint,
          nb::arg("max_arena_bytes") = SessionOptions().max_arena_bytes,
          nb::arg("gives_lanes") = false, nb::arg("compare_every") = SessionOptions().compare_every,
          nb::arg("only_worker") = -1, nb::arg("wire") = "auto", nb::arg("no_workers") = "fail",
          nb::arg("tell_draws") = false, nb::arg("answer_names") = std::vector<std::string>(),
          nb::arg("closed_modules") = std::vector<std::string>(), nb::arg("sample_deadline") = 60.0)
      .def("workers",
           [](ClientObject& self) {
             nb::list found;
             const auto workers = [&] {
               const nb::gil_scoped_release unlocked;
               return self.get().Workers();
             }();
             if (!workers.ok()) Raise(workers.status());
             for (const WorkerSeen& worker : *workers) {
               found.append(nb::make_tuple(worker.id, worker.hostname, worker.state));
             }
             return found;
           })
      .def("data",
           [](ClientObject& self) {
             const auto data = [&] {
               const nb::gil_scoped_release unlocked;
               return self.get().Data();
             }();
             if (!data.ok()) Raise(data.status());
             nb::dict seen;
             seen["name"] = data->name;
             seen["phase"] = data->phase;
             seen["rows"] = data->rows;
             seen["entries"] = data->entries;
             seen["bytes"] = data->bytes;
             seen["quota_bytes"] = data->quota_bytes;
             return seen;
           })
      .def("service_cpu_seconds", [](ClientObject& self) { return self.get().ServiceCpuSeconds(); })
      .def_prop_ro("coordinator_endpoint",
                   [](ClientObject& self) { return self.get().coordinator_endpoint(); })
      .def("close", &ClientObject::Close);
}

}  // namespace headrace::python
