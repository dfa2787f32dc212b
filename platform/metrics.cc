#include "platform/metrics.h"

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace impresario::platform {

Metrics::Metrics() : registry_(std::make_shared<prometheus::Registry>()) {}
Metrics::~Metrics() = default;

std::string Metrics::text() const { return prometheus::TextSerializer().Serialize(registry_->Collect()); }

}
