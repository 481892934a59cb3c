-- What the language server is told: it is Lua, and every function of the module is in it.
local eg = require "egret"
local check = require "check"
local path = arg[1]

check.test("the annotations are Lua", function()
    assert(loadfile(path))
end)

check.test("every function is among them", function()
    local file = assert(io.open(path))
    local text = file:read "a"
    file:close()
    local missing = {}
    for space, names in pairs {["eg."] = eg, ["eg.nn."] = eg.nn, ["eg.optim."] = eg.optim, ["eg.data."] = eg.data,
                               ["eg.json."] = eg.json} do
        for name, value in pairs(names) do
            local known = text:find("function " .. space .. name .. "(", 1, true)
            if type(value) == "function" and not known then
                missing[#missing + 1] = space .. name
            end
        end
    end
    table.sort(missing)
    check.equal(missing, {})
    assert(text:find("---@field reserved?", 1, true) and not text:find("reserved_count", 1, true))
end)

check.test("every method is", function()
    local file = assert(io.open(path))
    local text = file:read "a"
    file:close()
    local missing, kinds, known = {}, 0, {}
    for key, meta in pairs(debug.getregistry()) do
        local kind = type(key) == "string" and key:match "^egret%.([%w_]+)$"
        if kind and type(meta) == "table" and meta.methods then
            kinds, known[kind] = kinds + 1, meta.methods
            for name in pairs(meta.methods) do
                if not text:find("function " .. kind .. ":" .. name .. "(", 1, true) then
                    missing[#missing + 1] = kind .. ":" .. name
                end
            end
        end
    end
    table.sort(missing)
    check.equal(missing, {})
    assert(kinds > 10, "methods of objects are looked for in the wrong place")
    for kind, name in text:gmatch "\nfunction ([%w_]+):([%w_]+)%(" do
        if known[kind] and not known[kind][name] then
            missing[#missing + 1] = kind .. ":" .. name .. " is told and not there"
        end
    end
    check.equal(missing, {})
end)

check.done()
