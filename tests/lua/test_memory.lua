-- Plain loops keep flat memory: the collector is driven by bytes of tensors.
local eg = require "egret"
local check = require "check"
local test = check.test

--- The most bytes alive while f runs 10,000 times, looked at every ten.
local function peak(f, steps)
    local most = 0
    for i = 1, steps do
        f()
        if i % 10 == 0 then
            most = math.max(most, eg.memory_stats().live_bytes)
        end
    end
    return most
end

test("10,000 steps in flat memory", function()
    local w = eg.zeros({256, 256}):requires_grad()
    local sgd = eg.optim.sgd({w}, {lr = 1e-3})
    local x = eg.ones {16, 256}
    local function step()
        local y = (eg.matmul(x, w) + 1):relu()
        sgd:minimize(function() return (eg.matmul(x, w) - y):square():mean() end)
    end
    local most = peak(step, 10000)
    assert(most < 200 * 2 ^ 20, most)
end)

test("large tensors", function()
    local most = peak(function() return eg.ones {1 << 20} * 2 + 1 end, 1000) -- 12 MiB each time, 12 GB in all
    assert(most < 200 * 2 ^ 20, most)
end)

test("under a cap", function()
    eg.memory_trim()
    local cap = eg.memory_stats().reserved_bytes + (64 << 20)
    eg.memory_limit(cap)
    local well, most = pcall(peak, function() return eg.ones {1 << 20} * 2 + 1 end, 1000)
    local refused = select(2, pcall(eg.zeros, {1 << 30}))
    eg.memory_limit(0)
    assert(well, most)
    assert(eg.memory_stats().reserved_bytes <= cap)
    assert(tostring(refused):find("out of memory"), refused)
end)

test("little tensors, and tapes left open", function()
    local before = collectgarbage("count")
    for _ = 1, 100000 do
        local _ = eg.tensor(1)
    end
    for _ = 1, 1000 do
        eg.tape()
    end
    collectgarbage()
    collectgarbage()
    assert(collectgarbage("count") < before + 1000)
end)

test("what functions make is freed", function()
    local function live()
        collectgarbage()
        collectgarbage()
        return eg.memory_stats().live_bytes
    end
    local function make()
        local map, net = eg.tensors_new(), eg.nn.linear(100, 100)
        map:set("a", eg.zeros {1000})
        assert(map:renamed("a b"):count() == 1 and map:left_out("b a"):count() == 1)
        assert(net:copy():state():count() == 2)
    end
    make()
    local before = live()
    for _ = 1, 10 do
        make()
    end
    assert(live() <= before, live() - before)
end)

check.done()
