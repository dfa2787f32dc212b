#pragma once
// Metrics by prometheus-cpp, served as text by our own server.

#include <memory>
#include <string>

namespace prometheus {
class Registry;
class Counter;
class Gauge;
class Histogram;
template <class T>
class Family;
}

namespace impresario::platform {

/// Owns every family of one process. Thread-safe, as prometheus-cpp is.
class Metrics {
  public:
    Metrics();
    ~Metrics();
    prometheus::Registry& registry() { return *registry_; }
    /// The text exposition format.
    std::string text() const;

  private:
    std::shared_ptr<prometheus::Registry> registry_;
};

}
