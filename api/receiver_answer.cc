#include "api/receiver_answer.h"

#include "api/problem.h"
#include "platform/json_writer.h"

namespace impresario::api {

platform::HttpResponse receiver_answer(const alerts::DeliveryResult& result) {
    platform::JsonWriter json;
    json.open();
    json.field("ok", result.kind == alerts::DeliveryResult::Kind::delivered).field("outcome", name(result.kind));
    json.field_or_null("error", result.error);
    json.close();
    return json_response(200, std::move(json).text());
}

}
