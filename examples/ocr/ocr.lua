-- Attention OCR: reads the words on signs letter by letter, from several views of each (Wojna et al. 2017).
--
-- A net of convolutions looks at every view. An LSTM writes one letter after the other; for each it asks all places of all
-- views, and reads from those that answer. What is hidden in one view it finds in another.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local signs = require "signs"
local run = require "egret.run" {
    name = "ocr", unit = "images",
    about = "Learns to read the words on signs, from several views of each.", steps = {3000, "in all"},
    batch = 16, views = {2, "of a sign"}, length = {6, "letters of a word at most"}, side = {48, "of a view in pixels"},
    width = {0.25, "of the convolutions; published: 1"}, units = {128, "of the LSTM; published: 256"},
    untold = {0.3, "share of letters that are not told while learning"}, lr = {0.016, "learning rate, which falls"},
    smoke = {steps = 60, batch = 8, side = 32, length = 3, width = 0.125, units = 32},
}
local classes = signs.null + 1

-- ---- the net ------------------------------------------------------------------------------------------
-- Inception v3 up to its third module. Convolutions have no bias, norms no weight.
local function wide(channels) return math.max(4, (run.width * channels + 0.5) // 1 | 0) end

local function conv(from, to, kernel, options)
    local c = eg.nn.conv2d(from, to, {kernel = kernel, stride = options and options.stride or 1, no_bias = true,
                                      padding = options and options.valid and 0 or eg.SAME})
    return eg.nn.sequential {c, eg.nn.batch_norm(to, {momentum = 0.01, eps = 1e-3, no_weight = true, relu = true})}
end

local function mixed(from, pool)
    local w48, w64, w96 = wide(48), wide(64), wide(96)
    return eg.nn.branches {
        conv(from, w64, 1), eg.nn.sequential {conv(from, w48, 1), conv(w48, w64, 5)},
        eg.nn.sequential {conv(from, w64, 1), conv(w64, w96, 3), conv(w96, w96, 3)},
        eg.nn.sequential {eg.nn.avg_pool2d {kernel = 3, stride = 1, padding = eg.SAME}, conv(from, wide(pool), 1)},
    }, 2 * w64 + w96 + wide(pool)
end

local function pool() return eg.nn.max_pool2d {kernel = 3, stride = 2} end

local first, after_first = mixed(wide(192), 32)
local second, after_second = mixed(after_first, 64)
local third, channels = mixed(after_second, 64)
local trunk = eg.nn.sequential {
    conv(3, wide(32), 3, {stride = 2, valid = true}), conv(wide(32), wide(32), 3, {valid = true}),
    conv(wide(32), wide(64), 3), pool(), conv(wide(64), wide(80), 1), conv(wide(80), wide(192), 3, {valid = true}), pool(),
    first, second, third,
}
trunk:init "he_normal"
local k = (((run.side - 3) // 2 - 1 - 3) // 2 - 1 - 3) // 2 + 1 -- places along a side of a view
assert(k > 0, "views of so few pixels leave no place")
channels = channels + 2 * k -- each place knows its row and column

local attend = eg.uniform({channels}, -(3 / channels) ^ 0.5, (3 / channels) ^ 0.5):requires_grad()
local net = eg.module {
    trunk = trunk, attend = attend, keys = eg.nn.linear(channels, channels, {no_bias = true}),
    query = eg.nn.linear(2 * run.units, channels), mix = eg.nn.linear(classes + channels, classes),
    lstm = eg.nn.lstm(classes, run.units, {clip = 10, forget_bias = 1, one_bias = true}),
    join = eg.nn.linear(run.units + channels, run.units), letter = eg.nn.linear(run.units, classes),
}
for _, dense in ipairs {net.keys, net.query, net.mix, net.join} do
    dense:init "glorot_uniform"
end
net.letter:init "orthogonal"

--- What there is to look at, [N, places of all views, channels].
local function look(images)
    local n = #images
    local x = images:reshape {n, 3, run.side, run.views, run.side}:permute {0, 3, 1, 2, 4}
    local maps = trunk(x:reshape {n * run.views, 3, run.side, run.side}:channels_last()):permute {0, 2, 3, 1}
    local one = eg.one_hot(eg.arange(0, k, 1, "i64"):to(run.device), k)
    local rows, columns = one:reshape {1, k, 1, k}, one:reshape {1, 1, k, k}
    local all = {n * run.views, k, k, k}
    return eg.concat({maps, rows:expand(all), columns:expand(all)}, 3):reshape {n, run.views * k * k, channels}
end

--- Logits, a list of [N, classes], and where it looked for each letter. Told the words, but for some letters, or reading.
local function read(images, words)
    local places = look(images)
    local keys, n = net.keys(places), #images
    local seen, before = eg.zeros({n, channels}):to(run.device), eg.zeros({n, classes}):to(run.device)
    local h = eg.zeros({n, run.units}):to(run.device)
    local c, logits, weights = h, {}, {}
    for t = 1, run.length do
        local next = net.lstm:rnn_forward(net.mix(eg.concat({before, seen}, 1)):unsqueeze(0),
                                          {h0 = h:unsqueeze(0), c0 = c:unsqueeze(0)})
        h, c = next.h[1], next.c[1]
        local asked = net.query(eg.concat({c, h}, 1)):unsqueeze(1)
        weights[t] = (keys + asked):tanh():matmul(attend):softmax(1)
        seen = weights[t]:unsqueeze(1):matmul(places):squeeze {1}
        logits[t] = net.letter(net.join(eg.concat({h, seen}, 1)))
        before = eg.one_hot(words and words[{eg.all, t}] or logits[t]:argmax {axes = 1}, classes)
        if words then
            before = before * eg.uniform({n, 1}, 0, 1, "f32"):ge(run.untold):cast "f32":to(run.device)
        end
    end
    return logits, weights
end

local function loss_of(images, words)
    local logits = eg.stack((read(images, words)), 1)
    return eg.cross_entropy(logits:flatten(0, 1), words:flatten(0, 1), {label_smoothing = 0.1, reduction = "sum"}) / #images
end

-- ---- learning -----------------------------------------------------------------------------------------
-- Each gradient is cut to a norm of its own, 2; kernels of the trunk decay, and those of the last layer.
local parameters = net:parameters()
local sgd = eg.optim.sgd(net, {lr = run.lr, momentum = 0.9})
sgd:follow {kind = "cosine", lr = run.lr, steps = math.max(run.steps, 1)}
run:module("net", net)
run:optim("sgd", sgd)

local function decays(weight)
    local shape = weight:shape()
    return #shape == 4 or #shape == 2 and shape[1] == classes and shape[2] == run.units
end

local function learn(images, words)
    local loss, gradients = eg.grad(function() return loss_of(images, words) end, parameters)
    for i, g in ipairs(gradients) do
        g = decays(parameters[i]) and g + 4e-5 * parameters[i] or g
        gradients[i] = g * 2 / (g * g):sum():sqrt():clamp_min(2)
    end
    sgd:step(gradients)
    return loss
end

--- Shares of letters and of whole words that it reads by itself of signs it has not seen, and pictures of some.
local function judge(count)
    local right, there, whole, shown = 0, 0, 0, nil
    net:eval()
    for _ = 1, count do
        local images, words = signs.draw(16, run.views, run.length, run.side)
        local logits, weights = read(images:to(run.device))
        local said = eg.stack(logits, 1):argmax {axes = 2}:to "cpu"
        local same = said:eq(words)
        there = there + words:ne(signs.null):sum():item()
        right = right + same:logical_and(words:ne(signs.null)):sum():item()
        whole = whole + same:all {axes = 1}:sum():item()
        shown = shown or {images = images, said = said, words = words, weights = weights}
    end
    net:train()
    return right / there, whole / (16 * count), shown
end

local step = run:resume_step()
print(("%d parameters, %d steps"):format(net:numel(), run.steps))
while run:goes_on(step, run.steps) do
    step = step + 1
    local images, words = run:rows(signs.draw(run.batch * run.ranks, run.views, run.length, run.side))
    run:note(step, "loss", learn(images:to(run.device), words:to(run.device)))
    if step % 500 == 0 then
        local letters, whole = judge(4)
        print(("step %d: loss %.3f; of other signs %.1f %% of the letters and %.1f %% of the words are right"):format(
            step, run:mean("loss", -500), 100 * letters, 100 * whole))
    end
    run:checkpoint(step, step == run.steps or step % (run.smoke and 20 or 500) == 0)
end

-- ---- what was learned ---------------------------------------------------------------------------------
-- Signs with what was read, and one of them bright where it looked for each letter.
local letters, whole, shown = judge(run.smoke and 1 or 20)
print(("%.1f %% of the letters and %.1f %% of the words are right"):format(100 * letters, 100 * whole))
for i = 1, 4 do
    print(("  %s is read as %s"):format(signs.word(shown.words[i]), signs.word(shown.said[i])))
end
local sign, panels = shown.images[1] / 2.5 + 0.5, {}
for t = 1, run.length do
    local map = shown.weights[t][1]:to "cpu":reshape {run.views, 1, k, k}:image_resize(8 * k, 8 * k)
    local behind = run.side - 9 - 8 * k -- place i is around pixels 9 + 8 i to 9 + 8 i + 8
    map = map:pad {before = {0, 0, 9, 9}, after = {0, 0, behind, behind}}
    map = map:permute {1, 2, 0, 3}:reshape {1, run.side, run.views * run.side}
    panels[t] = sign * (map / map:max() * 0.75 + 0.25)
end
run:picture("read.png", eg.show, shown.images / 2.5 + 0.5, {columns = 4, range = {0, 1}, scale = 3})
run:picture("attention.png", eg.show, eg.stack(panels, 0), {columns = 3, range = {0, 1}, scale = 4})
run:plot("loss.png", {"loss"}, "Loss of a word")
run:check("loss", 0.95)
run:finish()
