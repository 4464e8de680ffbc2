// What a worker refuses because it would be too much: by its quotas, and by its memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataworker/worker/worker_test_base.h"

namespace headrace::dataworker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class QuotasTest : public WorkerTest {
 protected:
  wire::Attached AttachAs(TestClient& client, SessionId session, JobId job) {
    wire::Attach other = attach_;
    other.session = session;
    other.job = job;
    return client.Attach(other, blobs_);
  }
  static void ExpectOver(const Status& status, const std::string& number, const char* option,
                         Code code = Code::kUnsupported) {
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_THAT(status.message(), AllOf(HasSubstr(number), HasSubstr(option)));
  }
  WorkerOptions options_;
};

TEST_F(QuotasTest, Sessions) {
  options_.quotas.sessions.most = 2;
  const TestWorker worker(options_);
  TestClient client(worker);
  EXPECT_TRUE(AttachAs(client, SessionId(1), JobId(1)).status.ok());
  EXPECT_TRUE(AttachAs(client, SessionId(2), JobId(2)).status.ok());
  ExpectOver(AttachAs(client, SessionId(3), JobId(3)).status, "limit of 2", "--max-sessions",
             Code::kResourceExhausted);
  EXPECT_TRUE(AttachAs(client, SessionId(2), JobId(2)).status.ok()) << "again";
  client.Send(wire::Detach{SessionId(1)});
  EXPECT_TRUE(AttachAs(client, SessionId(3), JobId(3)).status.ok());
}

TEST_F(QuotasTest, SessionsOfAJob) {
  options_.quotas.sessions_of_a_job.most = 1;
  const TestWorker worker(options_);
  TestClient client(worker);
  EXPECT_TRUE(AttachAs(client, SessionId(1), JobId(1)).status.ok());
  ExpectOver(AttachAs(client, SessionId(2), JobId(1)).status, "limit of 1",
             "--max-sessions-of-a-job", Code::kResourceExhausted);
  EXPECT_TRUE(AttachAs(client, SessionId(3), JobId(2)).status.ok()) << "another job";
}

TEST_F(QuotasTest, Jobs) {
  options_.quotas.jobs.most = 1;
  const TestWorker worker(options_);
  TestClient client(worker);
  EXPECT_TRUE(AttachAs(client, SessionId(1), JobId(1)).status.ok());
  EXPECT_TRUE(AttachAs(client, SessionId(2), JobId(1)).status.ok());
  ExpectOver(AttachAs(client, SessionId(3), JobId(2)).status, "limit of 1", "--max-jobs",
             Code::kResourceExhausted);
}

TEST_F(QuotasTest, KeysOfADataSet) {
  options_.quotas.keys.most = kFiles - 1;
  const TestWorker worker(options_);
  TestClient client(worker);
  ExpectOver(client.Attach(attach_, blobs_).status, std::to_string(kFiles), "--max-keys");
}

TEST_F(QuotasTest, BytesOfTheBlobsOfAJob) {
  const std::size_t table = blobs_.begin()->second.size();
  options_.quotas.blob_bytes.most = table - 1;
  const TestWorker worker(options_);
  TestClient client(worker);
  EXPECT_TRUE(client.Attach(attach_, blobs_).status.ok()) << "its table is not here yet";
  ExpectOver(client.Next<wire::Attached>().status, std::to_string(table), "--max-blob-bytes");
}

TEST_F(QuotasTest, KeysOfABatch) {
  options_.quotas.batch_keys.most = 3;
  const TestWorker worker(options_);
  TestClient client(worker);
  ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
  client.Send(Request({1, 2, 3, 4}));
  ExpectOver(client.Next<wire::BatchDone>().status, "4 samples", "--max-batch-keys");
  client.Send(wire::Describe{.request = 1, .session = attach_.session, .keys = {1, 2, 3, 4}});
  ExpectOver(client.Next<wire::Described>().status, "4 samples", "--max-batch-keys");
  client.Send(Request({1, 2, 3}));
  EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());
}

TEST_F(QuotasTest, BytesOfABatch) {
  options_.quotas.batch_bytes.most = 2 * kPixelBytes;
  const TestWorker worker(options_);
  TestClient client(worker);
  ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
  client.Send(Request({1, 2}));
  ExpectOver(client.Next<wire::BatchDone>().status, "bytes of a batch", "--max-batch-bytes",
             Code::kUnavailable);
  client.Send(Request({1}));
  EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());
}

TEST_F(QuotasTest, RequestsThatWait) {
  options_.quotas.requests.most = 2;
  const TestWorker worker(options_);
  TestClient client(worker);
  attach_.request = 1;
  client.Send(attach_);  // its table does not come: requests wait
  EXPECT_TRUE(client.Next<wire::Attached>().status.ok());
  client.Send(Request({1}));
  client.Send(Request({2}));
  client.Send(Request({3}));
  ExpectOver(client.Next<wire::BatchDone>().status, "3 requests", "--max-requests",
             Code::kUnavailable);
}

// 10 MiB for its work: three quarters are for the threads.
WorkerOptions Small() {
  WorkerOptions options;
  options.memory_bytes = std::uint64_t{40} << 20;
  options.threads = 4;
  return options;
}

TEST_F(QuotasTest, ABatchOverThisWorkersMemoryMayBeAnothers) {
  const TestWorker worker(Small());
  TestClient client(worker);
  ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
  wire::BatchRequest request = Request(std::vector<std::int64_t>(2000, 1));
  request.slot_bytes = 1 << 30;
  client.Send(request);
  const Status status = client.Next<wire::BatchDone>().status;
  EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("--memory"));
}

// Its table finds no memory while another job's is here; then it does.
TEST_F(QuotasTest, ASessionWhoseTableFindsNoMemoryNowIsAttachedLater) {
  const auto with_table = [&](char letter) {
    wire::FileTable table{.root = directory_.path(), .paths = {}, .labels = {}};
    for (std::int64_t i = 0; i < kFiles; ++i) {
      table.paths.push_back(std::to_string(i) + ".png");
      table.labels.push_back(i * 7);
    }
    table.paths[0] = std::string(std::size_t{6} << 20, letter);
    wire::Attach attach = attach_;
    attach.plan.leaves[0].table = AddBlob(wire::EncodeFileTable(table));
    return attach;
  };
  wire::Attach first = with_table('a'), second = with_table('b');
  first.session = SessionId(1);
  first.job = JobId(1);
  const TestWorker worker(Small());
  TestClient client(worker);
  ASSERT_TRUE(client.Attach(first, blobs_).status.ok());
  wire::BatchRequest request = Request({1});
  request.session = first.session;
  client.Send(request);
  ASSERT_TRUE(client.Next<wire::BatchDone>().status.ok());

  EXPECT_TRUE(client.Attach(second, blobs_).status.ok()) << "its table is not here yet";
  EXPECT_TRUE(IsNoSession(client.Next<wire::Attached>().status));
  client.Send(Request({1}));
  EXPECT_TRUE(IsNoSession(client.Next<wire::BatchDone>().status)) << "the trainer attaches again";
  EXPECT_TRUE(IsNoSession(client.Attach(second, blobs_).status)) << "and is no candidate till then";
  client.Send(wire::Detach{first.session});
  // The thread that made the first session's batch lets go of its table a moment after the answer.
  Status status = client.Attach(second, blobs_).status;
  for (int tries = 0; IsNoSession(status) && tries < 10'000; ++tries) {
    status = client.Attach(second, blobs_).status;
  }
  EXPECT_TRUE(status.ok()) << status.ToString();
  client.Send(Request({1}));
  EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());
}

// There is memory for one at a time.
TEST_F(QuotasTest, LargePicturesWaitForEachOther) {
  for (std::int64_t i = 0; i < kFiles; ++i) {
    directory_.Write(std::to_string(i) + ".png", TinyPng::Make(1060, 1000, 1));
  }
  const TestWorker worker(Small());
  TestClient client(worker);
  ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
  const wire::BatchRequest request = Request(AllKeys());
  client.Send(request);
  Bytes payload;
  const auto done = client.Next<wire::BatchDone>(&payload);
  ASSERT_TRUE(done.failures.empty()) << done.failures[0].message;
  ExpectBatch(request, done, payload);
}

// A few bytes declare a picture of 88 megapixels.
class PictureMemoryTest : public QuotasTest {
 protected:
  static constexpr std::int64_t kHuge = 4;
  void SetUp() override {
    QuotasTest::SetUp();
    std::string png = TinyPng::Make(1, 1, 1);
    const auto put = [&](std::size_t at, std::uint32_t value) {
      for (int i = 0; i < 4; ++i) png[at + i] = static_cast<char>(value >> (24 - 8 * i));
    };
    put(16, 8000);
    put(20, 11000);
    std::uint32_t crc = 0xffffffffU;
    for (std::size_t i = 12; i < 29; ++i) {
      crc ^= static_cast<unsigned char>(png[i]);
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
    }
    put(29, ~crc);
    directory_.Write(std::to_string(kHuge) + ".png", png);
  }
};

TEST_F(PictureMemoryTest, APictureOverTheMemoryIsLeftToTheTrainerAndTheOthersAreMade) {
  options_.memory_bytes = std::uint64_t{300} << 20;
  const TestWorker worker(options_);
  TestClient client(worker);
  ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
  const wire::BatchRequest request = Request(AllKeys());
  ::testing::internal::CaptureStderr();
  client.Send(request);
  Bytes payload;
  const auto done = client.Next<wire::BatchDone>(&payload);
  const std::string log = ::testing::internal::GetCapturedStderr();
  ASSERT_EQ(done.failures.size(), 1U);
  const std::int32_t position = done.failures[0].position;
  EXPECT_EQ(request.keys[static_cast<std::size_t>(position)], kHuge);
  EXPECT_THAT(done.failures[0].message, HasSubstr("over the worker's memory"));
  EXPECT_THAT(done.failures[0].message, HasSubstr("--memory"));
  EXPECT_THAT(log, HasSubstr("/4.png"));
  ExpectBatch(request, done, payload, {position});
}

TEST_F(PictureMemoryTest, WithMemoryItIsTried) {
  options_.memory_bytes = std::uint64_t{4} << 30;
  const TestWorker worker(options_);
  TestClient client(worker);
  ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
  client.Send(Request({kHuge}));
  const auto done = client.Next<wire::BatchDone>();
  ASSERT_EQ(done.failures.size(), 1U);
  EXPECT_THAT(done.failures[0].message, ::testing::Not(HasSubstr("memory"))) << "it is damaged";
}

}  // namespace
}  // namespace headrace::dataworker
