/* info.c - what the kernel says of itself. */
#include <egret/base.h>
#include <lua.h>

#include "wire.h"

json_t *wire_kernel_info(void)
{
    json_t *language =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", "lua", "version",
                  LUA_VERSION_MAJOR "." LUA_VERSION_MINOR "." LUA_VERSION_RELEASE, "mimetype", "text/x-lua",
                  "file_extension", ".lua", "pygments_lexer", "lua", "codemirror_mode", "lua");
    json_t *links = json_pack("[{s:s, s:s}]", "text", "Lua 5.4", "url", "https://www.lua.org/manual/5.4/");
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:b}", "status", "ok", "protocol_version", "5.3",
                     "implementation", "egret", "implementation_version", eg_version(), "language_info", language,
                     "banner", "Egret: Lua with tensors", "help_links", links, "debugger", 0);
}
