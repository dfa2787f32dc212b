#include "platform/failpoint.h"

#ifdef IMPRESARIO_FAILPOINTS

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace impresario::platform::failpoint {

namespace {

enum class Action { kill, error, done_then_error, done_then_stop, delay };

struct Point {
    std::string place;
    Action action = Action::error;
    std::chrono::milliseconds delay{0};
    /// The one time that counts; 0: by percentage.
    int occurrence = 0;
    double percent = 100;
    int passed = 0;

    bool fits(std::string_view name) const {
        return name.starts_with(place) && (name.size() == place.size() || name[place.size()] == '.');
    }
};

[[noreturn]] void misread(std::string_view entry) {
    const std::string text(entry);
    std::fprintf(stderr,
                 "IMPRESARIO_FAILPOINTS: '%s' is not place=kill|error|done_then_error|done_then_stop|delay(ms), then "
                 "@n or %%percent\n",
                 text.c_str());
    std::_Exit(2);
}

template <class Number>
Number number(std::string_view text, std::string_view entry) {
    Number value{};
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) misread(entry);
    return value;
}

Point parse(std::string_view entry) {
    Point point;
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) misread(entry);
    point.place = entry.substr(0, equals);
    std::string_view action = entry.substr(equals + 1);
    if (const auto when = action.find_first_of("@%"); when != std::string_view::npos) {
        const auto amount = action.substr(when + 1);
        if (action[when] == '@') {
            point.occurrence = number<int>(amount, entry);
        } else {
            point.percent = number<double>(amount, entry);
        }
        action = action.substr(0, when);
    }
    if (action.starts_with("delay(") && action.ends_with(')')) {
        point.action = Action::delay;
        point.delay = std::chrono::milliseconds{number<int>(action.substr(6, action.size() - 7), entry)};
    } else if (action == "kill") {
        point.action = Action::kill;
    } else if (action == "done_then_error") {
        point.action = Action::done_then_error;
    } else if (action == "done_then_stop") {
        point.action = Action::done_then_stop;
    } else if (action != "error") {
        misread(entry);
    }
    return point;
}

/// What the environment says, read once; threads of the database and of the network pass here.
class Points {
  public:
    Points() {
        if (const char* file = std::getenv("IMPRESARIO_FAILPOINTS_SEEN"))
            seen_file_ = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
        const char* text = std::getenv("IMPRESARIO_FAILPOINTS");
        for (std::string_view rest = text ? text : ""; !rest.empty();) {
            const auto end = rest.find(';');
            const auto entry = rest.substr(0, end);
            rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
            if (entry.starts_with("seed=")) {
                random_.seed(number<unsigned>(entry.substr(5), entry));
            } else if (!entry.empty()) {
                points_.push_back(parse(entry));
            }
        }
    }

    Fault pass(std::string_view kind, std::string_view name) {
        if (points_.empty() && seen_file_ < 0) return {};
        const std::string place = std::string(kind) + std::string(name);
        const std::lock_guard lock(mutex_);
        if (seen_file_ >= 0 && seen_.insert(place).second) {
            const std::string line = place + "\n";
            if (write(seen_file_, line.data(), line.size()) < 0) seen_file_ = -1;
        }
        for (auto& point : points_)
            if (point.fits(place) && comes(point)) return fault(point);
        return {};
    }

  private:
    bool comes(Point& point) {
        ++point.passed;
        if (point.occurrence > 0) return point.passed == point.occurrence;
        return std::uniform_real_distribution<>(0, 100)(random_) < point.percent;
    }

    static Fault fault(const Point& point) {
        if (point.action == Action::kill) ::raise(SIGKILL);
        Fault made;
        made.error = point.action == Action::error;
        made.done_then_stop = point.action == Action::done_then_stop;
        made.done_then_error = point.action == Action::done_then_error;
        made.delay = point.delay;
        return made;
    }

    std::mutex mutex_;
    std::vector<Point> points_;
    std::mt19937_64 random_;
    int seen_file_ = -1;
    std::set<std::string> seen_;
};

}

inline namespace planted {
Fault at(std::string_view kind, std::string_view name) {
    static Points points;
    return points.pass(kind, name);
}
}

}

#endif
