#include "coordinator/state/update.h"

namespace headrace::coordinator {

namespace {

// Methods: one for each kind of update, so that a new one does not compile without its own.
struct Durability {
  bool operator()(const AddJob&) { return true; }
  bool operator()(const MarkJobLost&) { return true; }
  bool operator()(const ReviveJob&) { return true; }
  bool operator()(const RemoveJob&) { return true; }
  bool operator()(const RememberJob&) { return true; }
  bool operator()(const OrderJob&) { return true; }
  bool operator()(const AddSession&) { return true; }
  bool operator()(const RemoveSession&) { return true; }
  bool operator()(const AddWorker&) { return true; }
  bool operator()(const MarkWorkerLost&) { return true; }
  bool operator()(const ReviveWorker&) { return true; }
  bool operator()(const DrainWorker&) { return true; }
  bool operator()(const RemoveWorker&) { return true; }
  bool operator()(const SetLeases&) { return true; }
  bool operator()(const SetCounters&) { return true; }
  bool operator()(const SeeConsumer&) { return false; }
  bool operator()(const SeeWorker&) { return false; }
  bool operator()(const ReportWorker&) { return false; }
  bool operator()(const EndPeriod&) { return false; }
  bool operator()(const SetGrants&) { return false; }
  bool operator()(const ExplainGrants&) { return false; }
  bool operator()(const SuspectWorker&) { return false; }
  bool operator()(const SettleWorkerCpu&) { return false; }
  bool operator()(const RestartClocks&) { return false; }
  bool operator()(const HoldBack&) { return true; }
  bool operator()(const ForgetHeldBack&) { return true; }
  bool operator()(const AskForRoom&) { return false; }
  bool operator()(const CountSlowDrain&) { return false; }
  bool operator()(const RememberDataset&) { return true; }
  bool operator()(const PinDataset&) { return true; }
  bool operator()(const UnpinDataset&) { return true; }
  bool operator()(const WarmDataset&) { return false; }
  bool operator()(const DropDataset&) { return false; }
  bool operator()(const SetFillRates&) { return false; }
};

}  // namespace

bool IsDurable(const Update& update) { return std::visit(Durability{}, update); }

}  // namespace headrace::coordinator
