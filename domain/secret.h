#pragma once
// A text that must never be printed.

#include <string>
#include <utility>

namespace impresario::domain {

/// Holds a secret. Deliberately without conversion, comparison or streaming: whoever needs the text calls reveal()
/// where it is used (a header about to leave, an HMAC key), so that logs, events and answers cannot hold it by
/// accident.
class Secret {
  public:
    Secret() = default;
    explicit Secret(std::string text) : text_(std::move(text)) {}

    const std::string& reveal() const { return text_; }
    bool empty() const { return text_.empty(); }

  private:
    std::string text_;
};

/// What is shown in a secret's place.
inline constexpr const char* kRedacted = "[redacted]";

}
