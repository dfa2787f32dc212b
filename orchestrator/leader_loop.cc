#include "orchestrator/leader_loop.h"

#include "platform/log.h"

namespace impresario::orchestrator {

namespace log = platform::log;
using platform::Task;
using std::chrono::steady_clock;

namespace {
constexpr std::chrono::milliseconds kTroublePause{500};
}

LeaderLoop::LeaderLoop(Node& node, Hub& hub, const char* in_trouble)
    : node_(node), hub_(hub), in_trouble_(in_trouble), wakeup_(node.executor()) {}

void LeaderLoop::stop() {
    stopped_ = true;
    wakeup_.signal();
}

Task<void> LeaderLoop::run() {
    while (!stopped_) {
        if (!hub_.leads()) {
            stand_down();
            co_await wakeup_.wait(std::chrono::seconds{1});
            continue;
        }
        std::string trouble;
        steady_clock::duration idle{0};
        try {
            idle = co_await turn();
            troubled_ = false;
        } catch (const std::exception& e) {
            trouble = e.what();
        }
        if (trouble.empty()) {
            if (idle > idle.zero()) co_await wakeup_.wait(idle);
            continue;
        }
        forget();
        if (!std::exchange(troubled_, true)) log::warn(in_trouble_, {{"error", trouble}, {"next", "trying again"}});
        co_await platform::pause_for(kTroublePause);
    }
}

}
