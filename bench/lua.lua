-- lua.lua - the Lua side of lua.py: answers what bench/calls.c and `egret-bench step dcgan` answer.
--
--     egret bench/lua.lua calls THREADS      "run NAME COUNT": {"seconds": of the processor}
--     egret bench/lua.lua dcgan THREADS      "run ...": one training step
local eg = require "egret"
eg.set_threads(math.tointeger(arg[2]))

-- ---- calls on tiny tensors ------------------------------------------------------------------------------

local a, b = eg.ones {4}, eg.ones {4}
local image, kernel = eg.ones {1, 1, 4, 4}, eg.ones {1, 1, 3, 3}

local calls = {
    add = function(n) for _ = 1, n do eg.add(a, b) end end,
    plus = function(n) for _ = 1, n do local _ = a + b end end,
    relu = function(n) for _ = 1, n do a:relu() end end,
    sum = function(n) for _ = 1, n do a:sum {axes = 0} end end,
    conv2d = function(n) for _ = 1, n do eg.conv2d(image, kernel, nil, {stride = 2, padding = eg.SAME}) end end,
}

local function answer_call(request)
    local name, count = request:match "^run (%w+) (%d+)$"
    local start = os.clock()
    calls[name](math.tointeger(count))
    return ('{"seconds": %.9f}'):format(os.clock() - start)
end

-- ---- a training step: that of step_generators.c -----------------------------------------------------------

local function norm_leaky(channels)
    return eg.nn.sequential {eg.nn.batch_norm(channels), eg.nn.leaky_relu(0.3)}
end

local function widen(channels, features)
    return eg.nn.conv_transpose2d(channels, features, {kernel = 5, stride = 2, padding = 2, output_padding = {1, 1},
                                                       no_bias = true})
end

local function dcgan()
    eg.seed(1)
    local generator = eg.nn.sequential {
        eg.nn.linear(100, 7 * 7 * 256, {no_bias = true}), norm_leaky(7 * 7 * 256), eg.nn.unflatten {256, 7, 7},
        eg.nn.conv_transpose2d(256, 128, {kernel = 5, padding = 2, no_bias = true}), norm_leaky(128),
        widen(128, 64), norm_leaky(64), widen(64, 1), eg.nn.activation(eg.tanh),
    }
    local judge = eg.nn.sequential {
        eg.nn.conv2d(1, 64, {kernel = 5, stride = 2, padding = 2}), eg.nn.leaky_relu(0.3), eg.nn.dropout(0.3),
        eg.nn.conv2d(64, 128, {kernel = 5, stride = 2, padding = 2}), eg.nn.leaky_relu(0.3), eg.nn.dropout(0.3),
        eg.nn.flatten(), eg.nn.linear(6272, 1),
    }
    local adam = {eg.optim.adam(generator, {lr = 1e-4}), eg.optim.adam(judge, {lr = 1e-4})}
    local images = eg.rand {256, 1, 28, 28}

    local function against(logits, target)
        return eg.bce_with_logits(logits, eg.full(logits:shape(), target))
    end
    return function()
        local tape <close> = eg.tape {persistent = true}
        local fake = generator(eg.randn {256, 100})
        local real, judged = judge(images), judge(fake)
        local generator_loss, judge_loss = against(judged, 1), against(real, 1) + against(judged, 0)
        local down = tape:gradients(generator_loss, generator:parameters())
        local up = tape:gradients(judge_loss, judge:parameters())
        tape:close()
        adam[1]:step(down)
        adam[2]:step(up)
        return generator_loss
    end
end

-- ---- answering ----------------------------------------------------------------------------------------------

local answer = answer_call
if arg[1] == "dcgan" then
    local step = dcgan()
    function answer()
        return ('{"loss": %.6g}'):format(step():item())
    end
end
for request in io.lines() do
    print(answer(request))
    io.flush()
end
