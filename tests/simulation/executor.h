#pragma once
// Where a simulated process runs: the world's one thread, except while the process is stopped.

#include <memory>
#include <utility>
#include <vector>

#include "platform/async.h"

namespace impresario::simulation {

/// What a stopped process (SIGSTOP) would have done meanwhile, in order.
class Desk {
  public:
    explicit Desk(platform::asio::io_context& io) : io_(io) {}

    platform::asio::io_context& io() { return io_; }
    bool stopped() const { return stopped_; }
    void stop() { stopped_ = true; }
    void go_on() {
        stopped_ = false;
        for (auto& each : std::exchange(waiting_, {})) each->run();
    }

    template <class Work>
    void take(Work work) {
        if (stopped_) {
            waiting_.push_back(std::make_unique<Held<Work>>(*this, std::move(work)));
        } else {
            // Stopped before it has begun, it waits as well.
            platform::asio::post(io_, [this, work = std::move(work)]() mutable {
                if (stopped_) return take(std::move(work));
                std::move(work)();
            });
        }
    }

  private:
    struct Waiting {
        virtual ~Waiting() = default;
        virtual void run() = 0;
    };
    template <class Work>
    struct Held final : Waiting {
        Held(Desk& d, Work w) : desk(d), work(std::move(w)) {}
        void run() override { desk.take(std::move(work)); }
        Desk& desk;
        Work work;
    };

    platform::asio::io_context& io_;
    bool stopped_ = false;
    std::vector<std::unique_ptr<Waiting>> waiting_;
};

/// Asio's executor onto a desk.
class DeskExecutor {
  public:
    explicit DeskExecutor(Desk& desk) : desk_(&desk) {}

    platform::asio::execution_context& query(platform::asio::execution::context_t) const noexcept {
        return desk_->io();
    }
    static constexpr platform::asio::execution::blocking_t::never_t query(
        platform::asio::execution::blocking_t) noexcept {
        return {};
    }
    template <class Work>
    void execute(Work work) const {
        desk_->take(std::move(work));
    }
    friend bool operator==(const DeskExecutor& a, const DeskExecutor& b) noexcept { return a.desk_ == b.desk_; }
    friend bool operator!=(const DeskExecutor& a, const DeskExecutor& b) noexcept { return a.desk_ != b.desk_; }

  private:
    Desk* desk_;
};

}
