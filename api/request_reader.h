#pragma once
// Reads a request's JSON body and parameters member by member and keeps every fault with its place.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/problem.h"
#include "domain/time.h"
#include "platform/http.h"

namespace impresario::api {

/// A JSON object of a request. Check `fault()` before anything is done with what was read.
class BodyReader {
  public:
    /// `at`: pointer of the object within the body. The text must stay alive.
    explicit BodyReader(std::string_view text, std::string at = "");

    /// 400 where it is not JSON, 422 where it cannot be stored or is no object; nullopt when it can be read.
    static std::optional<platform::HttpResponse> refuse_body(std::string_view text);
    /// The same of a body that is to be an array.
    static std::optional<platform::HttpResponse> refuse_array(std::string_view text);

    bool has(std::string_view member);
    std::optional<std::string_view> raw(std::string_view member);
    std::string text(std::string_view member, std::size_t most = 200);
    std::optional<int> whole(std::string_view member, int least, int most);
    std::optional<std::int64_t> large(std::string_view member, std::int64_t least, std::int64_t most);
    std::optional<domain::TimePoint> time(std::string_view member);
    template <class IdType>
    std::optional<IdType> id(std::string_view member) {
        const auto value = text(member, 64);
        if (value.empty()) return std::nullopt;
        const auto parsed = IdType::parse(value);
        if (!parsed) wrong(member, "must be a UUID");
        return parsed;
    }
    /// 0–100 or critical, high, normal, low.
    std::optional<int> priority(std::string_view member);

    void wrong(std::string_view member, std::string what);
    /// At a pointer within a member.
    void wrong_within(std::string_view member, std::string_view pointer, std::string what);
    /// Names members that nobody asked for: most often a misspelling.
    void nothing_else();
    std::vector<FieldFault>& faults() { return faults_; }

  private:
    std::string_view text_;
    std::string at_;
    std::set<std::string, std::less<>> known_;
    std::vector<FieldFault> faults_;
};

/// What somebody says who does something by hand: why, and until when. There may be no body at all.
struct ByHand {
    std::string reason;
    std::optional<domain::TimePoint> until;
    /// Set: what they are answered instead.
    std::optional<platform::HttpResponse> refused;
};
/// `now`: it may say until when, which must be later; nullopt: it may not.
ByHand read_by_hand(std::string_view text, std::size_t most_reason,
                    std::optional<domain::TimePoint> now = std::nullopt);

/// 422 with all faults; the detail names the first.
platform::HttpResponse invalid(const std::vector<FieldFault>& faults);
/// 422 for a name in the path that is empty or longer than so many bytes; nullopt: it can be one.
std::optional<platform::HttpResponse> refuse_name(const std::string& name, std::size_t longest);

/// "critical", "high", "normal", "low": 90, 70, 50, 20.
std::optional<int> priority_class(std::string_view text);

/// Pages: an opaque place in a list ordered by time and id.
struct Cursor {
    domain::TimePoint at;
    std::string id;
};
std::string cursor_text(const Cursor& cursor);
std::optional<Cursor> parse_cursor(std::string_view text);

/// A page's size from ?limit=, 1 to `most`; faults are noted.
int page_limit(const platform::HttpRequest& request, int fallback, int most, std::vector<FieldFault>& faults);
/// The seq of the event that a page begins after, from ?after=; 0: from the first.
int after_seq(const platform::HttpRequest& request, std::vector<FieldFault>& faults);
/// A whole number, of a page before, that this one begins at; nullopt: it is not there.
std::optional<std::int64_t> number_parameter(const platform::HttpRequest& request, std::string_view name,
                                             std::vector<FieldFault>& faults);
std::optional<domain::TimePoint> time_parameter(const platform::HttpRequest& request, std::string_view name,
                                                std::vector<FieldFault>& faults);

}
