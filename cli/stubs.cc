#include "cli/command.h"
namespace impresario::cli {
void add_dev(Commands) {}
void add_client_commands(Commands) {}
}
