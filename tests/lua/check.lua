-- check.lua - the harness of the tests in Lua: test("name", function() ... end), then check.done().
-- After each test what it made must be gone: tensors alive are counted.
local eg = require "egret"
local check = {passed = 0, failed = 0, skipped = 0}

local function live()
    collectgarbage() -- finalizers run in the first, what they held goes in the second
    collectgarbage()
    return eg.memory_stats().live_tensors
end

function check.test(name, f)
    local before = live()
    local well, why = xpcall(f, debug.traceback)
    if well and live() ~= before then
        well, why = false, ("%d tensors left"):format(eg.memory_stats().live_tensors - before)
    end
    if well then
        check.passed = check.passed + 1
    else
        check.failed = check.failed + 1
        print(("FAIL %s\n%s"):format(name, why))
    end
end

function check.skip(name, why)
    check.skipped = check.skipped + 1
    print(("SKIP %s: %s"):format(name, why))
end

--- Numbers, strings, lists: equal, nested lists element by element.
local function same(a, b)
    if type(a) ~= "table" or type(b) ~= "table" then
        return a == b
    end
    for k, v in pairs(a) do
        if not same(v, b[k]) then
            return false
        end
    end
    return #a == #b
end

local function show(a)
    if type(a) ~= "table" then
        return tostring(a)
    end
    local parts = {}
    for i, v in ipairs(a) do
        parts[i] = show(v)
    end
    return "{" .. table.concat(parts, ", ") .. "}"
end

function check.equal(got, wanted)
    if not same(got, wanted) then
        error(("%s, but %s was expected"):format(show(got), show(wanted)), 2)
    end
end

--- A tensor's elements.
function check.values(tensor, wanted)
    if not same(tensor:table(), wanted) then
        error(("%s, but %s was expected"):format(show(tensor:table()), show(wanted)), 2)
    end
end

function check.close(got, wanted, tolerance)
    if not (math.abs(got - wanted) <= (tolerance or 1e-6) * math.max(1, math.abs(wanted))) then
        error(("%s, but %s was expected"):format(got, wanted), 2)
    end
end

--- f must fail with words that contain all of these.
function check.fails(f, ...)
    local well, why = pcall(f)
    if well then
        error("no failure", 2)
    end
    for _, words in ipairs {...} do
        if not tostring(why):find(words, 1, true) then
            error(("'%s' does not contain '%s'"):format(why, words), 2)
        end
    end
end

function check.done()
    print(("%d passed, %d failed, %d skipped"):format(check.passed, check.failed, check.skipped))
    os.exit(check.failed == 0 and 0 or 1, true)
end

return check
