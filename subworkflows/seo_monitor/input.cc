#include "subworkflows/seo_monitor/input.h"

#include <charconv>
#include <map>
#include <optional>

#include "platform/json_text.h"

namespace impresario::subworkflows::seo_monitor {

namespace {

using platform::JsonType;

constexpr std::size_t kMostPages = 1000;

/// Reads members one after the other and keeps the first fault.
class Reader {
  public:
    std::optional<InputFault> fault;

    void wrong(std::string pointer, std::string what) {
        if (!fault) fault = InputFault{std::move(pointer), std::move(what)};
    }

    std::int64_t whole(const std::optional<std::string_view>& value, const std::string& pointer, std::int64_t otherwise,
                       std::int64_t least, std::int64_t most) {
        if (!value || platform::json_type(*value) == JsonType::null) return otherwise;
        std::int64_t number = 0;
        const auto read = std::from_chars(value->data(), value->data() + value->size(), number);
        const bool good = platform::json_type(*value) == JsonType::number && read.ec == std::errc{} &&
                          read.ptr == value->data() + value->size() && number >= least && number <= most;
        if (good) return number;
        wrong(pointer, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
        return otherwise;
    }

    std::string text(std::optional<std::string_view> value, const std::string& pointer) {
        if (value && platform::json_type(*value) == JsonType::string) {
            auto read = platform::json_string(*value);
            if (!read.empty()) return read;
        }
        wrong(pointer, "must be a string that is not empty");
        return {};
    }

    PageRequest page(std::string_view entry, const std::string& pointer) {
        PageRequest page;
        switch (platform::json_type(entry)) {
            case JsonType::string:
                page.url = text(entry, pointer);
                page.key = page.url;
                break;
            case JsonType::object: {
                page.url = text(platform::json_member(entry, "url"), pointer + "/url");
                const auto key = platform::json_member(entry, "key");
                page.key = key ? text(key, pointer + "/key") : page.url;
                break;
            }
            default:
                wrong(pointer, "must be a URL or an object with key and url");
        }
        return page;
    }
};

}

domain::Result<Input, InputFault> parse_input(std::string_view json) {
    if (json.empty() || platform::json_type(json) != JsonType::object)
        return InputFault{"", "must be an object with pages"};
    Reader reader;
    Input input;
    const auto pages = platform::json_member(json, "pages");
    if (!pages || platform::json_type(*pages) != JsonType::array)
        return InputFault{"/pages", "must be an array of URLs"};
    const auto entries = platform::json_elements(*pages);
    if (entries.empty()) reader.wrong("/pages", "must hold at least one page");
    if (entries.size() > kMostPages)
        return InputFault{"/pages", "must hold at most " + std::to_string(kMostPages) + " pages"};
    std::map<std::string, std::string> seen;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto pointer = "/pages/" + std::to_string(i);
        auto page = reader.page(entries[i], pointer);
        // Results and retries are about keys: two pages of one key could not be told apart.
        if (const auto [first, fresh] = seen.emplace(page.key, pointer); !fresh && !page.key.empty())
            reader.wrong(pointer, "has the key of " + first->second);
        input.pages.push_back(std::move(page));
    }
    auto& settings = input.settings;
    if (const auto links = platform::json_member(json, "check_links");
        links && platform::json_type(*links) != JsonType::null) {
        if (platform::json_type(*links) != JsonType::boolean) reader.wrong("/check_links", "must be true or false");
        settings.check_links = *links == "true";
    }
    settings.follow_redirects = static_cast<int>(reader.whole(platform::json_member(json, "follow_redirects"),
                                                              "/follow_redirects", settings.follow_redirects, 0, 20));
    settings.max_bytes =
        static_cast<std::size_t>(reader.whole(platform::json_member(json, "max_bytes"), "/max_bytes",
                                              static_cast<std::int64_t>(settings.max_bytes), 1024, 16'000'000));
    if (const auto agent = platform::json_member(json, "robots_agent");
        agent && platform::json_type(*agent) != JsonType::null)
        settings.robots_agent = reader.text(agent, "/robots_agent");
    if (reader.fault) return *reader.fault;
    return input;
}

}
