// The smallest service there is: hands its input back. A place to start from, and what tests and benchmarks run.
#include "subworkflows/kit/service.h"

int main(int argc, char** argv) {
    using namespace impresario;
    namespace kit = subworkflows::kit;
    return kit::serve(kit::settings_from(argc, argv, "echo"), [](kit::Run& run) {
        domain::Callback callback;
        callback.result_data = run.trigger().input_data;
        callback.items_processed = 1;
        return callback;
    });
}
