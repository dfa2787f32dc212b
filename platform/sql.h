#pragma once
// SQL as the stores see it: statements with names, parameters, rows, one open transaction. libpqxx stays behind it.

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
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
/// one plan for all parameters; a file that says `-- plan: for its parameters` is planned each time it runs. What one
/// that says `-- result: binary` returns is neither formatted nor parsed: for statements that run at every start and
/// end, of columns that RowReader knows in that form.
struct Statement {
    std::string_view name;
    std::string_view text;
    bool planned_each_time = false;
    bool binary_result = false;
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

/// Thrown by a transaction's body: what it has done is undone and it runs again, as after a deadlock.
struct TryAgain : std::runtime_error {
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

/// By the number that PostgreSQL gives it; whole and never changed (pg_type.dat). Of text form it has many more.
enum class SqlType : std::uint32_t {
    boolean = 16,
    bytea = 17,
    name = 19,
    bigint = 20,
    smallint = 21,
    integer = 23,
    text = 25,
    json = 114,
    double_precision = 701,
    unknown = 705,
    bigint_array = 1016,
    varchar = 1043,
    timestamptz = 1184,
    uuid = 2950,
    xid8 = 5069
};

/// An array parameter. Of times, ids, texts, bytes and truths it is in PostgreSQL's binary form, which neither side has
/// to format or parse: the parameter is an array of just that type (uuid[], timestamptz[], text[], bytea[], boolean[]).
/// Of numbers it is in the text form, because they go into arrays of several widths.
class SqlArray {
  public:
    /// Each of them, in order.
    template <class Range>
    static SqlArray of(const Range& values) {
        SqlArray array;
        for (const auto& each : values) array.add(each);
        return array;
    }
    void add(std::string_view text) { binary(SqlType::text, text); }
    void add(const std::string& text) { add(std::string_view(text)); }
    /// Or it would be a truth.
    void add(const char* text) { add(std::string_view(text)); }
    void add(std::int64_t value);
    void add(int value) { add(static_cast<std::int64_t>(value)); }
    void add(bool value) { binary(SqlType::boolean, std::string_view(value ? "\1" : "\0", 1)); }
    void add(domain::TimePoint at);
    void add(domain::MicroUsd amount) { add(amount.value); }
    template <class Tag>
    void add(const domain::Id<Tag>& id) {
        binary(SqlType::uuid, {reinterpret_cast<const char*>(id.value.data()), id.value.size()});
    }
    template <class T>
    void add(const std::optional<T>& value) {
        if (value) {
            add(*value);
        } else {
            null();
        }
    }
    /// Text, or NULL where it is empty.
    void add_or_null(std::string_view text) {
        if (text.empty()) {
            null();
        } else {
            add(text);
        }
    }
    /// Raw bytes, for a bytea[].
    void add_bytes(std::string_view bytes) { binary(SqlType::bytea, bytes); }
    /// In the binary form, for a bigint[] and nothing narrower.
    void add_bigint(std::int64_t value);
    /// As a number is written in SQL, for a numeric[] or double precision[].
    void add_number(std::string_view digits) { plain(digits); }
    /// In the text form, for a jsonb[].
    void add_json(std::string_view json);
    void null();
    std::size_t size() const { return count_; }

  private:
    friend class Params;
    void begin(SqlType type);
    void binary(SqlType type, std::string_view bytes);
    void plain(std::string_view text);
    bool is_binary() const { return type_ && *type_ != SqlType::unknown; }
    std::string bytes() &&;

    /// nullopt: there is no value yet; unknown: in the text form, whatever type the parameter has.
    std::optional<SqlType> type_;
    std::string elements_;
    std::size_t count_ = 0;
    bool has_null_ = false;
};

/// Parameters $1, $2 … in order.
class Params {
  public:
    struct Value {
        /// nullopt: NULL.
        std::optional<std::string> bytes;
        bool binary = false;
    };
    Params& add(std::string_view text) { return put(std::string(text)); }
    Params& add(const char* text) { return add(std::string_view(text)); }
    Params& add(const std::string& text) { return add(std::string_view(text)); }
    Params& add(std::int64_t value) { return put(std::to_string(value)); }
    Params& add(int value) { return add(static_cast<std::int64_t>(value)); }
    Params& add(bool value) { return add(value ? "t" : "f"); }
    Params& add(domain::TimePoint at);
    Params& add(domain::MicroUsd amount) { return add(amount.value); }
    Params& add(SqlArray&& array) {
        const bool binary = array.is_binary();
        return put(std::move(array).bytes(), binary);
    }
    /// One parameter each, in order.
    template <std::size_t N>
    Params& add(std::array<SqlArray, N>&& arrays) {
        for (auto& each : arrays) add(std::move(each));
        return *this;
    }
    template <class Tag>
    Params& add(const domain::Id<Tag>& id) {
        return put(id.text());
    }
    template <class T>
    Params& add(const std::optional<T>& value) {
        return value ? add(*value) : null();
    }
    Params& add_or_null(std::string_view text) { return text.empty() ? null() : add(text); }
    Params& add_bytes(std::string_view bytes);
    Params& null() { return put(std::nullopt); }
    const std::vector<Value>& values() const { return values_; }

  private:
    Params& put(std::optional<std::string> bytes, bool binary = false) {
        values_.push_back({std::move(bytes), binary});
        return *this;
    }
    std::vector<Value> values_;
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
    /// As the server sent it.
    std::string_view text(std::size_t row, std::size_t column) const;
    bool binary(std::size_t column) const;
    SqlType type(std::size_t column) const;

  private:
    std::shared_ptr<const Impl> impl_;
};

/// Reads one row's columns in the order of the SELECT list, in text or binary form. Of the latter it knows whole
/// numbers, float8, boolean, timestamptz, uuid, bytea, text, json and bigint[]; std::logic_error for another type.
class RowReader {
  public:
    RowReader(const Rows& rows, std::size_t row) : rows_(rows), row_(row) {}
    /// It borrows them: they need a name.
    RowReader(Rows&&, std::size_t) = delete;

    std::string text() { return std::string(view()); }
    std::string_view view();
    bool null() const { return rows_.null(row_, column_); }
    std::int64_t integer();
    int small() { return static_cast<int>(integer()); }
    double real();
    bool flag();
    /// Beyond the year 9999 it is kNever, before the year 1 kFirstTime.
    domain::TimePoint time();
    template <class IdType>
    IdType id() {
        if (rows_.binary(column_)) return IdType{uuid()};
        const auto parsed = IdType::parse(view());
        return parsed ? *parsed : IdType{};
    }
    /// The bytes of a bytea column.
    std::string bytes();
    void skip(std::size_t columns = 1) { column_ += columns; }
    /// Whether the row before has the same in the next so many columns.
    bool repeats(std::size_t columns) const;

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
    std::array<std::uint8_t, 16> uuid();
    /// The bytes of a column whose type is one of these; moves on.
    std::string_view take(std::initializer_list<SqlType> types);

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
