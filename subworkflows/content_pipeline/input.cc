#include "subworkflows/content_pipeline/input.h"

#include <charconv>
#include <map>
#include <optional>

#include "platform/json_text.h"

namespace impresario::subworkflows::content_pipeline {

using platform::JsonType;

namespace {

constexpr std::size_t kLongestKey = 200;
constexpr std::size_t kLongestTitle = 500;

/// Reads members one after the other and keeps the first fault.
class Reader {
  public:
    std::optional<InputFault> fault;

    void wrong(std::string pointer, std::string what) {
        if (!fault) fault = InputFault{std::move(pointer), std::move(what)};
    }

    /// nullopt when absent, null or wrong.
    std::optional<std::string> string(std::string_view object, const std::string& at, std::string_view key,
                                      std::size_t longest) {
        const auto value = platform::json_member(object, key);
        if (!value || platform::json_type(*value) == JsonType::null) return std::nullopt;
        const std::string pointer = at + "/" + std::string(key);
        if (platform::json_type(*value) != JsonType::string) {
            wrong(pointer, "must be a string");
            return std::nullopt;
        }
        auto text = platform::json_string(*value);
        if (text.size() > longest) wrong(pointer, "must not be longer than " + std::to_string(longest) + " bytes");
        return text;
    }

    int whole(std::string_view object, std::string_view key, int fallback, int most) {
        const auto value = platform::json_member(object, key);
        if (!value || platform::json_type(*value) == JsonType::null) return fallback;
        int number = 0;
        const auto read = std::from_chars(value->data(), value->data() + value->size(), number);
        const bool good =
            read.ec == std::errc{} && read.ptr == value->data() + value->size() && number >= 1 && number <= most;
        if (!good) wrong("/" + std::string(key), "must be a whole number from 1 to " + std::to_string(most));
        return good ? number : fallback;
    }

    Document document(std::string_view json, const std::string& at, std::size_t index) {
        Document made;
        if (platform::json_type(json) != JsonType::object) {
            wrong(at, "must be an object with content or url");
            return made;
        }
        const auto key = string(json, at, "key", kLongestKey);
        if (key && key->empty()) wrong(at + "/key", "must not be empty");
        made.key = key.value_or(std::to_string(index));
        made.title = string(json, at, "title", kLongestTitle).value_or("");
        made.format = string(json, at, "format", kLongestKey).value_or("");
        auto content = string(json, at, "content", std::string::npos);
        auto url = string(json, at, "url", std::string::npos);
        if (content && url) wrong(at, "must have content or url, not both");
        if (!content && !url) wrong(at, "must have content or url");
        made.by_url = url.has_value();
        made.content = std::move(content).value_or("");
        made.url = std::move(url).value_or("");
        return made;
    }
};

}

domain::Result<Batch, InputFault> parse_batch(std::string_view json) {
    if (json.empty() || platform::json_type(json) != JsonType::object)
        return InputFault{"", "must be an object with documents"};
    Reader reader;
    Batch batch;
    const auto documents = platform::json_member(json, "documents");
    if (!documents) return InputFault{"/documents", "is missing"};
    if (platform::json_type(*documents) != JsonType::array) return InputFault{"/documents", "must be an array"};
    const auto elements = platform::json_elements(*documents);
    if (elements.empty()) return InputFault{"/documents", "must hold at least one document"};
    if (elements.size() > kMostDocuments)
        return InputFault{"/documents", "must not hold more than " + std::to_string(kMostDocuments) + " documents"};
    std::map<std::string, std::size_t> keys;
    for (std::size_t i = 0; i < elements.size() && !reader.fault; ++i) {
        const std::string at = "/documents/" + std::to_string(i);
        auto document = reader.document(elements[i], at, i);
        if (const auto [known, fresh] = keys.emplace(document.key, i); !fresh)
            reader.wrong(at + "/key", "'" + document.key + "' is the key of /documents/" +
                                          std::to_string(known->second) + " already");
        batch.documents.push_back(std::move(document));
    }
    batch.summary_sentences = reader.whole(json, "summary_sentences", batch.summary_sentences, 20);
    batch.max_keywords = reader.whole(json, "max_keywords", batch.max_keywords, 50);
    if (reader.fault) return *reader.fault;
    return batch;
}

}
