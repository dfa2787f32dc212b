#pragma once
// The connections of an HTTP server, by what they are doing. When every place is taken, whoever asks nothing makes
// room.

#include <chrono>
#include <list>
#include <memory>
#include <utility>

namespace impresario::platform {

class Places;

/// Where one connection is.
class Place {
  public:
    virtual ~Place() = default;
    /// Closes the connection; whoever reads from it ends by that.
    virtual void hang_up() = 0;

  private:
    friend Places;
    std::list<std::shared_ptr<Place>>* list_ = nullptr;
    std::list<std::shared_ptr<Place>>::iterator at_;
    std::chrono::steady_clock::time_point since_;
};

/// Network thread only.
class Places {
  public:
    explicit Places(std::size_t most) : most_(most) {}

    std::size_t taken() const { return unasked_.size() + idle_.size() + busy_.size(); }

    /// Whether there is a place for one more. Who has never asked anything for a second, or has been idle for five (the
    /// patience that clients expect of a keep-alive connection), is closed for it.
    bool make_room() {
        if (taken() < most_) return true;
        const auto now = std::chrono::steady_clock::now();
        return close_first(unasked_, now - std::chrono::seconds{1}) ||
               close_first(idle_, now - std::chrono::seconds{5});
    }

    void add(const std::shared_ptr<Place>& place) {
        place->list_ = &unasked_;
        place->at_ = unasked_.insert(unasked_.end(), place);
        place->since_ = std::chrono::steady_clock::now();
    }
    void asks(Place& place) { move(place, busy_); }
    void rests(Place& place) {
        if (place.list_ == &busy_) move(place, idle_);
    }
    bool has_asked(const Place& place) const { return place.list_ != &unasked_; }
    void remove(Place& place) { place.list_->erase(place.at_); }

    /// Closes those that may be closed without harm.
    void close_resting() {
        for (const auto* list : {&unasked_, &idle_})
            for (const auto& place : *list) place->hang_up();
    }

  private:
    using List = std::list<std::shared_ptr<Place>>;

    static void move(Place& place, List& to) {
        to.splice(to.end(), *place.list_, place.at_);
        place.list_ = &to;
        place.since_ = std::chrono::steady_clock::now();
    }

    bool close_first(List& list, std::chrono::steady_clock::time_point since) {
        if (list.empty() || list.front()->since_ > since) return false;
        auto& place = *list.front();
        move(place, leaving_);
        place.hang_up();
        return true;
    }

    std::size_t most_;
    /// The longest in it first.
    List unasked_;
    List idle_;
    List busy_;
    /// Closed to make room; their coroutines are about to end.
    List leaving_;
};

}
