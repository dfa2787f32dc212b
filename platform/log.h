#pragma once
// Logs: a constant message, then key=value. One JSON line per event in production, readable on a terminal. The names of
// fields are those that docs/operations.md lists: one word per idea (tests/agreement/names_test.cc).

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "domain/id.h"
#include "domain/time.h"

namespace impresario::platform::log {

/// A value in a log line. A domain::Secret has no way in.
class Value {
  public:
    Value(std::string_view text) : text_(text), quoted_(true) {}
    Value(const char* text) : text_(text), quoted_(true) {}
    Value(const std::string& text) : text_(text), quoted_(true) {}
    Value(bool value) : text_(value ? "true" : "false") {}
    template <std::integral Integer>
    requires(!std::same_as<Integer, bool>) Value(Integer value) : text_(std::to_string(value)) {}
    Value(double value) : text_(std::to_string(value)) {}
    Value(domain::Duration length) : text_(domain::human(length)), quoted_(true) {}
    Value(domain::TimePoint at) : text_(domain::rfc3339(at)), quoted_(true) {}
    template <class Tag>
    Value(const domain::Id<Tag>& id) : text_(id.text()), quoted_(true) {}

    const std::string& text() const { return text_; }
    bool quoted() const { return quoted_; }

  private:
    std::string text_;
    bool quoted_ = false;
};

using Field = std::pair<std::string_view, Value>;
using Fields = std::initializer_list<Field>;

enum class Level { debug, info, warn, error };
enum class Format { json, text };

/// Called once by main. Lines go to standard error. Thread-safe afterwards.
void start(Level least, Format format, std::string_view component);
/// Who this is among those that write to the same place: `worker_id` of each JSON line from now on. Any thread.
void identify(std::string_view worker_id);

void write(Level level, std::string_view message, Fields fields);

inline void debug(std::string_view message, Fields fields = {}) { write(Level::debug, message, fields); }
inline void info(std::string_view message, Fields fields = {}) { write(Level::info, message, fields); }
inline void warn(std::string_view message, Fields fields = {}) { write(Level::warn, message, fields); }
/// A human should look.
inline void error(std::string_view message, Fields fields = {}) { write(Level::error, message, fields); }

}
