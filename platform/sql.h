#pragma once
// SQL as the stores see it: statements with names, parameters, rows, one open transaction. libpqxx stays behind it.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "domain/id.h"
#include "domain/money.h"
#include "domain/time.h"

namespace impresario::platform {

/// A SQL text and its name, one for each .sql file. Prepared once per connection unless the pool says otherwise, with
/// one plan for all parameters; a file that says `-- plan: for its parameters` is planned each time it runs.
struct Statement {
    std::string_view name;
    std::string_view text;
    bool planned_each_time = false;
};

/// The database cannot be reached, or a connection broke before its transaction could have been committed: nothing
/// happened, try again.
struct DatabaseUnavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The connection broke while the commit was under way: it may or may not have happened (protocol R3).
struct DatabaseInDoubt : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The statement was refused: a constraint, bad data, a time-out. `sqlstate` is PostgreSQL's code.
struct StatementRefused : std::runtime_error {
    StatementRefused(const std::string& what, std::string state)
        : std::runtime_error(what), sqlstate(std::move(state)) {}
    std::string sqlstate;
    /// Worth trying again at once: deadlock, serialization.
    bool transient() const { return sqlstate == "40P01" || sqlstate == "40001"; }
    /// Somebody holds a lock, or the server is short of something: nothing happened, later it may work.
    bool later() const { return sqlstate == "55P03" || sqlstate == "57014" || sqlstate.starts_with("53"); }
    /// A unique key exists already: somebody else was first.
    bool duplicate() const { return sqlstate == "23505"; }
    /// The session's prepared statements are out of step with the tables, or not its own: a new session knows better.
    bool stale_plan() const { return sqlstate == "0A000" || sqlstate == "26000" || sqlstate == "42P05"; }
    /// The data cannot be stored: class 22 or 23. One row of a batch is to blame.
    bool data() const { return sqlstate.starts_with("22") || sqlstate.starts_with("23"); }
};

/// An array parameter in PostgreSQL's text form.
class SqlArray {
  public:
    /// Each of them, in order.
    template <class Range>
    static SqlArray of(const Range& values) {
        SqlArray array;
        for (const auto& each : values) array.add(each);
        return array;
    }
    void add(std::string_view text);
    void add(const std::string& text) { add(std::string_view(text)); }
    void add(std::int64_t value);
    void add(int value) { add(static_cast<std::int64_t>(value)); }
    void add(bool value) { plain(value ? "t" : "f"); }
    void add(domain::TimePoint at);
    void add(domain::MicroUsd amount) { add(amount.value); }
    template <class Tag>
    void add(const domain::Id<Tag>& id) {
        plain(id.text());
    }
    template <class T>
    void add(const std::optional<T>& value) {
        if (value) {
            add(*value);
        } else {
            plain("NULL");
        }
    }
    /// Text, or NULL where it is empty.
    void add_or_null(std::string_view text) {
        if (text.empty()) {
            plain("NULL");
        } else {
            add(text);
        }
    }
    /// Raw bytes, for a bytea[].
    void add_bytes(std::string_view bytes);
    void null() { plain("NULL"); }
    std::string text() && {
        text_ += '}';
        return std::move(text_);
    }
    std::size_t size() const { return count_; }

  private:
    void plain(std::string_view text);
    std::string text_ = "{";
    std::size_t count_ = 0;
};

/// Parameters $1, $2 … in order.
class Params {
  public:
    Params& add(std::string_view text) {
        values_.emplace_back(std::string(text));
        return *this;
    }
    Params& add(const char* text) { return add(std::string_view(text)); }
    Params& add(const std::string& text) { return add(std::string_view(text)); }
    Params& add(std::int64_t value) {
        values_.emplace_back(std::to_string(value));
        return *this;
    }
    Params& add(int value) { return add(static_cast<std::int64_t>(value)); }
    Params& add(bool value) { return add(value ? "t" : "f"); }
    Params& add(domain::TimePoint at);
    Params& add(domain::MicroUsd amount) { return add(amount.value); }
    Params& add(SqlArray&& array) {
        values_.emplace_back(std::move(array).text());
        return *this;
    }
    /// One parameter each, in order.
    template <std::size_t N>
    Params& add(std::array<SqlArray, N>&& arrays) {
        for (auto& each : arrays) add(std::move(each));
        return *this;
    }
    template <class Tag>
    Params& add(const domain::Id<Tag>& id) {
        values_.emplace_back(id.text());
        return *this;
    }
    template <class T>
    Params& add(const std::optional<T>& value) {
        return value ? add(*value) : null();
    }
    Params& add_or_null(std::string_view text) { return text.empty() ? null() : add(text); }
    Params& add_bytes(std::string_view bytes);
    Params& null() {
        values_.emplace_back(std::nullopt);
        return *this;
    }
    const std::vector<std::optional<std::string>>& values() const { return values_; }

  private:
    std::vector<std::optional<std::string>> values_;
};

/// What a statement returned. Cheap to copy; views into it live as long as any copy.
class Rows {
  public:
    class Impl;
    explicit Rows(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
    std::size_t size() const;
    bool empty() const { return size() == 0; }
    std::size_t columns() const;
    std::string_view column_name(std::size_t column) const;
    /// Rows changed by an INSERT, UPDATE or DELETE.
    std::size_t affected() const;
    bool null(std::size_t row, std::size_t column) const;
    std::string_view text(std::size_t row, std::size_t column) const;

  private:
    std::shared_ptr<const Impl> impl_;
};

/// Reads one row's columns in the order of the SELECT list.
class RowReader {
  public:
    RowReader(const Rows& rows, std::size_t row) : rows_(rows), row_(row) {}
    /// It borrows them: they need a name.
    RowReader(Rows&&, std::size_t) = delete;

    std::string text() { return std::string(view()); }
    std::string_view view() {
        const auto value = rows_.null(row_, column_) ? std::string_view{} : rows_.text(row_, column_);
        ++column_;
        return value;
    }
    bool null() const { return rows_.null(row_, column_); }
    std::int64_t integer();
    int small() { return static_cast<int>(integer()); }
    double real();
    bool flag() { return view() == "t"; }
    /// Beyond the year 9999 it is kNever, before the year 1 kFirstTime.
    domain::TimePoint time();
    template <class IdType>
    IdType id() {
        const auto parsed = IdType::parse(view());
        return parsed ? *parsed : IdType{};
    }
    /// The bytes of a bytea column.
    std::string bytes();
    void skip() { ++column_; }

    /// Those of an array of whole numbers without nulls.
    std::vector<std::int64_t> integers();

    std::optional<std::int64_t> maybe_integer();
    std::optional<domain::TimePoint> maybe_time();
    template <class IdType>
    std::optional<IdType> maybe_id() {
        if (null()) {
            skip();
            return std::nullopt;
        }
        return id<IdType>();
    }

  private:
    const Rows& rows_;
    std::size_t row_;
    std::size_t column_ = 0;
};

/// One open transaction, on a database thread. Borrowed by stores, never kept.
class Tx {
  public:
    virtual ~Tx() = default;
    virtual Rows exec(const Statement& statement, const Params& params = {}) = 0;
    /// The same, with what it returns for later: it goes out with the next statement that is waited for, or with the
    /// commit, in one round trip. The result may be called once or more, while the transaction is open. What is wrong
    /// with it is thrown there.
    virtual std::function<Rows()> ask(const Statement& statement, const Params& params = {}) {
        return [rows = exec(statement, params)] { return rows; };
    }
    /// The same for what returns nothing.
    void send(const Statement& statement, const Params& params = {}) { ask(statement, params); }
    /// Text that is not prepared: migrations, DDL. May hold several statements when it has no parameters.
    virtual Rows run(std::string_view sql, const Params& params = {}) = 0;
};

}
