#include "subworkflows/revenue_optimizer/request_json.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <map>
#include <set>

#include "platform/json_text.h"
#include "subworkflows/revenue_optimizer/number.h"

namespace impresario::subworkflows::revenue_optimizer {

namespace {

using platform::JsonType;

/// Unwinds to read_request, which turns it into a value.
struct Misshapen {
    std::string pointer;
    std::string what;
};

/// One object, read member by member.
class Members {
  public:
    Members(std::string_view object, std::string at) : at_(std::move(at)) {
        if (platform::json_type(object) != JsonType::object) throw Misshapen{at_, "must be an object"};
        // The last counts where a name repeats, as jsonb decides.
        for (auto& member : platform::json_members(object)) members_[std::move(member.key)] = member.value;
    }

    std::string at(std::string_view name) const { return at_ + "/" + std::string(name); }

    std::optional<std::string_view> find(std::string_view name) {
        read_.emplace(name);
        const auto found = members_.find(name);
        if (found == members_.end() || platform::json_type(found->second) == JsonType::null) return std::nullopt;
        return found->second;
    }
    std::string_view need(std::string_view name) {
        if (const auto found = find(name)) return *found;
        throw Misshapen{at(name), "is missing"};
    }

    std::optional<double> number(std::string_view name) {
        const auto found = find(name);
        if (!found) return std::nullopt;
        const auto read =
            platform::json_type(*found) == JsonType::number ? parse_number(std::string(*found)) : std::nullopt;
        if (!read) throw Misshapen{at(name), "must be a number"};
        return read;
    }
    double needed_number(std::string_view name) {
        need(name);
        return *number(name);
    }
    std::optional<std::string> text(std::string_view name) {
        const auto found = find(name);
        if (!found) return std::nullopt;
        if (platform::json_type(*found) != JsonType::string) throw Misshapen{at(name), "must be a string"};
        return platform::json_string(*found);
    }
    std::string needed_text(std::string_view name) {
        need(name);
        std::string read = *text(name);
        if (read.empty()) throw Misshapen{at(name), "must not be empty"};
        return read;
    }
    /// Calls with each element and its pointer; nothing when the member is absent.
    template <class Take>
    void each(std::string_view name, Take take) {
        const auto found = find(name);
        if (!found) return;
        if (platform::json_type(*found) != JsonType::array) throw Misshapen{at(name), "must be an array"};
        std::size_t index = 0;
        for (const auto element : platform::json_elements(*found))
            take(element, at(name) + "/" + std::to_string(index++));
    }

    std::vector<std::string> unread() const {
        std::vector<std::string> names;
        for (const auto& [name, value] : members_)
            if (!read_.contains(name)) names.emplace_back(platform::utf8_prefix(name, 40));
        return names;
    }

  private:
    std::string at_;
    std::map<std::string, std::string_view, std::less<>> members_;
    std::set<std::string, std::less<>> read_;
};

Observation read_row(std::string_view json, const std::string& at) {
    Members members(json, at);
    Observation row;
    row.price = members.needed_number("price");
    row.visits = members.needed_number("visits");
    row.orders = members.needed_number("orders");
    row.date = members.text("date").value_or("");
    return row;
}

Product read_product(std::string_view json, const std::string& at) {
    Members members(json, at);
    Product product;
    product.key = members.needed_text("key");
    product.csv = members.text("csv");
    if (product.csv && members.find("rows")) throw Misshapen{members.at("csv"), "stands beside rows; give one of them"};
    if (!product.csv) members.need("rows");
    members.each("rows", [&](std::string_view row, const std::string& row_at) {
        product.rows.push_back(read_row(row, row_at));
    });
    product.unit_cost = members.number("unit_cost").value_or(0);
    product.min_price = members.number("min_price");
    product.max_price = members.number("max_price");
    product.unread = members.unread();
    return product;
}

Experiment read_experiment(std::string_view json, const std::string& at) {
    Members members(json, at);
    Experiment experiment;
    experiment.key = members.needed_text("key");
    members.need("variants");
    members.each("variants", [&](std::string_view element, const std::string& variant_at) {
        Members read(element, variant_at);
        Variant variant;
        variant.name = read.needed_text("name");
        variant.visitors = read.needed_number("visitors");
        variant.conversions = read.needed_number("conversions");
        variant.value = read.number("value").value_or(1);
        experiment.variants.push_back(std::move(variant));
    });
    experiment.traffic = members.number("traffic");
    experiment.unread = members.unread();
    return experiment;
}

Settings read_settings(Members& members) {
    Settings settings;
    if (const auto confidence = members.number("confidence")) {
        if (!(*confidence >= 0.5 && *confidence <= 0.999))
            throw Misshapen{members.at("confidence"), "must be from 0.5 to 0.999"};
        settings.confidence = *confidence;
    }
    if (const auto seed = members.find("seed")) {
        const auto end = seed->data() + seed->size();
        const auto read = std::from_chars(seed->data(), end, settings.seed);
        if (read.ec != std::errc{} || read.ptr != end)
            throw Misshapen{members.at("seed"), "must be a whole number from 0 to 18446744073709551615"};
    }
    if (const auto draws = members.number("draws")) {
        if (!(*draws >= 1000 && *draws <= 200000) || *draws != static_cast<int>(*draws))
            throw Misshapen{members.at("draws"), "must be a whole number from 1000 to 200000"};
        settings.draws = static_cast<int>(*draws);
    }
    if (const auto threshold = members.number("loss_threshold")) {
        if (!(*threshold > 0 && *threshold <= 1))
            throw Misshapen{members.at("loss_threshold"), "must be above 0 and at most 1"};
        settings.loss_threshold = *threshold;
    }
    return settings;
}

}

domain::Result<Request, domain::Fault> read_request(std::string_view input_data) {
    if (input_data.empty()) return domain::Fault{"input_data: must be an object"};
    if (auto checked = platform::check_json(input_data); !checked)
        return domain::Fault{checked.error().pointer + ": " + checked.error().what};
    try {
        Request request;
        Members members(input_data, "");
        std::set<std::string> keys;
        const auto claim = [&](const std::string& key, const std::string& at) {
            if (!keys.insert(key).second)
                throw Misshapen{at + "/key", "repeats '" + std::string(platform::utf8_prefix(key, 80)) +
                                                 "'; keys are unique over products and experiments"};
        };
        members.each("products", [&](std::string_view json, const std::string& at) {
            request.products.push_back(read_product(json, at));
            claim(request.products.back().key, at);
        });
        members.each("experiments", [&](std::string_view json, const std::string& at) {
            request.experiments.push_back(read_experiment(json, at));
            claim(request.experiments.back().key, at);
        });
        if (request.products.empty() && request.experiments.empty())
            throw Misshapen{"/products", "is empty, and so is /experiments; one of them must name something"};
        request.settings = read_settings(members);
        request.unread = members.unread();
        return request;
    } catch (const Misshapen& fault) {
        return domain::Fault{(fault.pointer.empty() ? "input_data" : fault.pointer) + ": " + fault.what};
    }
}

}
