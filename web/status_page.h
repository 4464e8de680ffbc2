#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "net/reactor.h"
#include "web/event_feed.h"
#include "web/frames.h"
#include "web/history.h"
#include "web/http_server.h"
#include "web/page_state.h"
#include "web/reactor_questions.h"

namespace headrace::web {

// What the page of a coordinator is made from.
struct PageSource {
  // On the reactor's thread.
  std::function<PageState()> state;
  // JSON with the words of `headrace jobs|workers|datasets --json`, made on the server's thread: all of it; one
  // job; one worker. Empty: there is no such job or worker.
  std::function<std::string(const PageState&)> status;
  std::function<std::string(const PageState&, JobId)> job;
  std::function<std::string(const PageState&, WorkerId)> worker;
  // Does what a person orders, as the commands do, and calls back. On the reactor's thread.
  std::function<void(const wire::ClusterOrder&, std::function<void(wire::ClusterOrdered)>)> order =
      {};
  // A file with the word that orders must bring (X-Headrace-Admin). Empty: none are taken.
  std::string admin_token_file = {};
};

// A coordinator's page for people, and what it is made of.
//
//   /                          the page, with its files under /page/; they are for everybody
//   /api/status                all of it, for programs
//   /api/jobs/N                one job, with its last hour; /api/workers/N: one worker
//   /api/events                what changes, as server-sent events (FrameMaker)
//   POST /api/workers/N/drain, /api/jobs/N/cancel, /api/jobs/N/resume, /api/jobs/N/priority/P
//
// Whoever asks for what: the reactor describes itself once a second at most, and keeps a twentieth of a core
// for it. Without a token, /api is answered only where the browser asked for this host by its own name.
//
// Made and destroyed on the reactor's thread or while that does not run.
class StatusPage {
 public:
  // What is asked of the reactor is asked by `questions`. `listens`: HttpOptions::address. `guarded`: requests
  // bring a token. kNotFound, kInvalidArgument: no admin token file.
  static Result<std::unique_ptr<StatusPage>> Make(net::Reactor& reactor,
                                                  ReactorQuestions& questions, PageSource source,
                                                  std::string listens, bool guarded);
  ~StatusPage();

  // They call this object. To be served until Close.
  [[nodiscard]] HttpRoutes Routes();
  // No stream is left that waits, and nothing is asked any more. Before the server ends. Idempotent.
  void Close();

 private:
  using StatePtr = std::shared_ptr<const PageState>;
  StatusPage(net::Reactor& reactor, ReactorQuestions& questions, PageSource source,
             std::string listens, bool guarded);
  // On the reactor's thread.
  void Tick();
  StatePtr Look();
  // On the server's thread.
  [[nodiscard]] StatePtr Latest();
  FeedFrame NextFrame();
  HttpAnswer Told(const HttpRequest& request, const std::function<HttpAnswer()>& answer) const;
  HttpAnswer Events();
  HttpAnswer All();
  HttpAnswer OneJob(const HttpRequest& request);
  HttpAnswer OneWorker(const HttpRequest& request);
  HttpAnswer Order(const HttpRequest& request, bool of_job);

  net::Reactor& reactor_;
  ReactorQuestions& questions_;
  const PageSource source_;
  const std::string listens_;
  const bool guarded_;
  std::optional<net::TimerId> timer_;
  SteadyTime next_look_{};                   // of the reactor's thread
  std::atomic<Duration::rep> encoding_ = 0;  // CPU time of the last frame, ns
  std::mutex mutex_;
  History history_;      // guarded
  StatePtr latest_;      // guarded
  SteadyTime looked_{};  // guarded: when it was described
  // Of the server's thread.
  FrameMaker frames_;
  StatePtr told_;  // what told_text_ is of
  std::shared_ptr<const std::string> told_text_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // posts check that this still exists
  EventFeed feed_;                                         // ends first: it calls this object
};

}  // namespace headrace::web
