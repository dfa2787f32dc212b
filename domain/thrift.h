#pragma once
// What is asked of a sub-workflow while money is short.

#include <optional>

namespace impresario::domain {

struct Thrift {
    /// Of the usual size of a batch.
    int batch_percent = 100;
    /// The cheaper variant that its type declares.
    bool cheaper_variant = false;

    bool asked() const { return batch_percent != 100 || cheaper_variant; }
    /// nullopt: the usual size.
    std::optional<int> smaller() const { return batch_percent == 100 ? std::nullopt : std::optional(batch_percent); }
    friend bool operator==(const Thrift&, const Thrift&) = default;
};

}
