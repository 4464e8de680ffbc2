#include "net/descriptor_watch.h"

#include <string>

#include "base/log.h"

namespace headrace::net {

DescriptorWatch::DescriptorWatch(Reactor& reactor)
    : reactor_(reactor), timer_(reactor.AddTimer(kInterval, [this] {
        const std::string news = alarm_.Observe(OpenDescriptors(), DescriptorLimit());
        if (!news.empty()) LogWarning(news);
      })) {}

DescriptorWatch::~DescriptorWatch() { reactor_.CancelTimer(timer_); }

}  // namespace headrace::net
