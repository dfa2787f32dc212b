// Prices and traffic: what to ask for each product, and which variant to show next.
#include "subworkflows/kit/service.h"
#include "subworkflows/revenue_optimizer/optimize.h"

int main(int argc, char** argv) {
    using namespace impresario::subworkflows;
    return kit::serve(kit::settings_from(argc, argv, "revenue_optimizer"), revenue_optimizer::optimize);
}
