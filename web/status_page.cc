#include "web/status_page.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/secret.h"
#include "web/json_text.h"
#include "web/origin.h"
#include "web/page_files.h"

namespace headrace::web {
namespace {

constexpr std::chrono::milliseconds kAnswerPatience{2000};
constexpr Duration kPeriod = std::chrono::seconds(1);
// A look is taken so many times as seldom as it takes time: 5% of a core at most.
constexpr int kSeldom = 20;
constexpr const char* kJson = "application/json; charset=utf-8";
// Nothing but files of this server, and no script in the page's text. A browser then refuses what a hostile name
// of a job might smuggle in.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

HttpAnswer Json(std::string text, int status = 200) { return {status, std::move(text), kJson}; }

// {"text": "..."}: for people.
HttpAnswer Say(int status, std::string_view text) {
  std::string json = "{\"text\":";
  AppendText(json, text);
  return Json(json + "}\n", status);
}

HttpAnswer FileAnswer(const PageFile& file, const std::shared_ptr<const std::string>& text,
                      const HttpRequest& request) {
  HttpAnswer answer;
  answer.type = file.type;
  answer.caching = "no-cache";  // a browser asks whether its copy still holds
  answer.headers = {{"ETag", std::string(file.tag)},
                    {"Content-Security-Policy", kPolicy},
                    {"X-Frame-Options", "DENY"},
                    {"Referrer-Policy", "no-referrer"},
                    {"Cross-Origin-Opener-Policy", "same-origin"},
                    {"Cross-Origin-Resource-Policy", "same-origin"}};
  if (HasTag(request.if_none_match, file.tag)) {
    answer.status = 304;
  } else {
    answer.shared = text;
  }
  return answer;
}

int StatusOf(const Status& status) {
  if (status.ok()) return 200;
  return status.code() == Code::kNotFound ? 404 : 409;
}

// nullopt: no such order.
std::optional<wire::ClusterOrder> OrderOf(const HttpRequest& request, bool of_job) {
  const auto target = ReadTarget(request.rest);
  if (!target) return std::nullopt;
  wire::ClusterOrder order;
  if (of_job) {
    order.job = JobId(target->id);
  } else {
    order.workers = {WorkerId(target->id)};
  }
  if (target->value) {
    if (!of_job || target->verb != "priority") return std::nullopt;
    order.action = wire::ClusterAction::kSetPriority;
    order.priority = *target->value;
  } else if (!of_job && target->verb == "drain") {
    order.action = wire::ClusterAction::kDrain;
  } else if (of_job && target->verb == "cancel") {
    order.action = wire::ClusterAction::kCancel;
  } else if (of_job && target->verb == "resume") {
    order.action = wire::ClusterAction::kResume;
  } else {
    return std::nullopt;
  }
  return order;
}

}  // namespace

Result<std::unique_ptr<StatusPage>> StatusPage::Make(net::Reactor& reactor,
                                                     ReactorQuestions& questions, PageSource source,
                                                     std::string listens, bool guarded) {
  if (!source.admin_token_file.empty()) {
    HR_RETURN_IF_ERROR(ReadWord(source.admin_token_file).status());
  }
  return std::unique_ptr<StatusPage>(
      new StatusPage(reactor, questions, std::move(source), std::move(listens), guarded));
}

StatusPage::StatusPage(net::Reactor& reactor, ReactorQuestions& questions, PageSource source,
                       std::string listens, bool guarded)
    : reactor_(reactor),
      questions_(questions),
      source_(std::move(source)),
      listens_(std::move(listens)),
      guarded_(guarded),
      feed_([this] { return NextFrame(); }, [this] { return frames_.Whole(); }) {
  timer_ = reactor_.AddTimer(kPeriod, [this] { Tick(); });
}

StatusPage::~StatusPage() { Close(); }

void StatusPage::Close() {
  if (timer_) reactor_.CancelTimer(*timer_);
  timer_.reset();
  alive_.reset();
  feed_.Close();
}

void StatusPage::Tick() {
  const SteadyTime now = reactor_.clock().Now();
  bool due = feed_.listeners() > 0;
  if (!due) {
    const std::scoped_lock lock(mutex_);
    due = history_.Due(now);
  }
  // A tick that comes a little early is as good as one that comes in time.
  if (due && now + kPeriod / 10 >= next_look_) (void)Look();
}

StatusPage::StatePtr StatusPage::Look() {
  const SteadyTime began = reactor_.clock().Now();
  const Duration used = reactor_.clock().ThreadCpu();
  auto state = std::make_shared<PageState>(source_.state());
  if (!source_.admin_token_file.empty()) {
    state->actions = {"drain", "cancel", "resume", "priority"};
  }
  const Duration took = reactor_.clock().ThreadCpu() - used + Duration(encoding_.load());
  next_look_ = began + std::max<Duration>(kPeriod, kSeldom * took);
  {
    const std::scoped_lock lock(mutex_);
    history_.Observe(state->cluster, began);
    latest_ = state;
    looked_ = began;
  }
  feed_.Publish();
  return state;
}

StatusPage::StatePtr StatusPage::Latest() {
  {
    const std::scoped_lock lock(mutex_);
    if (latest_ && reactor_.clock().Now() < looked_ + kPeriod) return latest_;
  }
  const auto told = questions_.Ask<StatePtr>(
      [this]() -> StatePtr {
        // Whoever asks: not more often than it may be described.
        if (reactor_.clock().Now() >= next_look_) return Look();
        const std::scoped_lock lock(mutex_);
        return latest_;
      },
      kAnswerPatience);
  return told.value_or(nullptr);
}

FeedFrame StatusPage::NextFrame() {
  const Duration used = reactor_.clock().ThreadCpu();
  StatePtr state;
  std::map<JobId, HistoryStep> last;
  {
    const std::scoped_lock lock(mutex_);
    state = latest_;
    for (const wire::JobStatus& job : state->cluster.jobs) {
      if (const HistoryStep* step = history_.Last(job.job)) last[job.job] = *step;
    }
  }
  frames_.Take(*state, [&](JobId job) {
    const auto found = last.find(job);
    return found == last.end() ? nullptr : &found->second;
  });
  FeedFrame frame{frames_.number(), frames_.Change()};
  encoding_ = (reactor_.clock().ThreadCpu() - used).count();
  return frame;
}

HttpRoutes StatusPage::Routes() {
  HttpRoutes routes;
  for (const PageFile& file : PageFiles()) {
    routes[std::string(file.path)] = {
        [&file, text = std::make_shared<const std::string>(file.text)](const HttpRequest& request) {
          return FileAnswer(file, text, request);
        },
        {},
        true};
  }
  const auto told = [this](auto answer) {
    return [this, answer](const HttpRequest& request) {
      return Told(request, [&] { return answer(request); });
    };
  };
  routes["/api/status"] = {told([this](const HttpRequest&) { return All(); })};
  routes["/api/events"] = {told([this](const HttpRequest&) { return Events(); })};
  routes["/api/jobs/"] = {
      told([this](const HttpRequest& request) { return OneJob(request); }),
      told([this](const HttpRequest& request) { return Order(request, true); })};
  routes["/api/workers/"] = {
      told([this](const HttpRequest& request) { return OneWorker(request); }),
      told([this](const HttpRequest& request) { return Order(request, false); })};
  return routes;
}

HttpAnswer StatusPage::Told(const HttpRequest& request,
                            const std::function<HttpAnswer()>& answer) const {
  if (!guarded_ && !NamesThisHost(request.host, listens_)) {
    return Say(403,
               "ask for this host as localhost or by its address; with --http-token-file any "
               "name will do");
  }
  return answer();
}

HttpAnswer StatusPage::Events() {
  HttpAnswer answer{200, "", "text/event-stream"};
  answer.headers = {{"X-Accel-Buffering", "no"}};  // nginx would keep them for itself
  answer.stream = feed_.Listen();
  if (!answer.stream) {
    HttpAnswer full = Say(503, "as many pages as may be are open");
    full.headers = {{"Retry-After", "5"}};
    return full;
  }
  reactor_.Post([this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) Tick();
  });
  return answer;
}

HttpAnswer StatusPage::All() {
  const StatePtr state = Latest();
  if (!state) return Say(503, "no answer within 2 s");
  if (state != told_) {
    told_text_ = std::make_shared<const std::string>(source_.status(*state));
    told_ = state;
  }
  HttpAnswer answer{200, "", kJson};
  answer.shared = told_text_;
  return answer;
}

HttpAnswer StatusPage::OneJob(const HttpRequest& request) {
  const auto target = ReadTarget(request.rest);
  if (!target || !target->verb.empty()) return Say(404, "no such page");
  const StatePtr state = Latest();
  if (!state) return Say(503, "no answer within 2 s");
  const std::string job = source_.job(*state, JobId(target->id));
  if (job.empty()) return Say(404, "no job " + std::to_string(target->id));
  std::string history;
  {
    const std::scoped_lock lock(mutex_);
    history = history_.Json(JobId(target->id));
  }
  return Json("{\"format\":" + std::to_string(FrameMaker::kFormat) +
              ",\"wall_ms\":" + std::to_string(state->cluster.wall_ms) + ",\"job\":" + job +
              ",\"history\":" + history + "}\n");
}

HttpAnswer StatusPage::OneWorker(const HttpRequest& request) {
  const auto target = ReadTarget(request.rest);
  if (!target || !target->verb.empty()) return Say(404, "no such page");
  const StatePtr state = Latest();
  if (!state) return Say(503, "no answer within 2 s");
  const std::string worker = source_.worker(*state, WorkerId(target->id));
  if (worker.empty()) return Say(404, "no worker " + std::to_string(target->id));
  return Json("{\"format\":" + std::to_string(FrameMaker::kFormat) + ",\"wall_ms\":" +
              std::to_string(state->cluster.wall_ms) + ",\"worker\":" + worker + "}\n");
}

HttpAnswer StatusPage::Order(const HttpRequest& request, bool of_job) {
  if (source_.admin_token_file.empty()) {
    return Say(403, "this coordinator is for reading here; see --http-admin-token-file");
  }
  if (!FromOwnPage(request.origin, request.fetch_site, request.host)) {
    return Say(403, "another page asked for it");
  }
  const Result<std::string> word = ReadWord(source_.admin_token_file);
  if (!word.ok() || !SameSecret(*word, request.admin)) {
    return Say(401, "the admin's word is wanted (X-Headrace-Admin)");
  }
  const auto order = OrderOf(request, of_job);
  if (!order) return Say(404, "no such order");
  const auto done = questions_.AskLater<wire::ClusterOrdered>(
      [this, order = *order](const auto& answer) { source_.order(order, answer); },
      kAnswerPatience);
  if (!done) return Say(503, "no answer within 2 s; it may still happen");
  return Say(StatusOf(done->status), done->status.ok() ? done->text : done->status.message());
}

}  // namespace headrace::web
