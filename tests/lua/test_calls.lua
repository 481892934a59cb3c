-- Calls that do not fit: every function and method of the module refuses an argument too many and an unknown option, by
-- name; and what is written as in other languages is told how to write it.
local eg = require "egret"
local check = require "check"
local test, values, equal, fails = check.test, check.values, check.equal, check.fails

-- Parts of a list of arguments, "x, {a =, b =}, ...".
local function parts(usage)
    local found, depth, now = {}, 0, ""
    for c in usage:match("%((.*)%)$"):gmatch "." do
        depth = depth + (c:find "[({]" and 1 or c:find "[)}]" and -1 or 0)
        if c == "," and depth == 0 then
            found[#found + 1], now = now:match "^%s*(.-)%s*$", ""
        else
            now = now .. c
        end
    end
    found[#found + 1] = now ~= "" and now:match "^%s*(.-)%s*$" or nil
    return found
end

-- All there are: {where, function, whether a method}.
local function functions()
    local all = {}
    local function add(where, from, is_method)
        for name, f in pairs(from) do
            if type(f) == "function" then
                all[#all + 1] = {where .. name, f, is_method}
            end
        end
    end
    for _, space in ipairs {"nn", "optim", "data", "json"} do
        add("eg." .. space .. ".", eg[space], false)
    end
    add("eg.", eg, false)
    for name, meta in pairs(debug.getregistry()) do
        if type(name) == "string" and name:find "^egret%." and type(meta) == "table" and meta.methods then
            add(name:sub(7) .. ":", meta.methods, true)
        end
    end
    table.sort(all, function(a, b) return a[1] < b[1] end)
    return all
end

-- Tells what is wrong with the words f fails with, or nil.
local function wrong(f, words, ...)
    local well, why = pcall(f, ...)
    if well then
        return "no failure"
    end
    return not tostring(why):find(words, 1, true) and tostring(why) or nil
end

local function nothing() end

-- What must stand before the options of functions that are written by hand.
local before = {
    ["tape:gradients"] = function() return eg.tape(), eg.ones {1}, {} end,
    ["eg.clip_grad_norm"] = function() return {}, 1.0 end,
    ["eg.gradcheck"] = function() return nothing, {} end,
    ["eg.step"] = function() return nothing end,
    ["eg.onnx_save_function"] = function() return nothing, {eg.ones {1}}, "x" end,
    ["eg.generate"] = function() return nothing, eg.zeros({1, 1}, "i64") end,
    ["eg.beam_search"] = function() return nothing, eg.zeros({1, 1}, "i64") end,
    ["dataset:map"] = function() return eg.data.from(nothing, 1), nothing end,
    ["eg.data.shards"] = function() return "no file", nothing end,
    ["saver:add"] = function() return nil, "x" end,
    ["x:format"] = function() return eg.ones {1} end,
    ["eg.show"] = function() return eg.ones {1, 1} end,
    ["eg.plot"] = function() return {1}, {1} end,
    ["eg.heatmap"] = function() return eg.ones {1, 1} end,
    ["eg.sound"] = function() return eg.ones {1} end,
    ["eg.draw_objects"] = function() return eg.ones({3, 1, 1}, "u8"), eg.ones {1, 4} end,
}

test("every function refuses an argument too many and options it has not", function()
    local all, problems, options_seen = functions(), {}, 0
    for _, row in ipairs(all) do
        local where, f = row[1], row[2]
        local page = eg.manual(f)
        local function note(what)
            problems[#problems + 1] = what and ("%s: %s"):format(where, what)
        end
        if not page then
            note(where:find ":free$" and wrong(f, "too many", nil, 1) or not where:find ":free$" and "no page" or nil)
        else
            local head, arguments = page.usage:match "([%w_.:]+)%(", parts(page.usage)
            local n, last = #arguments + (head:find ":" and 1 or 0), arguments[#arguments] or ""
            if last ~= "..." then
                local given = {head == "module:forward" and eg.nn.flatten() or nil}
                given[n + 1] = "surplus"
                note(wrong(f, ("argument %d, a string, is one too many"):format(n + 1), table.unpack(given, 1, n + 1)))
                given[n + 1] = {no_such_option = 1}
                note(wrong(f, "'no_such_option'", table.unpack(given, 1, n + 1)))
            end
            if last:find "^{" and not last:find "%.%.%." then
                local given = table.pack((before[head] or nothing)())
                given[n], options_seen = {no_such_option = 1}, options_seen + 1
                note(wrong(f, "'no_such_option'", table.unpack(given, 1, n)))
            end
        end
    end
    equal(problems, {})
    assert(#all > 1500 and options_seen > 200, #all .. " " .. options_seen)
end)

test("the words name the call and what is too much", function()
    local x = eg.ones {2, 3}
    fails(function() eg.relu(x, {foo = 1}) end, "test_calls.lua:", "no option 'foo'", "eg.relu(x)")
    fails(function() x:relu(1) end, "argument 2, a number, is one too many", "eg.relu(x)")
    fails(function() eg.nn.gru(3, 4):forward(eg.ones {2, 1, 3}, {h0 = x}) end, "no option 'h0'", "module:forward(x)")
    fails(function() x:transpose(0, 1, 2) end, "argument 4")
    values(eg.relu(x, nil)[1], {1, 1, 1})
    values((-x)[1], {-1, -1, -1})
    values(~eg.tensor {1}, {-2})
    equal(#eg.nn.sequential {eg.nn.flatten()}, 1)
    fails(function() x:sum(true) end, "a table of options is expected, such as {axes = ...}, got boolean")
    fails(function() x:sum {axes = 0, keepdim = 1} end, "keepdim is a number, not true or false")
    fails(function() x:argsort(0, 1) end, "true or false expected, got number")
    local image = eg.ones {1, 1, 2, 2}
    fails(function() eg.max_pool2d(image, {kernel = 2, indices = 0}) end, "indices is a number, not true or false")
    fails(function() eg.max_pool2d(image, {kernel = 2, indices = "no"}) end, "indices is a string")
    equal(select("#", eg.max_pool2d(image, {kernel = 2, indices = false})), 1)
    equal(select("#", eg.max_pool2d(image, {kernel = 2, indices = true})), 2)
    local a, d, y = eg.nn.multi_head_attention(4, 2), eg.nn.transformer_decoder_layer(4, 2, 8), eg.ones {1, 3, 4}
    local attended, heads = a:multi_head_attention_forward(y, y, y, {heads = true})
    equal(attended.context:shape(), {1, 3, 4})
    equal(heads:shape(), {1, 2, 3, 3})
    equal(select("#", a:multi_head_attention_forward(y, y, y)), 1)
    local read, own, memory = d:transformer_decoder_layer_forward(y, eg.ones {1, 5, 4}, {heads = true, memory_heads = true})
    equal(read:shape(), {1, 3, 4})
    equal(own:shape(), {1, 2, 3, 3})
    equal(memory:shape(), {1, 2, 3, 5})
    equal(select(2, d:transformer_decoder_layer_forward(y, y, {memory_heads = true})):shape(), {1, 2, 3, 3})
    fails(function() d:transformer_decoder_layer_forward(y, x, {heads = true, memory_heads = true}) end, "test_calls.lua:")
    fails(function() x:format {threshold = 1 << 40} end, "test_calls.lua:", "threshold is out of range")
    fails(function() x:format {precision = 2.5} end, "precision is 2.5, not an integer")
    fails(function() x:format(3) end, "table of options is expected, such as {precision = ...}, got number")
    fails(function() eg.step(nothing, {results = 1 << 32}) end, "0..16 results")
    fails(function() eg.step(nothing, {results = "many"}) end, "results is a string, not an integer")
    fails(function() eg.profile_totals(1 << 32) end, "out of range")
    equal(type(eg.profile_totals()), "table")
    fails(function() return x[{{1, "a"}}] end, "a range's last is a string, not an integer")
    fails(function() return x[{{1.5, 2}}] end, "a range's first is 1.5, not an integer")
end)

test("a function instead of tape and loss is the last argument", function()
    local w = eg.ones({1}):requires_grad()
    local calls, sgd, scaler = 0, eg.optim.sgd({w}, {lr = 1}), eg.scaler_new()
    local function f()
        calls = calls + 1
        return w:sum()
    end
    fails(function() sgd:minimize(f, "surplus") end, "argument 3, a string, is one too many", "optim:minimize(f | tape")
    fails(function() sgd:backward(f, w) end, "argument 3", "optim:backward(f | tape")
    fails(function() scaler:minimize(sgd, f, 1) end, "argument 4, a number", "scaler:minimize(optim, f | tape")
    equal(calls, 0)
    values(w, {1})
    sgd:minimize(f, nil)
    equal(calls, 1)
    values(w, {0})
end)

test("lists in options are as long as C reads them", function()
    local function numbers() return eg.data.from(function(i) return eg.zeros {i + 1} end, 8) end
    local boundaries = {2, 4, 6}
    for _, batches in ipairs {{2}, {2, 2, 2}, {2, 2, 2, 2, 2}, {}, 2} do
        fails(function() numbers():bucket(boundaries, {batches = batches}) end, "batches: a list of", "4 are needed")
    end
    local seen = 0
    for x in numbers():bucket(boundaries, {batches = {1, 2, 2, 9}}) do
        seen = seen + x:shape()[1]
    end
    equal(seen, 8)
    local counts = eg.data.word_counts()
    fails(function() eg.data.vocabulary(counts, {reserved = {"x"}, reserved_count = 300}) end,
          "no option 'reserved_count'", "did you mean 'reserved'?")
    equal(eg.data.vocabulary(counts, {reserved = {"x", "y"}}):size(), 2)
    equal(counts.vocabulary_new, nil)
end)

test("sizes come as a list or one by one", function()
    local x = eg.arange(0, 6, 1)
    values(x:reshape(3, 2), {{0, 1}, {2, 3}, {4, 5}})
    equal(x:reshape(3, 2):permute(1, 0):shape(), {2, 3})
    equal(x:reshape(6):shape(), {6})
    equal(eg.zeros(3, 2):shape(), {3, 2})
    equal(eg.ones(1, 2, "f64"):dtype(), "f64")
    equal(eg.rand(4, 5):shape(), {4, 5})
    equal(eg.randn(4, 5, "f64"):dtype(), "f64")
    equal(eg.ones {1, 3}:expand(2, 3):shape(), {2, 3})
    equal(eg.ones {1, 1, 3, 3}:resize(2, 2, {mode = "nearest"}):shape(), {1, 1, 2, 2})
    values(x:reshape(2, 3):flip(0, 1)[1], {5, 4, 3})
    fails(function() eg.full(3, 2, 1.5) end, "'1.5' is none of f32")
    fails(function() eg.zeros(3, 2.5) end, "element 2", "integer")
    fails(function() x:reshape(4, 2) end, "[4, 2]")
end)

test("lists have no options in them", function()
    local words = "in a list, which has no options"
    fails(function() eg.zeros {2, 3, dtype = "f64"} end, "'dtype' " .. words)
    fails(function() eg.randn {2, dtype = "f64"} end, words)
    fails(function() eg.tensor {1, 2, dtype = "f64"} end, words)
    fails(function() eg.tensor {{1, 2, x = 1}} end, words)
    fails(function() eg.stack({eg.ones {1}, axis = 0}, 0) end, "'axis' " .. words)
    fails(function() eg.nn.sequential {eg.nn.flatten(), name = "x"} end, "'name' " .. words)
    fails(function() return eg.ones({4})[{{first = 2}}] end, "'first' " .. words)
    fails(function() eg.plot {1, 2, title = "x"} end, "'title' " .. words)
    fails(function() eg.show {eg.ones {1, 1}, scale = 2} end, "'scale' " .. words)
    fails(function() eg.custom {forward = nothing, bckward = nothing} end, "no option 'bckward'")
    fails(function() eg.ones({1}):format {digits = 2} end, "no option 'digits'", "edge_items")
    equal(eg.stack(table.pack(eg.ones {1}, eg.ones {1}), 0):shape(), {2, 1})
    for letter = ("a"):byte(), ("z"):byte() do -- the elements of such a list lie among its names
        local name = string.char(letter)
        if name ~= "n" then
            fails(function() eg.zeros {[name] = 1, [3] = 2, [2] = 2, [1] = 2} end, ("'%s' "):format(name) .. words)
            fails(function()
                local list = {[name] = 1}
                for i = 3, 1, -1 do
                    list[i] = i
                end
                eg.zeros(list)
            end, words)
        end
    end
    local long = {}
    for i = 1, 2000 do
        long[i] = i
    end
    long.dtype = "f64"
    fails(function() eg.tensor(long) end, "'dtype' " .. words)
end)

test("fields, == and training have an answer", function()
    local x, y = eg.tensor {{1, 2, 3}, {4, 5, 6}}, eg.zeros {2, 3}
    values(x.T, {{1, 4}, {2, 5}, {3, 6}})
    values(eg.tensor({1, 2}).T, {1, 2})
    fails(function() return eg.ones({1, 2, 3}).T end, "test_calls.lua:", "T is for matrices, not for 3 axes", "x:permute")
    fails(function() return x:view(3, 2) end, "no 'view'", "x:reshape(2, -1)")
    fails(function() return x.grad end, "no 'grad'", "eg.grad")
    equal(x.nothing_of_that_name, nil)
    fails(function() return x == y end, "test_calls.lua:", "x:eq(y)", "all():item()")
    fails(function() return x ~= y end, "x:eq(y)")
    equal(x == x, true)
    equal(x == 0, false) -- Lua asks nobody where types differ
    equal(x == eg.nn.flatten(), false)
    equal(x:eq(x):all():item(), true)
    fails(function() return eg.dropout(y, 0.5) end, "dropout", "training, true or false, must be said")
    equal(eg.dropout(y, 0.5, false):shape(), {2, 3})
    fails(function() return y + nil end, "test_calls.lua:", "argument #2", "got nil")
    fails(function() y[1] = {1, "two"} end, "test_calls.lua:", "got a string")
end)

test("eg.grad", function()
    local w, b = eg.tensor({1.0, 2.0}):requires_grad(), eg.tensor {3.0}
    local function f() return (w * w * b):sum() end
    local loss, gradients = eg.grad(f, {w, b})
    equal(loss:item(), 15.0)
    values(gradients[1], {6, 12})
    values(gradients[2], {5})
    local net = eg.nn.linear(2, 1)
    local _, all = eg.grad(function() return net(w:reshape {1, 2}):sum() end, net:parameters())
    equal(#all, 2)
    local here = "test_calls.lua:"
    fails(function() eg.grad(f) end, here, "what to differentiate by")
    fails(function() eg.grad(f, 3) end, here, "tensor or list of tensors expected, got number")
    fails(function() eg.grad(f, w, {b}) end, here, "#3", "tensor expected, got table")
    fails(function() eg.grad(f, {w, 1}) end, here, "a tensor is expected, got number")
    fails(function() eg.grad(3, w) end, here, "function expected, got number")
    fails(function() eg.grad(function() end, w) end, here, "must return the loss, a tensor, not nil")
    fails(function() eg.grad(function() return 1 end, w) end, here, "not number")
    fails(function() eg.grad(f, eg.tensor {1}) end, here, "watch")
    fails(function() eg.grad(function() error "stop" end, w) end, here, "stop")
    w:add_(1) -- refused while a tape records
    fails(function() eg.each(3) end, here, "got number")
    fails(function() eg.rand "a" end, here, "'rand'", "table expected, got string")
    fails(function() eg.randn({1}, "f33") end, here, "'f33' is none of f32")
end)

test("zeros of options whose default is not 0", function()
    local x = eg.tensor {3.0, 0.0, -4.0, 0.0}
    equal(x:norm {p = 0}:item(), 2.0)
    equal(x:norm():item(), 5.0)
    equal(eg.smooth_l1_loss(x, eg.zeros {4}, {beta = 0}):item(), 1.75)
    fails(function() eg.huber_loss(x, eg.zeros {4}, {delta = 0}) end, "delta is 0")
    local v = eg.ones {2}:requires_grad()
    local still = eg.optim.sgd({v}, {lr = 0})
    still:minimize(function() return v:sum() end)
    values(v, {1, 1})
    equal(#eg.nms(eg.tensor {{0.0, 0.0, 1.0, 1.0}}, eg.zeros {1}, {score_threshold = 0}), 0)
    equal(eg.optim.sgd({v}, {weight_decay = 0}):rate(), 1e-3)
    assert(x:format {threshold = 0, edge_items = 1}:find("...", 1, true))
    for _, name in ipairs {"factor", "power", "divide", "final_divide", "width"} do
        fails(function() eg.schedule_at({kind = "step", lr = 1, steps = 2, [name] = 0}, 0) end, name .. " is 0")
    end
    assert(eg.schedule_at({kind = "one_cycle", lr = 1, steps = 10}, 0) < 0.1)
    assert(eg.schedule_at({kind = "one_cycle", lr = 1, steps = 10, peak = 0}, 0) > 0.9)
end)

check.done()
