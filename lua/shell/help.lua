-- help.lua - the manual at the prompt; see shell.h. A chunk that gets the table of the module and
-- returns the function from a function or name to a text, or nil.
local eg = ...

local overview = [[
Egret %s: tensors with gradients, here in %s. The module is in the global eg.

  x = eg.randn{3, 4}         a tensor; x:sum{axes = 0}, (x + 1):relu(), x[{1, {2, 3}}]
  eg.nn, eg.optim, eg.data   layers, optimizers, sources of samples
  loss, g = eg.grad(f, w)    what f() returns, and its gradient with respect to w
  eg.show(image)             a picture in the terminal
  eg.plot(losses)            a curve

  help(eg.conv2d)            what the manual says of a function
  help(eg.nn), help(x)       the functions of a table, the methods of a value
  help"conv"                 the functions that have that in their names, or on their page

Pages of the manual:
]]

-- What is in no header, for it is made for Lua alone.
local own = {
    show = [[
eg.show(image | images, {scale =, columns =, range =, path =})

Shows an image [H, W] or [C, H, W] of 1, 3 or 4 channels; a batch [N, C, H, W] or a list of images
as a grid. [K, H, W] with other K is K gray images. Terminals that can draw get pixels, others
coloured half blocks, notebooks a picture. u8 and booleans are shown as they are. Other values from
black to white by range = {low, high}; else by 0..1, -1..1 or, where some are above 127, 0..255, if
all are within; else by their own range. scale: how many times as large; columns: of the grid.
path: a PNG file instead. EGRET_SHOW=kitty, sixel, blocks, none or png:FILE in the environment
overrules what the terminal says.]],
    plot = [[
eg.plot(y, {options}), eg.plot(x, y, {options}), eg.plot({y1, y2, ...}, {options})
options: x, labels, title, xlabel, ylabel, log, smooth, width, height, path

Draws curves. Each is a list of numbers or a 1-D tensor; a tensor [K, N] is K of them. x: one for
all, or a list of one each; else 1, 2, 3, ... Values that are not finite leave gaps. log: true for
the axis of values, or "x", "y", "xy". smooth: from 0 to below 1, a moving average. Where eg.show
has pixels a picture, of width by height pixels, else braille characters. path: a PNG file instead.]],
    display = [[
eg.display(function(kind, data, text) ... end)

Gives what eg.show and eg.plot make to a function instead of the terminal: kind "image/png" with
the bytes of a file, or "text/plain" with a text; text is what to show where there are no pictures.
Returns the function there was before. nil is the terminal again.]],
    tensor = [[
eg.tensor(list, dtype), x:table(), eg.from_bytes(string, shape, dtype), x:bytes()

A tensor from numbers or booleans in lists of lists, and back; from the bytes of its elements, row
by row, and back. Without a dtype whole numbers give i64, others f32, booleans bool.]],
    rand = [[
eg.rand(shape, dtype), eg.randn(shape, dtype)

Numbers drawn uniformly from 0..1, or normally with mean 0 and deviation 1; f32 if nothing is said.
help(eg.uniform) and help(eg.normal) say more.]],
    grad = [[
loss, dx, ... = eg.grad(f, x, ...)

What f() returns first, and its derivative by each x: a parameter (x:requires_grad()), or a tensor
that is watched while f runs. help(eg.tape_gradients) says more.]],
    each = [[
for name, tensor in eg.each(map) do ... end

What is in a map of tensors, as read from a file.]],
    manual = [[
eg.manual(name | function), for name in eg.manual_pages() do ... end

What the headers say of a function: a table with name, usage, c, text and header.]],
}
own.table, own.bytes, own.from_bytes = own.tensor, own.tensor, own.tensor
own.randn, own.manual_pages = own.rand, own.manual

local function pages()
    return eg.manual_pages or function() return function() end end
end

-- How one writes the function of a page: what C calls eg_linear_new is eg.nn.linear.
local function written(p)
    local usage, bare = p.usage or "", (p.name or ""):match("^(.+)_new$")
    for _, space in ipairs{"nn", "optim", "data"} do
        if bare and type(eg[space]) == "table" and eg[space][bare] then
            return (usage:gsub("^[%w_.]+", "eg." .. space .. "." .. bare))
        end
    end
    return usage
end

-- Nothing for a name that is not in the manual.
local function page(what)
    for name, text in pairs(own) do
        if what == name or rawequal(what, rawget(eg, name)) then
            return text
        end
    end
    local p = eg.manual and eg.manual(what)
    if not p and type(what) == "string" and what:find("[.:]") then
        return page(what:match("([%w_]+)$") or "")
    end
    if p then
        local parts = {}
        for _, part in ipairs{written(p), p.text or "", "C: " .. (p.c or "")} do
            if part ~= "" then
                parts[#parts + 1] = part:gsub("%s+$", "")
            end
        end
        return table.concat(parts, "\n\n") .. "\n<egret/" .. (p.header or "") .. ">"
    end
end

-- Names beside each other, in lines of at most 100 characters.
local function columns(names)
    local widest = 0
    table.sort(names)
    for _, name in ipairs(names) do
        widest = math.max(widest, #name)
    end
    local across, lines = math.max(1, 98 // (widest + 2)), {}
    for i = 1, #names, across do
        local line = {}
        for j = i, math.min(i + across - 1, #names) do
            line[#line + 1] = names[j] .. (" "):rep(widest - #names[j])
        end
        lines[#lines + 1] = "  " .. table.concat(line, "  "):gsub("%s+$", "")
    end
    return table.concat(lines, "\n")
end

-- The functions with a word in their names or on a page of that name, as one writes them.
local function search(word)
    local found = {}
    for name in pages()() do
        local p = eg.manual(name) or {}
        if name:find(word, 1, true) or (p.header or ""):find(word, 1, true) then
            found[#found + 1] = written(p):match("^[%w_.]+") or name
        end
    end
    if #found > 0 then
        return "Functions with \"" .. word .. "\":\n" .. columns(found)
    end
end

-- The functions of eg.nn and its like, or the methods of a value.
local function members(what)
    local meta = type(what) == "userdata" and getmetatable(what)
    local from, names = type(what) == "table" and what or nil, {}
    if type(meta) == "table" then
        from = meta.methods or meta.__index
    end
    if type(from) == "table" then
        for name, value in pairs(from) do
            if type(name) == "string" and type(value) == "function" then
                names[#names + 1] = name
            end
        end
    end
    if #names > 0 then
        return (meta and "Methods, x:name(...):\n" or "Functions:\n") .. columns(names)
    end
end

local function start()
    local seen, names = {}, {}
    for name in pages()() do
        local p = eg.manual(name)
        if p and p.header and not seen[p.header] then
            seen[p.header] = true
            names[#names + 1] = p.header
        end
    end
    return overview:format(eg.version and eg.version() or "", _VERSION) .. columns(names)
end

return function(what)
    if what == nil then
        return start()
    end
    if type(what) == "string" then
        return page(what) or search(what)
    end
    return type(what) == "function" and page(what) or members(what)
end
