#include "web/status_page.h"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "web/page_files.h"
#include "web/status_server.h"
#include "web/test_client.h"

namespace headrace::web {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

class StatusPageTest : public testing::Test {
 protected:
  StatusPageTest() : reactor_(std::move(net::Reactor::Make("test")).value()) {
    std::string folder = testing::TempDir() + "page_XXXXXX";
    folder_ = ::mkdtemp(folder.data());
  }
  ~StatusPageTest() override {
    reactor_->Stop();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string WordFile(const std::string& name, const std::string& word) {
    const std::string path = folder_ / name;
    std::ofstream(path) << word;
    ::chmod(path.c_str(), 0600);
    return path;
  }
  void Serve(const std::string& admin_file, const std::string& token_file = "") {
    StatusSource source;
    source.metrics = []() -> std::function<std::string()> { return [] { return std::string(); }; };
    source.not_ready = [] { return std::string(); };
    PageSource page;
    page.state = [this] {
      ++looks_;
      EXPECT_TRUE(reactor_->OnThread());
      PageState state;
      state.cluster.wall_ms = looks_;
      wire::JobStatus job;
      job.job = JobId(17);
      state.cluster.jobs.push_back(job);
      return state;
    };
    page.status = [this](const PageState& state) {
      EXPECT_FALSE(reactor_->OnThread());
      return "{\"looks\":" + std::to_string(state.cluster.wall_ms) + "}\n";
    };
    page.job = [](const PageState&, JobId id) { return std::string(id == JobId(17) ? "{}" : ""); };
    page.worker = [](const PageState&, WorkerId id) {
      return std::string(id == WorkerId(3) ? "{\"worker\":3}" : "");
    };
    page.order = [this](const wire::ClusterOrder& order,
                        const std::function<void(wire::ClusterOrdered)>& answer) {
      EXPECT_TRUE(reactor_->OnThread());
      wire::ClusterOrdered done{.text = "done"};
      const bool known =
          order.job == JobId(17) || order.workers == std::vector<WorkerId>{WorkerId(3)};
      if (known) {
        const std::scoped_lock lock(mutex_);
        orders_.push_back(order);
      } else {
        done = {.status = NotFound("no such one here")};
      }
      // As where a journal has to be written first.
      reactor_->AddOnce(std::chrono::milliseconds(1), [=] { answer(done); });
    };
    page.admin_token_file = admin_file;
    source.page = std::move(page);
    auto started = StatusServer::Start(*reactor_, {"127.0.0.1:0", token_file}, std::move(source));
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    server_ = std::move(started).value();
    url_ = "http://" + server_->address();
    ASSERT_TRUE(reactor_->Start().ok());
  }
  Got Post(const std::string& what, const std::vector<std::string>& headers) {
    return Get(url_ + "/api/" + what, "", "POST", "", headers);
  }
  // What came by now.
  std::vector<wire::ClusterOrder> Orders() {
    const std::scoped_lock lock(mutex_);
    return orders_;
  }

  std::filesystem::path folder_;
  std::unique_ptr<net::Reactor> reactor_;
  std::atomic<int> looks_ = 0;
  std::mutex mutex_;
  std::vector<wire::ClusterOrder> orders_;  // guarded by mutex_
  std::unique_ptr<StatusServer> server_;
  std::string url_;
};

TEST_F(StatusPageTest, ThePageIsHereAndLetsNothingElseIn) {
  Serve("");
  const Got page = Get(url_ + "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("<main"));
  for (const char* header :
       {"Content-Type: text/html; charset=utf-8\r\n", "Cache-Control: no-cache\r\n",
        "X-Content-Type-Options: nosniff\r\n", "X-Frame-Options: DENY\r\n",
        "Content-Security-Policy: default-src 'none'; script-src 'self';", "frame-ancestors 'none'",
        "base-uri 'none'", "form-action 'none'"}) {
    EXPECT_THAT(page.head, HasSubstr(header));
  }
  EXPECT_THAT(page.head, Not(HasSubstr("unsafe")));
  EXPECT_EQ(Get(url_ + "/page/none.js").status, 404);
  EXPECT_EQ(Get(url_ + "/page/index.html").status, 404);
}

TEST_F(StatusPageTest, ABrowserKeepsWhatHasNotChanged) {
  Serve("");
  std::set<std::string_view> tags;
  for (const PageFile& file : PageFiles()) {
    const std::string url = url_ + std::string(file.path);
    const Got first = Get(url);
    EXPECT_EQ(first.body, file.text) << file.path;
    EXPECT_THAT(first.head, HasSubstr("ETag: " + std::string(file.tag) + "\r\n"));
    const Got again = Get(url, "", "GET", nullptr, {"If-None-Match: " + std::string(file.tag)});
    EXPECT_EQ(again.status, 304) << file.path;
    EXPECT_EQ(again.body, "");
    EXPECT_EQ(Get(url, "", "GET", nullptr, {"If-None-Match: \"0\""}).status, 200);
    tags.insert(file.tag);
  }
  EXPECT_EQ(tags.size(), PageFiles().size());
}

// The page's own rule: no script or style in the text, and nothing that comes from elsewhere.
TEST_F(StatusPageTest, NoFileOfThePageNeedsAnotherHost) {
  for (const PageFile& file : PageFiles()) {
    const std::string text(file.text);
    for (const char* not_here :
         {"https://", "//cdn", "@import", "innerHTML", "insertAdjacentHTML", "document.write",
          "eval(", "new Function", " style=\"", "<style"}) {
      EXPECT_THAT(text, Not(HasSubstr(not_here))) << file.path;
    }
    if (!file.path.ends_with(".svg") && file.path != "/page/dom.js") {
      EXPECT_THAT(text, Not(HasSubstr("http://"))) << file.path;
    }
  }
}

TEST_F(StatusPageTest, OneLookASecondServesEverybody) {
  Serve("");
  std::set<std::string> told;
  for (int i = 0; i < 50; ++i) told.insert(Get(url_ + "/api/status").body);
  EXPECT_THAT(*told.begin(), HasSubstr("{\"looks\":"));
  EXPECT_LE(told.size(), 30u);
  EXPECT_LE(looks_, 30) << "fifty questions; less than one look each, if this takes less than 25 s";
  EXPECT_EQ(Get(url_ + "/api/jobs/17").status, 200);
  EXPECT_EQ(Get(url_ + "/api/jobs/18").status, 404);
  EXPECT_EQ(Get(url_ + "/api/jobs/x").status, 404);
  EXPECT_EQ(Get(url_ + "/api/jobs/17/cancel").status, 404);
  EXPECT_EQ(Json::parse(Get(url_ + "/api/workers/3").body)["worker"]["worker"], 3);
  EXPECT_EQ(Get(url_ + "/api/workers/4").status, 404);
}

TEST_F(StatusPageTest, AStrangersNameForThisHostIsToldNothing) {
  Serve("");
  for (const char* path : {"/api/status", "/api/jobs/17", "/api/workers/3", "/api/events"}) {
    EXPECT_EQ(Get(url_ + path, "", "GET", nullptr, {"Host: evil.example"}).status, 403) << path;
  }
  EXPECT_EQ(Get(url_ + "/api/status", "", "GET", nullptr, {"Host: localhost:1"}).status, 200);
}

TEST_F(StatusPageTest, WithATokenThePageIsForAllAndWhatItShowsIsNot) {
  Serve("", WordFile("token", "word"));
  EXPECT_EQ(Get(url_ + "/").status, 200);
  EXPECT_EQ(Get(url_ + "/page/main.js").status, 200);
  for (const char* path : {"/api/status", "/api/jobs/17", "/api/events", "/metrics", "/none"}) {
    EXPECT_EQ(Get(url_ + path).status, 401) << path;
  }
  EXPECT_EQ(Get(url_ + "/api/status", "Bearer word", "GET", nullptr, {"Host: any.example"}).status,
            200);
}

TEST_F(StatusPageTest, WithoutAnAdminsWordThereAreNoOrders) {
  Serve("");
  EXPECT_EQ(Post("workers/3/drain", {"X-Headrace-Admin: "}).status, 403);
  EXPECT_EQ(Post("workers/3/drain", {}).status, 403);
  EXPECT_THAT(Orders(), IsEmpty());
}

TEST_F(StatusPageTest, OnlyTheAdminsOwnPageOrders) {
  Serve(WordFile("admin", "sesame"));
  const std::string word = "X-Headrace-Admin: sesame";
  EXPECT_EQ(Post("workers/3/drain", {}).status, 401);
  EXPECT_EQ(Post("workers/3/drain", {"X-Headrace-Admin: sesam"}).status, 401);
  EXPECT_EQ(Post("workers/3/drain", {word, "Origin: http://evil.example"}).status, 403);
  EXPECT_EQ(Post("workers/3/drain", {word, "Origin: null"}).status, 403);
  EXPECT_EQ(Post("workers/3/drain", {word, "Sec-Fetch-Site: cross-site"}).status, 403);
  EXPECT_EQ(Post("workers/3/drain", {word, "Host: evil.example"}).status, 403);
  EXPECT_EQ(Get(url_ + "/api/workers/3/drain", "", "GET", nullptr, {word}).status, 404);
  EXPECT_THAT(Orders(), IsEmpty());
  EXPECT_EQ(
      Post("workers/3/drain", {word, "Origin: " + url_, "Sec-Fetch-Site: same-origin"}).status,
      200);
  EXPECT_EQ(Orders().size(), 1u);
  WordFile("admin", "other");
  EXPECT_EQ(Post("workers/3/drain", {word}).status, 401) << "a new word counts at once";
}

TEST_F(StatusPageTest, OrdersAreThoseOfTheCommands) {
  Serve(WordFile("admin", "sesame"));
  const std::vector<std::string> word = {"X-Headrace-Admin: sesame"};
  for (const char* none : {"workers/3", "workers/x/drain", "workers/3/cancel", "workers/3/drain/1",
                           "workers/3/priority/1", "jobs/17/drain", "jobs/17/priority",
                           "jobs/17/cancel/1", "jobs/17/priority/x"}) {
    EXPECT_EQ(Post(none, word).status, 404) << none;
  }
  EXPECT_THAT(Orders(), IsEmpty());
  for (const char* each :
       {"workers/3/drain", "jobs/17/cancel", "jobs/17/resume", "jobs/17/priority/-5"}) {
    const Got done = Post(each, word);
    EXPECT_EQ(done.status, 200) << each;
    EXPECT_EQ(Json::parse(done.body)["text"], "done");
  }
  EXPECT_THAT(
      Orders(),
      ElementsAre(
          wire::ClusterOrder{.action = wire::ClusterAction::kDrain, .workers = {WorkerId(3)}},
          wire::ClusterOrder{.action = wire::ClusterAction::kCancel, .job = JobId(17)},
          wire::ClusterOrder{.action = wire::ClusterAction::kResume, .job = JobId(17)},
          wire::ClusterOrder{
              .action = wire::ClusterAction::kSetPriority, .job = JobId(17), .priority = -5}));
  const Got missing = Post("workers/4/drain", word);
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(Json::parse(missing.body)["text"], "no such one here");
}

TEST_F(StatusPageTest, AnAdminsFileThatOthersReadIsRefused) {
  const std::string file = WordFile("admin", "sesame");
  ::chmod(file.c_str(), 0644);
  StatusSource source;
  source.page = PageSource();
  source.page->admin_token_file = file;
  EXPECT_EQ(StatusServer::Start(*reactor_, {"127.0.0.1:0", ""}, source).status().code(),
            Code::kInvalidArgument);
  source.page->admin_token_file = folder_ / "none";
  EXPECT_EQ(StatusServer::Start(*reactor_, {"127.0.0.1:0", ""}, source).status().code(),
            Code::kNotFound);
}

}  // namespace
}  // namespace headrace::web
