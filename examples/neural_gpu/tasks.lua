-- tasks.lua - what an algorithm is learned from: tapes, and what a program that knows how makes of them. Digit d is the
-- symbol d + 1, 0 is blank; numbers have their lowest digit first.
--
--     local length = tasks.length(tasks.rev, 5)
--     local from, to = tasks.batch(tasks.rev, 32, 5)       -- i64 [32, length], twice
local eg = require "egret"

local tasks = {symbols = 16}

local function draw(base, n)
    local digits = {}
    for i = 1, n do
        digits[i] = math.random(1, base)
    end
    return digits
end

local function task(base, per_digit, besides, make)
    return {base = base, per_digit = per_digit, besides = besides, make = make}
end

local function reversed(digits)
    local out = {}
    for i = 1, #digits do
        out[i] = digits[#digits + 1 - i]
    end
    return out
end

local function sum(base)
    return function(n)
        local a, b, out, carry = draw(base, n), draw(base, n), {}, 0
        for i = 1, n do
            local both = a[i] + b[i] - 2 + carry
            out[i], carry = both % base + 1, both // base
        end
        out[n + 1] = carry + 1
        table.insert(a, base + 1)
        return table.move(b, 1, n, n + 2, a), out
    end
end

tasks.id = task(10, 1, 0, function(n) local x = draw(10, n) return x, x end)
tasks.rev = task(10, 1, 0, function(n) local x = draw(10, n) return x, reversed(x) end)
tasks.sort = task(10, 1, 0, function(n)
    local x = draw(10, n)
    local y = table.move(x, 1, n, 1, {})
    table.sort(y)
    return x, y
end)
tasks.dup = task(10, 2, 0, function(n)
    local x = draw(10, n)
    return x, table.move(x, 1, n, n + 1, table.move(x, 1, n, 1, {}))
end)
tasks.incr = task(10, 1, 0, function(n)
    local x, y, carry = draw(10, n), {}, 1
    for i = 1, n do
        y[i] = (x[i] - 1 + carry) % 10 + 1
        carry = x[i] == 10 and carry or 0
    end
    return x, y
end)
tasks.add = task(10, 2, 1, sum(10))
tasks.badd = task(2, 2, 1, sum(2))

function tasks.length(task, digits)
    return task.per_digit * digits + task.besides
end

--- So many tapes of a task for so many digits, before and after.
function tasks.batch(task, count, digits)
    local length, from, to = tasks.length(task, digits), {}, {}
    for i = 1, count do
        from[i], to[i] = task.make(digits)
        for k = 1, length do
            from[i][k], to[i][k] = from[i][k] or 0, to[i][k] or 0
        end
    end
    return eg.tensor(from, "i64"), eg.tensor(to, "i64")
end

return tasks
