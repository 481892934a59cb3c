-- For luarocks make in this folder: builds with meson and ninja, which have to be there, as have the libraries that
-- setup.sh lists; the module and the library it needs go into the rock.
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
        { [ -f build-rock/build.ninja ] || meson setup build-rock --prefix="$(PREFIX)" --libdir=lib \
              -Dtests=false -Dbench=false -Dexamples=disabled; } && ninja -C build-rock]],
    install_command = [[meson install -C build-rock --no-rebuild &&
        mkdir -p "$(LIBDIR)" && mv "$(PREFIX)/lib/lua/5.4/egret.so" "$(LIBDIR)/"]],
}
