-- For luarocks make in this folder: builds with meson and ninja, which have to be there, as have the libraries that
-- setup.sh lists. What lies in a rock's lib is moved among Lua's modules, so the library they need lies beside it.
package = "egret"
version = "scm-1"
source = {url = "git+file://."}
description = {
    summary = "Eager tensors with a gradient tape",
    detailed = "Tensors that compute at once while a tape records them, modules, optimizers and datasets.",
    license = "Apache-2.0",
}
supported_platforms = {"unix"}
dependencies = {"lua ~> 5.4"}
build = {
    type = "command",
    build_command = [[
        meson setup build-rock $([ -f build-rock/build.ninja ] && echo --reconfigure) --prefix="$(PREFIX)" \
            --libdir=native -Dtests=false -Dbench=false -Dexamples=disabled && ninja -C build-rock]],
    install_command = [[meson install -C build-rock --no-rebuild &&
        mv "$(PREFIX)/lib/lua/5.4/egret.so" "$(LIBDIR)/" && rm -r "$(PREFIX)/lib/lua"]],
}
