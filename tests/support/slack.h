#pragma once
// A strict stand-in for Slack's incoming webhooks.

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/hub.h"

namespace impresario::testing {

/// Refuses what Slack refuses: https://api.slack.com/reference/block-kit/blocks and its limit of one message a second.
class Slack {
  public:
    explicit Slack(bool paced = true) : peer_([this](const Asked& asked) { return answer(asked); }), paced_(paced) {}
    std::string config() const {
        return "[[alerts.receivers]]\nname = \"slack\"\ntype = \"slack\"\nurl = \"" +
               peer_.url("/services/T0/B0/secret") + "\"\n";
    }
    std::vector<Json> taken() const {
        const std::lock_guard lock(mutex_);
        return taken_;
    }
    int refused() const {
        const std::lock_guard lock(mutex_);
        return refused_;
    }
    bool await(std::size_t count, double seconds = 20) const {
        return eventually([&] { return taken().size() >= count; }, seconds);
    }
    /// Answered before anything is looked at, as long as there are some.
    void answer_first(std::vector<Behaviour> answers) {
        const std::lock_guard lock(mutex_);
        first_ = std::move(answers);
    }
    Peer& peer() { return peer_; }

  private:
    Behaviour answer(const Asked& asked) {
        const std::lock_guard lock(mutex_);
        if (!first_.empty()) {
            auto answer = first_.front();
            first_.erase(first_.begin());
            return answer;
        }
        const auto now = std::chrono::steady_clock::now();
        if (paced_ && now - last_ < std::chrono::seconds{1}) return {429, "rate_limited", {{"retry-after", "1"}}};
        last_ = now;
        const auto fault = fault_of(asked.json);
        if (!fault.empty()) {
            ++refused_;
            return {400, fault};
        }
        taken_.push_back(asked.json);
        return {200, "ok"};
    }
    static std::string fault_of(const Json& message) {
        if (!message.is_object() || message.value("text", "").empty()) return "no_text";
        const auto mentions = [](const std::string& text) {
            for (const auto* each : {"<!", "<@", "<#", "@channel", "@here", "@everyone"})
                if (text.find(each) != std::string::npos) return true;
            return false;
        };
        if (mentions(message.dump())) return "mention";
        const auto blocks = message.value("blocks", Json::array());
        if (blocks.size() > 50) return "invalid_blocks";
        for (const auto& block : blocks) {
            const auto text = block.value("text", Json::object()).value("text", "x");
            if (text.empty() || text.size() > (block["type"] == "header" ? 150U : 3000U)) return "invalid_blocks";
        }
        return "";
    }

    mutable std::mutex mutex_;
    std::vector<Json> taken_;
    std::vector<Behaviour> first_;
    std::chrono::steady_clock::time_point last_{};
    int refused_ = 0;
    Peer peer_;
    bool paced_;
};

}
