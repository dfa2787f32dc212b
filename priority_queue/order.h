#pragma once
// A lane's queue in memory, in exact score order. Pure: no clock, no database.

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "domain/id.h"
#include "domain/time.h"
#include "priority_queue/score.h"

namespace impresario::priority_queue {

/// One waiting execution, as much of it as the order needs.
struct Entry {
    domain::ExecutionId id;
    int priority = 50;
    domain::TimePoint created_at;
    /// When it last became due: max_wait counts from here.
    domain::TimePoint ready_at;
    /// Concurrency key; empty if it has none.
    std::string key = {};
    /// The row's last_seq when this was read: an older reading does not overwrite a newer one.
    int seq = 0;
    /// The row says that a gate of its own stops it.
    bool gated = false;
    /// Of its input (resource_manager/estimate.h).
    int size_class = 0;
    std::optional<domain::BatchId> batch = {};
    /// What its input says of its needs (domain/need_amounts.h).
    std::string need_amounts = {};
    /// What its input says of the keys of limits (domain/limit_keys.h).
    std::string limit_keys = {};
};

/// A waiting execution as whoever picks sees it.
struct Candidate {
    domain::ExecutionId id;
    int priority = 0;
    domain::TimePoint created_at;
    domain::TimePoint ready_at;
    /// Null for those without one.
    const std::string* key = nullptr;
    bool starving = false;
    Score score = 0;
    int size_class = 0;
    /// Null for those of none.
    const domain::BatchId* batch = nullptr;
    /// Null for those without; the same for all that say the same.
    const std::string* need_amounts = nullptr;
    const std::string* limit_keys = nullptr;
};

/// The waiting executions of one lane.
///
/// Within a priority level the score never rises with created_at, so a level's order is (created_at, id) for ever, and
/// the best of all is the best of the levels' heads. Those that have waited beyond max_wait come before all others,
/// oldest first (P6, P7).
///
/// Executions with a concurrency key: of each key and level only as many are shown as the key has free slots, because
/// no more of them could start; the rest is parked until a slot is free. So a closed key costs nothing, however many
/// wait behind it. As many of each key, those that have waited longest at whatever level, are asked about max_wait.
///
/// Where limits of providers have keys (keep_by_limits) all that say the same keys are such a group, which is open or
/// closed by whoever knows the limits: of an open one some are shown, of a closed one none. A new group is closed until
/// he has looked.
///
/// What is held (a batch whose money is spent, what is of little priority while money is short) waits apart until it is
/// released: it costs nothing either, and hides nobody.
///
/// A level that shows more than `window` holds its oldest entries only; the rest stays in the table and is read when
/// the window runs low (see wants_refill).
class Order {
  public:
    static constexpr int kLevels = 101;
    /// Most rows that one refill asks for.
    static constexpr std::size_t kPage = 20'000;

    static constexpr std::size_t kWindow = 100'000;

    explicit Order(std::size_t window = kWindow) : window_(window) {}
    /// What is beyond it stays in the table.
    void set_window(std::size_t window);

    /// Puts an entry where it belongs; one that is there already is replaced. `free_slots` of its key.
    void insert(const Entry& entry, int free_slots = 0);
    /// Takes it out; false when it is not here.
    bool erase(const domain::ExecutionId& id);
    /// The same for one that may be in the table only: keeps the count right.
    bool erase(const domain::ExecutionId& id, int priority, domain::TimePoint created_at);
    bool contains(const domain::ExecutionId& id) const { return index_.contains(id); }
    std::optional<int> seq_of(const domain::ExecutionId& id) const;

    /// A key's slots have changed: shows or parks accordingly.
    void set_free_slots(const std::string& key, int free_slots);

    /// Concurrency keys that something waits with.
    std::vector<std::string> keys() const;

    /// Those with the same keys.
    struct Group {
        /// Concurrency key.
        std::string key;
        std::string limit_keys;
        friend auto operator<=>(const Group&, const Group&) = default;
    };
    /// Whose rows are to be written when they say otherwise about a gate of their own.
    enum class Noting { nobody, parked, shown, everybody };
    /// Of an open group.
    static constexpr int kShownOfGroup = 500;
    /// Whether limits have keys here.
    void keep_by_limits(bool by_limits, const std::function<int(const std::string&)>& free_slots);
    bool by_limits() const { return by_limits_; }
    /// How many of it may be shown: kShownOfGroup of an open one, 0 of a closed one.
    void show(const Group& group, int most, Noting noting);
    /// Groups that something has joined or left since the last call.
    std::set<Group> take_changed_groups() { return std::exchange(changed_, {}); }
    bool has(const Group& group) const { return groups_.contains(group); }
    std::optional<Group> group_of(const domain::ExecutionId& id) const;
    /// Which of it would be picked first.
    std::optional<Candidate> first_of(const Group& group, domain::TimePoint now, domain::Duration max_wait) const;

    /// When the first of it will have waited beyond max_wait; nullopt: there is none.
    std::optional<domain::TimePoint> starves_at(const Group& group, domain::Duration max_wait) const;

    using FreeSlots = std::function<int(const std::string&)>;
    /// Everything.
    static constexpr int kAll = kLevels;
    /// What is of less than this priority is not shown, what is still to come neither; 0: nothing is held.
    void hold_below(int priority, const FreeSlots& free_slots);
    /// The same for what is of this batch.
    void hold_below(const domain::BatchId& batch, int priority, const FreeSlots& free_slots);
    /// Whether anything of it waits here.
    bool has(const domain::BatchId& batch) const;
    /// Which of it has waited longest, held or not; starving if that is beyond max_wait.
    std::optional<Candidate> eldest_of(const domain::BatchId& batch, domain::TimePoint now,
                                       domain::Duration max_wait) const;
    bool holds(const domain::ExecutionId& id) const { return held_.contains(id); }

    /// An entry whose row says otherwise than the order does about a gate of its own.
    struct Misnoted {
        domain::ExecutionId id;
        Group group;
        /// It is parked behind its key or held, and the row does not say so; or the other way round.
        bool parked = false;
        bool held = false;
        int priority = 0;
        std::optional<domain::BatchId> batch = {};
    };
    std::vector<Misnoted> misnoted(std::size_t most) const;

    /// Entries that may be picked (parked ones not among them).
    std::size_t shown() const { return shown_; }
    /// Everything that waits, what stayed in the table included.
    std::size_t size() const { return index_.size() + beyond_total_; }
    bool empty() const { return size() == 0; }
    /// The oldest ready_at of what is in memory.
    std::optional<domain::TimePoint> oldest_ready() const;
    /// Those in memory that have been ready since before that time, in no order; at most `most`.
    std::vector<domain::ExecutionId> ready_before(domain::TimePoint time, std::size_t most) const;
    /// How many wait at each level.
    std::map<int, std::size_t> by_priority() const;

    /// A level whose window has run low while the table has more: read rows after (created_at, id) there.
    struct Refill {
        int priority = 0;
        domain::TimePoint after_created_at;
        domain::ExecutionId after_id;
        std::size_t count = 0;
        /// Which asking it is; an answer to an older one is ignored.
        std::uint64_t ticket = 0;
    };
    std::optional<Refill> wants_refill();
    /// What the table had there, oldest first; nullopt when it could not be read. `exhausted`: it had no more than
    /// that. `free_slots` knows those of a key.
    void refill(const Refill& refill, const std::optional<std::vector<Entry>>& rows, bool exhausted,
                const std::function<int(const std::string&)>& free_slots);
    /// The table has `count` entries of a level that memory has not seen yet: they are asked for by wants_refill.
    void expect(int priority, std::size_t count);

  private:
    struct Place {
        domain::TimePoint created_at;
        domain::ExecutionId id;
        friend auto operator<=>(const Place&, const Place&) = default;
    };
    static constexpr Place kBeforeAll{domain::TimePoint::min(), {}};
    struct Waiting {
        domain::TimePoint ready_at;
        domain::ExecutionId id;
        friend auto operator<=>(const Waiting&, const Waiting&) = default;
    };
    struct Known {
        int priority = 0;
        int seq = 0;
        domain::TimePoint created_at;
        domain::TimePoint ready_at;
        /// Points into groups_; null for those of none.
        const Group* group = nullptr;
        /// Points into batches_; null for those of none.
        const domain::BatchId* batch = nullptr;
        /// Points into need_amounts_; null for those without.
        const std::string* need_amounts = nullptr;
        /// Points into limit_keys_; null for those without.
        const std::string* limit_keys = nullptr;
        bool parked = false;
        bool gated = false;
        std::int8_t size_class = 0;
        /// It is in held_ only.
        bool held = false;
        /// Among those of its key that have waited longest.
        bool elder = false;
    };
    static constexpr int kAny = std::numeric_limits<int>::max() / 2;
    struct KeyQueue {
        /// Of the concurrency key, and of what else limits the group.
        int free_slots = 0;
        int limit_slots = kAny;
        Noting noting = Noting::everybody;
        /// Whose rows say otherwise: parked ones, and shown ones.
        std::set<domain::ExecutionId> unnoted;
        std::set<domain::ExecutionId> overnoted;
        std::size_t slots() const { return static_cast<std::size_t>(std::max(0, std::min(free_slots, limit_slots))); }
        /// By level: what is shown, and what is parked behind it.
        std::map<int, std::set<Place>> shown;
        std::map<int, std::set<Place>> parked;
        /// All of them once more: as many as may start by their wait, and the rest.
        std::set<Waiting> elders;
        std::set<Waiting> juniors;
        bool empty() const { return shown.empty() && parked.empty(); }
    };
    struct BatchQueue {
        /// What is of less than this priority is held.
        int below = 0;
        std::set<Waiting> members;
    };
    struct Level {
        std::set<Place> places;
        std::size_t held = 0;
        /// How many of this level are in the table only.
        std::size_t beyond = 0;
        /// While some are in the table only: up to this place everything is held.
        Place last_held = kBeforeAll;
        std::uint64_t ticket = 0;
        bool refilling = false;
        /// The first place that was left to the table while the table was being read: what was read beyond it has a
        /// hole.
        std::optional<Place> skipped;
    };
    void skip(Level& level, const Place& place);

    void show(int priority, const Place& place, const Known& known);
    void hide(int priority, const Place& place, const Known& known);
    void place(const Entry& entry, int free_slots);
    void leave_batch(const Known& known, const domain::ExecutionId& id);
    using Texts = std::map<std::string, std::size_t, std::less<>>;
    static const std::string* join(Texts& texts, const std::string& text);
    static void leave(Texts& texts, const std::string* text);
    Group group_for(const Entry& entry) const;
    static const Waiting* eldest(const KeyQueue& queue);
    Candidate candidate(const domain::ExecutionId& id, bool starving, domain::TimePoint now) const;
    void rebalance(KeyQueue& queue);
    void note_group(const Group& group, KeyQueue& queue);
    bool is_held(const Known& known) const;
    Entry entry_of(const domain::ExecutionId& id, const Known& known) const;
    void move_held(const std::vector<domain::ExecutionId>& ids, const FreeSlots& free_slots);
    void balance(KeyQueue& queue, int priority);
    void balance_elders(KeyQueue& queue);
    void note(const domain::ExecutionId& id, const Known& known);
    void trim(int priority);

    std::size_t window_;
    std::array<Level, kLevels> levels_;
    std::set<Waiting> waiting_;
    std::unordered_map<domain::ExecutionId, Known> index_;
    std::map<Group, KeyQueue> groups_;
    bool by_limits_ = false;
    std::set<Group> changed_;
    /// Groups with somebody to be noted.
    std::set<Group> to_note_;
    std::map<domain::BatchId, BatchQueue> batches_;
    /// Each that is known, once, and how many say so: a queue of many says few.
    Texts need_amounts_;
    Texts limit_keys_;
    std::unordered_map<domain::ExecutionId, Entry> held_;
    int held_below_ = 0;
    std::set<domain::ExecutionId> misnoted_;
    std::size_t shown_ = 0;
    std::size_t beyond_total_ = 0;

    friend class Cursor;
};

/// Walks an Order from its first entry without changing it. Valid while the Order is not changed.
class Cursor {
  public:
    /// Entries that have been ready since before `now − max_wait` come first.
    Cursor(const Order& order, domain::TimePoint now, domain::Duration max_wait);

    using Candidate = priority_queue::Candidate;
    /// The best that has not been passed; nullopt at the end.
    const std::optional<Candidate>& head() const { return head_; }
    void advance();

  private:
    struct LevelCursor {
        int priority;
        std::set<Order::Place>::const_iterator at;
        std::set<Order::Place>::const_iterator end;
    };
    void find();
    void settle(LevelCursor& level) const;

    const Order& order_;
    domain::TimePoint now_;
    domain::TimePoint starving_before_;
    std::set<Order::Waiting>::const_iterator waiting_;
    bool starving_over_ = false;
    std::vector<LevelCursor> levels_;
    std::size_t best_ = 0;
    std::optional<Candidate> head_;
};

}
