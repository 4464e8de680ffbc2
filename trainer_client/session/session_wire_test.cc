// The forms in which batches come over a network, from a worker that is played by hand.
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "net/test_util.h"
#include "ops/core/test_util.h"
#include "trainer_client/session/session_pump.h"

namespace headrace::client {
namespace {

using net::testing::RunOn;
using ops::testing::Libraries;
using ops::testing::MakeNode;
using std::chrono::seconds;
using ::testing::ElementsAre;

constexpr std::int64_t kSide = 9;

// Images of one channel whose values are all the key; the chain divides them by 255.
class SessionWireTest : public testing::Test {
 protected:
  enum class Form { kAsMade, kUint8, kOtherTail, kShort, kOtherShape };

  SessionWireTest() : reactor_(*net::Reactor::Make("test")) {
    net::SocketEvents events;
    events.on_message = [this](net::Incoming&& incoming) {
      if (const auto* attach = std::get_if<wire::Attach>(&incoming.body)) {
        wire::Attached answer;
        answer.request = attach->request;
        answer.session = attach->session;
        EXPECT_TRUE(worker_->Send(incoming.peer, answer).ok());
      } else if (const auto* request = std::get_if<wire::BatchRequest>(&incoming.body)) {
        asked_.push_back(request->tail_node);
        const Form form = forms_.empty() ? Form::kUint8 : forms_.front();
        if (!forms_.empty()) forms_.erase(forms_.begin());
        Answer(incoming.peer, *request, form);
      }
    };
    worker_ = *reactor_->BindRouter("inproc://worker", std::move(events));
    const std::vector<Node> nodes = {MakeNode("from_array", {{"mode", std::string("L")}}),
                                     MakeNode("to_tensor")};
    SessionPump::Setup setup;
    setup.context.session = SessionId(1);
    setup.context.plan.chain = nodes;
    setup.context.plan.fields = {{FieldSpec::Kind::kChain, 0}};
    setup.context.host = {.hostname = "here", .boot_id = "here"};
    setup.context.arena = *Arena::Make(std::uint64_t{4} << 20);
    setup.planner.keys = 256;
    setup.values = {TensorSpec{DType::kF32, Layout::kChw, {1, kSide, kSide}}};
    setup.finisher = *ops::Finisher::Make(*ops::Chain::Compile(nodes, Libraries(), {}), 1);
    setup.options.wire = WireForm::kUint8;
    core_ = std::make_shared<SessionPump>(reactor_, std::move(setup), shared_);
    EXPECT_TRUE(reactor_->Start().ok());
    RunOn(*reactor_, [&] {
      core_->Start();
      wire::WorkerInfo worker;
      worker.worker = WorkerId(1);
      worker.host = {.hostname = "elsewhere", .boot_id = "elsewhere"};
      worker.endpoints = {"inproc://worker"};
      core_->SetLeases({worker});
      EXPECT_TRUE(core_->Begin({}).ok());
    });
  }
  ~SessionWireTest() override {
    RunOn(*reactor_, [this] { core_->Shutdown(); });
    reactor_->Stop();
  }
  void Answer(const std::string& peer, const wire::BatchRequest& request, Form form) {
    wire::BatchDone done;
    done.session = request.session;
    done.iteration = request.iteration;
    done.batch = request.batch;
    done.attempt = request.attempt;
    const auto keys = static_cast<std::int64_t>(request.keys.size());
    const auto count = static_cast<std::size_t>(keys * kSide * kSide);
    auto bytes = std::make_shared<Bytes>();
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<std::uint8_t>(request.keys[i / (kSide * kSide)]);
      const float finished = static_cast<float>(value) / 255.0F;
      const ByteSpan element = form == Form::kAsMade ? std::as_bytes(std::span(&finished, 1))
                                                     : std::as_bytes(std::span(&value, 1));
      bytes->insert(bytes->end(), element.begin(), element.end());
    }
    done.fields = {{form == Form::kAsMade ? DType::kF32 : DType::kU8, {keys, 1, kSide, kSide}, 0}};
    done.used_bytes = bytes->size();
    done.tail_node = form == Form::kAsMade ? 0 : form == Form::kOtherTail ? 2 : 1;
    if (form == Form::kShort) bytes->pop_back();
    if (form == Form::kOtherShape) done.fields[0].shape = {keys, 3, kSide, kSide / 3};
    EXPECT_TRUE(worker_->Send(peer, done, {{*bytes, bytes}}).ok());
  }
  // Asks for a batch that comes in these forms, each after the one before it was refused.
  Batch Next(std::vector<Form> forms) {
    RunOn(*reactor_, [&] {
      forms_ = std::move(forms);
      core_->Submit({7, 200}, -1, reactor_->clock().Now());
    });
    auto taken = shared_->Next(seconds(20), reactor_->clock());
    EXPECT_TRUE(taken.ok() && taken->batch) << taken.status().ToString();
    EXPECT_TRUE(forms_.empty());
    return taken.ok() && taken->batch ? std::move(taken->batch->batch) : Batch();
  }
  static void ExpectFinished(const Batch& batch) {
    ASSERT_EQ(batch.fields.size(), 1U);
    EXPECT_EQ(batch.fields[0].dtype, DType::kF32);
    EXPECT_THAT(batch.fields[0].shape, ElementsAre(2, 1, kSide, kSide));
    ASSERT_EQ(batch.fields[0].data.size(), 2U * kSide * kSide * sizeof(float));
    const auto* elements = reinterpret_cast<const float*>(batch.fields[0].data.data());
    for (std::int64_t i = 0; i < 2 * kSide * kSide; ++i) {
      EXPECT_EQ(elements[i], (i < kSide * kSide ? 7.0F : 200.0F) / 255.0F);
    }
  }

  std::shared_ptr<net::Reactor> reactor_;
  std::unique_ptr<net::Socket> worker_;
  std::shared_ptr<BatchMailbox> shared_ = std::make_shared<BatchMailbox>(true);
  std::shared_ptr<SessionPump> core_;
  std::vector<Form> forms_;          // of the next answers
  std::vector<std::int32_t> asked_;  // tail_node of each request
};

TEST_F(SessionWireTest, AWorkerMayAnswerInEitherForm) {
  for (const Form form : {Form::kUint8, Form::kAsMade, Form::kUint8, Form::kAsMade}) {
    ExpectFinished(Next({form}));
  }
  RunOn(*reactor_, [this] { EXPECT_THAT(asked_, ElementsAre(1, 1, 1, 1)); });
  const SessionStats stats = shared_->Stats(reactor_->clock());
  EXPECT_EQ(stats.finished_batches, 2U);
  EXPECT_EQ(stats.received_bytes, 2U * (2 * kSide * kSide) * (1 + sizeof(float)));
  EXPECT_EQ(stats.tcp_bytes, 4U * (2 * kSide * kSide) * sizeof(float));
}

TEST_F(SessionWireTest, AWrongPayloadIsRefusedAndTheBatchAskedForAgain) {
  for (const Form wrong : {Form::kOtherTail, Form::kShort, Form::kOtherShape}) {
    ExpectFinished(Next({wrong, Form::kUint8}));
  }
  EXPECT_EQ(shared_->Stats(reactor_->clock()).finished_batches, 3U);
}

}  // namespace
}  // namespace headrace::client
