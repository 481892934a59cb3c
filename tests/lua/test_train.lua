-- Gradients, modules, optimizers, datasets and what of them is written in Lua.
local eg = require "egret"
local check = require "check"
local test, values, equal, fails, close = check.test, check.values, check.equal, check.fails, check.close

test("gradients", function()
    local w = eg.tensor({1.0, 2.0}):requires_grad()
    local loss, dw = eg.grad(function() return (w * w):sum() end, w)
    equal(loss:item(), 5.0)
    values(dw, {2, 4})
    local x = eg.tensor {3.0}
    local _, dx, dw2 = eg.grad(function() return (x * w):sum() end, x, w)
    values(dx, {3})
    values(dw2, {3, 3})
    local tape = eg.tape {persistent = true}
    tape:watch(x)
    local y = x * x
    values(tape:gradients(y, {x})[1], {6})
    values(tape:gradients(y, {x}, {dy = eg.tensor {2.0}})[1], {12})
    equal(tape:gradients(y, {w}, {null_unconnected = true})[1], false)
    tape:close()
    fails(function() tape:gradients(y, {x}) end, "gradients")
    local outer = eg.tape()
    outer:watch(x)
    local _, first = eg.grad(function() return x * x * x end, x)
    values(outer:gradients(first, {x})[1], {18})
end)

test("an error under a tape closes it", function()
    local w = eg.ones({1}):requires_grad()
    fails(function() eg.grad(function() error("stop") end, w) end, "stop")
    local adam = eg.optim.adam({w})
    fails(function() adam:minimize(function() error("stop") end) end, "stop")
    fails(function() adam:minimize(function() return 1 end) end, "loss")
    w:add_(1) -- refused while a tape records
    values(w, {2})
end)

test("L-BFGS calls its function as it needs", function()
    local w, calls = eg.zeros({3}):requires_grad(), 0
    local goal = eg.tensor({1, 2, 3}, "f32")
    local square = eg.custom {forward = function(x) return x * x end, backward = function(dy, _, x) return dy * x * 2 end}
    local lbfgs = eg.optim.lbfgs({w}, {strong_wolfe = true})
    local function loss()
        calls = calls + 1
        collectgarbage()
        return square(w - goal):sum()
    end
    equal(lbfgs:minimize(loss):item(), 14)
    assert(calls > 1 and calls < 10, calls)
    assert((w - goal):abs():max():item() < 1e-5)
    equal(lbfgs:steps(), 1)
    equal(lbfgs:needs_function(), true)
    fails(function() lbfgs:minimize(function() error("stop") end) end, "stop")
    fails(function() lbfgs:minimize(function() return 1 end) end, "the loss, a tensor")
    fails(function() lbfgs:minimize(loss, 1) end, "argument 3, a number, is one too many")
    fails(function() lbfgs:step {eg.ones {3}} end, "eg_optim_minimize_function")
    w:add_(1) -- refused while a tape records
end)

test("a net learns", function()
    eg.seed(1)
    local net = eg.nn.sequential {eg.nn.linear(2, 8), eg.nn.activation(eg.tanh), eg.nn.linear(8, 1)}
    local adam = eg.optim.adam(net:parameters(), {lr = 0.05})
    local x, y = eg.tensor({{0, 0}, {0, 1}, {1, 0}, {1, 1}}, "f32"), eg.tensor({{0}, {1}, {1}, {0}}, "f32")
    local loss
    for _ = 1, 300 do
        loss = adam:minimize(function() return eg.mse_loss(net(x), y) end)
    end
    assert(loss:item() < 0.01, loss:item())
    equal(adam:steps(), 300)
    equal(#net, 3)
    equal(tostring(net), "sequential {linear, activation, linear}")
    equal(rawequal(net[1], net:find "0"), true)
    equal(rawequal(net[-1], net[3]), true)
    equal(net[4], nil)
    local parts = 0
    for i, part in ipairs(net) do
        parts = parts + (rawequal(part, net:at(i - 1)) and 1 or 0)
    end
    equal(parts, 3)
    fails(function() return eg.nn.flatten()[1] end, "flatten")
    equal(net:parameters().names[1], "0.weight")
    local tape = eg.tape()
    equal(rawequal(adam:minimize(tape, eg.mse_loss(net(x), y)), adam), true)
    assert(net:summary(x):find("linear"))
    local state = net:state()
    local same, report = net:load_state(state, {report = true})
    equal(rawequal(same, net), true)
    equal(report:of "loaded", state:count())
    equal(report:at(0).fate, "loaded")
    assert(report:print():find("^loaded"))
    equal(select("#", net:load_state(state)), 1)
    fails(function() net:load_state(eg.tensors_new(), {report = true}) end, "missing")
    local path = os.tmpname()
    net:save(path)
    local again = eg.nn.sequential {eg.nn.linear(2, 8), eg.nn.activation(eg.tanh), eg.nn.linear(8, 1)}
    again:load(path)
    values(again(x), net(x):table())
    os.remove(path)
    fails(function() eg.nn.linear(2, 8):load(path) end, path)
end)

test("who belongs to whom", function()
    local inner = eg.nn.linear(2, 2)
    local net = eg.nn.sequential {inner, eg.nn.flatten()}
    equal(rawequal(net:find("0"), inner), true)
    fails(function() eg.nn.sequential {inner} end, "part of another")
    fails(function() eg.nn.sequential {eg.nn.flatten(), 3} end, "module is expected")
    local twice = eg.nn.flatten()
    fails(function() eg.nn.sequential {twice, twice} end, "again")
    net = nil
    collectgarbage()
    collectgarbage()
    equal(inner(eg.ones {1, 2}):shape(), {1, 2}) -- a child keeps what it is part of
    local d = eg.data.from_tensors {eg.arange(0, 4, 1)}
    local batches = d:batch(2)
    fails(function() d:count() end, "part of another")
    equal(batches:count(), 2)
    equal(tostring(batches), "dataset of 2 samples")
    assert(tostring(d):find "part of another")
    batches:free()
    fails(function() batches:count() end, "closed")
    fails(function() batches.free(io.stdout) end, "nothing to free")
    fails(function() batches.free(eg.ones {1}) end, "nothing to free")
    getmetatable(eg.ones {1}).__gc(io.stdout) -- not a tensor: left alone
end)

test("modules in Lua", function()
    local function Block(n)
        return eg.module {
            line = eg.nn.linear(n, n),
            scale = eg.ones({n}):requires_grad(),
            buffers = {seen = eg.zeros {1}},
            times = 0,
            forward = function(self, x)
                self.times = self.times + 1
                return (x + self.line(x)) * self.scale
            end,
        }
    end
    local block = Block(3)
    equal(block:parameters().names, {"line.weight", "line.bias", "scale"})
    equal(block:state():has("seen"), true)
    local net = eg.nn.sequential {block, eg.nn.linear(3, 1)}
    local sgd = eg.optim.sgd(net, {lr = 0.1})
    local x = eg.ones {2, 3}
    local before = eg.mse_loss(net(x), eg.ones {2, 1}):item()
    for _ = 1, 20 do
        sgd:minimize(function() return eg.mse_loss(net(x), eg.ones {2, 1}) end)
    end
    assert(eg.mse_loss(net(x), eg.ones {2, 1}):item() < before)
    equal(block.times, 22)
    fails(function() block.line2 = eg.nn.linear(1, 1) end, "eg.module")
    local bad = eg.nn.sequential {eg.module {forward = function() error("not today") end}}
    fails(function() bad(x) end, "test_train.lua:", "not today")
    fails(function() eg.nn.sequential {eg.module {forward = function() return 1 end}}(x) end, "tensor is expected")
    local two = eg.module {forward = function(_, a, b) return a + b, a - b end}
    local sum, difference = two(x, x)
    values(sum[1], {2, 2, 2})
    values(difference[1], {0, 0, 0})
    fails(function() eg.module {}(x) end, "no forward")
end)

test("ops of one's own", function()
    local cube = eg.custom {
        name = "cube",
        forward = function(x) return x * x * x end,
        backward = function(dy, _, x) return dy * x * x * 3 end,
    }
    assert(eg.gradcheck(function(x) return cube(x):sin() end, {eg.randn({3}, "f64")}, {second = true}))
    local wrong = eg.custom {forward = function(x) return x * x end, backward = function(dy) return dy end}
    fails(function() eg.gradcheck(wrong, {eg.randn({3}, "f64")}) end, "input 0")
    local x = eg.ones({2}):requires_grad()
    local broken = eg.custom {forward = function(a) return a * 1 end, backward = function() error("no way back") end}
    fails(function() eg.grad(function() return broken(x):sum() end, x) end, "no way back")
    local _, dx = eg.grad(function() return eg.checkpoint(function(a) return a:exp() end, x):sum() end, x)
    close(dx[1]:item(), math.exp(1))
    fails(function() eg.custom {forward = print} end, "is a function, got nil")
end)

test("datasets", function()
    local function source(n)
        return eg.data.from(function(i) return eg.full({2}, i), eg.tensor(i) end, n)
    end
    local seen = {}
    for x, i in source(5) do
        seen[#seen + 1] = i:item()
        equal(x[1]:item(), i:item() * 1.0)
    end
    equal(seen, {0, 1, 2, 3, 4})
    for workers = 0, 4 do
        local d = source(20):map(function(x, i) return x * 2, i end, {workers = workers})
            :filter(function(_, i) return i:item() % 2 == 0 end):batch(4):prefetch(2)
        local batches = 0
        for _ = 1, 2 do
            for x, i in d do
                batches = batches + 1
                values(x[1], {2 * i[1]:item(), 2 * i[1]:item()})
            end
        end
        equal(batches, 6)
        for _ in d do
            break
        end
    end
    local tape = eg.tape()
    for _ in source(2) do
    end
    tape:close() -- a walk closes no tape that was there before
    local failing = source(5):map(function(x, i)
        if i:item() == 3 then
            error("three is no number")
        end
        return x
    end, {workers = 2})
    local count = 0
    fails(function()
        for _ in failing do
            count = count + 1
        end
    end, "three is no number", "(sample 3)")
    equal(count, 3)
    fails(function() for _ in source(1):map(function() end) do end end, "0 tensors")
    local zipped = eg.data.zip {source(2), source(2)}
    for a, _, b in zipped do
        values(a, b:table())
    end
    fails(function() source(3):batch(0) end, "batch")
end)

test("sets of files", function()
    local path, words = os.tmpname(), {}
    for _, part in ipairs {".a", ".b"} do
        local file = assert(io.open(path .. part, "w"))
        file:write("1\n2\n")
        file:close()
    end
    local function open(name)
        local part = name:sub(-1)
        return eg.data.text_lines(name):map(function(line) return eg.from_bytes(part .. line:bytes()) end, {workers = 2})
    end
    local d = eg.data.shards(path .. ".?", open, {cycle = 2, ahead = 2})
    for _ = 1, 2 do
        for line in d do
            words[#words + 1] = line:bytes()
        end
        collectgarbage()
    end
    equal(table.concat(words, " "), "a1 b1 a2 b2 a1 b1 a2 b2")
    fails(function() for _ in eg.data.shards(path .. ".?", function() error("shut") end) do end end, "shut")
    fails(function() for _ in eg.data.shards(path .. ".?", function() return 7 end) do end end, "a dataset is expected")
    fails(function() for _ in eg.data.shards(path .. ".?", function() end) do end end, "a nil for", ".a")
    os.remove(path)
    os.remove(path .. ".a")
    os.remove(path .. ".b")
end)

test("chains that are dropped while their threads work", function()
    local function chain()
        return eg.data.from(function(i) return eg.tensor(i) end, 1000):map(function(x)
            collectgarbage() -- finds the chains before this one, whose threads wait for Lua
            return x
        end, {workers = 2}):prefetch(4)
    end
    for _ = 1, 20 do
        for _ in chain() do
            break
        end
    end
end)

test("steps", function()
    local w = eg.zeros({1}):requires_grad()
    local sgd = eg.optim.sgd({w}, {lr = 0.5})
    local step = eg.step(function(x, y)
        local loss = sgd:minimize(function() return eg.mse_loss(x * w, y) end)
        return loss, w
    end, {results = 2})
    local loss
    for _ = 1, 20 do
        loss = step(eg.tensor {1.0}, eg.tensor {2.0})
    end
    assert(loss:item() < 1e-6)
    equal(step:stats().calls, 20)
    fails(function() eg.step(function() error("in step") end)() end, "in step")
end)

test("functions as ONNX models", function()
    local net, path = eg.nn.linear(3, 2), os.tmpname()
    local a, b = eg.randn {4, 3}, eg.randn {4, 2}
    local function f(x, y) return net(x) + y, net(x):argmax({axes = 1}) end
    eg.onnx_save_function(f, {a, b}, path, {results = 2, named = net:state(), input_names = {"a", "b"}})
    local model = eg.onnx_load(path)
    equal(eg.onnx_input_at(model, 1).name, "b")
    local sum, place = f(a, b)
    local results = model:onnx_forward({a, b})
    close((results[1] - sum):abs():max():item(), 0)
    equal((results[2] - place):abs():max():item(), 0)
    equal(model:state():has("weight"), true)
    fails(function() eg.onnx_save_function(f, {a}, path, {results = 2}) end, "nil")
    fails(function() eg.onnx_save_function(f, {a, b}, path, {results = 65}) end, "1..64 results")
    fails(function() eg.onnx_save_function(function() error("in f") end, {a}, path) end, "in f")
    fails(function() eg.onnx_save_function(function(x) return x:cumprod(0) end, {a}, path) end, "cumprod")
    os.remove(path)
end)

test("precision, files, journals, parts of savers", function()
    equal(eg.autocast("bf16", function() return eg.ones({2, 2}):matmul(eg.ones {2, 2}):dtype() end), "bf16")
    fails(function() eg.autocast("bf16", function() error("inside") end) end, "inside")
    equal(eg.autocast_dtype(), "f32")
    close(eg.schedule_at({kind = "cosine", lr = 1, steps = 100}, 50), 0.5)
    local folder = os.tmpname()
    os.remove(folder)
    local saver = eg.saver(folder, {keep = 1})
    local number, other = eg.tensor(7), 1
    saver:tensor("number", number)
    saver:add("other", {
        state = function() return {value = eg.tensor(other)} end,
        load = function(map) other = map.value:item() end,
    })
    saver:save(3)
    number[{}] = 8
    other = 2
    equal(saver:restore(), 3)
    equal(number:item(), 7)
    equal(other, 1)
    local path = saver:path()
    local wrong = eg.saver(folder):add("other", {state = function() return 1 end, load = function() end})
    fails(function() wrong:save(4) end, "state must return a table of names and tensors, not a number")
    -- The order of a table's names is another one in every process: that of the file is not.
    local many = {}
    for i = 1, 40 do
        many[("part%d"):format(i)] = eg.tensor(i)
    end
    local sorted = eg.saver(folder):add("many", {state = function() return many end, load = function() end})
    sorted:save(5)
    local order = {}
    for name in eg.each(eg.safetensors_load(sorted:path())) do
        order[#order + 1] = name:match "^many/(.*)"
    end
    local expected = table.move(order, 1, #order, 1, {})
    table.sort(expected)
    equal(#order, 40)
    equal(order, expected)
    os.remove(sorted:path())
    local journal = eg.journal(folder .. "/log.jsonl")
    journal:row("step", 1, "loss", 0.5, "note", "warm")
    journal:free()
    local file = io.open(folder .. "/log.jsonl")
    equal(file:read("a"), '{"step": 1, "loss": 0.5, "note": "warm"}\n')
    file:close()
    local map, names = eg.safetensors_load(path), {}
    for name in eg.each(map) do
        names[#names + 1] = name
    end
    assert(#names >= 2)
    os.remove(path)
    os.remove(folder .. "/log.jsonl")
    os.remove(folder)
end)

test("pruned weights stay pruned, and leave files small", function()
    local net = eg.nn.sequential {eg.nn.linear(20, 30), eg.nn.activation(eg.relu), eg.nn.linear(30, 10)}
    local sgd = eg.optim.sgd(net, {lr = 0.1, momentum = 0.9})
    sgd:prune({kind = "polynomial", power = 3, lr = 1, ["end"] = 0.1, start = 2, steps = 8}, {every = 1})
    local x = eg.ones {4, 20}
    for _ = 1, 15 do
        sgd:minimize(function() return net(x):square():mean() end)
    end
    close(eg.density(net), 0.1)
    eg.prune(net, {n = 1, m = 10, name = "2."})
    assert(eg.density(net, {name = "2."}) <= 0.1 + 1e-9)
    fails(function() eg.prune(net, {density = 2}) end, "density is 2")
    local path = os.tmpname()
    eg.tensors_save(net:state(), path, {sparse = true, format = "safetensors"})
    local back = eg.tensors_open(path)
    assert(back:get("0.weight"):eq(net:state():get "0.weight"):all():item())
    os.remove(path)
end)

check.done()
